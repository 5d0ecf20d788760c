"""Turns the files of publishers into a folder that `orrery dataset convert` reads."""

import json
import shutil
import zipfile
from pathlib import Path

from datasets import pickles
from datasets.catalogue import GetError


def unzip(archive, folder):
    """Unpacks everything, and nothing outside of the folder."""
    try:
        with zipfile.ZipFile(archive) as packed:
            wanted = sum(member.file_size for member in packed.infolist())
            free = shutil.disk_usage(folder).free
            if wanted > free:
                raise GetError(f"{archive.name}: unpacked it takes {wanted / 1e6:.0f} MB, and "
                               f"{free / 1e6:.0f} MB are free in {folder}")
            packed.extractall(folder)  # takes .. and / off names
    except zipfile.BadZipFile as error:
        raise GetError(f"{archive}: is no whole zip archive: {error}") from error


def ogb(found, files, folder):
    """The folder with raw/ and split/ of the archive."""
    unzip(files[0], folder)
    return folder / found.options["folder"]


def ogb_arrays(found, files, folder):
    """The arrays of an OGB set that is published as such, because it is large (papers100M): raw/data.npz,
    raw/node-label.npz, split/RULE/{train,valid,test}.csv.gz. Each array gets a file of its own, which is read through
    windows. What an array was packed in is removed as soon as it is unpacked."""
    import numpy as np

    unzip(files[0], folder)
    raw, out = folder / found.options["folder"], folder / "arrays"
    out.mkdir()
    for name, members in (("data.npz", ("edge_index.npy", "node_feat.npy")), ("node-label.npz", ("node_label.npy",))):
        try:
            with zipfile.ZipFile(raw / "raw" / name) as packed:
                for member in members:
                    packed.extract(member, out)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise GetError(f"{files[0].name}: raw/{name}: expected the arrays {', '.join(members)}: {error}") from error
        (raw / "raw" / name).unlink()
    split = np.full(np.load(out / "node_feat.npy", mmap_mode="r").shape[0], 255, np.uint8)
    for part, name in enumerate(("train", "valid", "test")):
        vertices = [np.loadtxt(file, np.int64, ndmin=1) for file in raw.glob(f"split/*/{name}.csv.gz")]
        if len(vertices) != 1 or (vertices[0].size and not 0 <= vertices[0].min() <= vertices[0].max() < len(split)):
            raise GetError(f"{files[0].name}: split/*/{name}.csv.gz: expected one file of vertices below {len(split)}")
        split[vertices[0]] = part
    np.save(out / "split.npy", split)
    return out


def snap(found, files, folder):
    """A list of edges, read as it is."""
    return files[0]


def _load(path):
    try:
        return pickles.load(path)
    except pickles.PickleProblem as error:
        raise GetError(str(error)) from error


def _rows(matrix, rows):
    """(columns, values) of each row of a compressed matrix."""
    return [(matrix.indices[matrix.indptr[i]:matrix.indptr[i + 1]],
             matrix.data[matrix.indptr[i]:matrix.indptr[i + 1]]) for i in range(rows)]


def planetoid(found, files, folder):
    """ind.NAME.{x,tx,allx,y,ty,ally,graph,test.index} of Yang, Cohen and Salakhutdinov 2016: allx are the
    vertices before the test ones, whose numbers test.index says; those that are missing there (citeseer)
    have no features, no edges and, as everywhere, class 0. The first rows train, 500 more validate."""
    import numpy as np

    by_kind = {path.name.split(".", 2)[2]: path for path in files}
    allx, tx, ally, ty, y = (_load(by_kind[kind]) for kind in ("allx", "tx", "ally", "ty", "y"))
    graph = _load(by_kind["graph"])
    test = np.array(by_kind["test.index"].read_text().split(), np.int64)
    first, last = len(ally), int(test.max())
    if sorted(set(test)) != sorted(test) or test.min() != first or len(test) != len(ty):
        raise GetError(f"{found.name}: test.index does not fit the other files")
    n, width = last + 1, int(allx._shape[1])
    rows = _rows(allx, first) + [(np.empty(0, np.int64), np.empty(0))] * (n - first)
    labels = np.zeros(n, np.int32)
    labels[:first] = np.argmax(ally, 1)
    for vertex, row, label in zip(test, _rows(tx, len(test)), np.argmax(ty, 1)):
        rows[vertex] = row
        labels[vertex] = label
    split = np.full(n, 255, np.uint8)
    split[:len(y)], split[len(y):len(y) + 500], split[test] = 0, 1, 2
    edges = {(int(u), int(v)) for u, others in graph.items() for v in others}
    edges |= {(v, u) for u, v in edges}
    if edges and max(max(edge) for edge in edges) >= n:
        raise GetError(f"{found.name}: graph names vertices without features")
    rows = [(columns[order], values[order]) for columns, values in rows
            for order in [np.argsort(columns, kind="stable")]]
    np.save(folder / "edges.npy", np.array(sorted(edges), np.int32).reshape(-1, 2).T.copy())
    np.save(folder / "features_indptr.npy", np.cumsum([0] + [len(c) for c, _ in rows]).astype(np.int64))
    np.save(folder / "features_indices.npy", np.concatenate([c for c, _ in rows]).astype(np.int32))
    np.save(folder / "features_data.npy", np.concatenate([v for _, v in rows]).astype(np.float32))
    np.save(folder / "labels.npy", labels)
    np.save(folder / "split.npy", split)
    (folder / "meta.json").write_text(json.dumps(
        {"schema_version": 1, "name": found.name, "num_nodes": n, "num_edges": len(edges), "directed": False,
         "num_features": width, "num_classes": int(ally.shape[1]), "has_labels": True, "has_split": True,
         "feature_storage": {"kind": "csr", "shape": [n, width],
                             "files": ["features_indptr.npy", "features_indices.npy", "features_data.npy"]},
         "notes": [f"from {found.source}"]}))
    return folder


CONVERTERS = {"ogb": ogb, "ogb_arrays": ogb_arrays, "snap": snap, "planetoid": planetoid}


def convert(found, files, folder):
    """The place in `folder` (or among the files) that `orrery dataset convert` reads."""
    return CONVERTERS[found.converter](found, [Path(file) for file in files], folder)
