"""Kernels on arrays, compared with the program, SciPy and the graph itself."""

import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import scipy.sparse

sys.path[:0] = [os.environ["ORRERY_SOURCES"] + "/python", os.environ["ORRERY_BUILD"] + "/python"]
import orrery


def random_edges(vertices=2000, edges=12000, seed=1):
    return np.random.default_rng(seed).integers(0, vertices, (2, edges)).astype(np.int32)


class Graphs(unittest.TestCase):
    def test_RowsAreInNeighboursWithoutDuplicates(self):
        made = orrery.graph([[0, 1, 1, 2], [1, 2, 2, 0]])

        self.assertEqual(made.shape, (3, 3))
        np.testing.assert_array_equal(made.indptr, [0, 1, 2, 3])
        np.testing.assert_array_equal(made.indices, [2, 0, 1])
        np.testing.assert_array_equal(made.edge_index, [[2, 0, 1], [0, 1, 2]])

    def test_EqualsTheScipyMatrixOfTheSameEdges(self):
        edges = random_edges()
        matrix = scipy.sparse.coo_matrix((np.ones(12000), (edges[1], edges[0])), (2000, 2000))

        self.assertEqual(orrery.graph(edges, 2000), orrery.graph(matrix))
        self.assertEqual(orrery.graph(matrix).transpose(), orrery.graph(matrix.T))

    def test_ViewsOutliveTheirGraph(self):
        indices = orrery.graph(random_edges()).indices
        kept = indices.copy()
        orrery.graph(random_edges(seed=2))

        np.testing.assert_array_equal(indices, kept)
        with self.assertRaises(ValueError):
            indices[0] = 1

    def test_BadEdgesAreToldByPlace(self):
        with self.assertRaisesRegex(orrery.DataError, r"edge_index\[1\]\[1\].*0 to 4.*found 5"):
            orrery.graph([[0, 1], [1, 5]], 5)
        with self.assertRaisesRegex(orrery.DataError, "found float64"):
            orrery.graph([[0.5], [1.0]])
        with self.assertRaisesRegex(orrery.DataError, "found -1"):
            orrery.graph(np.array([[0, -1], [1, 1]]))
        with self.assertRaisesRegex(orrery.DataError, "2147483647"):
            orrery.graph(np.array([[0, 2**32 + 1], [1, 1]]))
        with self.assertRaisesRegex(orrery.ShapeError, r"expected shape \[2, E\]"):
            orrery.graph([[0], [1], [2]])


class Partitions(unittest.TestCase):
    def test_EqualWhatTheProgramWrites(self):
        with tempfile.TemporaryDirectory() as folder:
            network = orrery.write_dataset(folder + "/set", random_edges(), num_nodes=2000,
                                           symmetric=True)
            edges = np.load(network / "edges.npy")
            for method, settings in [("spring", {"refine": 2}), ("hdrf", {"lambda": 2.0}),
                                     ("metis", {"objective": "volume"}), ("ldg", {}), ("random", {})]:
                with self.subTest(method):
                    words = [w for k, v in settings.items() for w in ("--set", f"partition.{k}={v}")]
                    subprocess.run(
                        [os.environ["ORRERY_PROGRAM"], "partition", network, "--method", method,
                         "--parts", "4", "--owners", folder + "/owners", "--set", "seed=3", *words],
                        check=True, capture_output=True)

                    owner = orrery.partition(edges, 4, method, num_nodes=2000, seed=3, **settings)

                    np.testing.assert_array_equal(owner, np.loadtxt(folder + "/owners", np.int32))
                    self.assertEqual(owner.dtype, np.int32)

    def test_DoNotDependOnThreads(self):
        edges = random_edges()

        for method in ("spring", "metis"):
            np.testing.assert_array_equal(orrery.partition(edges, 4, method, threads=1),
                                          orrery.partition(edges, 4, method, threads=3))

    def test_SettingsAreThoseOfTheMethod(self):
        edges = random_edges()
        for settings, message in [({"refne": 2}, "refne: is no setting of spring, which has"),
                                  ({"refine": 1.5}, "refine: expected a whole number"),
                                  ({"refine": True}, "refine: expected a number"),
                                  ({"balance": 1}, "balance: expected more than 1"),
                                  ({"merge": "x"}, "representative or persistent")]:
            with self.assertRaisesRegex(orrery.ConfigError, message):
                orrery.partition(edges, 4, "spring", **settings)
        with self.assertRaisesRegex(orrery.ConfigError, 'found "sprng", allowed'):
            orrery.partition(edges, 4, "sprng")
        with self.assertRaisesRegex(orrery.ConfigError, "parts: expected 1 to 65536, found 0"):
            orrery.partition(edges, 0)

    def test_SettingsAndBoundsAreThoseOfExperimentFiles(self):
        import json
        with open(os.environ["ORRERY_SOURCES"] + "/experiments/config/schema.json") as file:
            keys = json.load(file)["properties"]["partition"]["properties"]
        made = orrery.graph(random_edges(50, 200))
        for method in orrery.partition_methods():
            name = method["name"]
            wanted = {key for key, value in keys.items()
                      if name in value.get("x-when", {}).get("method", [])} - {"levels"}
            self.assertEqual(set(method["settings"]), wanted, name)
            for key in wanted & {k for k in keys if keys[k].get("type") in ("number", "integer")}:
                spec = keys[key]
                least = spec.get("exclusiveMinimum", spec.get("minimum"))
                below = least if "exclusiveMinimum" in spec else least - 1
                for value in (below, spec["maximum"] + 1, float("nan")):
                    with self.assertRaisesRegex(orrery.ConfigError, key):
                        orrery.partition(made, 2, name, **{key: value})


class Samples(unittest.TestCase):
    def setUp(self):
        self.graph = orrery.graph(random_edges(), 2000)
        self.seeds = np.arange(0, 2000, 3)

    def loader(self, **rest):
        return orrery.sample(self.graph, self.seeds, [5, 3], batch_size=100, seed=7, **rest)

    def test_EveryEdgeIsOfTheGraphAndFanoutsAreKept(self):
        matrix = scipy.sparse.csr_matrix(
            (np.ones(self.graph.nnz), self.graph.indices, self.graph.indptr), self.graph.shape)
        degrees = np.diff(self.graph.indptr)
        for flow in self.loader(with_edges=True):
            self.assertEqual(flow.rows[-1], len(flow.seeds))
            for fanout, block, edges in zip([3, 5], flow.blocks, flow.edges):
                column, row = block.edge_index
                source, target = flow.vertices[column], flow.vertices[row]
                self.assertTrue((matrix[target, source] == 1).all())
                np.testing.assert_array_equal(self.graph.indices[edges], source)
                np.testing.assert_array_equal(
                    np.diff(block.indptr), np.minimum(fanout, degrees[flow.vertices[:block.shape[0]]]))

    def test_AnEpochHasEverySeedOnceAndTheNextIsAnother(self):
        loader = self.loader()
        first = [flow.seeds for flow in loader]
        second = [flow.seeds for flow in loader]

        self.assertEqual(len(first), len(loader))
        np.testing.assert_array_equal(np.sort(np.concatenate(first)), self.seeds)
        np.testing.assert_array_equal(np.sort(np.concatenate(second)), self.seeds)
        self.assertFalse(np.array_equal(first[0], second[0]))

    def test_WithoutShuffleSeedsComeAsGiven(self):
        batches = [flow.seeds for flow in self.loader(shuffle=False)]

        np.testing.assert_array_equal(np.concatenate(batches), self.seeds)

    def test_DoNotDependOnWorkers(self):
        for alone, ahead in zip(self.loader(), self.loader(workers=3), strict=True):
            np.testing.assert_array_equal(alone.vertices, ahead.vertices)
            self.assertEqual(alone.blocks, ahead.blocks)

    def test_ALoopMayBeLeftEarly(self):
        for flow in self.loader(workers=2):
            break
        del flow

        self.assertFalse([t for t in threading.enumerate() if t.name.startswith("orrery-sample")])

    def test_BlocksOutliveTheirBatch(self):
        block = next(iter(self.loader())).blocks[0]

        self.assertEqual(block.indptr[-1], block.nnz)

    def test_TheProgramFindsThemUnbiased(self):
        edges = random_edges(60, 900)
        with tempfile.TemporaryDirectory() as folder:
            network = orrery.write_dataset(folder + "/set", edges, num_nodes=60)
            loader = orrery.sample(edges, np.arange(60), [4], batch_size=60, shuffle=False)
            drawn = []
            for draw in range(400):
                column, row = (flow := loader.batch(draw, 0)).blocks[0].edge_index
                drawn.append(np.stack([np.full(row.shape, draw), flow.vertices[row],
                                       flow.vertices[column]], axis=1))
            np.save(folder + "/drawn.npy", np.concatenate(drawn).astype(np.int64))

            said = subprocess.run(
                [os.environ["ORRERY_PROGRAM"], "dataset", "sample-check", folder + "/drawn.npy",
                 "--graph", network, "--fanout", "4"], capture_output=True, text=True)

            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_WeightedTakesNoEdgeOfWeightZero(self):
        weights = (np.arange(self.graph.nnz) % 2).astype(np.float32)
        for flow in self.loader(rule="weighted", weights=weights, with_edges=True):
            for edges in flow.edges:
                self.assertTrue((edges % 2 == 1).all())

    def test_MistakesAreTold(self):
        sample = lambda **rest: orrery.sample(
            self.graph, **({"seeds": [0, 1], "fanouts": [2]} | rest))
        for rest, error, message in [
                ({"seeds": [0, 0]}, orrery.DataError, "twice"),
                ({"seeds": [2000]}, orrery.DataError, "0 to 1999"),
                ({"fanouts": [0]}, orrery.ConfigError, "fanouts"),
                ({"fanouts": []}, orrery.ConfigError, "fanouts"),
                ({"fanouts": [2.5]}, orrery.ConfigError, "fanouts"),
                ({"rule": "x"}, orrery.ConfigError, "there are uniform"),
                ({"batch_size": 0}, orrery.ConfigError, "batch_size"),
                ({"rule": "weighted"}, orrery.ConfigError, "weight"),
                ({"rule": "weighted", "weights": [1.0]}, orrery.ShapeError, "weights"),
                ({"seed": -1}, orrery.ConfigError, "seed")]:
            with self.subTest(rest), self.assertRaisesRegex(error, message):
                sample(**rest)
        with self.assertRaisesRegex(orrery.ConfigError, "step"):
            sample().batch(0, 1)


class Products(unittest.TestCase):
    def setUp(self):
        self.graph = orrery.graph(random_edges(), 2000)
        self.x = np.random.default_rng(0).random((2000, 24), np.float32)
        self.values = np.random.default_rng(1).random(self.graph.nnz, np.float32)

    def matrix(self, values):
        return scipy.sparse.csr_matrix((values, self.graph.indices, self.graph.indptr), (2000, 2000))

    def test_EqualScipys(self):
        ones = np.ones(self.graph.nnz, np.float32)

        np.testing.assert_allclose(orrery.spmm(self.graph, self.x), self.matrix(ones) @ self.x, 1e-5)
        np.testing.assert_allclose(orrery.spmm(self.graph, self.x, self.values),
                                   self.matrix(self.values) @ self.x, 1e-5)

    def test_HeadsWeighTheirColumns(self):
        heads = np.stack([self.values, 1 - self.values], axis=1)

        y = orrery.spmm(self.graph, self.x, heads)

        for head in (0, 1):
            columns = slice(12 * head, 12 * head + 12)
            np.testing.assert_allclose(y[:, columns], self.matrix(heads[:, head]) @ self.x[:, columns], 1e-5)

    def test_WriteIntoWhatIsGiven(self):
        out = np.ones((2000, 24), np.float32)

        given = orrery.spmm(self.graph, self.x, out=out, beta=2)

        self.assertIs(given, out)
        np.testing.assert_allclose(out, orrery.spmm(self.graph, self.x) + 2, 1e-5)

    def test_WorkOnBlocks(self):
        flow = orrery.sample(self.graph, [1, 2, 3], [4]).batch(0, 0)

        y = orrery.spmm(flow.blocks[0], self.x[flow.vertices])

        sums = [self.x[flow.vertices[flow.blocks[0].indices[a:b]]].sum(0)
                for a, b in zip(flow.blocks[0].indptr, flow.blocks[0].indptr[1:])]
        np.testing.assert_allclose(y, sums, 1e-5)

    def test_ShapesThatDoNotFitAreTold(self):
        for x, values, rest in [(self.x[:5], None, {}), (self.x, self.values[:5], {}),
                                (self.x, None, {"out": np.empty((3, 24), np.float32)}),
                                (self.x, None, {"out": self.x}), (self.x[0], None, {}),
                                (self.x, np.ones((self.graph.nnz, 5), np.float32), {}),
                                (self.x, None, {"out": np.empty((2000, 24))})]:
            with self.assertRaises(orrery.ShapeError):
                orrery.spmm(self.graph, x, values, **rest)

    def test_MayBeEmpty(self):
        self.assertEqual(orrery.spmm(orrery.graph([[], []], 3), np.ones((3, 2))).sum(), 0)
        self.assertEqual(orrery.spmm(orrery.graph([[], []]), np.ones((0, 2))).shape, (0, 2))

    def test_NewArraysBeginAtCacheLines(self):
        for rows, width in ((3, 16), (40000, 128)):
            made = orrery.empty(rows, width)

            self.assertEqual((made.shape, made.dtype), ((rows, width), np.float32))
            self.assertEqual(made.ctypes.data % 64, 0)
            made[:] = 1
            self.assertEqual(made.sum(), rows * width)
        self.assertEqual(orrery.spmm(self.graph, self.x).ctypes.data % 64, 0)
        self.assertEqual(orrery.empty(0, 4).shape, (0, 4))
        for rows, width in ((-1, 2), (2, 1.5), ("3", 2)):
            with self.assertRaises(orrery.ConfigError):
                orrery.empty(rows, width)
        with self.assertRaises(MemoryError):
            orrery.empty(2**40, 2**30)


@unittest.skipUnless(hasattr(os, "fork"), "needs fork")
class KeptWorkers(unittest.TestCase):
    """A thread of Python keeps the workers that its first call made."""

    def setUp(self):
        self.graph = orrery.graph(random_edges(4000, 80000), 4000)
        self.x = np.random.default_rng(0).random((4000, 32), np.float32)

    def threads_of_this_process(self):
        return len(os.listdir("/proc/self/task"))

    def test_AreMadeOnceForANumberOfThreads(self):
        one = orrery.spmm(self.graph, self.x, threads=3)
        before = self.threads_of_this_process()
        for _ in range(20):
            np.testing.assert_array_equal(orrery.spmm(self.graph, self.x, threads=3), one)
        self.assertEqual(self.threads_of_this_process(), before)

        np.testing.assert_array_equal(orrery.spmm(self.graph, self.x, threads=1), one)
        self.assertEqual(self.threads_of_this_process(), before - 2)

    def test_AForkedProcessMakesItsOwn(self):
        here = orrery.spmm(self.graph, self.x, threads=4)
        child = os.fork()
        if child == 0:  # a hang is ended by the alarm, and is a failure too
            import signal
            signal.alarm(20)
            try:
                same = np.array_equal(orrery.spmm(self.graph, self.x, threads=4), here)
                os._exit(0 if same else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_AForkedProcessThatComputesNothingEnds(self):
        code = ("import os, sys; sys.path[:0] = [os.environ['ORRERY_SOURCES'] + '/python', "
                "os.environ['ORRERY_BUILD'] + '/python']\n"
                "import numpy as np, orrery\n"
                "orrery.spmm([[0, 1], [1, 0]], np.ones((2, 4), np.float32), threads=4)\n"
                "child = os.fork()\n"
                "if child: sys.exit(os.waitpid(child, 0)[1])\n")

        run = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)

        self.assertEqual(run.returncode, 0)
