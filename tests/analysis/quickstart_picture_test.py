"""docs/quickstart.py: the picture holds what was printed; a marked error is not drawn."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

SCRIPT = Path(os.environ["ORRERY_SOURCES"]) / "docs/quickstart.py"
PRINTED = """quickstart: 4 ranks

strategy.type     epoch  (hidden)
---------------------------------
full_graph     14.9 ms    <1.2 µs

Results: results/quickstart & more
"""


def quickstart():
    spec = importlib.util.spec_from_file_location("quickstart", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Picture(unittest.TestCase):
    def lines(self, text):
        drawn = xml.fromstring(quickstart().picture(text))
        return drawn, list(drawn.iter("{http://www.w3.org/2000/svg}text"))

    def test_holds_every_line_at_its_place_with_its_colour(self):
        drawn, lines = self.lines(PRINTED)

        self.assertEqual([line.text.replace("\xa0", " ") for line in lines],
                         ["$ ./orrery run configs/quickstart.json",
                          *filter(None, PRINTED.split("\n"))])
        self.assertEqual([int(line.get("y")) for line in lines], [30, 48, 84, 102, 120, 156])
        self.assertEqual([line.get("fill") for line in lines],
                         ["#8bd48b", None, "#ffd479", "#5b6b7d", None, None])
        self.assertGreater(int(drawn.get("height")), 156)

    def test_is_as_wide_as_its_longest_line(self):
        drawn, _ = self.lines("x" * 100)

        self.assertAlmostEqual(int(drawn.get("width")), 2 * 16 + 783, delta=1)

    def test_is_not_drawn_of_a_run_beside_other_work(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "docs/quickstart.py"
            script.parent.mkdir()
            script.write_text(SCRIPT.read_text())
            text = Path(folder) / "printed"

            text.write_text(PRINTED.replace("14.9 ms", "14.9 ms (*)"))
            marked = subprocess.run([sys.executable, "-B", script, text], capture_output=True, text=True)
            before = (script.parent / "quickstart.svg").exists()
            text.write_text(PRINTED)
            clean = subprocess.run([sys.executable, "-B", script, text], capture_output=True, text=True)

            self.assertEqual((marked.returncode, before), (1, False))
            self.assertIn("other programs were at work", marked.stderr)
            self.assertEqual(clean.returncode, 0, clean.stderr)
            self.assertEqual((script.parent / "quickstart.svg").read_text(), quickstart().picture(PRINTED))


if __name__ == "__main__":
    unittest.main()
