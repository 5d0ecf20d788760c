"""Every derived device profile has a range for each efficiency, so that figures can draw what the efficiencies that
nobody measured do to an epoch (simulation.sensitivity, docs/figures.md)."""

import json
import unittest

import folders

RATES = ("flops", "bytes")


def derived():
    """(file, profile) of the shipped profiles that nobody measured."""
    for file in sorted((folders.SOURCES / "configs").glob("**/devices/*.json")):
        profile = json.loads(file.read_text())
        if profile["origin"] == "derived":
            yield file, profile


class RangesOfEfficiencies(unittest.TestCase):
    def test_stand_in_every_derived_profile_for_every_kind_of_operation(self):
        for file, profile in derived():
            for kind, stated in profile["roofline"]["kinds"].items():
                with self.subTest(f"{file}: {kind}"):
                    for end in ("lowest", "highest"):
                        self.assertGreater(len(stated[end]["source"]), 0)
                    for rate in RATES:
                        self.assertLessEqual(stated["lowest"][rate], stated[rate])
                        self.assertLessEqual(stated[rate], stated["highest"][rate])

    def test_are_wider_than_nothing(self):
        for file, profile in derived():
            for kind, stated in profile["roofline"]["kinds"].items():
                with self.subTest(f"{file}: {kind}"):
                    self.assertTrue(any(stated["lowest"][rate] < stated["highest"][rate] for rate in RATES))

    def test_are_looked_for_in_the_profiles_of_papers_as_well(self):
        names = {file.stem for file, _ in derived()}
        self.assertLessEqual({"a100-sxm-80gb", "h200-sxm", "xeon-9242", "a6000-dgl", "v100-cagnet"}, names)


if __name__ == "__main__":
    unittest.main()
