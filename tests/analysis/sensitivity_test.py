"""Bands of epochs and ratios at both ends of a profile's efficiencies."""

import importlib.util
import json
import tempfile
import unittest
from pathlib import Path

if not importlib.util.find_spec("matplotlib"):
    raise unittest.SkipTest("needs matplotlib")

import figure_file
import figure_rows
import folders
import sensitivity
from figure_runs import Experiments
from figures import curves, provenance
from result_folder import Run


def run(gpus, seconds, low=None, high=None):
    ends = {} if low is None else {"sensitivity": {"low_seconds": low, "high_seconds": high}}
    told = folders.result(epoch_seconds=seconds, simulation=folders.result()["simulation"] | ends)
    return Run(told, config={"gpus": gpus})


def made(runs, rows=(), asked=True):
    """Experiments of these runs, with nothing behind them."""
    told = {"runs": {name: {} for name in runs}, "rows": list(rows), "constants": [], "panels": []}
    experiments = Experiments(figure_file.Figure("f", Path(), told | ({"sensitivity": True} if asked else {})),
                              "nowhere", "no program")
    experiments.results = runs
    return experiments


def epoch(name, gpus):
    return {"measure": "epoch_seconds", "of": name, "at": {"gpus": gpus}}


class Bands(unittest.TestCase):
    def setUp(self):
        self.runs = {"a": [run(1, 8.0, 6.0, 12.0), run(2, 4.0, 3.0, 5.0)], "b": [run(1, 2.0)]}

    def test_of_an_epoch_are_its_ends(self):
        self.assertEqual(sensitivity.band(made(self.runs), epoch("a", 1)), [6.0, 12.0])

    def test_of_a_ratio_have_both_runs_at_the_same_end(self):
        spec = {"measure": "ratio", "of": epoch("a", 1), "over": epoch("a", 2)}
        self.assertEqual(sensitivity.band(made(self.runs), spec), [2.0, 2.4])

    def test_hold_what_is_stated(self):
        runs = {"a": [run(1, 8.0, 6.0, 12.0), run(2, 4.0, 2.0, 4.0)]}
        spec = {"measure": "ratio", "of": epoch("a", 1), "over": epoch("a", 2)}
        self.assertEqual(sensitivity.band(made(runs), spec), [2.0, 3.0])

    def test_are_in_the_unit_of_the_row(self):
        self.assertEqual(sensitivity.band(made(self.runs), epoch("a", 1) | {"in": "ms"}), [6000.0, 12000.0])

    def test_are_of_epochs_that_have_ends_and_of_nothing_else(self):
        experiments = made(self.runs)
        self.assertIsNone(sensitivity.band(experiments, epoch("b", 1)))
        self.assertIsNone(sensitivity.band(
            experiments, {"measure": "ratio", "of": epoch("a", 1), "over": epoch("b", 1)}))
        self.assertIsNone(sensitivity.band(experiments, {"measure": "kind_percent", "of": "a", "kinds": ["spmm"]}))
        self.assertIsNone(sensitivity.band(made(self.runs, asked=False), epoch("a", 1)))

    def test_stand_beside_ours_in_the_table(self):
        row = {"label": "x", "unit": "s", "paper": 7.0, "ours": epoch("a", 1)}
        told = figure_rows.make_rows(made(self.runs, [row]))[0]
        self.assertEqual(told["band"], [6.0, 12.0])
        self.assertEqual(figure_rows.cells_of(told)[2], "8 (6 to 12)")
        self.assertTrue(figure_rows.as_csv([told]).splitlines()[1].endswith("6.0,12.0"))

    def test_of_curves_follow_their_ends(self):
        panel = {"x": "gpus", "base": {"gpus": 1}}
        low, high = sensitivity.both(made(self.runs))
        self.assertEqual(curves.points(panel, {"of": "a"}, low), [(1, 1.0), (2, 2.0)])
        self.assertEqual(curves.points(panel, {"of": "a"}, high), [(1, 1.0), (2, 2.4)])

    def test_are_told_in_the_sentence_above_the_picture(self):
        self.assertIn("Bands: all efficiencies", provenance.sentence(made(self.runs)))
        self.assertNotIn("Bands", provenance.sentence(made(self.runs, asked=False)))


class Figures(unittest.TestCase):
    def test_ask_simulations_alone_for_their_ends(self):
        experiments = made({"a": []})
        experiments.figure.told["runs"]["a"] = {"file": "x.json"}
        started = []
        experiments._start = lambda name, settings, folder: started.append(settings)
        for backend, asks in (("sim", True), ("threads", False)):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "x.json"
                file.write_text(json.dumps({"backend": backend}))
                experiments._file = lambda name: file
                experiments._run("a")
            self.assertEqual(started.pop().get(sensitivity.KEY, False), asks, backend)

    def test_leave_out_a_run_that_says_so(self):
        experiments = made({"a": []})
        experiments.figure.told["runs"]["a"] = {"file": "x.json", "set": {sensitivity.KEY: False}}
        started = []
        experiments._start = lambda name, settings, folder: started.append(settings)
        experiments._is_simulated = lambda name, settings: True
        experiments._run("a")
        self.assertEqual(started, [{sensitivity.KEY: False}])

    def test_of_epochs_have_bands(self):
        """Those of MG-GCN and GraNNDis whose runs are cheap to replay twice more."""
        having = {name for name in figure_file.names() if sensitivity.asked(figure_file.load(name))}
        self.assertLessEqual({"mg-gcn/table2", "mg-gcn/table3", "mg-gcn/fig9", "mg-gcn/fig10", "mg-gcn/fig12",
                              "granndis/fig8", "granndis/table4", "granndis/fig10", "granndis/fig12", "granndis/fig14",
                              "granndis/fig15", "granndis/fig16b"}, having)


if __name__ == "__main__":
    unittest.main()
