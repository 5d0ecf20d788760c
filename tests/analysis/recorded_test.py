"""What cheap figures show now is what `figure --list` says: a change of prices must not leave old records.

The dear figures share the prices of these: whoever sees this fail records all figures of the paper again.
"""

import os
import tempfile
import unittest
from pathlib import Path

import figure_counting
import figure_file
import figure_rows
from figure_runs import Experiments


class Records(unittest.TestCase):
    def test_of_cheap_figures_are_those_of_the_prices_of_now(self):
        for name in ["mg-gcn/table3", "mg-gcn/fig12"]:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                experiments = Experiments(figure_file.load(name), Path(folder), os.environ["ORRERY_PROGRAM"])
                experiments.run_all()
                now = figure_counting.recorded(figure_counting.count(figure_rows.make_rows(experiments)))
                recorded = experiments.figure.told["reached"]
                self.assertEqual(now, {key: recorded[key] for key in now},
                                 f"./orrery figure {name} --record, and the other figures of that paper")


if __name__ == "__main__":
    unittest.main()
