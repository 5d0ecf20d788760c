"""Runs that validate: asked once, whole or not at all; their measures and panels, by hand."""

import importlib.util
import json
import math
import stat
import tempfile
import unittest
from pathlib import Path

import figure_file
import figure_rows
import figure_validations
import measures
from figure_file import FigureError
from figure_runs import Experiments

PROGRAM = """#!/usr/bin/env python3
import json, os, signal, sys
from pathlib import Path
words = sys.argv[1:]
files = [Path(word).stem for word in words if word.endswith(".json")]
open({log!r}, "a").write(" ".join(words) + "\\n")
if "unknown" in files:
    print("orrery: error: unknown.json: is no experiment", file=sys.stderr)
    sys.exit(2)
if "killed" in files:
    print('{{"rows": [', flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
lacking = "cluster.file: this-machine: this machine has no cluster file yet: run ./orrery calibrate first"
told = {{"failures": [{{"file": name, "label": "", "error": lacking}} for name in files if name == "uncalibrated"]}}
told["rows"] = json.loads(open({rows!r}).read())
real = Path(words[words.index("--out") + 1]) / "a/run/real"
real.mkdir(parents=True)  # a folder of an earlier start would be in its way
(real / "result.json").write_text(json.dumps({{"provenance": {{"cores": 2, "cpu": "a CPU"}}}}))
print("words before it")
print(json.dumps(told))
sys.exit(1 if told["failures"] else 0)
"""


def row(name, real, simulated, repeats, **more):
    """An epoch of which half are sparse products, and a quarter of the simulated one."""
    parts = {"spmm": (real / 2, simulated / 4), "gemm": (real / 2, simulated / 2), "other compute": (0, 0),
             "communication": (0, 0), "other": (0, simulated / 4)}
    classes = {kind: dict(zip(("real_seconds", "simulated_seconds"), pair)) for kind, pair in parts.items()}
    spread = max(repeats) / min(repeats) - 1 if len(repeats) > 1 else None
    return {"setting": f"{name} threads", "file": name, "label": "", "backend": "threads", "ranks": 2,
            "disturbed": False, "real_seconds": real, "simulated_seconds": simulated, "error": simulated / real - 1,
            "repeat_seconds": repeats, "spread": spread, "half_width": math.log(2), "covered": True, "classes_off": 0.5,
            "classes": classes} | more


# An epoch that is 25 % too slow, one that is 50 % too fast, and an inference.
ROWS = [row("a", 1.0, 1.25, [1.0, 1.04, 0.995], classes_off=0.3),
        row("b", 2.0, 1.0, [1.5, 2.0, 2.5], covered=False, label="model.hidden=64"),
        row("c", 4.0, 4.0, [4.0], classes={}, classes_off=None, half_width=None, covered=None)]


class Validations(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log, self.rows = self.folder / "log", self.folder / "rows"
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.format(log=str(self.log), rows=str(self.rows)))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.rows.write_text(json.dumps(ROWS))
        for name in ("a", "b", "c", "uncalibrated", "killed", "unknown"):
            (self.folder / f"{name}.json").write_text(json.dumps({"dataset": {"generate": name}}))
        self.told = {"validate": ["a.json", "b.json", "c.json"], "repeats": 3}

    def make(self, *more):
        """The commands that it took."""
        self.log.write_text("")
        figure_validations.make(str(self.program), self.told | {"validate": [*self.told["validate"], *more]},
                                self.folder, self.folder / "v")
        return self.log.read_text().splitlines()

    def read(self):
        return figure_validations.read(self.told, self.folder, self.folder / "v")

    def experiments(self):
        told = {"runs": {"v": self.told}, "rows": [], "constants": [], "panels": [], "own": True}
        made = Experiments(figure_file.Figure("f", self.folder, told), self.folder / "out", str(self.program))
        made.run_all()
        return made

    def test_are_asked_once(self):
        files = " ".join(str(self.folder / name) for name in self.told["validate"])
        self.assertEqual(self.make(), [f"validate {files} --repeats 3 --quiet --json --out {self.folder / 'v/work'}"])
        self.assertEqual(self.make(), [])

    def test_are_asked_again_with_other_repeats_or_another_experiment(self):
        self.make()
        self.told["repeats"] = 5
        self.assertEqual(len(self.make()), 1)
        (self.folder / "a.json").write_text('{"seed": 2}')
        self.assertEqual(len(self.make()), 1)

    def test_go_on_where_the_file_is_half_written_or_lacks_what_is_read(self):
        self.make()
        whole = json.loads((self.folder / "v/validation.json").read_text())
        for left in ('{"asked": ', json.dumps(whole | {"result": {"rows": [{"file": "a"}]}})):
            (self.folder / "v/validation.json").write_text(left)
            self.assertEqual(len(self.make()), 1)
            self.assertEqual(len(self.read()), 3)

    def test_say_why_there_is_no_answer_and_keep_nothing(self):
        for file, why in (("uncalibrated.json", "uncalibrated: .*run ./orrery calibrate first$"),
                          ("killed.json", "ended without a word"), ("unknown.json", "unknown.json: is no experiment$")):
            with self.subTest(file), self.assertRaisesRegex(FigureError, f"^validate: {why}"):
                self.make(file)
            self.assertFalse((self.folder / "v/validation.json").exists())

    def test_of_other_settings_are_not_redrawn(self):
        self.make()
        self.told["validate"] = ["b.json"]

        with self.assertRaisesRegex(FigureError, "without --redraw"):
            self.read()

    def test_are_measured_by_rows_and_over_all(self):
        made, over_all = self.experiments(), {"of": "v"}
        of_b = {"measure": "result_number", "of": "v", "at": {"setting": "b threads"}}

        self.assertEqual(measures.value_of(made, of_b | {"key": "simulated_seconds"}), 1.0)
        self.assertEqual(measures.value_of(made, of_b | {"key": "error", "unit": 0.01}), -50)
        self.assertEqual(measures.value_of(made, of_b | {"key": "classes.spmm.real_seconds"}), 1.0)
        # Of the third: no interval, no classes, no second run.
        for name, value in (("mean_error", 25), ("worst_error", 50), ("covered", 50), ("agreeing", 50),
                            ("classes_off", 40)):
            with self.subTest(name):
                measure = {"measure": f"validated_{name}_percent"}
                self.assertAlmostEqual(measures.value_of(made, measure | over_all), value)

    def test_of_nothing_have_no_shares(self):
        self.rows.write_text(json.dumps(ROWS[2:]))
        made = self.experiments()
        for name in ("covered", "agreeing", "classes_off"):
            self.assertIsNone(measures.value_of(made, {"measure": f"validated_{name}_percent", "of": "v"}))

    def test_leave_a_line_for_each_epoch_and_class(self):
        lines = figure_rows.results_csv(self.experiments()).splitlines()
        self.assertEqual(len(lines), 1 + 6 + 6 + 1)
        self.assertTrue(lines[1].startswith("v,a threads,epoch,1.0,1.25,"))
        self.assertEqual(lines[8], "v,b threads,spmm,1.0,0.25,,,")

    def test_have_experiments_that_are_there_and_names_of_their_own(self):
        (self.folder / "below").mkdir()
        (self.folder / "below/a.json").write_text("{}")
        for wrong, why in (({"validate": ["d.json"]}, "validate: d.json is not there"),
                           ({"validate": "a.json"}, "validate: needs a list of files"),
                           ({"validate": ["a.json", "below/a.json"]}, "two files have the same name"),
                           ({"validate": ["a.json"], "repeats": 0}, "repeats: needs a whole number of at least 1"),
                           ({"validate": ["a.json"], "set": {}}, "set does not go with validate")):
            told = {"title": "", "source": "", "shows": "", "cost_seconds": 1, "reached": {"date": ""}, "rows": [],
                    "constants": [], "panels": [], "notes": [], "runs": {"v": self.told}}
            figure_file.check(self.folder / "figure.json", told)
            with self.subTest(why), self.assertRaisesRegex(FigureError, why):
                figure_file.check(self.folder / "figure.json", told | {"runs": {"v": wrong}})

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
    def test_are_drawn_with_intervals_and_hollow_where_real_runs_do_not_agree(self):
        from figures import agreement, draw, provenance, style

        made, (figure, axes) = self.experiments(), draw.plt.subplots()
        self.addCleanup(draw.plt.close, figure)
        style.forget_series()
        agreement.draw(axes, {"of": "v"}, made, [])

        # Between a half and twice the simulated epoch, by the interval of ln 2.
        real, simulated = agreement.ends(ROWS[1])
        self.assertEqual(real, (1.5, 2.5))
        self.assertAlmostEqual(simulated[0], 0.5)
        self.assertAlmostEqual(simulated[1], 2.0)
        self.assertEqual(agreement.ends(ROWS[2]), ((4.0, 4.0), (4.0, 4.0)))
        marks = {(line.get_xdata()[0], line.get_ydata()[0]): line.get_markerfacecolor()
                 for line in axes.lines if line.get_marker() == "o"}
        self.assertEqual([x for x, y in marks if marks[x, y] == "white"], [2.0])
        self.assertEqual(set(marks), {(1.0, 1.25), (2.0, 1.0), (4.0, 4.0)})
        self.assertTrue(agreement.unsure(ROWS[0] | {"disturbed": True}))
        words = [text.get_text() for text in axes.get_legend().get_texts()]
        self.assertIn("threads, 2 ranks", words)
        self.assertIn("within 10 %", words)
        self.assertIn("2 cores of a CPU", provenance.sentence(made))
        self.assertIn("simulated from a calibration", provenance.sentence(made))

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
    def test_are_drawn_by_classes_in_percent_of_the_real_epoch(self):
        from figures import classes, draw

        made, (figure, axes) = self.experiments(), draw.plt.subplots()
        self.addCleanup(draw.plt.close, figure)
        classes.draw(axes, {"of": "v"}, made, [])

        simulated = classes.bars(ROWS[0])["simulated"]
        self.assertEqual(simulated, [("spmm", 0, 31.25), ("gemm", 31.25, 62.5), ("other compute", 93.75, 0),
                                     ("communication", 93.75, 0), ("other", 93.75, 31.25)])
        self.assertEqual([tick.get_text() for tick in axes.get_yticklabels()], ["a", "b\nhidden 64"])
        ends = {}
        for bar in axes.patches:
            ends[round(bar.get_y() + bar.get_height() / 2, 2)] = bar.get_x() + bar.get_width()
        self.assertEqual(ends, {-0.18: 100, 0.18: 125, 0.82: 100, 1.18: 50})


if __name__ == "__main__":
    unittest.main()
