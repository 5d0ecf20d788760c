"""Pictures of results, and the panels of the papers' figures, hold what the files say."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
sys.path[:0] = [os.environ["ORRERY_SOURCES"] + "/python", os.environ["ORRERY_BUILD"] + "/python"]
import orrery


class Panels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)
        config = {"name": "t", "dataset": {"generate": "communities", "vertices": 300, "edges": 1500, "classes": 4,
                                           "features": 4},
                  "model": {"type": "gcn", "hidden": 4}, "strategy": {"type": "full_graph"},
                  "train": {"epochs": 4}, "sweep": {"model.hidden": [4, 8], "seed": [0, 1, 2]}}
        orrery.run(config, out=cls.folder / "runs", quiet=True)
        cls.found = orrery.results(cls.folder / "runs")

    def test_CurvesAreMeansOfSeeds(self):
        axes = orrery.curves(self.found, "loss")

        self.assertEqual([line.get_label() for line in axes.lines], ["model.hidden=4", "model.hidden=8"])
        epochs = self.found.epochs
        for line, hidden in zip(axes.lines, (4, 8)):
            mean = epochs[epochs["model.hidden"] == hidden].groupby("epoch")["loss"].mean()
            np.testing.assert_allclose(line.get_ydata(), mean)
        self.assertEqual(len(axes.collections), 2)  # the bands
        with self.assertRaisesRegex(orrery.DataError, "no run has 'nothing'"):
            orrery.curves(self.found, "nothing")

    def test_BarsAddUpToTheEpoch(self):
        axes = orrery.breakdown(self.found)

        bars = [bar for container in axes.containers for bar in container]
        for i, row in self.found.runs.iterrows():
            parts = [row[c] for c in self.found.runs if c.startswith("breakdown.") and c.count(".") == 1]
            drawn = sum(bar.get_height() for bar in bars if round(bar.get_x() + bar.get_width() / 2) == i)
            self.assertAlmostEqual(drawn, np.nansum(np.array(parts, float)))

    def test_EveryOperationIsABar(self):
        folder = self.found.runs["folder"].iloc[0]
        axes = orrery.timeline(self.found, folder)

        drawn = sum(len(collection.get_paths()) for collection in axes.collections)
        self.assertEqual(drawn, len(self.found.timeline(folder)))

    def test_AFigureOfAPaper(self):
        self.assertIn("mg-gcn/table3", orrery.paper_figures())
        made = orrery.figure("mg-gcn/table3", self.folder / "figure")

        self.assertEqual(len(made.rows), len(made.told["rows"]))
        axes = made.draw(0)
        self.assertEqual(axes.get_title(), made.panels[0])
        self.assertTrue(axes.has_data())
        with self.assertRaisesRegex(orrery.ConfigError, "panel"):
            made.draw(99)
        with self.assertRaises(orrery.RunFailed):
            orrery.figure("mg-gcn/nothing")


if __name__ == "__main__":
    unittest.main()
