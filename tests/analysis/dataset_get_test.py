"""Published data sets from a server on this machine that cuts, redirects, stalls and lies."""

import functools
import gzip
import hashlib
import http.server
import json
import operator
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from datasets import converters

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

    def test_ASetThatIsThereIsNotFetchedAgain(self):
        self.expect_whole(self.get())
        got = self.get()
        self.assertEqual(got.returncode, 1)
        self.assertIn("exists already", got.stderr)
        self.assertEqual(len(self.server.asked), 1)
        self.assertFalse((self.folder / "data" / ".downloads" / "ring").exists())

    def test_AStartAfterAKillClearsWhatWasUnpacked(self):
        unpacked = self.folder / "data" / ".downloads" / "ring" / "unpacked-abc"
        unpacked.mkdir(parents=True)
        (unpacked / "half").write_text("a")
        self.expect_whole(self.get())

    def test_AStartAfterAKillBehindTheConversionFindsTheSet(self):
        self.expect_whole(self.get())
        kept = self.folder / "data" / ".downloads" / "ring"
        kept.mkdir()
        (kept / "converting").touch()
        (kept / "edges.txt.gz").write_bytes(self.content)
        self.expect_whole(self.get())

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

    def test_WithoutANetworkAllFilesThatAreMissingAreNamed(self):
        files = [{"url": f"https://nowhere.invalid/sets/{name}", "sha256": None} for name in ("a", "b", "c")]
        self.publish(files=files)
        (self.folder / "data/.downloads/ring").mkdir(parents=True)
        (self.folder / "data/.downloads/ring/b").write_bytes(b"b")
        self.expect(self.get(), "put a, c (from https://nowhere.invalid/sets/) into " +
                    str(self.folder / "data/.downloads/ring"))

    def test_AListMayBeReadInPart(self):
        words = [sys.executable, "-B", SCRIPT, "--list", "--catalogue", self.folder / "catalogue.json", "--program", "x",
                 "--data", "x"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reading:
            reading.stdout.close()
            self.assertEqual(reading.stderr.read(), "")

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
        shutil.rmtree(self.folder / "data" / "ring")
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

    def test_SumsOfFilesCombineToThePublishedOne(self):
        """MLDatasets.jl has one sum for all files of a Planetoid set: theirs, combined by xor. Sums of single files come
        from others, so both are right or neither."""
        told = json.loads(Path(os.environ["ORRERY_SOURCES"], "configs/datasets.json").read_text())["sets"]
        published = {name: one for name, one in told.items() if "sha256_xor" in one}
        self.assertEqual(sorted(published), ["citeseer", "cora", "pubmed"])
        for one in published.values():
            total = functools.reduce(operator.xor, (int(file["sha256"], 16) for file in one["files"]))
            self.assertEqual(f"{total:064x}", one["sha256_xor"])
