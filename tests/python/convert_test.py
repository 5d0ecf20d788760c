"""What `orrery dataset get` and `dataset convert` make of files of other programs: of publishers' sets, of arrays
and of tables, through the program."""

import gzip
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy as np

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None
from datasets import arrays, converters
from datasets.catalogue import File, GetError, Set

WITH_PYARROW = unittest.skipUnless(pyarrow, "pyarrow is not installed")
# The program reads them with the interpreter of this environment.
HERE = os.environ | {"ORRERY_PYTHON": sys.executable}


class Converting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def set_of(self, converter, **options):
        return Set("tiny", "nobody", "none", "1 kB", converter, [File("http://x/y", None, None)], options)

    def planetoid(self):
        """Five vertices, of which the fourth is missing among the test ones (as in citeseer)."""
        class csr_matrix:  # as SciPy's pickles name it
            def __init__(self, dense):
                dense = np.asarray(dense, np.float32)
                rows, self.indices = (a.astype(np.int32) for a in np.nonzero(dense))
                self.data = dense[np.nonzero(dense)]
                self.indptr = np.searchsorted(rows, np.arange(len(dense) + 1)).astype(np.int32)
                self._shape = dense.shape

        csr_matrix.__module__, csr_matrix.__qualname__ = "scipy.sparse.csr", "csr_matrix"
        fake = type(sys)("scipy.sparse.csr")
        fake.csr_matrix = csr_matrix
        before = {name: sys.modules.get(name) for name in ("scipy", "scipy.sparse", "scipy.sparse.csr")}
        sys.modules.update({"scipy": type(sys)("scipy"), "scipy.sparse": type(sys)("scipy.sparse"),
                            "scipy.sparse.csr": fake})
        one_hot = np.eye(2, dtype=np.int32)
        try:
            for kind, value in {"x": csr_matrix([[1, 0, 0]]), "allx": csr_matrix([[1, 0, 0], [0, 2, 0]]),
                                "tx": csr_matrix([[0, 0, 3], [1, 1, 0]]), "y": one_hot[[0]],
                                "ally": one_hot[[0, 1]], "ty": one_hot[[1, 0]],
                                "graph": {0: [1, 1], 1: [0], 2: [2], 4: [0]}}.items():
                (self.folder / f"ind.tiny.{kind}").write_bytes(pickle.dumps(value, protocol=2))
        finally:
            for name, module in before.items():
                sys.modules.pop(name) if module is None else sys.modules.update({name: module})
        (self.folder / "ind.tiny.test.index").write_text("4\n2\n")
        return sorted(self.folder.glob("ind.tiny.*"))

    def test_Planetoid(self):
        out = self.folder / "out"
        out.mkdir()
        converters.convert(self.set_of("planetoid"), self.planetoid(), out)
        arrays_of = {file.stem: np.load(file) for file in out.glob("*.npy")}
        np.testing.assert_array_equal(arrays_of["edges"], [[0, 0, 1, 2, 4], [1, 4, 0, 2, 0]])
        np.testing.assert_array_equal(arrays_of["labels"], [0, 1, 0, 0, 1])
        np.testing.assert_array_equal(arrays_of["split"], [0, 1, 2, 1, 2])
        np.testing.assert_array_equal(arrays_of["features_indptr"], [0, 1, 2, 4, 4, 5])
        np.testing.assert_array_equal(arrays_of["features_indices"], [0, 1, 0, 1, 2])
        np.testing.assert_array_equal(arrays_of["features_data"], [1, 2, 1, 1, 3])
        said = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "info", out, "--json"], check=True,
                              capture_output=True, text=True)
        self.assertEqual(json.loads(said.stdout.splitlines()[-1])["vertices"], 5)

    def test_APickleThatNamesAnythingElseIsRefused(self):
        files = self.planetoid()
        class Evil:
            def __reduce__(self):
                return os.system, ("touch " + str(test.folder / "evil"),)
        test = self
        (self.folder / "ind.tiny.graph").write_bytes(pickle.dumps(Evil(), protocol=2))
        with self.assertRaisesRegex(GetError, "posix.system, which is no number"):
            converters.convert(self.set_of("planetoid"), files, self.folder)
        self.assertFalse((self.folder / "evil").exists())

    def test_ArchivesStayInTheirFolder(self):
        archive, out = self.folder / "a.zip", self.folder / "out"
        out.mkdir()
        with zipfile.ZipFile(archive, "w") as packed:
            packed.writestr("../../outside", "x")
            packed.writestr("arxiv/raw/edge.csv", "0,1\n")
        folder = converters.convert(self.set_of("ogb", folder="arxiv"), [archive], out)
        self.assertEqual((folder / "raw/edge.csv").read_text(), "0,1\n")
        self.assertFalse((self.folder.parent / "outside").exists())
        self.assertFalse((self.folder / "outside").exists())
        archive.write_bytes(b"no zip")
        with self.assertRaisesRegex(GetError, "no whole zip"):
            converters.convert(self.set_of("ogb", folder="arxiv"), [archive], out)


    def test_ALargeSetOfOgbIsReadByArrays(self):
        raw = {"edge_index": np.array([[0, 1, 3], [1, 2, 0]]), "node_feat": np.arange(8, dtype=np.float32).reshape(4, 2),
               "node_year": np.full((4, 1), 2015)}
        archive, out = self.folder / "large-bin.zip", self.folder / "out"
        out.mkdir()
        np.savez(self.folder / "data.npz", **raw)
        np.savez(self.folder / "node-label.npz", node_label=np.float32([[1], [np.nan], [0], [2]]))
        with zipfile.ZipFile(archive, "w") as packed:
            for name in ("data.npz", "node-label.npz"):
                packed.write(self.folder / name, f"large-bin/raw/{name}")
            for part, vertices in {"train": "0\n", "valid": "2\n", "test": "3\n"}.items():
                packed.writestr(f"large-bin/split/time/{part}.csv.gz", gzip.compress(vertices.encode()))
        folder = converters.convert(self.set_of("ogb_arrays", folder="large-bin"), [archive], out)
        subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "convert", folder, self.folder / "set"], check=True,
                       capture_output=True, env=HERE)
        made = {file.stem: np.load(file) for file in (self.folder / "set").glob("*.npy")}
        np.testing.assert_array_equal(sorted(made["edges"].T.tolist()), [[0, 1], [1, 2], [3, 0]])
        np.testing.assert_array_equal(made["features"], raw["node_feat"])
        np.testing.assert_array_equal(made["labels"], [1, -1, 0, 2])
        np.testing.assert_array_equal(made["split"], [0, 255, 1, 2])
        self.assertFalse((out / "large-bin/raw/data.npz").exists())
        with self.assertRaisesRegex(GetError, "edge_index.npy"):
            with zipfile.ZipFile(archive, "w") as packed:
                packed.write(self.folder / "node-label.npz", "large-bin/raw/data.npz")
            shutil.rmtree(out)
            out.mkdir()
            converters.convert(self.set_of("ogb_arrays", folder="large-bin"), [archive], out)


class LargeTypedSets(unittest.TestCase):
    """OGB's MAG240M as its archive unpacks, through the program. torch.save() packs one pickle of protocol 2 into a
    zip archive; the counts are whole numbers there, and the parts NumPy's arrays."""

    COUNTS = {"paper": 5, "author": 3, "institution": 2, "num_classes": 4}
    RELATIONS = {"author___affiliated_with___institution": [[0, 1, 1], [0, 0, 1]],
                 "author___writes___paper": [[0, 0, 1, 2], [0, 1, 1, 4]], "paper___cites___paper": [[1, 3], [0, 1]]}
    SPLIT = {"train": [0, 1], "valid": [2], "test-dev": [3], "test-whole": [3, 4]}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.features = (np.arange(20, dtype=np.float16) / 4).reshape(5, 4)

    def save(self, name, value, inside="archive/data.pkl"):
        with zipfile.ZipFile(self.folder / "mag" / name, "w") as archive:
            archive.writestr(inside, pickle.dumps(value, protocol=2))
            archive.writestr("archive/version", "3\n")

    def array(self, name, values):
        path = self.folder / "mag/processed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, values)

    def write_set(self):
        shutil.rmtree(self.folder / "mag", ignore_errors=True)
        for name, ends in self.RELATIONS.items():
            self.array(f"{name}/edge_index.npy", np.array(ends, np.int64))
        self.array("paper/node_feat.npy", self.features)
        self.array("paper/node_label.npy", np.float32([3, 0, 1, np.nan, 2]))
        self.array("paper/node_year.npy", np.full(5, 2019))
        self.save("meta.pt", self.COUNTS)
        self.save("split_dict.pt", {part: np.array(ids) for part, ids in self.SPLIT.items()})

    def convert(self, *words, status=0):
        run = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "convert", self.folder / "mag",
                              self.folder / "set", *words], capture_output=True, text=True, check=False, env=HERE)
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertEqual(list(self.folder.glob(".*")), [])
        return run.stderr

    def made(self):
        meta = json.loads((self.folder / "set/meta.json").read_text())
        return {file.stem: np.load(file) for file in (self.folder / "set").glob("*.npy")}, meta

    def test_AreWrittenAsATypedFolder(self):
        self.write_set()
        self.convert("--missing-features", "zero")
        arrays_of, meta = self.made()
        self.assertEqual([meta["vertex_types"], meta["vertex_type_counts"]],
                         [["paper", "author", "institution"], [5, 3, 2]])
        self.assertEqual([relation[1] for relation in meta["relations"]], ["affiliated_with", "writes", "cites"])
        first = dict(zip(meta["vertex_types"], (0, 5, 8)))
        expected = sorted([kind, u + first[name.split("___")[0]], v + first[name.split("___")[2]]]
                          for kind, (name, ends) in enumerate(self.RELATIONS.items()) for u, v in zip(*ends))
        self.assertEqual(sorted(np.stack([arrays_of["edge_relations"], *arrays_of["edges"]]).T.tolist()), expected)
        np.testing.assert_array_equal(arrays_of["labels"], [3, 0, 1, -1, 2] + [-1] * 5)
        np.testing.assert_array_equal(arrays_of["split"], [0, 0, 1, 2, 2] + [255] * 5)
        self.assertEqual(meta["num_classes"], 4)
        self.assertIn("features: author, institution have none, so theirs are 0", " ".join(meta["notes"]))

    def test_FeaturesKeepTheirSixteenBitsOrMeansAreMade(self):
        self.write_set()
        self.convert("--missing-features", "zero")
        said = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "info", self.folder / "set", "--json"],
                              check=True, capture_output=True, text=True)
        self.assertEqual(json.loads(said.stdout.splitlines()[-1])["vertices"], 10)
        arrays_of, meta = self.made()
        self.assertEqual(meta["feature_storage"]["dtype"], "float16")
        np.testing.assert_array_equal(arrays_of["features"], np.vstack([self.features, np.zeros((5, 4))]))
        self.convert("--force")
        arrays_of, meta = self.made()
        means = {5: [0, 1], 6: [1], 7: [4]}
        for author, papers in means.items():
            np.testing.assert_array_equal(arrays_of["features"][author], np.float32(self.features)[papers].mean(0))
        np.testing.assert_array_equal(arrays_of["features"][8], arrays_of["features"][[5, 6]].mean(0))

    def test_OtherSpellingsOfTheSame(self):
        """Empty parts, counts of NumPy, labels as a column of whole numbers, in the folder of an earlier result."""
        self.write_set()
        self.save("meta.pt", {name: np.int64(count) for name, count in self.COUNTS.items()})
        self.save("split_dict.pt", {"train": np.array([0]), "valid": np.array([], np.int64), "test": np.array([4])})
        self.array("paper/node_label.npy", np.array([[3], [0], [1], [-1], [2]]))
        (self.folder / "set").mkdir()
        self.assertIn("--force", self.convert(status=1))
        self.convert("--force", "--missing-features", "zero")
        arrays_of, _ = self.made()
        np.testing.assert_array_equal(arrays_of["labels"], [3, 0, 1, -1, 2] + [-1] * 5)
        np.testing.assert_array_equal(arrays_of["split"], [0, 255, 255, 255, 2] + [255] * 5)

    def test_APickleTakesNoMemoryThatItDoesNotBring(self):
        self.write_set()
        class Many:
            def __reduce__(self):
                return np.ndarray, ((10**12,), "i8")
        self.save("split_dict.pt", {"train": Many()})
        self.assertIn("split_dict.pt: cannot be read", self.convert(status=1))

    def test_AKilledConversionLeavesNothingToTheNextOne(self):
        self.write_set()
        left = self.folder / "..set.import.partial-1234567"
        left.mkdir()
        (left / "edges.npy").write_bytes(b"x")
        self.convert("--missing-features", "zero")
        self.assertFalse(left.exists())

    def test_AreNotReadWithoutBeingConverted(self):
        self.write_set()
        run = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "info", self.folder / "mag"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("orrery dataset convert makes a folder that can be read", run.stderr)

    def test_WrongFilesAreErrorsOfOneLine(self):
        class Evil:
            def __reduce__(self):
                return os.system, ("touch " + str(test.folder / "evil"),)
        test = self
        for damage, said in (
                (lambda: self.save("meta.pt", Evil()), "holds posix.system, which is no number"),
                (lambda: (self.folder / "mag/meta.pt").write_bytes(b"no zip"), "no zip archive as torch.save"),
                (lambda: self.save("meta.pt", self.COUNTS, "archive/other"), "expected one data.pkl, found 0"),
                (lambda: self.save("meta.pt", [1]), "expected a dict, found list"),
                (lambda: self.save("meta.pt", {"paper": -1}), "expected names with counts, found 'paper': -1"),
                (lambda: self.save("meta.pt", {"paper": 5}), "expected the count of each type that folders in processed name, found none of author"),
                (lambda: self.save("meta.pt", self.COUNTS | {"num_features": 8}),
                 "expected types of folders in processed, and num_classes, found num_features"),
                (lambda: self.save("meta.pt", self.COUNTS | {"author": 10**8}), "bytes of arrays, found 100000007"),
                (lambda: (self.folder / "mag/meta.pt").unlink() or os.mkfifo(self.folder / "mag/meta.pt"),
                 "expected a file, found something else"),
                (lambda: os.rename(self.folder / "mag/processed/paper___cites___paper",
                                   self.folder / "mag/processed/paper___paper"), "expected SOURCE___NAME___DESTINATION"),
                (lambda: self.array("author___writes___paper/edge_index.npy", np.array([[3], [0]])),
                 "row 0, element 0: expected a vertex of type author from 0 to 2, found 3"),
                (lambda: self.array("author___writes___paper/edge_index.npy", np.zeros((3, 2), int)),
                 "expected shape [2, any], found [3, 2]"),
                (lambda: self.array("author___writes___paper/edge_index.npy", np.zeros((2, 2))),
                 "expected whole numbers, found float64"),
                (lambda: self.array("paper/node_label.npy", np.float32([3, 4, 1, np.nan, 2])),
                 "node_label.npy, element 1: expected a class below 4, -1 or NaN, found 4"),
                (lambda: self.array("paper/node_label.npy", np.float32([3, 0, np.inf, 1, 2])), "NaN, found inf"),
                (lambda: self.array("paper/node_label.npy", np.array(list("abcde"))), "expected a .npy of numbers"),
                (lambda: shutil.copy(self.folder / "mag/meta.pt", self.folder / "mag/processed/paper/node_label.npy"),
                 "expected a .npy of numbers, found another archive"),
                (lambda: (self.folder / "mag/processed/paper/node_feat.npy").unlink()
                 or os.symlink("nowhere", self.folder / "mag/processed/paper/node_feat.npy"), "a link to nothing"),
                (lambda: self.array("paper/node_feat.npy", np.zeros((5, 2))), "expected float32 or float16, "),
                (lambda: self.array("paper/node_feat.npy", np.full((5, 2), np.nan, np.float16)),
                 "mag/processed/paper/node_feat.npy:row 0, column 0: expected a finite number"),
                (lambda: self.array("paper/node_label.npy", np.zeros(4)), "expected shape [5], found [4]"),
                (lambda: self.array("paper/node_feat.npy", np.zeros((4, 2), np.float16)), "expected shape [5, any], found [4, 2]"),
                (lambda: self.save("split_dict.pt", {"train": np.array([5])}),
                 "expected a vertex of type paper from 0 to 4, found 5"),
                (lambda: self.save("split_dict.pt", {"train": np.array([1]), "valid": np.array([1])}),
                 "a vertex is in two of train, validation and test"),
                (lambda: self.save("split_dict.pt", {"rest": np.array([1])}), "expected arrays train, valid and test"),
                (lambda: shutil.rmtree(self.folder / "mag/processed/paper"), "expected labels of one type"),
        ):
            with self.subTest(said):
                self.write_set()
                damage()
                error = self.convert(status=1)
                self.assertIn(said, error)
                self.assertEqual(len(error.strip().splitlines()), 1, error)
                self.assertFalse((self.folder / "set").exists())
        self.assertFalse((self.folder / "evil").exists())


class Arrays(unittest.TestCase):
    """What `orrery dataset convert` takes from other programs, through the program."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def convert(self, source, *words, status=0):
        run = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "convert", self.folder / source,
                              self.folder / "set", *words], capture_output=True, text=True, check=False, env=HERE)
        self.assertEqual(run.returncode, status, run.stderr)
        if status:
            self.assertEqual([file for file in self.folder.glob(".*")], [])
            return run.stderr
        made = {file.stem: np.load(file) for file in (self.folder / "set").glob("*.npy")}
        return made, " ".join(json.loads((self.folder / "set/meta.json").read_text())["notes"])

    GIVEN = {"edge_index": np.array([[0, 1, 2], [1, 2, 0]]), "x": np.arange(6, dtype=np.float16).reshape(3, 2),
             "y": np.array([0, 1, -1]), "train_mask": np.array([True, False, False]),
             "val_mask": np.array([False, True, False]), "edge_weight": np.array([1.5, 2, 3]),
             "edge_attr": np.array([[0.5], [1], [-2]])}

    def expect_given(self, made, notes):
        np.testing.assert_array_equal(made["edges"], [[0, 1, 2], [1, 2, 0]])
        np.testing.assert_array_equal(made["edge_weights"], np.float32([1.5, 2, 3]))
        np.testing.assert_array_equal(made["edge_features"], np.float32([[0.5], [1], [-2]]))
        np.testing.assert_array_equal(made["features"], np.float32([[0, 1], [2, 3], [4, 5]]))
        np.testing.assert_array_equal(made["labels"], [0, 1, -1])
        np.testing.assert_array_equal(made["split"], [0, 1, 255])
        for words in ("edges: converted from int64", "features: converted from float16",
                      "labels: converted from int64", "edge weights: converted from float64"):
            self.assertIn(words, notes)

    def test_ASetOfOgbWithSeveralTypes(self):
        for name, text in {"num-node-dict": "author,paper\n2,3\n", "triplet-type-list": "author,writes,paper\n",
                           "relations/author___writes___paper/edge": "0,0\n0,2\n1,1\n",
                           "relations/author___writes___paper/num-edge-list": "3\n",
                           "node-feat/paper/node-feat": "1.0\n2.0\n4.0\n", "node-label/paper/node-label": "1\n0\n1\n"}.items():
            path = self.folder / f"mag/raw/{name}.csv.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(path, "wt") as out:
                out.write(text)
        for words, authors in (((), [2.5, 2]), (("--missing-features", "zero", "--force"), [0, 0])):
            made, notes = self.convert("mag", *words)
            np.testing.assert_array_equal(made["edges"], [[0, 0, 1], [2, 4, 3]])
            np.testing.assert_array_equal(made["edge_relations"], [0, 0, 0])
            np.testing.assert_array_equal(made["features"], np.float32([*authors, 1, 2, 4]).reshape(5, 1))
            np.testing.assert_array_equal(made["labels"], [-1, -1, 1, 0, 1])
            self.assertIn("author have none", notes)

    def test_Npz(self):
        np.savez(self.folder / "given.npz", **self.GIVEN)
        self.expect_given(*self.convert("given.npz"))

    def test_AFolderOfNpy(self):
        (self.folder / "given").mkdir()
        for name, array in self.GIVEN.items():
            np.save(self.folder / "given" / name, array)
        self.expect_given(*self.convert("given"))

    def test_NumbersOfTheVerticesOfEachPartAreASplit(self):
        without = {name: array for name, array in self.GIVEN.items() if "mask" not in name}
        for parts in ({"train_idx": np.array([0]), "val_idx": np.array([1])},
                      {"idx_train": np.array([0]), "valid_index": np.array([1]), "test_idx": np.array([])},
                      {"train": np.array([True, False, False]), "valid_mask": np.array([0, 1, 0])},
                      {"train_mask": np.array([1.0, 0, 0]), "train_idx": np.array([0]), "val_idx": np.array([1])},
                      {"train": np.array([1, 0, 0], np.uint8), "val": np.array([1])},
                      {"train_mask": np.array([1, 0, 0], np.uint8), "val_idx": np.array([1], np.uint8)}):
            with self.subTest(list(parts)):
                np.savez(self.folder / "given.npz", **without, **parts)
                made, notes = self.convert("given.npz", "--force")
                np.testing.assert_array_equal(made["split"], [0, 1, 255])
                self.assertNotIn("not used", notes)

    def test_NumbersOfVerticesMayBeBytes(self):
        given = {"edge_index": np.array([[0, 1, 2], [1, 2, 3]]), "num_nodes": 4}
        for numbers, split in (([0, 1, 0, 1], [0, 0, 255, 255]), ([2, 3], [255, 255, 0, 0])):
            for name in ("train_idx", "idx_train", "train_nodes"):
                with self.subTest(name, numbers=numbers):
                    np.savez(self.folder / "given.npz", **given, **{name: np.array(numbers, np.uint8)})
                    np.testing.assert_array_equal(self.convert("given.npz", "--force")[0]["split"], split)

    def test_ArraysAndColumnsWithoutAMeaningAreNamed(self):
        np.savez(self.folder / "given.npz", **self.GIVEN, feats=np.ones((3, 2)), years=np.arange(3))
        made, notes = self.convert("given.npz")
        self.expect_given(made, notes)
        self.assertIn("these arrays are not used: feats, years; known names: edges, edge_index; ", notes)
        (self.folder / "e.csv").write_text("src,dst,time\n0,1,5\n")
        _, notes = self.convert("e.csv", "--force")
        self.assertIn("these columns of e.csv are not used: time", notes)

    def names(self):
        """What the folder keeps, and what the program says of it."""
        said = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "info", self.folder / "set"], check=True,
                              capture_output=True, text=True).stdout
        path = self.folder / "set/names.txt"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else None, said

    def test_TextsWithGapsKeepTheirNumbers(self):
        (self.folder / "gap.txt").write_text("35 10\n10 20\n")
        made, _ = self.convert("gap.txt")
        np.testing.assert_array_equal(made["ids"], [10, 20, 35])
        np.testing.assert_array_equal(made["edges"], [[0, 2], [1, 0]])
        self.assertIn("vertex 0 is 10, vertex 2 is 35; ids.npy", self.names()[1])
        again = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "convert", self.folder / "set",
                                self.folder / "copy"], check=True, capture_output=True, text=True, env=HERE)
        self.assertIn("copy/ids.npy: what each vertex is called", again.stdout)
        np.testing.assert_array_equal(np.load(self.folder / "copy/ids.npy"), [10, 20, 35])

    def test_TablesKeepWhatTheirVerticesAreCalled(self):
        (self.folder / "e.csv").write_text("src,dst\n900000,5\n5,70000\n")
        made, _ = self.convert("e.csv")
        np.testing.assert_array_equal(made["ids"], [5, 70000, 900000])
        (self.folder / "e.csv").write_text('src,dst\nbob,"a\nb"\nbob,zo\u00eb\n', encoding="utf-8")
        made, _ = self.convert("e.csv", "--force")
        self.assertNotIn("ids", made)
        names, said = self.names()
        self.assertEqual(names, ["a\\nb", "bob", "zo\u00eb"])
        self.assertIn("vertex 2 is zo\u00eb; names.txt", said)
        (self.folder / "e.csv").write_text("src,dst\n0,1\n1,3\n")
        made, _ = self.convert("e.csv", "--force")
        self.assertEqual((self.names()[0], "ids" in made), (None, False))

    def table(self, name, *rows):
        (self.folder / name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        return str(self.folder / name)

    def called(self, *words):
        """What `convert` says that the vertices are called, and the edges in these words."""
        made, _ = self.convert(*words, "--force")
        names = made["ids"].tolist() if "ids" in made else self.names()[0]
        return names, [tuple(names[end] for end in edge) for edge in made["edges"].T]

    def test_LargeNumbersOfVerticesKeepEveryDigit(self):
        most = 2**64 - 1
        expected = [str(most - 2), str(most - 1), str(most)]
        for name, rows in (("e.txt", [f"{most} {most - 1}", f"{most - 2} {most}"]),
                           ("e.csv", ["source,target", f"{most},{most - 1}", f"{most - 2},{most}"])):
            self.table(name, *rows)
            self.assertEqual(self.called(name),
                             (expected, [(expected[0], expected[2]), (expected[2], expected[1])]))
        self.table("e.csv", "source,target", f"{most},1")
        self.assertEqual(self.called("e.csv"), (["1", str(most)], [(str(most), "1")]))
        for one, other in ((most, -1), (2**64, 2**64 + 1)):  # more than 64 bits hold
            self.table("e.csv", "source,target", f"{one},{other}")
            names, edges = self.called("e.csv")
            self.assertEqual((sorted(names), edges), (sorted([str(one), str(other)]), [(str(one), str(other))]))

    def test_WholeNumbersOfVerticesMayBeNegativeOrWrittenAsFractions(self):
        self.table("e.csv", "source,target", "-7.0,5", "5.0,6")
        self.assertEqual(self.called("e.csv"), ([-7, 5, 6], [(-7, 5), (5, 6)]))
        self.table("e.csv", "source,target", f"{2**60}.0,{2**60}", f"{2**60 + 1}.0,5")
        self.assertEqual(self.called("e.csv")[0], [5, 2**60, 2**60 + 1])
        vertices = self.table("v.csv", "id", "0.0", "1.0", "2.0")
        self.table("e.csv", "source,target", "2,0")
        made, _ = self.convert("e.csv", "--vertices", vertices, "--force")
        np.testing.assert_array_equal(made["edges"], [[2], [0]])
        self.table("e.csv", "source,target", "1e9,1000000000", "1.000000000000000000e+00,2")  # as numpy.savetxt writes
        self.assertEqual(self.called("e.csv"), ([1, 2, 10**9], [(1, 2), (10**9, 10**9)]))
        self.table("e.csv", "source,target", "1,2", "nan,1")
        self.assertIn("a vertex", self.convert("e.csv", "--force", status=1))
        self.table("e.csv", "source,target", "1.10,1.1")
        self.assertEqual(self.called("e.csv")[0], ["1.1", "1.10"])

    def test_NumbersBesideWordsAreWords(self):
        self.table("e.csv", "from,to", "1,a", "02,b")
        self.assertEqual(self.called("e.csv"), (["02", "1", "a", "b"], [("02", "b"), ("1", "a")]))
        self.table("e.csv", "from,to", "1,2", "2,1")
        vertices = self.table("v.csv", "id,label", "b,x", "2,y", "1,x")
        self.assertEqual(self.called("e.csv", "--vertices", vertices),
                         (["b", "2", "1"], [("2", "1"), ("1", "2")]))
        for rows in (["a", "b"], []):
            vertices = self.table("v.csv", "id", *rows)
            self.assertIn("e.csv: vertex 1 is not in the table of vertices",
                          self.convert("e.csv", "--vertices", vertices, "--force", status=1))

    def test_NumbersWithUnderscoresAreWords(self):
        self.table("e.csv", "from,to", "1_0,10", "1_1,10")
        self.assertEqual(self.called("e.csv")[0], ["10", "1_0", "1_1"])
        self.table("e.csv", "from,to", "0,1")
        made, _ = self.convert("e.csv", "--force", "--vertices", self.table("v.csv", "id,label", "0,1_0", "1,10"))
        np.testing.assert_array_equal(made["labels"], [1, 0])

    def test_VerticesGoWithATableAlone(self):
        (self.folder / "gap.txt").write_text("10 20\n")
        self.assertIn("--vertices: goes with a table of edges alone, and '",
                      self.convert("gap.txt", "--vertices", "v.csv", status=2))

    def test_TablesWithNames(self):
        (self.folder / "e.csv").write_text("source,target,weight\nann,bob,1.5\nbob,cy,2\ncy,ann,3\n")
        (self.folder / "v.csv").write_text("id,label,split,a,b\nann,red,train,0,1\nbob,blue,val,2,3\ncy,red,,4,5\n")
        self.expect_named(*self.convert("e.csv", "--vertices", str(self.folder / "v.csv")))

    def expect_named(self, made, notes):
        np.testing.assert_array_equal(made["edges"], [[0, 1, 2], [1, 2, 0]])
        np.testing.assert_array_equal(made["edge_weights"], np.float32([1.5, 2, 3]))
        np.testing.assert_array_equal(made["features"], np.float32([[0, 1], [2, 3], [4, 5]]))
        np.testing.assert_array_equal(made["labels"], [1, 0, 1])
        np.testing.assert_array_equal(made["split"], [0, 1, 255])
        self.assertIn("alphabetical order: blue, red", notes)

    def test_WhatIsEmptyIsNoLabel(self):
        (self.folder / "e.csv").write_text("src,dst\n0,1\n1,2\n")
        for given, labels in ((["2", "", "10"], [2, -1, 10]), (["b", "", "a"], [1, -1, 0])):
            (self.folder / "v.csv").write_text("id,y\n" + "".join(f"{i},{one}\n" for i, one in enumerate(given)))
            made, _ = self.convert("e.csv", "--vertices", str(self.folder / "v.csv"), "--force")
            np.testing.assert_array_equal(made["labels"], labels)
        (self.folder / "e.csv").write_text("src,dst\n0,1\n1,\n")
        shutil.rmtree(self.folder / "set")
        self.assertIn("column dst, row 2: expected a vertex", self.convert("e.csv", status=1))

    def parquet(self, name, **columns):
        pyarrow.parquet.write_table(pyarrow.table(columns), self.folder / name)

    @WITH_PYARROW
    def test_Parquet(self):
        self.parquet("e.parquet", src=[5, 6], dst=[6, 7])
        made, _ = self.convert("e.parquet")
        np.testing.assert_array_equal(made["edges"], [[5, 6], [6, 7]])

    @WITH_PYARROW
    def test_NumbersOfVerticesInParquetMayHaveSeveralTypes(self):
        first = 2**60
        source, target = np.array([first, first + 1]), np.array([first + 2, first + 3], np.uint64)
        self.parquet("e.parquet", source=source, target=target)
        ids, edges = list(range(first, first + 4)), [(first, first + 2), (first + 1, first + 3)]
        self.assertEqual(self.called("e.parquet"), (ids, edges))
        for kind in (np.int64, np.uint64):
            self.parquet("v.parquet", id=np.array(ids[::-1], kind))
            self.assertEqual(self.called("e.parquet", "--vertices", str(self.folder / "v.parquet")),
                             (ids[::-1], edges[::-1]))
        self.parquet("e.parquet", source=np.array([-5]), target=np.array([2**64 - 1], np.uint64))
        self.assertEqual(self.called("e.parquet")[0], ["-5", str(2**64 - 1)])
        self.parquet("e.parquet", source=np.array([1.0, 2000]), target=np.array([2000, 3], np.int16))
        self.assertEqual(self.called("e.parquet"), ([1, 3, 2000], [(1, 2000), (2000, 3)]))

    @WITH_PYARROW
    def test_NumbersBesideWordsInParquetAreWords(self):
        for source in (np.array([1, 2]), np.array([1.0, 2]), [b"1", b"2"]):
            self.parquet("e.parquet", src=source, dst=["a", "1"])
            self.assertEqual(self.called("e.parquet"), (["1", "2", "a"], [("1", "a"), ("2", "1")]))
        vertices = self.table("v.csv", "id", "2", "1", "a")
        self.assertEqual(self.called("e.parquet", "--vertices", vertices)[0], ["2", "1", "a"])
        self.parquet("e.parquet", src=["01"], dst=["1"])
        self.assertEqual(self.called("e.parquet")[0], ["01", "1"])

    @WITH_PYARROW
    def test_ParquetWithVerticesSaysTheSameAsCsv(self):
        self.parquet("e.parquet", source=["ann", "bob", "cy"], target=["bob", "cy", "ann"],
                     weight=np.float16([1.5, 2, 3]))
        self.parquet("v.parquet", id=["ann", "bob", "cy"], label=["red", "blue", "red"], split=["train", "val", None],
                     a=[0, 2, 4], b=[1.0, 3.0, 5.0])
        self.expect_named(*self.convert("e.parquet", "--vertices", str(self.folder / "v.parquet")))

    @WITH_PYARROW
    def test_FeaturesInOneColumnOfParquet(self):
        self.parquet("e.parquet", src=[0], dst=[1])
        self.parquet("v.parquet", id=[0, 1], x=[[1.0, 2.0], [3.0, 4.0]], more=[5, 6])
        made, _ = self.convert("e.parquet", "--vertices", str(self.folder / "v.parquet"))
        np.testing.assert_array_equal(made["features"], np.float32([[1, 2, 5], [3, 4, 6]]))

    @WITH_PYARROW
    def test_MistakesInParquet(self):
        self.parquet("e.parquet", src=[0], dst=[1])
        for columns, words in [({"x": [[1.0, 2.0], [3.0]]}, "column x"), ({"x": [1.0, None]}, "finite float32"),
                               ({"x": ["a", "b"]}, "column x"), ({"split": ["a", None]}, "split")]:
            with self.subTest(columns):
                self.parquet("v.parquet", id=[0, 1], **columns)
                self.assertIn(words, self.convert("e.parquet", "--vertices", str(self.folder / "v.parquet"), status=1))
        for source in ([0, None], ["a", None], np.array(["2026-01-01", "NaT"], "datetime64[us]")):
            self.parquet("e.parquet", src=source, dst=[1, 0])
            self.assertIn("column src, row 2: expected a vertex", self.convert("e.parquet", status=1))
        (self.folder / "e.parquet").write_bytes(b"PAR1 cut")
        self.assertIn("e.parquet", self.convert("e.parquet", status=1))

    def test_Mistakes(self):
        for changes, words in [({"edge_index": np.zeros((3, 3), int)}, "shape [2, E]"),
                               ({"edge_index": np.array([[0, 9], [1, 1]])}, "vertex 9, but there are 3"),
                               ({"edge_index": np.array([[-1], [0]])}, "0 to"),
                               ({"x": np.full((3, 1), np.nan)}, "a finite float32"),
                               ({"x": np.full((3, 1), 1e300)}, "a finite float32"),
                               ({"y": np.array([0.5, 1, 2])}, "fractions"),
                               ({"y": np.array([0, 1])}, "but labels 2"),
                               ({"train_mask": np.array([True])}, "but train_mask 1"),
                               ({"train_mask": np.array([0, 7, 0])}, "train_mask, element 1: expected 0 to 1, found 7"),
                               ({"test_idx": np.array([3])}, "test_idx, element 0: expected 0 to 2, found 3"),
                               ({"test_idx": np.array([0])}, "a vertex is in two of train"),
                               ({"train_idx": np.array([2])}, "train_mask and train_idx are different vertices"),
                               ({"edge_weight": np.ones(5)}, "one for each of 3 edges"),
                               ({"x": np.array([["a"]], object)}, "no .npz of arrays of numbers")]:
            with self.subTest(words):
                np.savez(self.folder / "given.npz", **(self.GIVEN | changes))
                self.assertIn(words, self.convert("given.npz", status=1))

    def test_TwoNamesOfOneArray(self):
        with self.assertRaisesRegex(arrays.ImportProblem, "both edges and edge_index"):
            arrays.from_arrays({"edges": np.zeros((2, 1), int), "edge_index": np.zeros((2, 1), int)}, "here")


if __name__ == "__main__":
    unittest.main()
