"""OGB's large typed set (MAG240M) as a folder of the format `orrery`.

It takes processed/SOURCE___NAME___DESTINATION/edge_index.npy [2, E], whose numbers count from 0 in each type,
processed/TYPE/node_feat.npy and node_label.npy, the counts in meta.pt and the parts in split_dict.pt. Arrays are
read and written piece by piece; features stay where they are.
"""

import json
import os

import numpy as np

from datasets import pickles
from datasets.arrays import MOST, ImportProblem, fail

PIECE = 1 << 24
PARTS = {"train": 0, "valid": 1, "test": 2}


def is_one(folder):
    return (folder / "meta.pt").exists() and (folder / "processed").is_dir()


def _saved(path):
    try:
        held = pickles.load_saved(path)
    except pickles.PickleProblem as error:
        raise ImportProblem(str(error)) from error
    if not isinstance(held, dict):
        fail(path, "a dict", type(held).__name__)
    return held


def _array(path, *shape):
    """A mapped array; an extent of None may have any length."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ImportProblem(f"{path}: is no .npy of numbers: {error}") from error
    if len(array.shape) != len(shape) or any(e not in (None, f) for e, f in zip(shape, array.shape)):
        fail(path, "shape [" + ", ".join("any" if e is None else str(e) for e in shape) + "]", list(array.shape))
    return array


def _vertices(array, count, place, what):
    """int32 numbers from whole ones, each below the count of its type."""
    if array.dtype.kind not in "iu":
        fail(place, "whole numbers", array.dtype)
    if array.size and (int(array.min()) < 0 or int(array.max()) >= count):
        bad = int(np.argmax((array < 0) | (array >= count)))
        fail(place, f"a vertex of type {what} from 0 to {count - 1}", array[bad])
    return array.astype(np.int32)


def _read_types(folder):
    """(count by type, number of classes or None) of meta.pt."""
    counts = _saved(folder / "meta.pt")
    for key, value in counts.items():
        if not isinstance(value, int) or not isinstance(key, str) or not 0 <= value < MOST:
            fail(folder / "meta.pt", "names with counts", f"{key!r}: {value!r}")
    classes = counts.pop("num_classes", None)
    if not counts or sum(counts.values()) > MOST:
        fail(folder / "meta.pt", f"types with {MOST} vertices or fewer", sum(counts.values()))
    return counts, classes


def _read_relations(folder, counts):
    found = sorted(path.parent for path in folder.glob("processed/*___*___*/edge_index.npy"))
    if not found:
        raise ImportProblem(f"{folder}: expected processed/SOURCE___NAME___DESTINATION/edge_index.npy, found none")
    relations = []
    for path in found:
        words = path.name.split("___")
        for type_ in (words[0], words[-1]):
            if type_ not in counts:
                fail(path, "types of meta.pt: " + ", ".join(counts), type_)
        relations.append((path / "edge_index.npy", words))
    return relations


def _write_edges(relations, counts, first, out):
    arrays = [_array(path, 2, None) for path, _ in relations]
    total = sum(array.shape[1] for array in arrays)
    edges = np.lib.format.open_memmap(out / "edges.npy", "w+", np.int32, (2, total))
    kinds = np.lib.format.open_memmap(out / "edge_relations.npy", "w+", np.int32, (total,))
    place = 0
    for number, (array, (path, words)) in enumerate(zip(arrays, relations)):
        for begin in range(0, array.shape[1], PIECE):
            piece = array[:, begin:begin + PIECE]
            here = slice(place, place + piece.shape[1])
            for row, type_ in ((0, words[0]), (1, words[-1])):
                where = f"{path}, row {row}, elements from {begin}"
                edges[row, here] = _vertices(piece[row], counts[type_], where, type_) + first[type_]
            kinds[here] = number
            place += piece.shape[1]
    edges.flush()
    kinds.flush()
    return total


def _write_labels(folder, counts, first, classes, out):
    """The types with labels."""
    with_labels = [t for t in counts if (folder / "processed" / t / "node_label.npy").exists()]
    if not with_labels:
        return []
    labels = np.lib.format.open_memmap(out / "labels.npy", "w+", np.int32, (sum(counts.values()),))
    labels[:] = -1
    for type_ in with_labels:
        path = folder / "processed" / type_ / "node_label.npy"
        array = _array(path, counts[type_])
        for begin in range(0, counts[type_], PIECE):
            piece = np.nan_to_num(array[begin:begin + PIECE].astype(np.float64), nan=-1)
            bad = (piece != np.trunc(piece)) | (piece < -1) | (piece >= (MOST if classes is None else classes))
            if bad.any():
                at = int(np.argmax(bad))
                fail(f"{path}, element {begin + at}", "a class" + (f" below {classes}" if classes is not None else "")
                     + ", or NaN", piece[at])
            start = first[type_] + begin
            labels[start:start + len(piece)] = piece
    labels.flush()
    return with_labels


def _write_split(folder, counts, first, with_labels, out):
    """Parts of the type with labels: those of the test have several names in some versions."""
    path = folder / "split_dict.pt"
    if not path.exists():
        return False
    if len(with_labels) != 1:
        fail(path, "labels of one type, whose vertices it numbers", ", ".join(with_labels) or "none")
    type_ = with_labels[0]
    split = np.full(sum(counts.values()), 255, np.uint8)
    for name, array in _saved(path).items():
        part = PARTS.get(str(name).split("-")[0])
        if part is None or not isinstance(array, np.ndarray) or array.ndim != 1:
            fail(path, "arrays train, valid and test", repr(name))
        own = _vertices(array, counts[type_], f"{path}, {name}", type_) + first[type_]
        taken = split[own]
        if ((taken != 255) & (taken != part)).any():
            raise ImportProblem(f"{path}, {name}: a vertex is in two of train, validation and test")
        split[own] = part
    np.save(out / "split.npy", split)
    return True


def import_set(folder, out):
    counts, classes = _read_types(folder)
    first, vertices = {}, 0
    for type_, count in counts.items():
        first[type_] = vertices
        vertices += count
    relations = _read_relations(folder, counts)
    edges = _write_edges(relations, counts, first, out)
    with_labels = _write_labels(folder, counts, first, classes, out)
    has_split = _write_split(folder, counts, first, with_labels, out)
    with_features = [t for t in counts if (folder / "processed" / t / "node_feat.npy").exists()]
    for type_ in with_features:
        os.symlink((folder / "processed" / type_ / "node_feat.npy").resolve(), out / f"features_{type_}.npy")
    meta = {"schema_version": 1, "name": folder.resolve().name, "num_nodes": vertices, "num_edges": edges,
            "vertex_types": list(counts), "vertex_type_counts": list(counts.values()),
            "relations": [words for _, words in relations],
            "has_labels": bool(with_labels), "has_split": has_split,
            "feature_storage": {"kind": "by_type", "types": with_features} if with_features else {"kind": "absent"},
            "notes": ["types, relations, labels and parts are those of OGB's large set; other files are not read"]}
    if classes is not None:
        meta["num_classes"] = classes
    (out / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
