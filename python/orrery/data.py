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
from _orrery import ConfigError, Csr, DataError, ShapeError

from .kernels import graph as make_graph

_FILES = {"meta.json", "edges.npy", "edge_weights.npy", "edge_features.npy", "features.npy", "labels.npy", "split.npy"}


def _array(values: Any) -> np.ndarray:
    """A NumPy array from an array or a tensor, also one on a device, with gradients or of a sparse layout.
    bfloat16, which NumPy does not know, becomes float32."""
    for method in ("detach", "cpu"):
        values = getattr(values, method, lambda given=values: given)()
    if "strided" not in str(getattr(values, "layout", "strided")):
        values = values.to_dense()
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":
        values = values.float()
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of unequal length
        raise DataError(f"expected an array, or lists of equal length: {error}") from error


def _type_of(values: Any, array: np.ndarray) -> str:
    """The type of numbers as they were given, which bfloat16 has lost in `array`."""
    return "bfloat16" if str(getattr(values, "dtype", "")) == "torch.bfloat16" else str(array.dtype)


def _left_out(names: Any, how: str) -> list[str]:
    """A note that names the data of edges that are not kept."""
    words = ", ".join(map(str, names))
    return [f"data of edges were left out: {words}; {how}"] if words else []


_HOW = "edge_weights= takes one number for each edge, edge_features= a row"


def _with_edge_features(of_edges: Any, name: str, rest: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """`rest` with the data of edges that has this name as their features, unless the caller gave some; a note tells
    it. What is no row of finite numbers for each edge is left out."""
    if "edge_features" in rest:
        return rest
    rows = _array(of_edges[name])
    rows = rows.reshape(len(rows), -1) if rows.ndim == 1 else rows
    if rows.ndim != 2 or not rows.shape[1] or rows.dtype.kind not in "fiub" or not np.isfinite(rows).all():
        notes += _left_out([name], _HOW)
        return rest
    notes.append(f"{name} are features of the edges, for dataset.edge_features")
    return rest | {"edge_features": rows}


def _features(values: Any, count: int, notes: list[str], name: str = "features") -> np.ndarray:
    """Rows of features as float32, a row for each vertex or edge."""
    array = _array(values.toarray() if hasattr(values, "toarray") else values)
    if array.ndim != 2 or array.shape[0] != count:
        raise ShapeError(f"{name}: expected [{count}, F], found {list(array.shape)}")
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise DataError(f"{name}: expected real numbers, found {array.dtype}")
    if (given := _type_of(values, array)) != "float32":
        notes.append(f"{name.replace('_', ' ')} were {given} and are float32 here")
    with np.errstate(over="ignore"):  # told below
        made = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(made).all():
        row, column = np.argwhere(~np.isfinite(made))[0]
        raise DataError(f"{name}[{row}, {column}]: expected a finite float32, "
                        f"found {array[row, column]}")
    return made


def _is_none(value: Any) -> bool:
    """Of an element of an array of objects: None, or what pandas has in the place of a number."""
    return value is None or (not isinstance(value, (str, bytes)) and str(value) in ("nan", "<NA>", "NaT"))


def _class_numbers(array: np.ndarray, notes: list[str]) -> np.ndarray:
    """Numbers for words, in alphabetical order, as `orrery dataset convert` gives them; -1 where there is none. Objects
    that are numbers stay what they are."""
    given = [None if _is_none(value) else value.item() if isinstance(value, np.generic) else value
             for value in array.tolist()]
    if all(value is None or isinstance(value, (int, float)) for value in given):
        try:
            return np.array([-1 if value is None else value for value in given])
        except OverflowError as error:
            raise DataError(f"labels: expected numbers: {error}") from error
    if odd := {type(value).__name__ for value in given if not isinstance(value, (str, bytes, int, type(None)))}:
        raise DataError(f"labels: expected whole numbers or words, found {', '.join(sorted(odd))}")
    words = np.array(["" if value is None else value.decode(errors="replace") if isinstance(value, bytes)
                      else str(value) for value in given])
    classes = np.unique(words[words != ""])
    notes.append("labels: classes are numbered in alphabetical order: " + ", ".join(classes[:20]))
    return np.where(words == "", -1, np.searchsorted(classes, words)).astype(np.int32)


def _labels(values: Any, vertices: int, notes: list[str]) -> np.ndarray:
    array = _array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or array.shape[0] != vertices:
        raise ShapeError(f"labels: expected [{vertices}] or [{vertices}, C], found {list(array.shape)}")
    if array.dtype.kind in "OUST" and array.ndim == 1:
        array = _class_numbers(array, notes)
    if array.dtype.kind not in "iufb":
        raise DataError(f"labels: expected whole numbers or, of one label each, words, found {array.dtype}")
    made = np.where(np.isnan(array), -1, array) if np.issubdtype(array.dtype, np.floating) else array
    with np.errstate(invalid="ignore"):  # told below
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
        array = _array(mask)
        if array.dtype == object and all(isinstance(one, (bool, np.bool_, int)) for one in array.flat):
            array = array.astype(bool)
        if array.dtype.kind not in "biuf":
            raise DataError(f"split: expected masks of true and false, found {array.dtype}")
        array = array.astype(bool)
        if array.shape != (vertices,):
            raise ShapeError(f"split: expected masks [{vertices}], found {list(array.shape)}; choose "
                             "one column where there are several splits")
        if (split[array] != 255).any():
            raise DataError("split: a vertex is in two of train, validation and test")
        split[array] = part
    return split


def _ends(edges: Any) -> tuple[np.ndarray, np.ndarray]:
    """Sources and destinations of the edges that graph() takes; of a matrix those of its entries."""
    if hasattr(edges, "tocoo"):
        entries = edges.tocoo()
        return entries.col, entries.row
    if isinstance(edges, Csr):
        return tuple(edges.edge_index)
    source, destination = _array(edges)
    return source, destination


def _of_made(distinct: np.ndarray, made: Any) -> np.ndarray:
    """For each edge of `made` the place of the same edge in `distinct`, which has source * vertices + destination of
    each, ascending; for one that was added as the reverse of another the place of that one."""
    def find(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = first * made.shape[0] + second
        at = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
        return at, distinct[at] == wanted

    ours = made.edge_index.astype(np.int64)
    if not len(distinct):
        return np.empty(0, np.int64)
    (here, there), (back, reverse) = find(ours[0], ours[1]), find(ours[1], ours[0])
    assert (there | reverse).all()
    return np.where(there, here, back)


def _edge_features(values: Any, edges: Any, made: Any, notes: list[str]) -> np.ndarray:
    """The features of the edges of `made`, in their order. An edge that comes several times has those of its first;
    one that was added as the reverse of another has those of that one."""
    source, destination = _ends(edges)
    given = _features(values, len(source), notes, "edge_features")
    if not given.shape[1]:
        raise ShapeError("edge_features: expected at least one column, found none")
    distinct, first = np.unique(source.astype(np.int64) * made.shape[0] + destination, return_index=True)
    return given[first[_of_made(distinct, made)]]


def _edge_weights(values: Any, edges: Any, made: Any, notes: list[str]) -> np.ndarray:
    """The weights of the edges of `made`, in their order. An edge that comes several times weighs as much as all of
    them; one that was added as the reverse of another weighs as much as that one."""
    source, destination = _ends(edges)
    given = _array(values).reshape(-1)
    if given.shape != source.shape:
        raise ShapeError(f"edge_weights: expected {len(source)}, one for each edge, found {len(given)}")
    if not (np.issubdtype(given.dtype, np.number) or given.dtype == bool) or np.iscomplexobj(given):
        raise DataError(f"edge_weights: expected real numbers, found {given.dtype}")
    bad = ~np.isfinite(given) | (given < 0)
    if bad.any():
        at = int(np.argmax(bad))
        raise DataError(f"edge_weights[{at}]: expected a finite number >= 0, found {given[at]}")
    if (kind := _type_of(values, given)) != "float32":
        notes.append(f"edge weights were {kind} and are float32 here")
    distinct, place = np.unique(source.astype(np.int64) * made.shape[0] + destination, return_inverse=True)
    sums = np.bincount(place, given, len(distinct)) if len(distinct) else np.empty(0)
    return sums[_of_made(distinct, made)].astype(np.float32)


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
                  symmetric: bool = False, edge_weights: Any = None, edge_features: Any = None,
                  notes: Any = (), force: bool = False) -> Path:
    """Writes a folder that `dataset.path` of an experiment may name; it appears whole or not at all.

    edges: as graph() takes them. symmetric: add the reverse of every edge.
    features: [N, F], of any real type, or sparse; kept as float32. labels: [N] classes, -1 or NaN for none, or words,
    which are numbered in alphabetical order, "" for none; or [N, C] of 0 and 1. What was converted is told on
    sys.stderr.
    edge_weights: [E] in the order of the edges (of a matrix: of its entries), finite and >= 0; used with "dataset":
    {"edge_weights": true}. edge_features: [E, F] in the same order, kept as float32; used with "dataset":
    {"edge_features": true}.
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
    if not hasattr(edges, "tocsr") and not isinstance(edges, Csr) and (given := _array(edges).dtype) != np.int32:
        told.append(f"edges were {given} and are int32 here")
    two_way = made == made.transpose()
    arrays = {"edges.npy": made.edge_index.astype(np.int32)}
    if edge_weights is not None:
        arrays["edge_weights.npy"] = _edge_weights(edge_weights, edges, made, told)
    if edge_features is not None:
        arrays["edge_features.npy"] = _edge_features(edge_features, edges, made, told)
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
            try:
                os.replace(part, target)
            except BaseException:
                os.replace(old / "set", target)  # if this fails, too, the set stays where it is
                old.rmdir()
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.replace(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    for note in told:
        print(f"orrery: note: {note}", file=sys.stderr)
    return target


def from_scipy(matrix: Any, folder: Any, **rest: Any) -> Path:
    """A SciPy sparse matrix: its entry (v, u) is the edge u -> v. Values other than 1 become weights of the edges if
    they are finite and >= 0; otherwise they are left out with a note. `rest` as of write_dataset()."""
    notes = list(rest.pop("notes", ()))
    values = np.asarray(matrix.tocoo().data)
    weights = None
    if values.size and not (values == 1).all() and "edge_weights" not in rest:
        if _are_weights(values):
            weights = values
            notes.append("the values of the matrix are weights of the edges, for dataset.edge_weights")
        else:
            notes.append("the values of the matrix were left out: as weights they had to be finite and >= 0")
    return write_dataset(folder, matrix, notes=notes, **({"edge_weights": weights} | rest))


def from_networkx(network: Any, folder: Any, *, features: Any = None, labels: Any = None,
                  split: Any = None, edge_weights: str | None = "weight", **rest: Any) -> Path:
    """A NetworkX graph; an undirected one has each edge in both directions.

    Vertices are numbered in the order of `network.nodes`; features, labels and split are arrays in
    that order, or names of node attributes. edge_weights: the name of an edge attribute; default
    "weight" where every edge has it, as in NetworkX; None leaves weights out. `rest` as of
    write_dataset().
    """
    names = list(network.nodes)
    number = {name: i for i, name in enumerate(names)}

    def of_nodes(values: Any, what: str) -> Any:
        if not isinstance(values, str):
            return values
        without = [name for name in names if values not in network.nodes[name]]
        if without:
            raise DataError(f"{what}: node {without[0]!r} has no attribute {values!r}")
        return _array([network.nodes[name][values] for name in names])

    pairs = np.asarray([(number[u], number[v]) for u, v in network.edges()], np.int32).reshape(-1, 2).T
    notes = list(rest.pop("notes", ()))
    weights = _weights_of(network, edge_weights, notes)
    if not network.is_directed():
        back = pairs[::-1, pairs[0] != pairs[1]]
        weights = None if weights is None else np.concatenate([weights, weights[pairs[0] != pairs[1]]])
        pairs = np.concatenate([pairs, back], axis=1)
    if names != list(range(len(names))):
        notes.append("vertices are numbered in the order of the nodes of the NetworkX graph")
    return write_dataset(folder, pairs, num_nodes=len(names), features=of_nodes(features, "features"),
                         labels=of_nodes(labels, "labels"), split=of_nodes(split, "split"),
                         edge_weights=weights, notes=notes, **rest)


def _are_weights(values: np.ndarray) -> bool:
    return bool(values.dtype.kind in "fiub" and np.isfinite(values).all() and (values >= 0).all())


def _weights_of(network: Any, name: str | None, notes: list[str]) -> np.ndarray | None:
    """The attribute of every edge of a NetworkX graph, in their order. `weight` may be absent, or hold what is
    no weight; another one was asked for."""
    if name is None or not network.number_of_edges():
        return None
    given = [weight for _, _, weight in network.edges(data=name)]
    if name != "weight":
        if any(weight is None for weight in given):
            raise DataError(f"edge_weights: not every edge has the attribute {name!r}")
        return _array(given)
    there = [weight for weight in given if weight is not None]
    if not there or all(weight == 1 for weight in there):
        return None
    if len(there) < len(given) or not _are_weights(np.asarray(given)):
        notes.append("weights of edges were left out: every edge has to have one, finite and >= 0")
        return None
    notes.append("the attribute 'weight' of edges is their weight, for dataset.edge_weights")
    return np.asarray(given)


def from_pyg(data: Any, folder: Any, **rest: Any) -> Path:
    """A Data of PyTorch Geometric: edge_index, and edge_weight, edge_attr (as features of edges), x, y and the masks
    where it has them. `rest` as of write_dataset()."""
    if len(getattr(data, "node_types", [None])) != 1 or hasattr(data, "edge_index_dict"):
        raise DataError("from_pyg: expected one type of vertices; use data.to_homogeneous() first")
    if getattr(data, "edge_index", None) is None or not hasattr(data, "num_nodes"):
        raise DataError("from_pyg: expected a Data with edge_index (ToSparseTensor removes it); of a data set "
                        "take data_set[0]")
    notes = list(rest.pop("notes", ()))
    if getattr(data, "edge_attr", None) is not None:
        rest = _with_edge_features({"edge_attr": data.edge_attr}, "edge_attr", rest, notes)
    masks = tuple(getattr(data, f"{part}_mask", None) for part in ("train", "val", "test"))
    given = {"features": getattr(data, "x", None), "labels": getattr(data, "y", None),
             "edge_weights": getattr(data, "edge_weight", None),
             "split": masks if any(mask is not None for mask in masks) else None}
    return write_dataset(folder, _array(data.edge_index), notes=notes,
                         **{"num_nodes": int(data.num_nodes), **given, **rest})


def from_dgl(network: Any, folder: Any, **rest: Any) -> Path:
    """A homogeneous graph of DGL: its edges, ndata's feat, label and masks where it has them, and edata's
    weight and feat. Other edata are left out with a note. `rest` as of write_dataset()."""
    if len(getattr(network, "ntypes", ["_N"])) != 1 or len(getattr(network, "etypes", ["_E"])) != 1:
        raise DataError("from_dgl: expected one type of vertices and of edges; use dgl.to_homogeneous first")
    source, destination = network.edges()
    data = network.ndata
    masks = tuple(data[f"{part}_mask"] if f"{part}_mask" in data else None
                  for part in ("train", "val", "test"))
    given = {"features": data["feat"] if "feat" in data else None,
             "labels": data["label"] if "label" in data else None,
             "split": masks if any(mask is not None for mask in masks) else None}
    of_edges, notes = getattr(network, "edata", {}), list(rest.pop("notes", ()))
    given["edge_weights"] = of_edges["weight"] if "weight" in of_edges else None
    if not {"edge_weights", "edge_features"} & rest.keys():  # the caller chose among them
        notes += _left_out([name for name in of_edges if name not in ("weight", "feat", "_ID")], _HOW)
    if "feat" in of_edges:
        rest = _with_edge_features(of_edges, "feat", rest, notes)
    return write_dataset(folder, np.stack([_array(source), _array(destination)]), notes=notes,
                         **{"num_nodes": int(network.num_nodes()), **given, **rest})
