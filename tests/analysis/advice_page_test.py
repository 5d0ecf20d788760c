"""The page of an answer of orrery advise: plans with intervals, questions, reasons."""

import json
import tempfile
import unittest
from pathlib import Path

import advice_page
import folders
from report_test import Page


def plan(label, seconds, **changes):
    return {"plan": label, "epoch_seconds": seconds,
            "interval": {"share": 0.9, "half_width": 0.1, "low_seconds": 0.9 * seconds,
                         "high_seconds": 1.1 * seconds, "causes": {}},
            "measured_seconds": None, "not_measured": None, "verdict": None, "cannot_tell": None, "limited_by": {"part": "compute", "share": 0.6, "sentence": "computation, <60 %>"},
            "peak_bytes": 1 << 30, "device_bytes": 2 << 30, "bytes": {"internal": 1024, "external": 2048},
            "usd_per_epoch": 0.0125, "difference": None, "alike": []} | changes


def answer(best, **changes):
    return {"setting": None, "what_if": None, "failed": None, "same_plan": None, "plan_as_is": None, "plans": 40, "bounding_seconds": 0.01,
            "ruled_out_by_counts": 20, "replayed": 10, "ruled_out": 8, "not_tried": 0, "measuring": None, "best": best,
            "refused": [{"plan": "strategy.type=spmm_2d", "too_large": False, "reason": "needs a square"}]} | changes


class AdvicePage(unittest.TestCase):
    def page_of(self, answers, simulated=True):
        with tempfile.TemporaryDirectory() as folder:
            told = {"schema_version": 1, "name": "made-up", "cluster": "dgx-1", "ranks": 4, "simulated": simulated,
                    "answers": answers}
            (Path(folder) / "advice.json").write_text(json.dumps(told))
            done = folders.orrery("report", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, Page((Path(folder) / "report.html").read_text()).text

    def test_tells_plans_intervals_prices_and_what_if(self):
        first, other = plan("strategy.type=full_graph", 0.02), plan("strategy.type=spmm_1d, strategy.variant=column", 0.01)
        stale = plan("strategy.type=full_graph, strategy.staleness=1", 0.005, difference="rows are old")
        said, page = self.page_of([answer([first, stale]),
                                   answer([other], setting="cluster.link_factors.x=2", what_if="x twice as fast",
                                          same_plan=False, plan_as_is=plan("strategy.type=full_graph", 0.015),
                                          not_tried=7)])

        for words in ("full_graph", "20 ms ± 10 %", "$0.0125", "1 GiB of 2 GiB", "x twice as fast",
                      "spmm_1d, variant column", "-50 %", "another; that one takes +50 %; 7 plans were not tried", "rows are old", "computation, <60 %>",
                      "needs a square", "closed forms ruled out 20", "simulated"):
            self.assertIn(words, page)
        self.assertIn("as it is: full_graph, 20 ms ± 10 %", said)

    def test_says_of_the_plans_as_they_are_only_what_there_is_to_say(self):
        first, other = plan("strategy.type=full_graph", 0.02), plan("strategy.type=spmm_1d", 0.01)
        _, page = self.page_of([answer([first], not_tried=114), answer([other], setting="seed=2")])

        self.assertRegex(page, r"0 %\s+114 plans were not tried")
        self.assertRegex(page, r"-50 %\s+-\s")

    def test_says_where_another_plan_cannot_be_told_from_that_of_the_file(self):
        first, other = plan("strategy.type=full_graph", 0.02), plan("strategy.type=spmm_1d", 0.0195)
        near = plan("strategy.type=full_graph", 0.02, verdict="cannot_tell")
        equal = plan("strategy.type=full_graph", 0.02, verdict="as_fast")
        _, page = self.page_of([answer([first]),
                                answer([other], setting="seed=2", same_plan=False, plan_as_is=near),
                                answer([other], setting="seed=3", same_plan=False),
                                answer([other], setting="seed=4", same_plan=False, plan_as_is=equal)])

        self.assertIn("cannot tell: another; that one takes +3 %", page)
        self.assertIn("as fast: another; that one takes +3 %", page)
        self.assertIn("another; that one is not possible", page)

    def test_tells_measured_from_simulated_seconds_and_what_failed(self):
        plans = [plan("strategy.type=spmm_1d", 0.021, measured_seconds=0.03),
                 plan("strategy.type=full_graph", 0.02, measured_seconds=0.033, verdict="apart"),
                 plan("strategy.type=spmm_2d", 0.0205, not_measured="signal 9", verdict="cannot_tell")]
        measuring = {"plans": 2, "turns": 9, "in_all_turns": 2, "epochs": 20, "other_work": None}
        _, page = self.page_of([answer(plans, measuring=measuring)], simulated=False)

        for words in ("30 ms", "+10 %", "cannot tell: -2 %", "could not be measured: signal 9", "measured",
                      "2 plans, 9 runs of 20 epochs each", "Only times that a column calls so were measured"):
            self.assertIn(words, page)
        self.assertNotIn("No time here was measured", page)

    def test_of_a_question_without_an_answer_says_why(self):
        _, page = self.page_of([answer([plan("strategy.type=full_graph", 0.02)]),
                                answer([], setting="model.layers=0", failed="model.layers: found 0")])
        self.assertIn("model.layers: found 0", page)

    def test_of_no_answer_is_an_error_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "advice.json").write_text("{}")
            done = folders.orrery("report", folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("is no answer of orrery advise", done.stderr)


class Labels(unittest.TestCase):
    def test_are_short(self):
        self.assertEqual(advice_page.short("strategy.type=full_graph, partition.method=metis, train.bucket_bytes=25 MB"),
                         "full_graph, cut by metis, bucket_bytes 25 MB")
        self.assertEqual(advice_page.short("cluster.file=dgx-1, cluster.gpus=1, cluster.servers=2"),
                         "dgx-1, 1 GPU, 2 servers")


if __name__ == "__main__":
    unittest.main()
