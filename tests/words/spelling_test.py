"""codespell finds no misspelt word in pages, sources and files that ship. Skipped where it is not installed."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

SOURCES = Path(os.environ["ORRERY_SOURCES"])


class Spelling(unittest.TestCase):
    def test_finds_no_misspelt_word(self):
        if not shutil.which("codespell"):
            self.skipTest("codespell is not installed (apt-get install codespell)")

        run = subprocess.run(["tests/words/spelling"], cwd=SOURCES, capture_output=True, text=True)

        self.assertEqual(run.stdout + run.stderr, "")
        self.assertEqual(run.returncode, 0)


if __name__ == "__main__":
    unittest.main()
