"""The example of the manual trains."""

import os
import subprocess
import sys
import tempfile
import unittest

_SOURCES = os.environ["ORRERY_SOURCES"]
sys.path[:0] = [_SOURCES + "/python", os.environ["ORRERY_BUILD"] + "/python",
                _SOURCES + "/examples/python"]
import train_with_numpy


class Examples(unittest.TestCase):
    def test_ALoopWithNumpyLearnsCommunities(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [os.environ["ORRERY_PROGRAM"], "dataset", "generate", "communities", "--vertices",
                 "1000", "--edges", "8000", "--classes", "4", "--features", "8", "--out",
                 folder + "/set"], check=True, capture_output=True)

            first, again = (train_with_numpy.train(folder + "/set") for _ in range(2))

        self.assertGreater(first, 0.8)
        self.assertEqual(first, again)
