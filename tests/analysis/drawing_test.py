"""The contents of drawings of clusters and of compared cuts, and how their files are written."""

import json
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

import cache_chart
import cluster
import cluster_layout
import folders
import partition_chart
import svg
import whole_file

CLUSTERS = sorted(file.stem for file in (folders.SOURCES / "configs/clusters").glob("*.json"))
SPACE = "{http://www.w3.org/2000/svg}"


def described(name):
    """The output of `orrery cluster show --json` for a cluster."""
    done = folders.orrery("cluster", "show", name, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def flat(servers, of_switch):
    """A cluster of servers with a device each, this many of them on every switch."""
    switches = sorted({f"leaf{s // of_switch}" for s in range(servers)})
    nodes = [{"name": f"s{s}/gpu0", "kind": "device", "server": s} for s in range(servers)]
    nodes += [{"name": name, "kind": "network switch", "server": None} for name in switches]
    links = [{"type": "ib", "from": f"s{s}/gpu0", "to": f"leaf{s // of_switch}", "count": 1,
              "bytes_per_second": 4e9, "latency_seconds": 1e-6, "duplex": "full",
              "both_bytes_per_second": 8e9} for s in range(servers)]
    devices = [{"rank": s, "name": f"s{s}/gpu0", "server": s, "type": "gpu",
                "memory_bytes": 2**35, "memory_bytes_per_second": 1e12} for s in range(servers)]
    return {"name": "flat", "servers": servers, "nodes": nodes, "links": links,
            "devices": devices}


def label_of(element):
    """The words of a label without those under the mouse."""
    hint = element.find(f"{SPACE}title")
    return (hint.tail if hint is not None else element.text) or ""


class Picture:
    """Rectangles (left, top, right, bottom) and words of an SVG."""

    def __init__(self, source):
        self.root = xml.fromstring(source)
        self.width, self.height = float(self.root.get("width")), float(self.root.get("height"))
        self.rects, self.labels = [], []
        for one in self.root.iter(f"{SPACE}rect"):
            if one.get("width") != "100%":
                x, y, w, h = (float(one.get(key)) for key in ("x", "y", "width", "height"))
                self.rects.append((x, y, x + w, y + h))
        for one in self.root.iter(f"{SPACE}text"):
            x, y, size = (float(one.get(key)) for key in ("x", "y", "font-size"))
            width = svg.width_of(label_of(one), size)
            x -= {"middle": width / 2, "end": width}.get(one.get("text-anchor"), 0)
            self.labels.append((x, y - 0.8 * size, x + width, y + 0.2 * size, label_of(one)))

    @property
    def words(self):
        return [label[4] for label in self.labels]

    @property
    def nodes(self):
        wide, high = cluster_layout.BOX_WIDTH, cluster_layout.BOX_HEIGHT
        return [r for r in self.rects
                if abs(r[2] - r[0] - wide) < 0.1 and abs(r[3] - r[1] - high) < 0.1]


def overlaps(boxes):
    """The pairs of boxes that share more than a tenth of a pixel."""
    return [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]
            if min(a[2], b[2]) - max(a[0], b[0]) > 0.1 and min(a[3], b[3]) - max(a[1], b[1]) > 0.1]


class ClusterDrawing(unittest.TestCase):
    def test_SaysWhatAHostHas(self):
        told = described("dgx-1")

        self.assertEqual(cluster.host_words(told), "; host: 40 cores, 512 GiB at 136 GB/s")
        del told["host_cores"]
        self.assertEqual(cluster.host_words(told), "; host: 512 GiB at 136 GB/s")
        self.assertEqual(cluster.host_words(described("r5-16-25gbe")), "; host: 32 cores")

    def test_LetsNoTwoNodesAndNoTwoLabelsOverlap(self):
        for name in CLUSTERS:
            with self.subTest(name):
                picture = Picture(cluster.draw(described(name)))

                self.assertGreaterEqual(len(picture.nodes), 1)
                self.assertEqual(overlaps(picture.nodes), [])
                self.assertEqual(overlaps(picture.labels), [])
                for left, top, right, bottom, words in picture.labels:
                    self.assertTrue(left >= 0 and top >= 0 and right <= picture.width
                                    and bottom <= picture.height, words)

    def test_LeadsNoStraightLinkBehindANode(self):
        for name in CLUSTERS:
            layout = cluster_layout.Layout(described(name))
            for link in layout.cluster["links"]:
                ends = [link["from"], link["to"]]
                if not all(end in layout.at and layout.server[end] is not None for end in ends):
                    continue
                (ax, ay), (bx, by) = (layout.at[end] for end in ends)
                if ay == by:
                    continue  # an arc
                for node, (x, y) in layout.at.items():
                    if node not in ends and min(ay, by) < y < max(ay, by):
                        at = ax + (bx - ax) * (y - ay) / (by - ay)
                        self.assertGreater(abs(at - x), cluster_layout.BOX_WIDTH / 2, (name, ends, node))

    def test_ShowsEveryNodeAndLinkOfASmallCluster(self):
        told = described("a6000-4x4-nvlink")

        picture = Picture(cluster.draw(told))

        self.assertEqual(len(picture.nodes), len(told["nodes"]))
        self.assertEqual(len(list(picture.root.iter(f"{SPACE}path"))), len(told["links"]))
        for device in told["devices"]:
            self.assertIn(f"rank {device['rank']}", picture.words)
        for server in range(told["servers"]):
            self.assertIn(f"server s{server}", picture.words)

    def test_TellsEveryTypeOfLinkWithUnits(self):
        for name in CLUSTERS:
            told = described(name)

            words = Picture(cluster.draw(told)).words

            for link in told["links"]:
                entries = [w for w in words if w.startswith(f"{link['type']}: ")]
                self.assertEqual(len(entries), 1, link["type"])
                self.assertRegex(entries[0], r": [0-9.]+ [kMGT]?B/s.*, [0-9.]+ (s|ms|µs)$")

    def test_NamesEveryServerOfALargeCluster(self):
        told = described("fat-tree")

        layout = cluster_layout.Layout(told)

        servers = [frame.server for frame in layout.frames]
        for group in layout.groups:
            servers += range(group.first, group.last + 1)
            self.assertIn(f"s{group.first} to s{group.last}", Picture(cluster.draw(told)).words)
        self.assertEqual(servers, list(range(told["servers"])))

    def test_HasRoomForTheNumbersOfAThousandServers(self):
        picture = Picture(cluster.draw(flat(1024, of_switch=23)))

        self.assertIn("s1012 to s1023", picture.words)
        self.assertEqual(overlaps(picture.labels), [])

    def test_EscapesAndShortensNames(self):
        told = described("a6000-1x4-pcie")
        evil = 'gpu</text><script>&"\x01' + "x" * 200
        told["name"] = evil
        first = told["devices"][0]["name"]
        told["links"][0]["type"] = evil
        text = json.dumps(told).replace(json.dumps(first), json.dumps(evil.replace("/", "|")))

        source = cluster.draw(json.loads(text))

        picture = Picture(source)
        self.assertNotIn("<script>", source)
        self.assertEqual(overlaps(picture.labels), [])
        self.assertTrue(any(words.startswith("gpu<|") and words.endswith("…")
                            for words in picture.words), picture.words)
        self.assertLessEqual(max(label[2] for label in picture.labels), picture.width)


class PartitionChart(unittest.TestCase):
    ROWS = [{"method": "spring", "replication_factor": 1.5},
            {"method": "<hash>", "replication_factor": 3.0},
            {"method": "metis", "replication_factor": 1.25}]

    def test_HasABarForEveryMethodBestFirst(self):
        picture = Picture(partition_chart.draw({"name": "a<b", "parts": 8, "rows": self.ROWS}))

        bars = sorted(picture.rects, key=lambda bar: bar[1])
        methods = ["metis", "spring", "<hash>"]
        self.assertEqual([words for words in picture.words if words in methods], methods)
        lengths = [bar[2] - bar[0] for bar in bars]
        self.assertAlmostEqual(lengths[2] / lengths[0], 3.0 / 1.25, places=2)
        self.assertAlmostEqual(lengths[1] / lengths[0], 1.5 / 1.25, places=2)
        self.assertIn("a<b in 8 parts", picture.words)
        alone = Picture(partition_chart.draw({"name": "a", "parts": 1, "rows": self.ROWS}))
        self.assertIn("a in 1 part", alone.words)
        self.assertIn("1.250", picture.words)
        self.assertEqual(overlaps(picture.labels), [])
        self.assertLessEqual(max(label[2] for label in picture.labels), picture.width)


class CacheChart(unittest.TestCase):
    def told(self, *hits_at_the_end):
        names = ["degree", "presampled", "vip", "lru", "clock"]
        return {"name": "a<b", "ranks": 4, "epochs": 1, "requested_rows": 1000,
                "sizes": [{"share": 0.01, "bytes_per_rank": 1 << 20, "most_hits": 40},
                          {"share": 0.011, "bytes_per_rank": 1200000, "most_hits": 50},
                          {"share": 1, "bytes_per_rank": 100 << 20, "most_hits": 900}],
                "policies": [{"policy": name, "hits": [0, 10, hits]}
                             for name, hits in zip(names, hits_at_the_end)]}

    def test_HasALineForEveryPolicyAndForTheMostPossible(self):
        picture = Picture(cache_chart.draw(self.told(100, 200, 300, 400, 500)))

        lines = list(picture.root.iter(f"{SPACE}polyline"))
        self.assertEqual(len(lines), 6)
        heights = [float(line.get("points").split()[-1].split(",")[1]) for line in lines]
        self.assertEqual(sorted(heights, reverse=True), heights)
        self.assertAlmostEqual(heights[0] - heights[2], 2 * (heights[0] - heights[1]), places=1)
        self.assertIn("a<b: rows of other ranks that a cache has", picture.words)
        self.assertLessEqual(max(label[2] for label in picture.labels), picture.width)

    def test_LetsNoTwoLabelsOverlap(self):
        for hits in ((500, 500, 500, 500, 500), (0, 0, 0, 0, 0), (1000, 990, 980, 10, 5)):
            picture = Picture(cache_chart.draw(self.told(*hits)))
            self.assertEqual(overlaps(picture.labels), [], hits)
            self.assertLessEqual(max(label[3] for label in picture.labels), picture.height)


class WholeFile(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_ReplacesWhatIsThereAndLeavesNothingBeside(self):
        file = self.folder / "a.svg"
        file.write_text("old")

        whole_file.write(file, "new")

        self.assertEqual([f.name for f in self.folder.iterdir()], ["a.svg"])
        self.assertEqual(file.read_text(), "new")

    def test_StaysAsItWasWhereWritingFails(self):
        file = self.folder / "a.svg"
        file.write_text("old")

        with self.assertRaises(UnicodeEncodeError):
            whole_file.write(file, "new \udcff")

        self.assertEqual([f.name for f in self.folder.iterdir()], ["a.svg"])
        self.assertEqual(file.read_text(), "old")

    def test_FollowsALinkAndKeepsADevice(self):
        link = self.folder / "link.svg"
        link.symlink_to(self.folder / "a.svg")

        whole_file.write(link, "new")
        whole_file.write(Path("/dev/null"), "new")

        self.assertTrue(link.is_symlink())
        self.assertEqual((self.folder / "a.svg").read_text(), "new")
        self.assertTrue(Path("/dev/null").is_char_device())


if __name__ == "__main__":
    unittest.main()
