"""Runs that time every stage: once for the same settings, whole or not at all; and their measure."""

import stat
import tempfile
import unittest
from pathlib import Path

import figure_breakdowns
import figure_file
from figure_file import FigureError

PROGRAM = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
open({log!r}, "a").write(" ".join(words) + "\\n")
if "none" in words:
    print("orrery: error: --methods: found none", file=sys.stderr)
    sys.exit(2)
methods = [{{"method": m, "partition_seconds": i + 1, "save_seconds": 2, "load_parts_seconds": 3,
            "load_all_parts_seconds": 4, "epoch_seconds": 5, "train_seconds": 50}}
           for i, m in enumerate(words[words.index("--methods") + 1].split(","))]
print(json.dumps({{"name": "x", "ranks": 2, "epochs": 10, "simulated": True, "load_seconds": 0.5,
                  "other_work": None, "methods": methods}}))
"""


class Breakdowns(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log, self.file = self.folder / "log", self.folder / "file.json"
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.format(log=str(self.log)))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.file.write_text("{}")
        self.told = {"file": "file.json", "set": {"train.epochs": 10}, "breakdown": ["metis", "hash"]}

    def make(self):
        """The commands that it took."""
        self.log.write_text("")
        figure_breakdowns.make(str(self.program), self.file, self.told, self.folder / "stages")
        return self.log.read_text().splitlines()

    def read(self):
        return figure_breakdowns.read(self.file, self.told, self.folder / "stages")

    def test_are_made_once_for_the_same_settings(self):
        self.assertEqual(self.make(), [f"breakdown {self.file} --methods metis,hash --out {self.folder / 'stages'} "
                                       "--json --set train.epochs=10"])
        self.assertEqual(self.make(), [])
        self.told["set"] = {"train.epochs": 20}
        with self.assertRaisesRegex(FigureError, "without --redraw"):
            self.read()
        self.assertEqual(len(self.make()), 1)

    def test_that_fail_are_told_and_leave_nothing(self):
        self.told["breakdown"] = ["none"]
        with self.assertRaisesRegex(FigureError, "--methods: found none"):
            self.make()
        self.assertFalse((self.folder / "stages/breakdown.json").exists())

    def test_have_a_run_and_a_line_for_every_partitioner(self):
        self.make()
        self.assertEqual([run.config for run in self.read()], [{"method": "metis"}, {"method": "hash"}])
        lines = figure_breakdowns.results_csv({"a": self.read()}).splitlines()
        self.assertEqual(lines[2], "a,hash,0.5,2,2,3,4,5,50")

    def test_measure_sums_of_stages(self):
        self.make()
        made = type("Made", (), {"pick": lambda _, name, at: next(
            run for run in self.read() if run.config.items() >= at.items())})()
        spec = {"of": "a", "at": {"method": "hash"}, "stages": ["partition_seconds", "save_seconds"], "times": 10}
        self.assertEqual(figure_breakdowns.stage_seconds(made, spec), 40)

    def test_need_a_list_of_partitioners(self):
        told = {"runs": {"a": self.told | {"breakdown": []}}, "rows": []}
        with self.assertRaisesRegex(FigureError, "runs.a.breakdown: needs a list of partitioners"):
            figure_file._check_run(self.file, told, "a")


if __name__ == "__main__":
    unittest.main()
