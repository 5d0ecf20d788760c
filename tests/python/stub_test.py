"""The type hints of the extension are those of the extension."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path


class Stub(unittest.TestCase):
    def test_IsWhatNanobindMakesOfTheExtension(self):
        kept = Path(os.environ["ORRERY_SOURCES"], "python", "_orrery.pyi")
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "_orrery.pyi")
            subprocess.run(
                [sys.executable, "-B", "-m", "nanobind.stubgen", "-m", "_orrery", "-o", made],
                env=os.environ | {"PYTHONPATH": os.environ["ORRERY_BUILD"] + "/python"},
                check=True, capture_output=True)

            self.assertEqual(made.read_text(), kept.read_text(), "make it anew: "
                             "./orrery python -m nanobind.stubgen -m _orrery -o python/_orrery.pyi")
