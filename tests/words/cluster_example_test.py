"""docs/simulating.md: the cluster file that the page prints is whole, and its commands run."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(os.environ["ORRERY_SOURCES"])
PAGE = (SOURCES / "docs/simulating.md").read_text()
BLOCK = re.search(r"^```sh\n(cat > four-a100\.json <<'JSON'\n.*?)^```", PAGE, re.S | re.M)[1]


class ClusterOfThePage(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.here = Path(holder.name)
        (self.here / "configs").symlink_to(SOURCES / "configs")
        (self.here / "orrery").symlink_to(os.environ["ORRERY_PROGRAM"])
        self.run_ = subprocess.run(["bash", "-euo", "pipefail", "-c", BLOCK], cwd=self.here, text=True,
                                   stdin=subprocess.DEVNULL, capture_output=True)

    def orrery(self, *words):
        return subprocess.run(["./orrery", *words], cwd=self.here, capture_output=True, text=True)

    def test_is_short_and_simulates_four_servers_of_four(self):
        self.assertEqual(self.run_.returncode, 0, self.run_.stderr)
        self.assertLessEqual(len((self.here / "four-a100.json").read_text().splitlines()), 25)
        shown = self.orrery("cluster", "show", "four-a100.json").stdout
        self.assertIn("4 servers, 16 devices", shown)
        self.assertRegex(shown, r"nvlink3 +24 +device - device +4 +80\.0 GB/s")

    def test_needs_the_keys_that_the_page_names_for_mini_batches(self):
        words = ["run", "configs/sampled/quickstart.json", "--backend", "sim", "--out", "sampled", "--force",
                 "--set", "sweep={}", "--set", 'strategy={"type": "mini_batch", "fanouts": [10, 5]}',
                 "--set", 'cluster={"file": "four-a100.json", "gpus": 16}']
        told = json.loads((self.here / "four-a100.json").read_text())

        for key, value in (("host_cores", 64), ("host_memory_bytes_per_second", 2e11)):
            self.assertIn(f"`{key}`", PAGE)
            self.assertIn(f"server.{key}", self.orrery(*words).stderr)
            told["server"][key] = {"value": value, "source": "here"}
            (self.here / "four-a100.json").write_text(json.dumps(told))
        self.assertEqual(self.orrery(*words).returncode, 0)

    def test_is_refused_by_key_if_a_word_is_wrong(self):
        file = self.here / "four-a100.json"
        file.write_text(file.read_text().replace('"from": "nic0"', '"from": "nic7"'))

        self.assertIn("nic7", self.orrery("cluster", "show", "four-a100.json").stderr)


if __name__ == "__main__":
    unittest.main()
