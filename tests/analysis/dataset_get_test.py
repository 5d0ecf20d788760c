"""Published data sets from a server on this machine that cuts, redirects, stalls and lies."""

import gzip
import hashlib
import http.server
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile
from pathlib import Path

try:
    import numpy as np
except ImportError as missing:
    raise unittest.SkipTest("needs numpy") from missing
from datasets import arrays, converters
from datasets.catalogue import File, GetError

SCRIPT = os.environ["ORRERY_SOURCES"] + "/analysis/dataset_get.py"
EDGES = "".join(f"{i} {(i * 7 + 1) % 500}\n" for i in range(500)) * 40  # 160 kB
ETAG = '"one"'


class Server(http.server.ThreadingHTTPServer):
    """Serves files. `manner` lists how it answers one request after the other."""

    daemon_threads = True

    def __init__(self, files):
        self.files, self.manners, self.asked = files, [], []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, *_):
        pass  # the client has gone: that is the test

    def address(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        manner = server.manners.pop(0) if server.manners else "whole"
        content = server.files.get(self.path.lstrip("/"))
        if manner.startswith("to "):
            self.send_response(302)
            self.send_header("Location", manner[3:])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if content is None or manner == "missing":
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if manner == "steers the terminal":
            self.send_response(404, "\x1b[31m$(touch ran)<script>\x07")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if manner == "busy":
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        begin = 0
        wanted = self.headers.get("Range")
        if wanted and manner != "no ranges" and self.headers.get("If-Range") == ETAG:
            begin = int(wanted[6:].split("-")[0])
        told = len(content) - begin
        if manner == "says more":
            told += 1000
        self.send_response(206 if begin else 200)
        if begin:
            first = begin + 1 if manner == "wrong range" else begin
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(told))
        self.send_header("ETag", ETAG)
        self.end_headers()
        body = content[begin:]
        if manner == "changed":
            body = bytes(len(body))
        if manner in ("cut", "stall"):
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            if manner == "stall":
                time.sleep(1.5)
            self.close_connection = True
            return
        self.wfile.write(body)
        self.close_connection = manner == "says more"


class Fetching(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.content = gzip.compress(EDGES.encode(), mtime=0)
        self.server = Server({"edges.txt.gz": self.content})
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.sum = hashlib.sha256(self.content).hexdigest()
        self.publish()

    def publish(self, **changes):
        files = [{"url": self.server.address("edges.txt.gz"), "sha256": self.sum}]
        one = {"source": "nobody", "licence": "none", "size": "1 kB", "converter": "snap", "files": files} | changes
        (self.folder / "catalogue.json").write_text(json.dumps({"sets": {"ring": one}}))

    def get(self, *words, timeout=0.5, **environment):
        return subprocess.run(
            [sys.executable, "-B", SCRIPT, "ring", "--catalogue", self.folder / "catalogue.json", "--program",
             os.environ["ORRERY_PROGRAM"], "--data", self.folder / "data", "--timeout", str(timeout), "--wait",
             "0.01", *words], capture_output=True, text=True, check=False, env=os.environ | environment)

    def expect(self, got, *words):
        self.assertEqual(got.returncode, 1, got.stderr)
        last = got.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("orrery: error: "), got.stderr)
        for word in words:
            self.assertIn(word, last)
        self.assertFalse((self.folder / "data" / "ring").exists())

    def expect_whole(self, got):
        self.assertEqual(got.returncode, 0, got.stderr)
        meta = json.loads((self.folder / "data" / "ring" / "meta.json").read_text())
        self.assertEqual((meta["num_nodes"], meta["num_edges"]), (500, 500))
        self.assertFalse((self.folder / "data" / ".downloads" / "ring").exists())

    def test_WhatAServerSaysDoesNotSteerTheTerminal(self):
        self.server.manners = ["steers the terminal"]
        got = self.get()
        self.expect(got, r"\x1b[31m$(touch ran)<script>\x07")
        self.assertNotIn("\x1b", got.stderr)

    def test_AFileIsFetchedCheckedConvertedAndKeptOnce(self):
        self.expect_whole(self.get())
        self.assertEqual(len(self.server.asked), 1)

    def test_WhatIsCutOrFallsSilentIsGoneOnWith(self):
        self.server.manners = ["cut", "stall", "busy", "whole"]
        self.expect_whole(self.get())
        ranges = [asked[1] for asked in self.server.asked]
        half = len(self.content) // 2
        self.assertEqual(ranges[0], None)
        self.assertEqual(ranges[1], f"bytes={half}-")
        self.assertEqual(ranges[2], f"bytes={half + (len(self.content) - half) // 2}-")

    def test_AnotherStartGoesOnWhereOneWasCut(self):
        self.server.manners = ["cut"] + ["busy"] * 5
        self.expect(self.get(), "cannot be had", "put edges.txt.gz")
        self.expect_whole(self.get())
        self.assertEqual(self.server.asked[-1][1], f"bytes={len(self.content) // 2}-")

    def test_AServerWithoutRangesOrWithWrongOnesStartsAnew(self):
        self.server.manners = ["cut", "no ranges"]
        self.expect_whole(self.get())

    def test_AWrongRangeIsNotAppended(self):
        self.server.manners = ["cut", "wrong range", "whole"]
        self.expect_whole(self.get())

    def test_RedirectsAreFollowedToHttpAlone(self):
        self.server.files["elsewhere"] = self.content
        self.server.manners = ["to " + self.server.address("elsewhere")]
        self.expect_whole(self.get())
        self.assertEqual([asked[0] for asked in self.server.asked], ["/edges.txt.gz", "/elsewhere"])

    def test_ARedirectToAFileIsRefused(self):
        self.server.manners = ["to file:///etc/passwd"]
        self.expect(self.get(), "file:///etc/passwd")

    def test_RedirectsInACircleEnd(self):
        self.server.manners = ["to " + self.server.address("edges.txt.gz")] * 100
        self.expect(self.get(), "cannot be had")

    def test_AnotherFileIsRemoved(self):
        self.server.manners = ["changed"]
        self.expect(self.get(), self.sum, "it is another file")
        self.assertFalse((self.folder / "data/.downloads/ring/edges.txt.gz.part").exists())

    def test_LiesAboutSizes(self):
        self.server.manners = ["says more"] * 6
        self.expect(self.get(), "too early")
        (self.folder / "data/.downloads/ring/edges.txt.gz.part").unlink()
        self.publish(files=[{"url": self.server.address("edges.txt.gz"), "sha256": self.sum,
                             "bytes": len(self.content) - 1}])
        self.expect(self.get(), f"expected {len(self.content) - 1} bytes")

    def test_WithoutAChecksumNothingIsTakenOver(self):
        self.publish(files=[{"url": self.server.address("edges.txt.gz"), "sha256": None}])
        self.expect(self.get(), "nobody has published a checksum", f"--sha256 edges.txt.gz={self.sum}")
        asked = len(self.server.asked)
        self.expect_whole(self.get("--sha256", f"edges.txt.gz={self.sum}"))
        self.assertEqual(len(self.server.asked), asked)  # the waiting file was used

    def test_SumsThatAreNone(self):
        self.expect(self.get("--sha256", "12"), "64 hexadecimal digits")
        self.expect(self.get("--sha256", "other=" + 64 * "0"), "no file other")
        self.expect(self.get("--sha256", 64 * "0"), "has another one in the catalogue")

    def test_NothingIsThere(self):
        self.server.manners = ["missing"]
        self.expect(self.get(), "Not Found", "Without a network: put edges.txt.gz")
        self.assertEqual(len(self.server.asked), 1)  # a refusal is not tried again

    def test_WhatWasPutThereByHandIsTaken(self):
        folder = self.folder / "data/.downloads/ring"
        folder.mkdir(parents=True)
        (folder / "edges.txt.gz").write_bytes(self.content)
        self.server.shutdown()
        self.expect_whole(self.get())

    def test_AMirrorStandsForAllPublishers(self):
        self.server.files["ring/edges.txt.gz"] = self.content
        self.publish(files=[{"url": "https://nowhere.invalid/edges.txt.gz", "sha256": self.sum}])
        self.expect_whole(self.get(ORRERY_MIRROR=self.server.address("").rstrip("/")))
        got = self.get(ORRERY_MIRROR="file:///tmp")
        self.assertIn("expected an address with http or https", got.stderr)


class Catalogue(unittest.TestCase):
    def test_WhatShipsIsWellFormed(self):
        from datasets import catalogue

        sets = catalogue.load(os.environ["ORRERY_SOURCES"] + "/configs/datasets.json")
        self.assertGreater(len(sets), 10)
        for one in sets.values():
            self.assertIn(one.converter, converters.CONVERTERS)
            self.assertTrue(one.licence and one.source and one.size)
            for file in one.files:
                self.assertTrue(file.url.startswith("https://"), file.url)
                self.assertTrue(file.sha256 is None or len(file.sha256) == 64)


class Converting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def set_of(self, converter, **options):
        from datasets.catalogue import Set

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
        with self.assertRaisesRegex(GetError, "posix.system, which is no part"):
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


class Arrays(unittest.TestCase):
    """Inputs of other programs to `orrery dataset convert`, converted by the program."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def convert(self, source, *words, status=0):
        run = subprocess.run([os.environ["ORRERY_PROGRAM"], "dataset", "convert", self.folder / source,
                              self.folder / "set", *words], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        if status:
            self.assertEqual([file for file in self.folder.glob(".*")], [])
            return run.stderr
        made = {file.stem: np.load(file) for file in (self.folder / "set").glob("*.npy")}
        return made, " ".join(json.loads((self.folder / "set/meta.json").read_text())["notes"])

    GIVEN = {"edge_index": np.array([[0, 1, 2], [1, 2, 0]]), "x": np.arange(6, dtype=np.float16).reshape(3, 2),
             "y": np.array([0, 1, -1]), "train_mask": np.array([True, False, False]),
             "val_mask": np.array([False, True, False]), "edge_weight": np.array([1.5, 2, 3])}

    def expect_given(self, made, notes):
        np.testing.assert_array_equal(made["edges"], [[0, 1, 2], [1, 2, 0]])
        np.testing.assert_array_equal(made["edge_weights"], np.float32([1.5, 2, 3]))
        np.testing.assert_array_equal(made["features"], np.float32([[0, 1], [2, 3], [4, 5]]))
        np.testing.assert_array_equal(made["labels"], [0, 1, -1])
        np.testing.assert_array_equal(made["split"], [0, 1, 255])
        for words in ("edges: converted from int64", "features: converted from float16",
                      "labels: converted from int64", "edge weights: converted from float64"):
            self.assertIn(words, notes)

    def test_Npz(self):
        np.savez(self.folder / "given.npz", **self.GIVEN)
        self.expect_given(*self.convert("given.npz"))

    def test_AFolderOfNpy(self):
        (self.folder / "given").mkdir()
        for name, array in self.GIVEN.items():
            np.save(self.folder / "given" / name, array)
        self.expect_given(*self.convert("given"))

    def test_TablesWithNames(self):
        (self.folder / "e.csv").write_text("source,target,weight\nann,bob,1.5\nbob,cy,2\ncy,ann,3\n")
        (self.folder / "v.csv").write_text("id,label,split,a,b\nann,red,train,0,1\nbob,blue,val,2,3\ncy,red,,4,5\n")
        made, notes = self.convert("e.csv", "--vertices", str(self.folder / "v.csv"))
        np.testing.assert_array_equal(made["edges"], [[0, 1, 2], [1, 2, 0]])
        np.testing.assert_array_equal(made["edge_weights"], np.float32([1.5, 2, 3]))
        np.testing.assert_array_equal(made["features"], np.float32([[0, 1], [2, 3], [4, 5]]))
        np.testing.assert_array_equal(made["labels"], [1, 0, 1])
        np.testing.assert_array_equal(made["split"], [0, 1, 255])
        self.assertIn("alphabetical order: blue, red", notes)

    def test_Parquet(self):
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            self.skipTest("pyarrow is not installed")
        pyarrow.parquet.write_table(pyarrow.table({"src": [5, 6], "dst": [6, 7]}), self.folder / "e.parquet")
        made, _ = self.convert("e.parquet")
        np.testing.assert_array_equal(made["edges"], [[5, 6], [6, 7]])

    def test_Mistakes(self):
        for changes, words in [({"edge_index": np.zeros((3, 3), int)}, "shape [2, E]"),
                               ({"edge_index": np.array([[0, 9], [1, 1]])}, "vertex 9, but there are 3"),
                               ({"edge_index": np.array([[-1], [0]])}, "0 to"),
                               ({"x": np.full((3, 1), np.nan)}, "a finite float32"),
                               ({"x": np.full((3, 1), 1e300)}, "a finite float32"),
                               ({"y": np.array([0.5, 1, 2])}, "fractions"),
                               ({"y": np.array([0, 1])}, "but labels 2"),
                               ({"edge_weight": np.ones(5)}, "one for each of 3 edges"),
                               ({"x": np.array([["a"]], object)}, "no .npz of arrays of numbers")]:
            with self.subTest(words):
                np.savez(self.folder / "given.npz", **(self.GIVEN | changes))
                self.assertIn(words, self.convert("given.npz", status=1))

    def test_TwoNamesOfOneArray(self):
        with self.assertRaisesRegex(arrays.ImportProblem, "both edges and edge_index"):
            arrays.from_arrays({"edges": np.zeros((2, 1), int), "edge_index": np.zeros((2, 1), int)}, "here")
