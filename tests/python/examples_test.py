"""The examples of the manual train."""

import importlib.util
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
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.set = folder.name + "/set"
        subprocess.run(
            [os.environ["ORRERY_PROGRAM"], "dataset", "generate", "communities", "--vertices", "1000",
             "--edges", "8000", "--classes", "4", "--features", "8", "--out", self.set],
            check=True, capture_output=True)

    def test_ALoopWithNumpyLearnsCommunities(self):
        first, again = (train_with_numpy.train(self.set) for _ in range(2))

        self.assertGreater(first, 0.8)
        self.assertEqual(first, again)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_ALoopWithPyTorchLearnsCommunities(self):
        import train_with_pytorch

        self.assertGreater(train_with_pytorch.train(self.set), 0.8)


if __name__ == "__main__":
    unittest.main()
