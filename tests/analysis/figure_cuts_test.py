"""Runs that cut graphs: every combination once, whole or not at all; and the measures over them."""

import importlib.util
import os
import stat
import tempfile
import unittest
from pathlib import Path

import cut_measures
import figure
import figure_cuts
import figure_file
import folders
from figure_file import FigureError
from result_folder import Run

PROGRAM = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
open({log!r}, "a").write(" ".join(words) + "\\n")
if "broken" in words:
    print("orrery: error: no such method", file=sys.stderr)
    sys.exit(2)
print("a line for people")
print(json.dumps({{"replication_factor": 1.5, "parts": int(words[words.index("--parts") + 1])}}))
"""


class Cuts(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.folder / "log"
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.format(log=str(self.log)))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        for graph in ("one", "two"):
            (self.folder / "data" / graph).mkdir(parents=True)
            (self.folder / "data" / graph / "edges.npy").write_bytes(bytes(100))
        before = os.environ.get("ORRERY_DATA")
        os.environ["ORRERY_DATA"] = str(self.folder / "data")
        self.addCleanup(self.restore, before)
        self.told = {"cuts": {"graph": ["one", "two"], "method": ["spring"], "parts": [2, 4]},
                     "set": {"seed": 3}, "set_for": {"two": {"dataset.symmetric": True}}}

    def restore(self, before):
        os.environ.pop("ORRERY_DATA")
        if before is not None:
            os.environ["ORRERY_DATA"] = before

    def make(self):
        """The commands that it took."""
        self.log.write_text("")
        figure_cuts.make(str(self.program), self.told, self.folder / "cuts")
        return self.log.read_text().splitlines()

    def test_are_made_once_for_every_combination(self):
        words = self.make()

        self.assertEqual(len(words), 4)
        self.assertEqual(words[0], "partition one --method spring --parts 2 --json --set seed=3")
        self.assertIn("--set dataset.symmetric=true", words[2])
        self.assertEqual(self.make(), [])

    def test_go_on_where_a_file_is_missing_or_cut_short(self):
        self.make()
        (self.folder / "cuts/one-spring-4.json").unlink()
        (self.folder / "cuts/two-spring-2.json").write_text("{")

        self.assertEqual(len(self.make()), 2)

    def test_are_made_again_with_other_settings(self):
        self.make()
        self.told["set_for"] = {}

        self.assertEqual([line.split()[1] for line in self.make()], ["two", "two"])

    def test_that_fail_leave_nothing_and_say_why(self):
        self.told["cuts"]["method"] = ["broken"]
        with self.assertRaisesRegex(FigureError, "no such method"):
            self.make()

        self.assertFalse((self.folder / "cuts").exists())

    def test_are_read_with_what_they_were(self):
        self.make()
        runs = figure_cuts.read(self.told, self.folder / "cuts")

        self.assertEqual(runs[1].config, {"graph": "one", "method": "spring", "parts": 4})
        self.assertEqual(runs[1].result["parts"], 4)
        self.assertEqual(runs[1].result["data_set_bytes"], 100)
        self.assertGreater(runs[1].result["process_peak_bytes"], 1 << 20)

    def test_stream_the_file_of_edges_without_what_is_set_for_the_graph_in_memory(self):
        self.told["stream"] = True

        words = self.make()[2]
        self.assertIn("data/two/edges.npy", words)
        self.assertNotIn("symmetric", words)

    def test_of_a_data_set_that_is_not_there_name_it(self):
        self.told["cuts"]["graph"] = ["three"]
        with self.assertRaisesRegex(FigureError, "three is not in ORRERY_DATA"):
            self.make()

    def test_are_really_cut(self):
        (self.folder / "data/ring").mkdir()
        header = str({"descr": "<i4", "fortran_order": False, "shape": (2, 6)}).ljust(117) + "\n"
        numbers = [*range(6), 1, 2, 3, 4, 5, 0]
        (self.folder / "data/ring/edges.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
            + b"".join(n.to_bytes(4, "little") for n in numbers))
        run = {"cuts": {"graph": ["ring"], "method": ["spring"], "parts": [1]}, "stream": True}
        figure_cuts.make(folders.PROGRAM, run, self.folder / "cuts")

        result = figure_cuts.read(run, self.folder / "cuts")[0].result
        self.assertEqual(result["replication_factor"], 1)
        self.assertGreater(result["clusters_before"], 0)


    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
    def test_make_a_figure_with_rows_a_picture_and_tables(self):
        value = {"measure": "cut_value", "of": "cuts", "at": {"graph": "one", "parts": 2},
                 "key": "replication_factor"}
        told = {"title": "t", "source": "s", "shows": "w", "cost_seconds": 1, "constants": [],
                "reached": {"date": "2026-11-23"}, "runs": {"cuts": self.told}, "notes": [],
                "rows": [{"label": "one", "unit": "x", "paper": 1, "ours": value}],
                "panels": [
                    {"kind": "curves", "title": "c", "x": "parts", "y": "replication_factor",
                     "x_name": "parts", "y_name": "factor", "series": [
                         {"of": "cuts", "at": {"graph": "one"}, "title": "SPRING"}]},
                    {"kind": "pairs", "title": "p", "x_name": "", "y_name": "factor",
                     "ticks": ["one"], "columns": [{"title": "SPRING", "rows": ["one"]}]}]}
        figure_file.check(self.folder / "figure.json", told)
        drawn = figure_file.Figure("paper/f", self.folder, told)
        result = figure.make_figure(drawn, self.folder / "out", str(self.program), False)

        self.assertEqual(result["rows"][0]["error"], 0.5)
        self.assertEqual(result["counted"]["roles"]["predicted"]["mean"], 0.5)
        self.assertGreater(Path(result["picture"]).stat().st_size, 1000)
        lines = Path(result["runs_csv"]).read_text().splitlines()
        self.assertEqual(len(lines), 5)
        self.assertTrue(lines[1].startswith("cuts,one,spring,2,1.5,"))
        again = figure.make_figure(drawn, self.folder / "out", "/nothing/there", True)
        self.assertEqual(again["rows"], result["rows"])


class Fake:
    """Replication factors by (run, graph, method, parts)."""

    def __init__(self, factors, cuts):
        self.factors = factors
        self.figure = figure_file.Figure("f", Path(), {"runs": {"cuts": {"cuts": cuts}}})

    def pick(self, run, at):
        return Run(result={"replication_factor": self.factors[(run, *at.values())]})


class CutMeasures(unittest.TestCase):
    def setUp(self):
        factors = {}
        for parts, spring, first, second in [(2, 1.0, 1.5, 1.5), (4, 2.0, 1.5, 4.5)]:
            factors[("cuts", "g", "spring", parts)] = spring
            factors[("refined", "g", "spring", parts)] = spring / 2
            factors[("cuts", "g", "first", parts)] = first
            factors[("cuts", "g", "second", parts)] = second
        self.cuts = Fake(factors, {"graph": ["g"], "method": [], "parts": [2, 4]})
        self.spec = {"of": "cuts", "method": "spring", "rivals": ["first", "second"]}

    def test_lowest_is_below_every_rival(self):
        self.assertEqual(cut_measures.lowest_percent(self.cuts, self.spec), 50)
        self.assertEqual(cut_measures.lowest_percent(self.cuts, self.spec | {"least_parts": 4}), 0)

    def test_a_gain_is_that_over_the_mean_of_the_rivals(self):
        self.assertEqual(cut_measures.gains(self.cuts, self.spec), [50, 50])
        refined = self.spec | {"method_of": "refined", "least_parts": 4}
        self.assertEqual(cut_measures.mean_gain_percent(self.cuts, refined), 200)

    def test_a_value_may_be_less_another(self):
        class One:
            def pick(self, run, at):
                return Run(result={"clusters": 10, "sizes": {"single": 3}})

        spec = {"of": "cuts", "at": {}, "key": "clusters", "minus": "sizes.single"}
        self.assertEqual(cut_measures.cut_value(One(), spec), 7)
