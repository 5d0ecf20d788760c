"""Measures over all cells of a sweep, and the picture of two numbers of each."""

import importlib.util
import unittest

import cell_measures
import folders  # noqa: F401  (finds the program)
import measures
from figure_file import FigureError


class Made:
    """Two rates and two depths; "a" takes rate times depth seconds, "b" 2, and a closed form of "a" says rate - 1.5."""

    def __init__(self):
        self.results = {name: [self._run(name, rate, depth) for rate in (1, 2) for depth in (1, 3)]
                        for name in "ab"}

    @staticmethod
    def _run(name, rate, depth):
        run = type("Run", (), {})()
        run.config, run.out_of_memory = {"rate": rate, "depth": depth}, None
        run.result = {"epoch_seconds": 2 if name == "b" else rate * depth, "equations": [
            {"name": "not this", "source": "x", "does_not_apply_because": "y", "functions": ["gain"]},
            {"name": "this", "source": "x", "seconds": rate - 1.5, "functions": ["gain"]}]}
        return run

    def pick(self, name, at):
        return next(run for run in self.results[name] if run.config.items() >= at.items())


CELLS = {"cells": "a", "keys": ["rate", "depth"]}
SECONDS = {"measure": "epoch_seconds", "of": "a"}
GAIN = {"measure": "difference", "of": SECONDS, "less": {"measure": "epoch_seconds", "of": "b"}}
FORM = {"measure": "equation", "of": "a", "function": "gain"}


class Cells(unittest.TestCase):
    """"a" less "b" is -1 and 1 at the first rate, 0 and 4 at the second; the form is -0.5 and 0.5."""

    def value(self, measure, **more):
        return measures.value_of(Made(), CELLS | {"measure": measure} | more)

    def test_are_the_combinations_that_are_asked_for(self):
        told = cell_measures.settings_of_cells(Made(), CELLS | {"at": {"rate": 2}})
        self.assertEqual(told, [{"rate": 2, "depth": 1}, {"rate": 2, "depth": 3}])
        with self.assertRaisesRegex(FigureError, "no cells"):
            cell_measures.settings_of_cells(Made(), CELLS | {"at": {"rate": 3}})

    def test_give_each_measure_their_settings(self):
        here = {"rate": 2, "depth": 3}
        self.assertEqual(cell_measures.in_cell(Made(), GAIN | {"times": 10}, here), 40)
        self.assertEqual(cell_measures.in_cell(Made(), FORM, here), 0.5)
        with self.assertRaisesRegex(FigureError, "no equation loss"):
            cell_measures.in_cell(Made(), FORM | {"function": "loss"}, here)

    def test_agree_where_two_conditions_are_both_true_or_both_not(self):
        wins, says = {"value": GAIN, "below": 0}, {"value": FORM, "below": 0}
        self.assertEqual(self.value("cells_that_agree", both=[wins, says]), 75)
        self.assertEqual(self.value("cells_that_agree", both=[wins, says], at={"rate": 1}), 50)

    def test_are_counted_among_those_with_a_condition(self):
        wins = {"value": GAIN, "below": 0}
        self.assertEqual(self.value("cells_with", **{"is": wins}), 25)
        self.assertEqual(self.value("cells_with", **{"is": wins, "where": [{"value": FORM, "below": 0}]}), 50)
        self.assertIsNone(self.value("cells_with", **{"is": wins, "where": [{"value": FORM, "from": 9}]}))

    def test_have_a_median(self):
        self.assertEqual(self.value("median_of_cells", of=GAIN), 0.5)
        self.assertEqual(self.value("median_of_cells", of=GAIN, where=[{"value": FORM, "from": 0}]), 2)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
    def test_are_drawn_as_marks(self):
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from figures import scatter

        figure, axes = plt.subplots()
        self.addCleanup(plt.close, figure)
        scatter.draw(axes, {"x_name": "x", "y_name": "y", "signed": True, "series": [
            CELLS | {"title": "all", "x": FORM, "y": GAIN}]}, Made(), [])

        marks = next(line for line in axes.lines if line.get_label() == "all")
        self.assertEqual(sorted(zip(marks.get_xdata(), marks.get_ydata())),
                         [(-0.5, -1), (-0.5, 1), (0.5, 0), (0.5, 4)])
        figure.draw_without_rendering()


if __name__ == "__main__":
    unittest.main()
