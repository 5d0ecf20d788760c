"""Maps of winners: who wins a cell, where borders lie and how sure that is, from results made by hand."""

import importlib.util
import math
import unittest

if not importlib.util.find_spec("matplotlib"):
    raise unittest.SkipTest("needs matplotlib")

import intervals
import measures
from figures import regions
from result_folder import Run


def result(seconds, **causes):
    return {"epoch_seconds": seconds, "interval": {"half_width": 0.1, "causes": causes} if causes else None}


class Intervals(unittest.TestCase):
    def test_of_a_ratio_leave_out_what_both_have(self):
        one, other = result(1, operations=0.1, spmm=0.03), result(1, operations=0.1, gemm=0.04)
        self.assertAlmostEqual(intervals.half_width_of_ratio(one, other), 1.6449 * 0.05)
        self.assertEqual(intervals.half_width_of_ratio(one, one), 0)
        self.assertIsNone(intervals.half_width_of_ratio(one, result(1)))

    def test_of_a_ratio_say_how_two_compare(self):
        one = lambda seconds: result(seconds, operations=0.1, spmm=0.03)
        near, far = result(1, operations=0.1, spmm=0.04), result(1, operations=0.1, gemm=0.04)  # ± 1.6 %, ± 8.2 %
        self.assertEqual([intervals.verdict(one(s), near) for s in (1, 1.03, 1.04)], ["as_fast", "as_fast", "apart"])
        self.assertEqual([intervals.verdict(one(s), far) for s in (1, 1.08, 1.09)],
                         ["cannot_tell", "cannot_tell", "apart"])
        self.assertIsNone(intervals.verdict(one(1), result(1)))


class Winners(unittest.TestCase):
    def test_are_fastest_and_sure_where_the_ratio_is_beyond_its_interval(self):
        fast, slow = result(1, spmm=0.05), result(1.2, gemm=0.05)  # ± 11.6 %
        self.assertEqual(regions.winner({"a": fast, "b": slow}), ("a", False))
        self.assertEqual(regions.winner({"a": fast, "b": result(1.1, gemm=0.05)}), ("a", True))
        self.assertEqual(regions.winner({"a": fast, "b": result(1.02, spmm=0.05)}), ("a", True), "as fast")
        self.assertEqual(regions.winner({"a": fast}), ("a", False))
        self.assertIsNone(regions.winner({}))


class Borders(unittest.TestCase):
    def row(self, width):
        """a gains log 4, log 2, -log 2, -log 4 over b: they are equal in the middle."""
        return [{"a": result(1, spmm=width / 1.6449), "b": result(gain, gemm=0.0)}
                for gain in (4, 2, 1 / 2, 1 / 4)]

    def test_lie_where_both_take_as_long(self):
        middle, low, high = regions.borders(self.row(0.1), "a", "b")
        self.assertAlmostEqual(middle, 1.5)
        # The gain falls by 2 log 2 from the second value to the third.
        self.assertAlmostEqual(high - middle, 0.1 / (2 * math.log(2)))
        self.assertAlmostEqual(middle - low, 0.1 / (2 * math.log(2)))

    def test_whose_interval_leaves_the_map_end_at_its_edge(self):
        middle, low, high = regions.borders(self.row(5), "a", "b")
        self.assertEqual((low, high), (-0.5, 3.5))

    def test_are_none_where_one_always_wins(self):
        row = [{"a": result(1, spmm=0.1), "b": result(2, gemm=0.1)}] * 3
        self.assertIsNone(regions.borders(row, "a", "b"))

    def test_cases_between_values_lie_as_on_a_logarithmic_scale(self):
        self.assertAlmostEqual(regions.place_of([1, 4, 16], 2), 0.5)
        self.assertAlmostEqual(regions.place_of([1, 4, 16], 16), 2)
        self.assertAlmostEqual(regions.place_of([1, 4, 16], 100), 2)
        self.assertAlmostEqual(regions.place_of([1, 4, 16], 0.1), 0)


class BreakEven(unittest.TestCase):
    def test_has_the_ends_that_the_interval_of_the_ratio_gives(self):
        class Made:
            results = {"one": [], "other": []}

            def pick(self, name, at):
                return next(run for run in self.results[name] if run.config["rate"] == at["rate"])

        made, width = Made(), 0.2
        for rate in (1, 4):
            made.results["one"].append(Run(result(1, spmm=width / 1.6449), {"rate": rate}))
            made.results["other"].append(Run(result(2 / rate, gemm=0.0), {"rate": rate}))
        spec = {"of": "one", "over": "other", "key": "rate"}
        self.assertAlmostEqual(measures.break_even(made, spec), 2)
        self.assertAlmostEqual(measures.break_even(made, spec | {"end": "low"}), 2 / math.exp(0.2))
        self.assertAlmostEqual(measures.break_even(made, spec | {"end": "high"}), 2 * math.exp(0.2))


if __name__ == "__main__":
    unittest.main()
