"""Marks, labels and legends of panels, and the words above them."""

import importlib.util
import unittest
from pathlib import Path

if not importlib.util.find_spec("matplotlib"):
    raise unittest.SkipTest("needs matplotlib")

import figure_file
import folders
from figure_runs import Experiments
from figures import cells, curves, draw, pairs, provenance, style
from result_folder import Run


def run(gpus, seconds):
    return Run(folders.result(epoch_seconds=seconds), config={"gpus": gpus})


class Marks(unittest.TestCase):
    def setUp(self):
        style.forget_series()
        self.figure, self.axes = draw.plt.subplots(figsize=(3.9, 3.1))
        self.addCleanup(draw.plt.close, self.figure)

    def curves_of(self, panel, panels):
        """{title: marker} of the lines of a panel."""
        self.axes.clear()
        names = {one["of"] for told in panels for one in told["series"] + told.get("peers", [])}
        told = {"runs": {name: {} for name in names}, "rows": [], "constants": [], "panels": panels}
        experiments = Experiments(figure_file.Figure("f", Path(), told), "nowhere", "no program")
        experiments.results = {name: [run(1, 4.0), run(2, 3.0)] for name in names}
        curves.draw(self.axes, panel, experiments, [])
        return {line.get_label(): line.get_marker() for line in self.axes.lines}

    def test_of_a_series_are_the_same_in_each_panel_and_none_of_a_peer(self):
        panel = {"x": "gpus", "x_name": "GPUs", "y_name": "epoch",
                 "series": [{"of": name, "title": name} for name in "abcdefgh"]}
        peers = {"peers": [{"of": "p", "at": {"gpus": 1}, "as": "a", "mark": mark} for mark in "x^s"],
                 "marks": {"x": "one", "^": "another", "s": "a third"}}
        panels = [panel | peers, panel | {"series": panel["series"][4:]}]

        first, second = (self.curves_of(one, panels) for one in panels)

        own = [first[name] for name in "abcdefgh"]
        self.assertEqual(len({*own, "x", "^", "s", "D"}), 12)  # a diamond is the paper's
        self.assertEqual([second[name] for name in "efgh"], own[4:])

    def pair(self, role):
        rows = [{"label": "a", "paper": 80, "ours": 75.0, "role": role}]
        panel = {"columns": [{"title": "ours", "rows": ["a"]}], "ticks": ["a"], "x_name": "x",
                 "y_name": "in %"}
        self.axes.clear()
        pairs.draw(self.axes, panel, None, rows)
        self.figure.draw_without_rendering()
        label, = (text for text in self.axes.texts if text.get_text() == "75")
        above = self.axes.transData.inverted().transform(label.get_window_extent())[0][1]
        return above, [line.get_marker() for line in self.axes.lines]

    def test_stand_under_labels_where_they_are_drawn_alone(self):
        above, marks = self.pair("aside")
        self.assertEqual(marks, [])
        self.assertLess(above, 77)

        above, marks = self.pair("predicted")
        self.assertEqual(marks, ["D"])
        self.assertGreater(above, 80)

    def cells_of(self, error):
        rows = [{"label": "a", "paper": 2.0, "ours": 1.0, "error": error, "role": "predicted"}]
        self.axes.clear()
        cells.draw(self.axes, {"rows": ["a"], "ticks": ["a"], "x_name": "x", "y_name": "y"}, None, rows)
        return [text.get_text() for text in self.axes.get_legend().get_texts()]

    def test_above_pairs_of_bars_are_explained(self):
        self.assertEqual(self.cells_of(-0.5), ["the paper", "ours", "above: error"])
        self.assertEqual(self.cells_of(None), ["the paper", "ours"])


class Sentences(unittest.TestCase):
    def test_about_the_numbers_begin_with_a_capital(self):
        told = {"runs": {"a": {}, "b": {}}}
        experiments = Experiments(figure_file.Figure("f", Path(), told), "nowhere", "no program")
        host = {"backend": "threads", "simulation": None, "provenance": {"cores": 2, "cpu": "a processor"}}
        experiments.results = {"a": [run(1, 1.0)], "b": [Run(folders.result(**host))]}

        self.assertRegex(provenance.sentence(experiments),
                         r"^Ours: simulated on DGX-1 .*\. Measured on 2 cores of a processor; ")


if __name__ == "__main__":
    unittest.main()
