"""OGB's large typed set (MAG240M) as a folder of the format `orrery`.

It takes processed/SOURCE___NAME___DESTINATION/edge_index.npy [2, E], whose numbers count from 0 in each type,
processed/TYPE/node_feat.npy and node_label.npy, the counts in meta.pt and the parts in split_dict.pt. Arrays are
read and written piece by piece; features stay where they are.
"""

import json
import os
import re

import numpy as np

from datasets import pickles
from datasets.arrays import MOST, ImportProblem, fail

PIECE = 1 << 24
PARTS = {"train": 0, "valid": 1, "test": 2}
NAME = re.compile("[a-z0-9_+-]+")  # as the program wants them
FEW = 1 << 20  # vertices that files of any size may have; each byte of them makes a hundred more plausible


def is_one(folder):
    return (folder / "meta.pt").exists() and (folder / "processed").is_dir()


def _require_file(path):
    if not path.is_file():
        fail(path, "a file", "none" if not os.path.lexists(path) else "something else, or a link to nothing")


def _saved(path):
    _require_file(path)
    try:
        held = pickles.load_saved(path)
    except pickles.PickleProblem as error:
        raise ImportProblem(str(error)) from error
    if not isinstance(held, dict):
        fail(path, "a dict", type(held).__name__)
    return held


def _array(path, *shape):
    """A mapped array of numbers, of any shape if none is told; an extent of None may have any length."""
    _require_file(path)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # any error that a broken header causes
        raise ImportProblem(f"{path}: is no .npy of numbers: {error}") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iufb":
        fail(path, "a .npy of numbers", getattr(array, "dtype", "another archive"))
    if shape and (len(array.shape) != len(shape) or any(e not in (None, f) for e, f in zip(shape, array.shape))):
        fail(path, "shape [" + ", ".join("any" if e is None else str(e) for e in shape) + "]", list(array.shape))
    return array


def _write(path, dtype, shape, pieces):
    """A .npy of pieces. Not by mapping it: what a full disk does not take is then an error, not a signal."""
    with open(path, "wb") as file:
        np.lib.format.write_array_header_2_0(
            file, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape})
        for piece in pieces:
            file.write(np.ascontiguousarray(piece, dtype).tobytes())


def _vertices(array, begin, count, place, what):
    """Whole numbers, each below the count of its type; `begin`: the place of the first in its array."""
    if array.dtype.kind not in "iu":
        fail(place, "whole numbers", array.dtype)
    if array.size and (int(array.min()) < 0 or int(array.max()) >= count):
        bad = int(np.argmax((array < 0) | (array >= count)))
        fail(f"{place}, element {begin + bad}", f"a vertex of type {what} from 0 to {count - 1}", array[bad])
    return array.astype(np.int32)


class LargeSet:
    """The types with their counts and first numbers, and the relations."""

    def __init__(self, folder):
        self.folder, self.processed = folder, folder / "processed"
        self._read_relations()
        self._read_types()

    def _read_relations(self):
        found = sorted(self.processed.glob("*/edge_index.npy"))
        self.relations = [(path, path.parent.name.split("___")) for path in found]
        if not found:
            raise ImportProblem(f"{self.folder}: expected processed/SOURCE___NAME___DESTINATION/edge_index.npy, "
                                "found none")
        for path, words in self.relations:
            if len(words) != 3 or not all(map(NAME.fullmatch, words)):
                fail(path.parent, "SOURCE___NAME___DESTINATION of small letters, digits, _, - and +", path.parent.name)

    def _read_types(self):
        path = self.folder / "meta.pt"
        known = {type_ for _, words in self.relations for type_ in (words[0], words[2])}
        known |= {each.name for each in self.processed.iterdir() if self.has(each.name, "node_feat.npy")
                  or self.has(each.name, "node_label.npy")}
        self.counts = _saved(path)
        for key, value in self.counts.items():
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or not isinstance(key, str) or not 0 <= value < MOST:
                fail(path, "names with counts", f"{key!r}: {value!r}")
            if key not in known and key != "num_classes":
                fail(path, "types of folders in processed, and num_classes", key)
        self.classes = int(self.counts.pop("num_classes")) if "num_classes" in self.counts else None
        if strange := known - set(self.counts):
            fail(path, "the count of each type that folders in processed name", f"none of {sorted(strange)[0]}")
        self.first, self.vertices = {}, 0
        for type_, count in self.counts.items():
            self.first[type_] = self.vertices
            self.vertices += int(count)
        bytes_ = sum(file.stat().st_size for file in self.processed.glob("*/*.npy") if file.is_file())
        if self.vertices > min(MOST, FEW + 100 * bytes_):
            fail(path, f"at most {min(MOST, FEW + 100 * bytes_)} vertices with {bytes_} bytes of arrays", self.vertices)

    def has(self, type_, name):
        """Whether a type has such a file, or a link that leads nowhere."""
        return os.path.lexists(self.processed / type_ / name)

    def write_edges(self, out):
        arrays = [_array(path, 2, None) for path, _ in self.relations]
        total = sum(array.shape[1] for array in arrays)

        def ends(row):
            for array, (path, words) in zip(arrays, self.relations):
                type_ = words[2 * row]
                for begin in range(0, array.shape[1], PIECE):
                    yield self.first[type_] + _vertices(array[row, begin:begin + PIECE], begin, self.counts[type_],
                                                        f"{path}, row {row}", type_)

        def kinds():
            for number, array in enumerate(arrays):
                for begin in range(0, array.shape[1], PIECE):
                    yield np.full(min(PIECE, array.shape[1] - begin), number, np.int32)

        _write(out / "edges.npy", np.int32, (2, total), (piece for row in (0, 1) for piece in ends(row)))
        _write(out / "edge_relations.npy", np.int32, (total,), kinds())
        return total

    def write_labels(self, out):
        """The types with labels."""
        arrays = {}
        for type_, count in self.counts.items():
            if self.has(type_, "node_label.npy"):
                array = _array(self.processed / type_ / "node_label.npy")
                if array.shape not in ((count,), (count, 1)):
                    fail(self.processed / type_ / "node_label.npy", f"shape [{count}]", list(array.shape))
                arrays[type_] = array.reshape(-1)
        if arrays:
            _write(out / "labels.npy", np.int32, (self.vertices,), (
                piece for type_ in self.counts for piece in self._labels(type_, arrays.get(type_))))
        return list(arrays)

    def _labels(self, type_, array):
        for begin in range(0, self.counts[type_], PIECE):
            if array is None:
                yield np.full(min(PIECE, self.counts[type_] - begin), -1, np.int32)
                continue
            given = array[begin:begin + PIECE]
            piece = np.where(np.isnan(given), -1, given) if given.dtype.kind == "f" else given
            good = (piece == np.trunc(piece)) & (piece >= -1) & (piece < (MOST if self.classes is None else self.classes))
            if not good.all():
                bad = int(np.argmin(good))
                fail(f"{self.processed / type_ / 'node_label.npy'}, element {begin + bad}",
                     "a class" + ("" if self.classes is None else f" below {self.classes}") + ", -1 or NaN", given[bad])
            yield piece.astype(np.int32)

    def write_split(self, with_labels, out):
        """Parts of the type with labels: those of the test have several names in some versions."""
        path = self.folder / "split_dict.pt"
        if not path.exists():
            return False
        if len(with_labels) != 1:
            fail(path, "labels of one type, whose vertices it numbers", ", ".join(with_labels) or "none")
        type_ = with_labels[0]
        split = np.full(self.vertices, 255, np.uint8)
        for name, array in _saved(path).items():
            part = PARTS.get(str(name).split("-")[0])
            if part is None or not isinstance(array, np.ndarray) or array.ndim != 1:
                fail(path, "arrays train, valid and test", repr(name))
            own = _vertices(array, 0, self.counts[type_], f"{path}, {name}", type_) + self.first[type_]
            taken = split[own]
            if ((taken != 255) & (taken != part)).any():
                raise ImportProblem(f"{path}, {name}: a vertex is in two of train, validation and test")
            split[own] = part
        np.save(out / "split.npy", split)
        return True

    def link_features(self, out):
        """The types with features, whose files are named where they are."""
        with_features = [type_ for type_ in self.counts if self.has(type_, "node_feat.npy")]
        for type_ in with_features:
            path = self.processed / type_ / "node_feat.npy"
            array = _array(path, self.counts[type_], None)
            if array.dtype.str not in ("<f4", "<f2") or not array.flags.c_contiguous:
                fail(path, "float32 or float16, little-endian, row after row", array.dtype.str
                     + ("" if array.flags.c_contiguous else ", column after column"))
            os.symlink(path.resolve(), out / f"features_{type_}.npy")
        return with_features


def import_set(folder, out):
    """Cheap checks come before the edges are copied."""
    large = LargeSet(folder)
    with_features = large.link_features(out)
    with_labels = large.write_labels(out)
    has_split = large.write_split(with_labels, out)
    edges = large.write_edges(out)
    meta = {"schema_version": 1, "name": folder.resolve().name, "num_nodes": large.vertices, "num_edges": edges,
            "vertex_types": list(large.counts), "vertex_type_counts": [int(n) for n in large.counts.values()],
            "relations": [words for _, words in large.relations],
            "has_labels": bool(with_labels), "has_split": has_split,
            "feature_storage": {"kind": "by_type", "types": with_features} if with_features else {"kind": "absent"},
            "notes": ["types, relations, labels and parts are those of OGB's large set; other files are not read"]}
    if large.classes is not None:
        meta["num_classes"] = large.classes
    (out / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
