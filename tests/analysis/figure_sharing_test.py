"""Runs that count what ego networks share: every cell once, whole or not at all; and their measures."""

import stat
import tempfile
import unittest
from pathlib import Path

import figure_file
import figure_sharing
import inference_measures
from figure_file import FigureError
from result_folder import Run

PROGRAM = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
open({log!r}, "a").write(" ".join(words) + "\\n")
if "-1" in words:
    print("orrery: error: --merged: found -1", file=sys.stderr)
    sys.exit(2)
if words[1] == "generate":
    import os
    os.makedirs(words[words.index("--out") + 1], exist_ok=True)
merged = float(words[words.index("--merged") + 1]) if "--merged" in words else 0
print(json.dumps({{"systems": [{{"system": "DGI", "mean_over_levels": merged, "sharing": 1}},
                              {{"system": "P3", "mean_over_levels": 0.5, "sharing": 0}}]}}))
"""


class Sharing(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.folder / "log"
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.format(log=str(self.log)))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.told = {"generate": {"kind": "communities", "vertices": 10},
                     "sharing": [{"merged": 0.25, "fanouts": [5, 5]}, {"merged": 0.75}]}

    def make(self):
        """The commands that it took."""
        self.log.write_text("")
        figure_sharing.make(str(self.program), self.told, self.folder / "shared")
        return self.log.read_text().splitlines()

    def read(self):
        return figure_sharing.read(self.told, self.folder / "shared")

    def test_is_counted_once_for_every_cell_of_a_graph_generated_once(self):
        graph = self.folder / "shared/graph"

        self.assertEqual(self.make(), [
            f"dataset generate communities --out {graph} --force --vertices 10 --json",
            f"dataset sharing {graph} --merged 0.25 --fanouts 5 5 --json",
            f"dataset sharing {graph} --merged 0.75 --json"])
        self.assertEqual(self.make(), [])
        (self.folder / "shared/cell-1.json").write_text("{")
        self.assertEqual(len(self.make()), 1)

    def test_is_counted_again_in_another_graph(self):
        self.make()
        self.told["generate"]["vertices"] = 20

        self.assertEqual(len(self.make()), 3)

    def test_that_fails_says_why(self):
        self.told["sharing"].append({"merged": -1})
        with self.assertRaisesRegex(FigureError, "--merged: found -1"):
            self.make()
        with self.assertRaisesRegex(FigureError, "without --redraw"):
            self.read()

    def test_is_measured_in_percent_and_along_cells_or_systems(self):
        self.make()
        runs = self.read()

        class Experiments:
            def pick(self, _, at):
                return next(run for run in runs if at.items() <= run.config.items())

        spec = {"of": "x", "system": "DGI", "at": {"merged": 0.75}}
        cells, systems = [{"merged": 0.25}, {"merged": 0.75}], ["P3", "DGI"]
        rises = figure_sharing.sharing_rises
        self.assertEqual(figure_sharing.percent(Experiments(), spec), 75)
        self.assertTrue(rises(Experiments(), {"of": "x", "system": "DGI", "each": cells}))
        self.assertFalse(rises(Experiments(), {"of": "x", "system": "P3", "each": cells}))
        self.assertTrue(rises(Experiments(), {"of": "x", "at": cells[1], "each": systems}))
        self.assertFalse(rises(Experiments(), {"of": "x", "at": cells[0], "each": systems}))
        self.assertIn("x,--merged 0.25 --fanouts 5 5,DGI,25.0,100\n",
                      figure_sharing.results_csv({"x": runs}))


class Stages(unittest.TestCase):
    def setUp(self):
        self.results = {"slow": {"features": 3, "layer 1": 5}, "fast": {"features": 1, "layer 1": 1}}

    def pick(self, name, _):
        return Run(result=self.results[name], config={})

    def of(self, name, stage="features, layer 1"):
        return {"measure": "stage_seconds", "of": name, "stage": stage}

    def test_are_added_up(self):
        self.assertEqual(inference_measures.stage_seconds(self, self.of("slow")), 8)
        with self.assertRaisesRegex(FigureError, "no stage write"):
            inference_measures.stage_seconds(self, self.of("slow", "features, write"))

    def test_of_several_runs_have_a_mean_ratio_pair_by_pair(self):
        spec = {"of": [self.of("slow"), self.of("slow", "features")],
                "over": [self.of("fast"), self.of("fast", "features")], "each": [{}]}

        self.assertEqual(inference_measures.mean_stage_ratio(self, spec), (4 + 3) / 2)
        self.assertEqual(set(figure_file._names_in(spec)), {"slow", "fast"})


if __name__ == "__main__":
    unittest.main()
