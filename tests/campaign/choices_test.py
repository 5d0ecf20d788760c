"""tests/campaign/choices: what counts of several measurements, from seconds made by hand."""

import importlib.machinery
import importlib.util
import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

FILE = Path(os.environ["ORRERY_SOURCES"]) / "tests/campaign/choices"
loader = importlib.machinery.SourceFileLoader("choices", str(FILE))
choices = importlib.util.module_from_spec(importlib.util.spec_from_loader("choices", loader))
loader.exec_module(choices)


class Choices(unittest.TestCase):
    def test_measure_the_choice_and_all_that_come_near_the_best_again(self):
        seconds = {"chosen": 1.4, "best": 1.0, "near": 1.09, "far": 1.2}

        self.assertEqual(choices.candidates(seconds, "chosen"), ["chosen", "best", "near"])
        self.assertEqual(choices.candidates(seconds, "best"), ["best", "near"])

    def test_take_turns_and_leave_out_what_was_disturbed(self):
        asked = []

        def measure(plan, i):
            asked.append((i, plan))
            return None if plan == "disturbed" and i % 2 == 0 or plan == "once" and i == 6 else 1.0 + i

        seconds = choices.in_turn(["chosen", "disturbed", "once"], "chosen", 7, measure)

        self.assertEqual(seconds, {"chosen": 4.0, "once": 4.0})
        self.assertEqual(asked[:4], [(0, "chosen"), (0, "disturbed"), (0, "once"), (1, "once")])

    def test_compare_plans_within_turns(self):
        slower_each_turn = {"chosen": lambda i: 1.02 * (i + 1), "faster": lambda i: (1.05 if i == 3 else 1) * (i + 1)}

        seconds = choices.in_turn(["chosen", "faster"], "chosen", 7, lambda plan, i: slower_each_turn[plan](i))

        self.assertAlmostEqual(seconds["chosen"], 1.02 * 4)
        self.assertAlmostEqual(seconds["chosen"] / seconds["faster"], 1.02)

    def test_are_decided_in_more_turns_if_they_seem_far_from_the_best(self):
        for first, more in ((1.1, 1.02), (1.04, 1.2)):
            def measure(plan, i):
                return 1.0 if plan == "near" else first if i < choices.AGAIN else more

            seconds = choices.compare(["chosen", "near"], "chosen", measure)

            self.assertAlmostEqual(seconds["chosen"] / seconds["near"], 1.02 if first > 1.05 else 1.04)

    def test_measure_more_than_the_plans_that_were_named(self):
        self.assertIn("strategy.type=spmm_15d", choices.DEFAULTS)
        self.assertEqual(choices.settings(choices.DEFAULTS[3]),
                         ["--set", "strategy.type=vertex_cut", "--set", "partition.method=dbh"])

    def test_are_those_of_advise_by_replays_or_by_measuring(self):
        plan = lambda label, **more: {"plan": label, "difference": None, "verdict": None} | more
        best = [plan("strategy.type=spmm_1d"), plan("strategy.type=full_graph, cluster.ranks=2", verdict="as_fast")]
        row = {"disturbed": False, "real_seconds": 1.0, "half_width": 0.1, "covered": True}
        file = FILE.parents[2] / "configs/advise/threads-2-hubs.json"
        for measures in (False, True):
            asked = []

            def run(*words):
                asked.append(words)
                return {"answers": [{"best": best, "measuring": None}], "rows": [row]}

            with tempfile.TemporaryDirectory() as folder, mock.patch.object(choices, "run", run):
                made = choices.check(str(file), 1, Path(folder), measures)

            self.assertEqual(("--measure" in asked[0], "cluster.file=this-machine" in asked[0]), (measures, not measures))
            self.assertEqual((made["choice"], made["verdict"]), ("strategy.type=spmm_1d", "as_fast"))

    def test_are_of_ten_files_four_of_them_over_links(self):
        files = sorted((FILE.parents[2] / "configs/advise").glob("*.json"))
        over_links = [file for file in files if "netcluster" in json.loads(file.read_text()).get("validate", {})]

        self.assertEqual((len(files), len(over_links)), (10, 4))


if __name__ == "__main__":
    unittest.main()
