"""Data sets of other libraries as folders that Orrery reads (docs: the `orrery` format)."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _orrery import ConfigError, DataError, ShapeError

from .kernels import graph as make_graph

_FILES = {"meta.json", "edges.npy", "edge_weights.npy", "features.npy", "labels.npy", "split.npy"}


def _array(values: Any) -> np.ndarray:
    """A NumPy array from an array, a tensor on the CPU, or one on a device or with gradients."""
    for method in ("detach", "cpu"):
        values = getattr(values, method, lambda given=values: given)()
    return np.asarray(values)


def _features(values: Any, vertices: int, notes: list[str]) -> np.ndarray:
    array = _array(values.toarray() if hasattr(values, "toarray") else values)
    if array.ndim != 2 or array.shape[0] != vertices:
        raise ShapeError(f"features: expected [{vertices}, F], found {list(array.shape)}")
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise DataError(f"features: expected real numbers, found {array.dtype}")
    if array.dtype != np.float32:
        notes.append(f"features were {array.dtype} and are float32 here")
    with np.errstate(over="ignore"):  # told below
        made = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(made).all():
        row, column = np.argwhere(~np.isfinite(made))[0]
        raise DataError(f"features[{row}, {column}]: expected a finite float32, "
                        f"found {array[row, column]}")
    return made


def _labels(values: Any, vertices: int, notes: list[str]) -> np.ndarray:
    array = _array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or array.shape[0] != vertices:
        raise ShapeError(f"labels: expected [{vertices}] or [{vertices}, C], found {list(array.shape)}")
    made = np.where(np.isnan(array), -1, array) if np.issubdtype(array.dtype, np.floating) else array
    whole = made.astype(np.int64)
    if not np.array_equal(whole, made):
        raise DataError(f"labels: expected whole numbers, found {array.dtype} with fractions")
    least, most = (-1, 2**31 - 2) if array.ndim == 1 else (0, 1)
    if whole.size and (whole.min() < least or whole.max() > most):
        raise DataError(f"labels: expected {least} to {most}, found {whole.min()} to {whole.max()}")
    if array.dtype != np.int32:
        notes.append(f"labels were {array.dtype} and are int32 here")
    return np.ascontiguousarray(whole, dtype=np.int32)


def _split(masks: Any, vertices: int) -> np.ndarray:
    """The split from three masks, or from a vector of 0, 1, 2 and 255."""
    if not isinstance(masks, (tuple, list)):
        array = _array(masks)
        if array.shape != (vertices,):
            raise ShapeError(f"split: expected [{vertices}], found {list(array.shape)}")
        if not np.isin(array, (0, 1, 2, 255)).all():
            raise DataError("split: expected 0 (train), 1 (validation), 2 (test) or 255 (none)")
        return array.astype(np.uint8)
    split = np.full(vertices, 255, np.uint8)
    for part, mask in enumerate(masks):
        if mask is None:
            continue
        array = _array(mask).astype(bool)
        if array.shape != (vertices,):
            raise ShapeError(f"split: expected masks [{vertices}], found {list(array.shape)}; choose "
                             "one column where there are several splits")
        if (split[array] != 255).any():
            raise DataError("split: a vertex is in two of train, validation and test")
        split[array] = part
    return split


def _edge_weights(values: Any, edges: Any, made: Any, notes: list[str]) -> np.ndarray:
    """The weights of the edges of `made`, in their order. An edge that comes several times weighs as much as all of
    them; one that was added as the reverse of another weighs as much as that one."""
    if hasattr(edges, "tocoo"):
        entries = edges.tocoo()
        source, destination = entries.col, entries.row
    else:
        source, destination = _array(edges)
    given = _array(values).reshape(-1)
    if given.shape != source.shape:
        raise ShapeError(f"edge_weights: expected {len(source)}, one for each edge, found {len(given)}")
    if not (np.issubdtype(given.dtype, np.number) or given.dtype == bool) or np.iscomplexobj(given):
        raise DataError(f"edge_weights: expected real numbers, found {given.dtype}")
    bad = ~np.isfinite(given) | (given < 0)
    if bad.any():
        at = int(np.argmax(bad))
        raise DataError(f"edge_weights[{at}]: expected a finite number >= 0, found {given[at]}")
    if given.dtype != np.float32:
        notes.append(f"edge weights were {given.dtype} and are float32 here")
    n = made.shape[0]
    keys, place = np.unique(source.astype(np.int64) * n + destination, return_inverse=True)
    sums = np.bincount(place, given, len(keys)) if len(keys) else np.empty(0)
    ours = made.edge_index.astype(np.int64)

    def find(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = first * n + second
        at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
        return at, (keys[at] == wanted) if len(keys) else np.zeros(len(wanted), bool)

    (here, there), (back, reverse) = find(ours[0], ours[1]), find(ours[1], ours[0])
    assert (there | reverse).all()
    return np.where(there, sums[here], sums[back]).astype(np.float32) if len(keys) else np.empty(0, np.float32)


def _replaceable(folder: Path, force: bool) -> None:
    if not folder.exists() and not folder.is_symlink():
        return
    if not force:
        raise ConfigError(f"{folder}: is there already; force=True replaces a data set")
    if not folder.is_dir() or not (folder / "meta.json").exists() or {
            one.name for one in folder.iterdir()} - _FILES:
        raise ConfigError(f"{folder}: is no data set that this function wrote; nothing was replaced")


def _flush(file: Path) -> None:
    with file.open("rb") as written:
        os.fsync(written.fileno())


def write_dataset(folder: Any, edges: Any, *, num_nodes: int | None = None, features: Any = None,
                  labels: Any = None, split: Any = None, name: str | None = None,
                  symmetric: bool = False, edge_weights: Any = None, notes: Any = (),
                  force: bool = False) -> Path:
    """Writes a folder that `dataset.path` of an experiment may name; it appears whole or not at all.

    edges: as graph() takes them. symmetric: add the reverse of every edge.
    features: [N, F], of any real type, or sparse; kept as float32. labels: [N] classes, -1 or NaN for none, or [N, C]
    of 0 and 1. What was converted is told on sys.stderr. edge_weights: [E] in the order of the edges (of a matrix: of
    its entries), finite and >= 0; used
        with "dataset": {"edge_weights": true}.
    split: (train, validation, test) masks, or uint8 [N] of 0, 1, 2 and 255.
    force: replace a data set that is there.

    Returns the folder. Raises ConfigError, DataError, ShapeError.
    """
    target = Path(os.path.abspath(os.fspath(folder)))
    _replaceable(target, force)
    made, told = make_graph(edges, num_nodes), list(notes)
    if made.shape[0] != made.shape[1]:
        raise ShapeError(f"edges: expected a square matrix, found {list(made.shape)}")
    if symmetric:
        made = made.symmetrise()
    vertices = made.shape[0]
    two_way = made == made.transpose()
    arrays = {"edges.npy": made.edge_index.astype(np.int32)}
    if edge_weights is not None:
        arrays["edge_weights.npy"] = _edge_weights(edge_weights, edges, made, told)
    if features is not None:
        arrays["features.npy"] = _features(features, vertices, told)
    if labels is not None:
        arrays["labels.npy"] = _labels(labels, vertices, told)
    if split is not None:
        arrays["split.npy"] = _split(split, vertices)
    width = arrays["features.npy"].shape[1] if features is not None else 0
    multilabel = labels is not None and arrays["labels.npy"].ndim == 2
    classes = 0 if labels is None else (
        arrays["labels.npy"].shape[1] if multilabel else int(arrays["labels.npy"].max(initial=-1)) + 1)
    meta = {"schema_version": 1, "name": name or target.name, "num_nodes": vertices,
            "num_edges": made.nnz, "directed": not two_way, "symmetric": two_way,
            "num_features": width, "num_classes": classes, "multilabel": multilabel,
            "feature_storage": {"kind": "absent"} if features is None else {
                "kind": "dense", "file": "features.npy", "dtype": "float32",
                "shape": [vertices, width]},
            "has_labels": labels is not None, "has_split": split is not None, "notes": told}
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.part-", dir=target.parent))
    try:
        for file, array in arrays.items():
            np.save(part / file, array)
            _flush(part / file)
        (part / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
        _flush(part / "meta.json")
        part.chmod(0o755)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old-", dir=target.parent))
            os.replace(target, old / "set")
            os.replace(part, target)
            shutil.rmtree(old)
        else:
            os.replace(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    for note in told:
        print(f"orrery: note: {note}", file=sys.stderr)
    return target


def from_scipy(matrix: Any, folder: Any, **rest: Any) -> Path:
    """A SciPy sparse matrix: its entry (v, u) is the edge u -> v. Values other than 1 are kept as weights
    of the edges where they are finite and >= 0, else left out, and said. `rest` as of write_dataset()."""
    notes = list(rest.pop("notes", ()))
    values = np.asarray(matrix.tocoo().data)
    weights = None
    if values.size and not (values == 1).all() and "edge_weights" not in rest:
        if np.isrealobj(values) and np.isfinite(values).all() and (values >= 0).all():
            weights = values
            notes.append("the values of the matrix are weights of the edges, for dataset.edge_weights")
        else:
            notes.append("the values of the matrix were left out: as weights they had to be finite and >= 0")
    return write_dataset(folder, matrix, notes=notes, **({"edge_weights": weights} | rest))


def from_networkx(network: Any, folder: Any, *, features: Any = None, labels: Any = None,
                  split: Any = None, **rest: Any) -> Path:
    """A NetworkX graph; an undirected one has each edge in both directions.

    Vertices are numbered in the order of `network.nodes`; features, labels and split are arrays in
    that order, or names of node attributes. `rest` as of write_dataset().
    """
    names = list(network.nodes)
    number = {name: i for i, name in enumerate(names)}

    def of_nodes(values: Any, what: str) -> Any:
        if not isinstance(values, str):
            return values
        without = [name for name in names if values not in network.nodes[name]]
        if without:
            raise DataError(f"{what}: node {without[0]!r} has no attribute {values!r}")
        return np.asarray([network.nodes[name][values] for name in names])

    pairs = np.asarray([(number[u], number[v]) for u, v in network.edges()], np.int64).reshape(-1, 2).T
    if not network.is_directed():
        pairs = np.concatenate([pairs, pairs[::-1]], axis=1)
    notes = list(rest.pop("notes", ()))
    if names != list(range(len(names))):
        notes.append("vertices are numbered in the order of the nodes of the NetworkX graph")
    return write_dataset(folder, pairs, num_nodes=len(names), features=of_nodes(features, "features"),
                         labels=of_nodes(labels, "labels"), split=of_nodes(split, "split"),
                         notes=notes, **rest)


def from_pyg(data: Any, folder: Any, **rest: Any) -> Path:
    """A Data of PyTorch Geometric: edge_index, and edge_weight, x, y and the masks where it has them.
    Edge attributes are left out, and said. `rest` as of write_dataset()."""
    if getattr(data, "edge_index", None) is None:
        raise DataError("from_pyg: expected a Data with edge_index; of a data set take data_set[0]")
    notes = list(rest.pop("notes", ()))
    if getattr(data, "edge_attr", None) is not None:
        notes.append("edge_attr was left out")
    masks = tuple(getattr(data, f"{part}_mask", None) for part in ("train", "val", "test"))
    given = {"features": getattr(data, "x", None), "labels": getattr(data, "y", None),
             "edge_weights": getattr(data, "edge_weight", None),
             "split": masks if any(mask is not None for mask in masks) else None}
    return write_dataset(folder, _array(data.edge_index), notes=notes,
                         **{"num_nodes": int(data.num_nodes), **given, **rest})


def from_dgl(network: Any, folder: Any, **rest: Any) -> Path:
    """A homogeneous graph of DGL: its edges, and ndata's feat, label and masks where it has them.
    `rest` as of write_dataset()."""
    if len(getattr(network, "ntypes", ["_N"])) != 1:
        raise DataError("from_dgl: expected one type of vertices; use dgl.to_homogeneous first")
    source, destination = network.edges()
    data = network.ndata
    masks = tuple(data[f"{part}_mask"] if f"{part}_mask" in data else None
                  for part in ("train", "val", "test"))
    given = {"features": data["feat"] if "feat" in data else None,
             "labels": data["label"] if "label" in data else None,
             "split": masks if any(mask is not None for mask in masks) else None}
    return write_dataset(folder, np.stack([_array(source), _array(destination)]),
                         **{"num_nodes": int(network.num_nodes()), **given, **rest})
