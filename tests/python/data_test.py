"""Data sets of other libraries, as the program reads them."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from types import SimpleNamespace

import networkx
import numpy as np
import scipy.sparse

sys.path[:0] = [os.environ["ORRERY_SOURCES"] + "/python", os.environ["ORRERY_BUILD"] + "/python"]
import orrery


class Tensor:
    """A stand-in for a tensor of PyTorch, with the members that are used here."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def detach(self):
        return self

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


class Datasets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.set = self.folder / "set"

    def info(self):
        said = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "info", self.set, "--json"],
                              check=True, capture_output=True, text=True)
        return json.loads(said.stdout.splitlines()[-1])

    def notes(self):
        return " ".join(json.loads((self.set / "meta.json").read_text())["notes"])

    def test_TheProgramReadsWhatWasWritten(self):
        rng = np.random.default_rng(0)
        orrery.write_dataset(
            self.set, [[0, 1, 2], [1, 2, 3]], num_nodes=5, symmetric=True,
            features=rng.random((5, 3)), labels=np.array([0, 1, 2, 1, -1]),
            split=np.array([0, 0, 1, 2, 255]))

        info = self.info()

        self.assertEqual((info["vertices"], info["edges"]), (5, 6))
        self.assertIn("float64", self.notes())
        self.assertIn("edges were int64 and are int32 here", self.notes())

    def test_ScipyMatricesAreRowsOfInNeighbours(self):
        matrix = scipy.sparse.random(40, 40, 0.1, random_state=1, format="csr")

        orrery.from_scipy(matrix, self.set)

        source, destination = np.load(self.set / "edges.npy")
        back = scipy.sparse.coo_matrix((np.ones(len(source)), (destination, source)), (40, 40))
        self.assertEqual((back.tocsr() != (matrix != 0)).nnz, 0)
        self.assertIn("values of the matrix are weights of the edges", self.notes())
        weighted = scipy.sparse.coo_matrix((np.load(self.set / "edge_weights.npy"), (destination, source)), (40, 40))
        self.assertLess(abs(weighted.tocsr() - matrix).max(), 1e-7)
        self.assertEqual(self.info()["edges"], matrix.nnz)

    def test_NetworkxGraphsKeepTheirAttributes(self):
        network = networkx.karate_club_graph()
        networkx.set_node_attributes(network, {v: int(c == "Mr. Hi") for v, c in
                                               network.nodes(data="club")}, "side")

        orrery.from_networkx(network, self.set, labels="side")

        self.assertEqual(self.info()["edges"], 2 * network.number_of_edges())
        self.assertEqual(np.load(self.set / "labels.npy").sum(), 17)
        with self.assertRaisesRegex(orrery.DataError, "no attribute 'x'"):
            orrery.from_networkx(network, self.folder / "other", labels="x")

    def test_WordsAreClassesInAlphabeticalOrder(self):
        network = networkx.karate_club_graph()
        clubs = [club for _, club in network.nodes(data="club")]

        orrery.from_networkx(network, self.set, labels="club")

        self.assertEqual(np.load(self.set / "labels.npy").tolist(), [int(club == "Officer") for club in clubs])
        self.assertIn("classes are numbered in alphabetical order: Mr. Hi, Officer", self.notes())
        info = self.info()
        self.assertEqual((info["classes"], info["vertices"]), (2, 34))
        for words in (np.array(["b", "", "a"]), np.array(["b", None, "a"], object), np.array([b"b", b"", b"a"]),
                      [["b"], [""], ["a"]]):
            orrery.write_dataset(self.set, [[0, 1], [1, 2]], labels=words, force=True)
            self.assertEqual(np.load(self.set / "labels.npy").tolist(), [1, -1, 0])
        for numbers in (np.array([1, None, 0], object), np.array([np.int64(1), float("nan"), 0], object)):
            orrery.write_dataset(self.set, [[0, 1], [1, 2]], labels=numbers, force=True)
            self.assertEqual(np.load(self.set / "labels.npy").tolist(), [1, -1, 0])
            self.assertNotIn("alphabetical", self.notes())

    def test_WhatIsRefusedIsAnErrorOfOrrery(self):
        edges, ragged, words = [[0, 1], [1, 2]], [[1], [1, 2], [3]], np.array(["a", "b", "c"])
        for given in ({"labels": ragged}, {"labels": np.array([["a"] * 2] * 3)}, {"labels": np.zeros(3, complex)},
                      {"labels": np.array([1, (), 2], object)}, {"labels": np.array([0, np.inf, 1])},
                      {"labels": np.array([0, 2**70, 1], object)}, {"labels": np.zeros(3, "datetime64[s]")},
                      {"labels": np.array(["a", 0.5, "b"], object)}, {"features": ragged}, {"features": words[:, None]},
                      {"edge_weights": words[:2]}, {"edge_weights": ragged}, {"edge_features": words[:2, None]},
                      {"split": words}, {"split": (words, None, None)}, {"split": (ragged, None, None)}):
            with self.subTest(given=given), self.assertRaises(orrery.Error):
                orrery.write_dataset(self.set, edges, **given)
            self.assertFalse(self.set.exists())
        for odd in ([["a", "b"], ["b", "c"]], [[0, 1], [1]], [0, 1, 2]):
            with self.subTest(edges=odd), self.assertRaises(orrery.Error):
                orrery.write_dataset(self.set, odd)
        network = networkx.path_graph(3)
        for name, values in (("unequal", ragged), ("words", ["a", "b", "c"]), ("lists", [[1], [2], [3]])):
            networkx.set_node_attributes(network, dict(enumerate(values)), name)
            networkx.set_edge_attributes(network, dict(zip(network.edges, values)), name)
        for given in ({"features": "unequal"}, {"features": "words"}, {"labels": "unequal"}, {"split": "words"},
                      {"edge_weights": "unequal"}, {"edge_weights": "words"}):
            with self.subTest(given=given), self.assertRaises(orrery.Error):
                orrery.from_networkx(network, self.set, **given)

    def test_WeightsOfNetworkxEdges(self):
        network = networkx.Graph()
        network.add_weighted_edges_from([("a", "b", 2), ("b", "c", 0.5), ("c", "c", 3)])
        networkx.set_edge_attributes(network, 4, "length")

        orrery.from_networkx(network, self.set)

        held = dict(zip(map(tuple, np.load(self.set / "edges.npy").T.tolist()),
                        np.load(self.set / "edge_weights.npy").tolist()))
        self.assertEqual(held, {(0, 1): 2, (1, 0): 2, (1, 2): 0.5, (2, 1): 0.5, (2, 2): 3})
        self.assertIn("'weight' of edges", self.notes())
        orrery.from_networkx(network, self.set, edge_weights="length", force=True)
        self.assertEqual(set(np.load(self.set / "edge_weights.npy")), {4})
        orrery.from_networkx(network, self.set, edge_weights=None, force=True)
        self.assertFalse((self.set / "edge_weights.npy").exists())
        with self.assertRaisesRegex(orrery.DataError, "attribute 'width'"):
            orrery.from_networkx(network, self.set, edge_weights="width", force=True)
        network.add_edge("a", "c")
        orrery.from_networkx(network, self.set, force=True)
        self.assertIn("every edge has to have one", self.notes())

    def test_MasksOfObjectsAreMasks(self):
        orrery.write_dataset(self.set, np.array([[0, 1], [1, 0]]), labels=[0, 1],
                             split=(np.array([True, False], object), np.array([False, True], object), None))
        self.assertEqual(np.load(self.set / "split.npy").tolist(), [0, 1])

    def test_ASetThatCannotBeReplacedStays(self):
        network = networkx.path_graph(4)
        orrery.from_networkx(network, self.set)
        kept = (self.set / "meta.json").read_text()
        moves = []

        def move(source, target):
            moves.append(target)
            if len(moves) == 2:
                raise OSError("the disk has failed")
            Path(source).rename(target)

        with unittest.mock.patch("os.replace", move), self.assertRaisesRegex(OSError, "failed"):
            orrery.from_networkx(networkx.path_graph(5), self.set, force=True)

        self.assertEqual((self.set / "meta.json").read_text(), kept)
        self.assertEqual([p.name for p in self.set.parent.iterdir() if p.name.startswith(".")], [])

        moves.clear()

        def move_once(source, target):
            moves.append(target)
            if len(moves) > 1:
                raise OSError("the disk has failed")
            Path(source).rename(target)

        with unittest.mock.patch("os.replace", move_once), self.assertRaisesRegex(OSError, "failed"):
            orrery.from_networkx(networkx.path_graph(5), self.set, force=True)
        hidden, = (p for p in self.set.parent.iterdir() if p.name.startswith("."))
        self.assertEqual((hidden / "set" / "meta.json").read_text(), kept, "it is not lost, though its name is")

    def test_FeaturesOfEdgesFollowTheEdges(self):
        edges, rows = [[2, 0, 2, 1], [0, 1, 0, 1]], np.arange(8).reshape(4, 2)  # 2 -> 0 comes twice

        orrery.write_dataset(self.set, edges, edge_features=rows, symmetric=True)

        held = dict(zip(map(tuple, np.load(self.set / "edges.npy").T.tolist()),
                        np.load(self.set / "edge_features.npy").tolist()))
        self.assertEqual(held, {(2, 0): [0, 1], (0, 2): [0, 1], (0, 1): [2, 3], (1, 0): [2, 3], (1, 1): [6, 7]})
        self.assertIn("edge features were int64", self.notes())
        with self.assertRaisesRegex(orrery.ShapeError, r"edge_features: expected \[4, F\]"):
            orrery.write_dataset(self.set, edges, edge_features=rows[1:], force=True)

    def test_DataOfEdgesThatAreNoFeaturesAreLeftOutWithANote(self):
        for given in (np.ones((2, 1, 3)), np.ones((2, 0)), [np.nan, 1], [1j, 2]):
            data = SimpleNamespace(edge_index=Tensor([[0, 1], [1, 2]]), num_nodes=3, edge_attr=Tensor(given))
            orrery.from_pyg(data, self.set, edge_weights=[1, 2], force=True)
            self.assertIn("left out: edge_attr", self.notes())
            self.assertFalse((self.set / "edge_features.npy").exists())

        data.edge_attr = Tensor([5, 6])
        orrery.from_pyg(data, self.set, edge_weights=[1, 2], force=True)

        np.testing.assert_array_equal(np.load(self.set / "edge_features.npy"), [[5], [6]])

    def test_DataOfPygAndGraphsOfDglAreTheSame(self):
        edges, x, y = [[0, 1], [1, 2]], np.ones((3, 2), np.float16), np.array([0, 1, 1])
        masks = np.eye(3, dtype=bool)
        parts = ("train_mask", "val_mask", "test_mask")
        data = SimpleNamespace(edge_index=Tensor(edges), x=Tensor(x), y=Tensor(y), num_nodes=3,
                               edge_attr=Tensor([1, 1]),
                               **{part: Tensor(mask) for part, mask in zip(parts, masks)})
        network = SimpleNamespace(
            ntypes=["_N"], num_nodes=lambda: 3, edges=lambda: tuple(map(Tensor, edges)),
            ndata={"feat": Tensor(x), "label": Tensor(y),
                   **{part: Tensor(mask) for part, mask in zip(parts, masks)}},
            edata={"length": Tensor([1, 2]), "weight": Tensor([3, 4]), "feat": Tensor([[1], [1]])})

        orrery.from_pyg(data, self.set)
        orrery.from_dgl(network, self.folder / "dgl")

        self.assertIn("left out: length", (self.folder / "dgl/meta.json").read_text())
        np.testing.assert_array_equal(np.load(self.folder / "dgl/edge_weights.npy"), [3, 4])
        for file in ("edges.npy", "edge_features.npy", "features.npy", "labels.npy", "split.npy"):
            self.assertEqual((self.set / file).read_bytes(), (self.folder / "dgl" / file).read_bytes())
        np.testing.assert_array_equal(np.load(self.set / "split.npy"), [0, 1, 2])
        self.assertIn("edge_attr are features of the edges", self.notes())
        self.assertIn("float16", self.notes())
        self.assertEqual(self.info()["vertices"], 3)
        with self.assertRaisesRegex(orrery.DataError, r"data_set\[0\]"):  # a data set of PyG passes attributes on
            orrery.from_pyg(SimpleNamespace(edge_index=Tensor(edges)), self.folder / "other")

    def test_NumbersThatNumpyDoesNotKnowAreToldByTheirName(self):
        class Bfloat16(Tensor):
            dtype = "torch.bfloat16"

            def float(self):
                return Tensor(np.float32(self.values))

        orrery.write_dataset(self.set, np.int32([[0], [1]]), features=Bfloat16([[1], [2]]), edge_weights=Bfloat16([3]))

        self.assertEqual(self.notes(), "edge weights were bfloat16 and are float32 here "
                                       "features were bfloat16 and are float32 here")

    def test_MistakesLeaveNothingBehind(self):
        wrong = [({"features": np.ones((2, 2))}, orrery.ShapeError, r"\[3, F\]"),
                 ({"features": np.full((3, 1), np.nan)}, orrery.DataError, r"features\[0, 0\]"),
                 ({"features": np.full((3, 1), 1e300)}, orrery.DataError, "finite float32"),
                 ({"features": np.full((3, 1), "a")}, orrery.DataError, "real numbers"),
                 ({"labels": np.array([0.5, 1, 2])}, orrery.DataError, "fractions"),
                 ({"labels": np.array([0, 1, -2])}, orrery.DataError, "-1 to"),
                 ({"split": np.array([0, 1, 7])}, orrery.DataError, "split"),
                 ({"split": (np.ones(3), np.ones(3), None)}, orrery.DataError, "two of")]
        for given, error, message in wrong:
            with self.subTest(given), self.assertRaisesRegex(error, message):
                orrery.write_dataset(self.set, [[0, 1], [1, 2]], **given)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_OnlyDataSetsAreReplacedAndOnlyWhenAsked(self):
        orrery.write_dataset(self.set, [[0], [1]])
        with self.assertRaisesRegex(orrery.ConfigError, "force=True"):
            orrery.write_dataset(self.set, [[0], [2]])
        orrery.write_dataset(self.set, [[0], [2]], force=True)
        self.assertEqual(self.info()["vertices"], 3)

        (self.set / "mine.txt").write_text("kept")
        with self.assertRaisesRegex(orrery.ConfigError, "nothing was replaced"):
            orrery.write_dataset(self.set, [[0], [1]], force=True)
        self.assertEqual([one.name for one in self.folder.iterdir()], ["set"])
