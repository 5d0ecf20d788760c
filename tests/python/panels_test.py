"""Pictures of results, and the panels of the papers' figures, hold what the files say."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
sys.path[:0] = [os.environ["ORRERY_SOURCES"] + "/python", os.environ["ORRERY_BUILD"] + "/python"]
import orrery

READS_A_TIMELINE = f"""
import sys
sys.path[:0] = {sys.path[:2]}
import orrery.runs
from pathlib import Path
from types import SimpleNamespace
measures = orrery.runs.analysis("measures")
print(len(measures.product_spans(SimpleNamespace(timeline=Path(sys.argv[1])), "forward", 1)))"""


class Panels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)
        cls.config = {"name": "t", "dataset": {"generate": "communities", "vertices": 300, "edges": 1500, "classes": 4,
                                               "features": 4},
                      "model": {"type": "gcn", "hidden": 4}, "strategy": {"type": "full_graph"},
                      "train": {"epochs": 4}, "sweep": {"model.hidden": [4, 8], "seed": [0, 1, 2]}}
        orrery.run(cls.config, out=cls.folder / "runs", quiet=True)
        cls.found = orrery.results(cls.folder / "runs")

    def test_CurvesAreMeansOfSeeds(self):
        axes = orrery.curves(self.found, "loss")

        self.assertEqual([line.get_label() for line in axes.lines], ["hidden 4", "hidden 8"])
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
            drawn = sum(bar.get_width() for bar in bars if round(bar.get_y() + bar.get_height() / 2) == i)
            self.assertAlmostEqual(drawn, row["epoch_seconds"])

    def test_ASweepOverStrategiesHasShortNamesAndSaysSimulated(self):
        sweep = {"strategy.type": ["full_graph", "model_averaging"], "cluster.gpus": [2, 4]}
        orrery.simulate(self.config | {"cluster": {"file": "dgx-a100"}, "sweep": sweep}, out=self.folder / "simulated",
                        quiet=True)
        found = orrery.results(self.folder / "simulated")
        names = ["full_graph, 2 GPUs", "full_graph, 4 GPUs", "model_averaging, 2 GPUs", "model_averaging, 4 GPUs"]

        bars, lines = orrery.breakdown(found), orrery.curves(found, "seconds")

        self.assertEqual(found.settings, list(sweep))
        self.assertEqual([label.get_text() for label in bars.get_yticklabels()], names)
        self.assertEqual([line.get_label() for line in lines.lines], names)
        self.assertEqual(bars.get_xlabel(), "simulated time of an epoch")
        self.assertEqual(lines.get_ylabel(), "simulated seconds per epoch")
        told = bars.get_legend_handles_labels()[1]
        self.assertEqual(told[0], "computation")
        self.assertNotIn("hidden", " ".join(told))
        for axes in (bars, lines):  # nothing is cut off, and the legend covers no line
            axes.figure.draw_without_rendering()
            page, legend = axes.figure.bbox, axes.get_legend().get_window_extent()
            self.assertTrue(page.x0 <= legend.x0 and legend.x1 <= page.x1 and legend.y1 <= page.y1)
            self.assertGreaterEqual(legend.y0, axes.bbox.y1)
            self.assertGreater(axes.bbox.width, 0.4 * page.width)

    def test_MeasuredAndSimulatedRunsAreToldApart(self):
        orrery.simulate(self.config, set={"cluster": {"file": "dgx-a100", "gpus": 1}, "sweep": {}},
                        out=self.folder / "one", quiet=True)

        axes = orrery.breakdown(orrery.results(self.folder / "runs", self.folder / "one"))

        names = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
        self.assertEqual([("threads" in name, "simulated" in name) for name in names],
                         6 * [(True, False)] + [(False, True)])
        lines = orrery.curves(orrery.results(self.folder / "runs", self.folder / "one"), "loss").lines
        self.assertEqual(len(lines), 2, "nothing is learned in a simulation")

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

    def test_MeasuresOfFiguresReadTimelines(self):
        timeline = Path(self.found.runs["folder"].iloc[0]) / "timeline.json"
        said = subprocess.run([sys.executable, "-c", READS_A_TIMELINE, timeline], check=True, capture_output=True,
                              text=True)  # in an interpreter with nothing of analysis/ in front

        self.assertGreater(int(said.stdout), 0)


if __name__ == "__main__":
    unittest.main()
