"""Arrays and tables of other programs as a folder of the format `orrery`.

It takes a folder of .npy files or one .npz file, whose arrays have the names below, or a table of edges
(CSV with a header, Parquet), with a table of vertices beside it or not.
"""

import csv
import json
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import plain_text

NAMES = {
    "edges": ("edges", "edge_index"),
    "edge_weights": ("edge_weights", "edge_weight", "weights", "weight"),
    "edge_features": ("edge_features", "edge_attr", "edge_feat"),
    "features": ("features", "x", "feat", "node_feat", "attr"),
    "labels": ("labels", "y", "label", "node_label", "class"),
    "split": ("split",),
    "num_nodes": ("num_nodes",),
    "ids": ("ids",),
}
# Of each part, as a mask or as the numbers of its vertices: train_mask, train_idx, idx_train, train.
KINDS = ("mask", "masks", "idx", "index", "indices", "ids", "nodes")
PART_NAMES = [[name for word in words
               for name in (word, *(f"{word}_{kind}" for kind in KINDS), *(f"{kind}_{word}" for kind in KINDS))]
              for words in (("train",), ("val", "valid", "validation"), ("test",))]
KNOWN = {name for names in (*NAMES.values(), *PART_NAMES) for name in names}
SOURCES, DESTINATIONS = ("source", "src", "from", "u"), ("destination", "target", "dst", "to", "v")
IDS = ("id", "vertex", "node", "node_id", "vertex_id")
PARTS = {"train": 0, "training": 0, "valid": 1, "val": 1, "validation": 1, "test": 2, "none": 255, "": 255}
MOST = 2**31 - 1
WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
EXPONENT = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+")  # as numpy.savetxt writes


class ImportProblem(Exception):
    """One line for a person."""


def fail(place, expected, found):
    raise ImportProblem(f"{place}: expected {expected}, found {found}")


def _only(there, names, where):
    """The array that has one of the names; none, or an error where there are two."""
    found = [name for name in names if name in there]
    if len(found) > 1:
        raise ImportProblem(f"{where}: holds both {found[0]} and {found[1]}: remove one")
    return found[0] if found else None


def _whole(array, place, least, most):
    if array.dtype.kind not in "iub":
        fail(place, "whole numbers", array.dtype)
    if array.size and (int(array.min()) < least or int(array.max()) > most):
        at = int(np.argmax((array < least) | (array > most)))
        fail(f"{place}, element {at}", f"{least} to {most}", array.reshape(-1)[at])
    return array


def edges_of(array, place, notes):
    """int32 [2, E] from whole numbers [2, E] or [E, 2]."""
    if array.ndim != 2 or 2 not in array.shape:
        fail(place, "shape [2, E] or [E, 2]", list(array.shape))
    if array.shape[0] != 2:
        array = array.T
        notes.append("edges: rows and columns were exchanged: they came as [E, 2]")
    if array.dtype != np.int32:
        notes.append(f"edges: converted from {array.dtype} to int32")
    return np.ascontiguousarray(_whole(array, place, 0, MOST - 1), np.int32)


def floats_of(array, place, what, notes):
    """float32 from any real type; finite numbers stay finite."""
    if array.dtype.kind not in "fiub":
        fail(place, "real numbers", array.dtype)
    with np.errstate(over="ignore"):
        made = np.ascontiguousarray(array, np.float32)
    flat, window = made.reshape(-1), 1 << 24
    for begin in range(0, flat.size, window):
        good = np.isfinite(flat[begin:begin + window])
        if not good.all():
            at = tuple(int(i) for i in np.unravel_index(begin + int(np.argmin(good)), made.shape))
            fail(f"{place}{list(at)}", "a finite float32", array[at])
    if array.dtype != np.float32:
        notes.append(f"{what}: converted from {array.dtype} to float32")
    return made


def labels_of(array, place, notes):
    """int32 classes [N] (-1 or NaN: none), or 0 and 1 [N, C]."""
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    given = array.dtype
    if array.dtype.kind == "f":
        made = np.where(np.isnan(array), -1, array)
        if not np.array_equal(made, np.trunc(made)):
            fail(place, "whole numbers", "fractions")
        array = made.astype(np.int64)
    made = _whole(array, place, -1 if array.ndim == 1 else 0, MOST - 1 if array.ndim == 1 else 1)
    if given != np.int32:
        notes.append(f"labels: converted from {given} to int32")
    return np.ascontiguousarray(made, np.int32)


def _is_mask(name, array):
    """By the type or the name; where the name says neither (train), bytes are a mask."""
    return array.dtype.kind == "b" or "mask" in name or (array.dtype == np.uint8 and "_" not in name)


def _members(array, name, vertices):
    """Which vertices are in a part, bool [N], from its mask or from their numbers."""
    if array.ndim != 1:
        fail(name, "one dimension (choose one of several splits)", list(array.shape))
    if not _is_mask(name, array):
        member = np.zeros(vertices, bool)
        if len(array):  # NumPy makes an empty list one of fractions
            member[_whole(array, name, 0, vertices - 1)] = True
        return member
    if array.dtype.kind == "f" and np.isin(array, (0, 1)).all():
        return array.astype(bool)
    return _whole(array, name, 0, 1).astype(bool)


def parts_of(arrays):
    """The names of the arrays of each part that has some: many sets have a mask and numbers."""
    return {part: there for part, names in enumerate(PART_NAMES) if (there := [n for n in names if n in arrays])}


def split_of(arrays, vertices, where):
    """uint8 [N] from a vector of it, or from masks or numbers of the vertices of each part."""
    name, parts = _only(arrays, NAMES["split"], where), parts_of(arrays)
    if name and parts:
        raise ImportProblem(f"{where}: holds both {name} and {next(iter(parts.values()))[0]}: remove one")
    if name:
        made = _whole(arrays[name], name, 0, 255)
        if made.shape != (vertices,):
            fail(name, f"shape [{vertices}]", list(made.shape))
        if not np.isin(made, (0, 1, 2, 255)).all():
            fail(name, "0 (train), 1 (validation), 2 (test) or 255 (none)", "others")
        return made.astype(np.uint8)
    if not parts:
        return None
    split = np.full(vertices, 255, np.uint8)
    for part, names in parts.items():
        name, *others = names
        member = _members(arrays[name], name, vertices)
        for other in others:
            if not np.array_equal(member, _members(arrays[other], other, vertices)):
                raise ImportProblem(f"{where}: {name} and {other} are different vertices: remove one")
        if (split[member] != 255).any():
            raise ImportProblem(f"{name}: a vertex is in two of train, validation and test")
        split[member] = part
    return split


def note_unused(names, what, notes):
    """Names what is there and has no meaning here, with what has one."""
    if not names:
        return
    known = "; ".join(", ".join(one) for key, one in NAMES.items() if key != "ids")
    notes.append(f"these {what} are not used: {', '.join(sorted(names))}"
                 + (f"; known names: {known}; train_mask or train_idx, and so for val and test"
                    if what == "arrays" else ""))


def from_arrays(arrays, where):
    """(arrays of the format, vertices, notes) from named arrays."""
    notes, made = [], {}
    name = _only(arrays, NAMES["edges"], where)
    if name is None:
        raise ImportProblem(f"{where}: expected an array edges or edge_index, found "
                            + (", ".join(sorted(arrays)) or "none"))
    made["edges"] = edges_of(arrays[name], name, notes)
    for key, take in (("features", lambda a, n: floats_of(a, n, "features", notes)),
                      ("labels", lambda a, n: labels_of(a, n, notes)),
                      ("edge_weights", lambda a, n: floats_of(a.reshape(-1), n, "edge weights", notes)),
                      ("edge_features", lambda a, n: floats_of(a, n, "edge features", notes))):
        if name := _only(arrays, NAMES[key], where):
            made[key] = take(arrays[name], name)
    told = _only(arrays, NAMES["num_nodes"], where)
    counts = {key: len(made[key]) for key in ("features", "labels") if key in made}
    masks = [name for names in parts_of(arrays).values() for name in names if _is_mask(name, arrays[name])]
    counts |= {name: len(arrays[name]) for name in ("split", "ids", *masks)
               if name in arrays and arrays[name].ndim == 1}
    if told:
        counts[told] = int(arrays[told])
    greatest = int(made["edges"].max()) + 1 if made["edges"].size else 0
    vertices = next(iter(counts.values()), greatest)
    for key, count in counts.items():
        if count != vertices:
            raise ImportProblem(f"{where}: {next(iter(counts))} has {vertices} vertices, but {key} {count}")
    if greatest > vertices:
        raise ImportProblem(f"{where}: an edge names vertex {greatest - 1}, but there are {vertices}")
    if (split := split_of(arrays, vertices, where)) is not None:
        made["split"] = split
    if "ids" in arrays and arrays["ids"].dtype.kind not in "iu":
        notes.append(f"ids: not used, because they are no whole numbers ({arrays['ids'].dtype})")
    elif "ids" in arrays:
        made["ids"] = np.ascontiguousarray(_whole(arrays["ids"], "ids", -2**63, 2**63 - 1), np.int64)
    note_unused(set(arrays) - KNOWN, "arrays", notes)
    if "edge_weights" in made and len(made["edge_weights"]) != made["edges"].shape[1]:
        fail("edge weights", f"one for each of {made['edges'].shape[1]} edges", len(made["edge_weights"]))
    if (rows := made.get("edge_features")) is not None and (rows.ndim != 2 or len(rows) != made["edges"].shape[1]):
        fail("edge features", f"shape [{made['edges'].shape[1]}, F]", list(rows.shape))
    if "features" in made and made["features"].ndim != 2:
        fail("features", f"shape [{vertices}, F]", list(made["features"].shape))
    return made, vertices, notes


def read_npz(path):
    try:
        with np.load(path, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except (ValueError, OSError, EOFError) as error:
        raise ImportProblem(f"{path}: is no .npz of arrays of numbers: {error}") from error


def read_folder(path):
    arrays = {}
    for file in sorted(path.glob("*.npy")):
        try:
            arrays[file.stem] = np.load(file, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise ImportProblem(f"{file}: is no .npy of numbers: {error}") from error
    return arrays


def _column(values):
    """Numbers where all texts of a CSV are (an empty field among them is NaN), else texts. 1_0 is a text, though
    Python reads 10."""
    if isinstance(values, np.ndarray) or any("_" in value for value in values):
        return np.asarray(values)
    for kind, given in ((np.int64, values), (np.float64, values), (np.float64, [value or "nan" for value in values])):
        try:
            return np.array(given, kind)
        except (ValueError, OverflowError):
            pass
    return np.array(values)


def read_table(path):
    """Columns by name: lists of texts of CSV with a header, arrays of Parquet."""
    if path.suffix == ".parquet":
        try:
            import pyarrow.parquet
        except ImportError:
            raise ImportProblem(f"{path}: Parquet is read with pyarrow, which is not installed: "
                                "./orrery python -m pip install pyarrow") from None
        try:
            table = pyarrow.parquet.read_table(path)
        except pyarrow.ArrowException as error:
            raise ImportProblem(f"{path}: {error}") from error
        if len(set(table.column_names)) != len(table.column_names):
            raise ImportProblem(f"{path}: two columns have the same name")
        return {name: table[name].to_numpy() for name in table.column_names}
    with open(path, newline="", encoding="utf-8-sig") as file:
        try:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            columns = [[] for _ in header]
            for row in rows:
                if not row:
                    continue
                if len(row) != len(header):
                    fail(f"{path}, line {rows.line_num}", f"{len(header)} fields", len(row))
                for column, field in zip(columns, row):
                    column.append(field.strip())
        except (csv.Error, UnicodeDecodeError) as error:
            raise ImportProblem(f"{path}: {error}") from error
    if len(set(header)) != len(header):
        raise ImportProblem(f"{path}: two columns have the same name")
    return dict(zip(header, columns))


def _known_column(table, names, path, what):
    lower = {name.lower(): name for name in table}
    found = [lower[name] for name in names if name in lower]
    if not found:
        raise ImportProblem(f"{path}: expected a column for the {what} ({', '.join(names)}), found "
                            + ", ".join(table))
    return found[0]


def _take_vertices(table, names, path, what):
    """A column that names a vertex in every row, which the table has no longer."""
    name = _known_column(table, names, path, what)
    column = table.pop(name)
    if isinstance(column, np.ndarray) and column.dtype.kind in "fmM":
        empty = np.isnan(column)
    else:
        empty = np.array([one is None or one == "" for one in column], bool)
        none = np.array([isinstance(one, str) and one.lower() == "nan" for one in column], bool)
        if none.any() and all(_digits(one) for one, absent in zip(column, empty | none) if not absent):
            empty |= none  # among numbers; among words it is a word
    if empty.any():
        fail(f"{path}, column {name}, row {int(np.argmax(empty)) + 1}", "a vertex", "none")
    return column


def _digits(text):
    """The digits of the whole number that a text is (1.0 is 1, 1e3 is 1000), every one of them; None: it is none."""
    if WHOLE.fullmatch(text):
        return text.partition(".")[0]
    if not EXPONENT.fullmatch(text):
        return None
    number = Decimal(text)
    small = not number or abs(number.adjusted()) < 30
    return str(int(number)) if small and number == number.to_integral_value() else None


def _whole_numbers(column):
    """A column as int64, or else uint64, with every digit kept; None where it has anything else."""
    if isinstance(column, list):
        given = list(map(_digits, column))
        given = None if None in given else given
    elif column.dtype.kind == "f":
        given = [int(one) for one in column] if np.all(np.isfinite(column) & (column == np.trunc(column))) else None
    else:
        return column if column.dtype.kind in "iu" else None
    for kind in (np.int64, np.uint64) if given is not None else ():
        try:
            return np.array(given, kind)
        except (OverflowError, ValueError):  # ValueError: more digits than Python reads
            pass
    return None


def _word(one):
    """What stands there, in Parquet also as bytes; a number 1.0 is 1, as in a column of whole numbers."""
    if isinstance(one, bytes):
        return one.decode("utf-8", "backslashreplace")
    return str(int(one) if isinstance(one, np.floating) and one.is_integer() else one)


def _of_one_kind(columns):
    """Columns of vertices that can be compared exactly: int64 or uint64 where it holds all of them, else words.
    (NumPy makes of both together float64, which takes neighbours above 2^53 for the same.)"""
    numbers = [_whole_numbers(column) for column in columns]
    if all(column is not None for column in numbers):
        found = [int(end) for column in numbers if len(column) for end in (column.min(), column.max())]
        for kind in (np.int64, np.uint64):
            if all(np.iinfo(kind).min <= end <= np.iinfo(kind).max for end in found):
                return [column.astype(kind) for column in numbers]
    return [np.array([_word(one) for one in column], object) for column in columns]


def _classes(labels, notes):
    """Numbers for words, in alphabetical order; where there is none, -1."""
    words = np.array(["" if word is None else str(word) for word in labels])
    classes = np.unique(words[words != ""])
    notes.append("labels: classes are numbered in alphabetical order: " + ", ".join(classes[:20]))
    return np.where(words == "", -1, np.searchsorted(classes, words)).astype(np.int32)


def _numbers(column, place):
    """Features from a column of numbers, or of lists of equally many."""
    if column.dtype.kind == "O" and len(column):
        try:
            column = np.stack([np.asarray(one) for one in column])
        except ValueError:
            raise ImportProblem(f"{place} holds lists of unequal length, so it cannot be a feature") from None
    if column.dtype.kind not in "iufb":
        raise ImportProblem(f"{place} holds other things than numbers, so it cannot be a feature")
    made = column.astype(np.float64)
    if not np.isfinite(made).all():
        row = int(np.argwhere(~np.isfinite(made))[0][0])
        fail(f"{place}, row {row + 1}", "a finite float32", "none" if np.isnan(made[row]).any() else made[row])
    return made


def _numbered(ids, known, place):
    """Where each id stands among the known ones, which are distinct and of the same kind."""
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], ids), len(known) - 1)
    missing = known[order][at] != ids if len(known) else np.ones(len(ids), bool)
    if missing.any():
        raise ImportProblem(f"{place}: vertex {ids[int(np.argmax(missing))]} is not in the table of vertices")
    return order[at]


def names_of(ids):
    """ids, int64, or names, each in one line, of what vertices are called; nothing where they are 0, 1, ..."""
    if ids.dtype.kind in "iu" and (not len(ids) or int(ids.max()) < 2**63):
        return {} if np.array_equal(ids, np.arange(len(ids))) else {"ids": ids.astype(np.int64)}
    return {"names": [plain_text.one_line(str(one)) for one in ids]}


def from_tables(edges_file, vertices_file):
    """The same from a table of edges (source, destination, weight) and one of vertices (id, label, split,
    and every other column of numbers a feature)."""
    notes, arrays = [], {}
    edges = read_table(edges_file)
    ends = [_take_vertices(edges, SOURCES, edges_file, "sources"),
            _take_vertices(edges, DESTINATIONS, edges_file, "destinations")]
    edges = {name: _column(values) for name, values in edges.items()}
    if vertices_file:
        table = read_table(vertices_file)
        *ends, ids = _of_one_kind([*ends, _take_vertices(table, IDS, vertices_file, "vertices")])
        table = {name: _column(values) for name, values in table.items()}
        if len(np.unique(ids)) != len(ids):
            raise ImportProblem(f"{vertices_file}: a vertex stands there twice")
        lower = {name.lower(): name for name in table}
        if name := next((lower[name] for name in ("label", "labels", "class", "y") if name in lower), None):
            labels = table.pop(name)
            arrays["labels"] = labels if labels.dtype.kind in "iuf" else _classes(labels, notes)
        if "split" in lower:
            split = table.pop(lower["split"])
            if split.dtype.kind in "OUS":
                words = [str(part or "").lower() for part in split]
                if unknown := set(words) - set(PARTS):
                    fail(f"{vertices_file}, split", "train, valid, test or none", sorted(unknown)[0])
                split = np.array([PARTS[word] for word in words], np.uint8)
            arrays["split"] = split
        if table:
            arrays["features"] = np.column_stack(
                [_numbers(column, f"{vertices_file}: column {name}") for name, column in table.items()])
        notes.append(f"vertices are numbered as the rows of {vertices_file.name}")
    else:
        ends = _of_one_kind(ends)
        ids = np.unique(np.concatenate(ends))
        if ids.dtype.kind in "iu" and len(ids) and ids.min() >= 0 and ids.max() < 2 * len(ids) + 1000:
            ids = np.arange(int(ids.max()) + 1)
        else:
            notes.append("vertices are numbered in ascending order of their names")
    arrays["edges"] = np.stack([_numbered(end, ids, edges_file) for end in ends])
    arrays["num_nodes"] = np.int64(len(ids))
    lower = {name.lower(): name for name in edges}
    if name := next((lower[name] for name in NAMES["edge_weights"] if name in lower), None):
        arrays["edge_weights"] = edges.pop(name)
    note_unused(edges, f"columns of {edges_file.name}", notes)
    made, vertices, more = from_arrays(arrays, edges_file)
    return made | names_of(ids), vertices, notes + [note for note in more if not note.startswith("edges:")]


def write(made, vertices, notes, name, folder):
    if "names" in made:
        text = "".join(f"{name}\n" for name in made.pop("names"))
        (folder / "names.txt").write_text(text, encoding="utf-8")
    for key, array in made.items():
        np.save(folder / f"{key}.npy", array)
    features = made.get("features")
    meta = {"schema_version": 1, "name": name, "num_nodes": vertices, "num_edges": int(made["edges"].shape[1]),
            "has_labels": "labels" in made, "has_split": "split" in made, "notes": notes,
            "feature_storage": {"kind": "absent"} if features is None else {
                "kind": "dense", "file": "features.npy", "dtype": "float32", "shape": list(features.shape)}}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


def import_set(source, vertices_file, folder):
    if source.is_dir() or source.suffix == ".npz":
        if vertices_file:
            raise ImportProblem("--vertices goes with a table of edges alone: leave it out")
        arrays = read_folder(source) if source.is_dir() else read_npz(source)
        made, vertices, notes = from_arrays(arrays, source)
    else:
        made, vertices, notes = from_tables(source, vertices_file)
    write(made, vertices, notes, source.stem, folder)
