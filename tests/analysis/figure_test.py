"""orrery figure: the shipped figures are whole and quote the paper; errors and choices by hand."""

import importlib.util
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

import figure_counting
import figure_file
import folders
import measures
import page_rules
import units
from figure_file import FigureError
from figure_runs import Experiments
from figures import provenance
from result_folder import Run


def reported_results():
    """The list of reported results, beside the data sets or beside the sources."""
    places = [Path(f).parent for f in os.environ.get("ORRERY_DATA", "").split(":") if f]
    for place in [*places, folders.SOURCES.parent / "shared"]:
        if (place / "papers/reported.json").exists():
            return place / "papers/reported.json"
    return None


REPORTED = reported_results()
SHIPPED = {"beyond": ["conditions", "regions", "regions-apart", "scaling", "validation"],
           "catgnn": ["fig2", "fig4", "fig6", "fig7", "fig7-batches", "fig8", "fig9", "fig10", "fig11", "fig11-batches",
                      "fig12",
                      "table1", "table2"],
           "deal": ["fig3a", "fig3b", "fig5", "fig15", "fig16", "fig17", "fig18", "fig19", "fig20", "fig21", "table5", "table6"],
           "distdglv2": ["fig1", "fig2", "fig6", "fig7", "fig8", "fig9", "fig10", "table2"],
           "granndis": ["accuracy", "eq7", "fig4", "fig8", "fig9", "fig10", "fig11", "fig12", "fig13",
                        "fig14", "fig15", "fig16a", "fig16b", "fig17", "table4"],
           "mg-gcn": ["fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig12", "sec5.1", "table2", "table3"],
           "orrery": ["attention", "sampled"]}


def shipped():
    return [figure_file.load(name) for name in figure_file.names()]


def swept(sweep, key):
    """The values that a sweep gives a key, by itself or with all of its room ("strategy": [{...}])."""
    room, _, leaf = key.partition(".")
    return sweep[key] if key in sweep else [settings[leaf] for settings in sweep[room]]


def means_in(spec):
    if spec["measure"] == "mean":
        yield spec
    for key in ("of", "over", "less"):
        if isinstance(spec.get(key), dict):
            yield from means_in(spec[key])


KNOWN = "beyond/conditions, beyond/regions, beyond/regions-apart, beyond/scaling, beyond/validation, "


class UnknownFigures(unittest.TestCase):
    def test_are_told_with_the_one_that_is_meant(self):
        for wrong, meant in (("mg-gcn/tabel3", "mg-gcn/table3"), ("tabel3", "mg-gcn/table3"),
                             ("granndis/accurracy", "granndis/accuracy")):
            with self.subTest(wrong), self.assertRaisesRegex(
                    FigureError, f"no figure {wrong}. Did you mean {meant}\\? Known: {KNOWN}"):
                figure_file.load(wrong)

    def test_that_are_like_none_are_told_with_the_list_alone(self):
        with self.assertRaisesRegex(FigureError, f"no figure zebra. Known: {KNOWN}"):
            figure_file.load("zebra")


class ShippedFigures(unittest.TestCase):
    def test_are_those_of_the_papers_and_ours(self):
        names = [f"{paper}/{name}" for paper, figures in SHIPPED.items() for name in figures]
        self.assertEqual(figure_file.names(), names)

    def test_measure_runs_that_their_files_make(self):
        """What a row of means asks for stands in the sweep of its run's file."""
        for figure in shipped():
            for row in figure.told["rows"]:
                for spec in means_in(row["ours"]):
                    file = json.loads(figure.file_of(spec["of"]).read_text())
                    for key, value in spec.get("at", {}).items():
                        with self.subTest(f"{figure.name}: {row['label']}"):
                            self.assertIn(value, swept(file["sweep"], key))

    def test_measure_with_measures_that_exist(self):
        for figure in shipped():
            for row in figure.told["rows"]:
                with self.subTest(f"{figure.name}: {row['label']}"):
                    self.assertIn(row["ours"]["measure"], measures.MEASURES)

    def test_draw_rows_and_runs_that_exist(self):
        for figure in shipped():
            labels = {row["label"] for row in figure.told["rows"]}
            for panel in figure.told["panels"]:
                with self.subTest(f"{figure.name}: {panel['title']}"):
                    self.assertLessEqual(set(panel.get("rows", [])), labels)
                    series = panel.get("series", []) + panel.get("bars", [])
                    series += panel.get("winners", []) + panel.get("closed_forms", [])
                    of = {one.get("of", one.get("cells")) for one in series}
                    of |= {panel["of"]} if "of" in panel else set()
                    self.assertLessEqual(of, figure.told["runs"].keys())

    def test_call_nothing_predicted_whose_price_was_set_by_table_3(self):
        """SpMM's 0.65 comes from there, and all times of MG-GCN's figures on GPUs rest on it."""
        timed = {"epoch_seconds", "product_seconds", "kind_percent", "first_above", "part_percent"}

        def measures_of(spec):
            yield spec["measure"]
            for key in ("of", "over"):
                if isinstance(spec.get(key), dict):
                    yield from measures_of(spec[key])

        def on_gpus(figure, spec):
            """Whether a run that is measured is on another machine than sockets of Xeons."""
            if isinstance(spec.get("of"), dict):
                return any(on_gpus(figure, spec[key]) for key in ("of", "over"))
            file = json.loads(figure.file_of(spec["of"]).read_text())
            return not file["cluster"]["file"].startswith("xeon")

        for figure in shipped():
            for row in figure.told["rows"] if figure.name.startswith("mg-gcn/") else []:
                if row["paper"] is not None and timed & set(measures_of(row["ours"])) and on_gpus(figure, row["ours"]):
                    with self.subTest(f"{figure.name}: {row['label']}"):
                        self.assertNotEqual(figure.role_of(row), "predicted")

    def test_record_as_many_cells_as_they_compare(self):
        for figure in shipped():
            compared = [row["paper"] for row in figure.told["rows"] if row.get("role") != "aside"]
            ranges = sum(isinstance(paper, list) for paper in compared)
            reached = figure.told["reached"]
            with self.subTest(figure.name):
                self.assertEqual((reached["cells"], reached["ranges"]),
                                 (len(compared) - ranges, ranges))

    def test_say_the_same_of_a_data_set_everywhere(self):
        known = {}
        for file in (folders.SOURCES / "configs/mg-gcn").glob("*/*.json"):
            data = json.loads(file.read_text()).get("dataset", {})
            if "statistics" in data and file.stem != "bter":
                name = file.stem if "sec5.1" not in str(file) else "products"
                with self.subTest(str(file)):
                    self.assertEqual(known.setdefault(name, data["statistics"]), data["statistics"])
        self.assertEqual(len(known), 6)

    def test_have_experiments_that_resolve(self):
        """Every combination is read and recorded, but for the largest and those on real edges."""
        for file in sorted((folders.SOURCES / "configs/mg-gcn").glob("*/*.json")):
            told = json.loads(file.read_text()).get("dataset", {}).get("statistics")
            if told is None or told["vertices"] > 3e5:
                continue
            with self.subTest(str(file)):
                done = folders.orrery("plan", file, "--json", "--set", "cluster.gpus=2")
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertTrue(json.loads(done.stdout.splitlines()[-1]), done.stderr)


def quoted(reference, reported):
    """The values of the list that fit a row's reference."""
    for one in reported:
        same = all(one[key] == reference[key] for key in ("artefact", "metric"))
        if same and all(one["setting"].get(k) == v for k, v in reference["setting"].items()):
            found = one
            for key in reference.get("of", ["value"]):
                found = found[key]
            yield found[reference["key"]] if "key" in reference else found


@unittest.skipUnless(REPORTED, "the list of reported results is not here")
class QuotedNumbers(unittest.TestCase):
    def setUp(self):
        self.everything = json.loads(REPORTED.read_text())

    def one(self, reference):
        values = list(quoted(reference, self.reported))
        self.assertEqual(len(values), 1, f"{reference} fits {len(values)} entries")
        return values[0]

    def test_are_those_of_the_list(self):
        for figure in shipped():
            paper = figure.name.partition("/")[0]
            self.reported = [one for one in self.everything if one["paper"] == paper]
            for row in figure.told["rows"]:
                if "reported" not in row:
                    continue
                with self.subTest(f"{figure.name}: {row['label']}"):
                    self.check(row)

    def check(self, row):
        reference = row["reported"]
        if isinstance(reference, list) and row["unit"] == "bool":  # derived: whether they rise
            values = list(map(self.one, reference))
            self.assertEqual(row["paper"], values == sorted(set(values)))
        elif isinstance(reference, list):  # derived: the first over the second
            first, second = map(self.one, reference)
            self.assertAlmostEqual(row["paper"], first / second, delta=1e-4)
        elif "product" in reference:  # derived: one times the other
            first, second = map(self.one, reference["product"])
            self.assertAlmostEqual(row["paper"], first * second, delta=1e-4)
        elif "says" in reference:
            self.assertIn(reference["says"], self.one(reference))
        elif isinstance(row["paper"], float):
            self.assertAlmostEqual(row["paper"], self.one(reference), delta=1e-9)
        else:
            self.assertEqual(row["paper"], self.one(reference))

    def test_cover_every_row_that_claims_the_paper(self):
        for figure in shipped():
            for row in figure.told["rows"]:
                if row["paper"] is not None or row.get("paper_says") == "out of memory":
                    self.assertIn("reported", row, f"{figure.name}: {row['label']}")


class MachinesOfSection51(unittest.TestCase):
    def links(self, cluster):
        """NVLinks between GPUs, {(0, 3): 2, ...}, and the GPU of each rank."""
        done = folders.orrery("cluster", "show", cluster, "--json")
        told = json.loads(done.stdout.splitlines()[-1])
        number = lambda name: int(name.removeprefix("s0/gpu"))
        links = {
            tuple(sorted((number(one["from"]), number(one["to"])))): one["count"]
            for one in told["links"] if one["type"] == "nvlink2"
        }
        return links, [number(device["name"]) for device in told["devices"]]

    def test_assumed_have_four_links_into_the_half_and_two_to_the_partner(self):
        folder = folders.SOURCES / "configs/mg-gcn/sec5.1/clusters"
        links, _ = self.links(folder / "dgx-1-as-assumed.json")

        for gpu in range(8):
            own = {b if a == gpu else a: n for (a, b), n in links.items() if gpu in (a, b)}
            half = sum(n for other, n in own.items() if other // 4 == gpu // 4)
            self.assertEqual((half, own.get((gpu + 4) % 8)), (4, 2), gpu)

    def test_real_have_the_links_of_the_shipped_one(self):
        folder = folders.SOURCES / "configs/mg-gcn/sec5.1/clusters"

        self.assertEqual(self.links(folder / "dgx-1-halves.json")[0], self.links("dgx-1")[0])

    def test_put_the_columns_of_the_grid_into_the_halves(self):
        for name in ("dgx-1-halves.json", "dgx-1-as-assumed.json"):
            _, gpus = self.links(folders.SOURCES / "configs/mg-gcn/sec5.1/clusters" / name)
            self.assertEqual(sorted(gpus[0::2]), [0, 1, 2, 3], name)
            self.assertEqual(sorted(gpus[1::2]), [4, 5, 6, 7], name)


def cell(paper, ours, role="predicted", unit="s", **told):
    """A row as make_rows() tells it."""
    told = {"label": told.pop("label", f"{paper} and {ours}"), "paper": paper, "unit": unit} | told
    return told | {"ours": ours, "role": role, "error": figure_counting.error_of(paper, ours),
                   "verdict": figure_counting.verdict_of(told, ours)}


class Errors(unittest.TestCase):
    def test_are_signed_and_relative_to_the_paper(self):
        self.assertAlmostEqual(figure_counting.error_of(2.0, 1.5), -0.25)
        self.assertAlmostEqual(figure_counting.error_of(2.0, 2.5), 0.25)

    def test_of_a_range_count_from_its_nearer_end(self):
        self.assertEqual(figure_counting.error_of([60, 94], 70), 0)
        self.assertAlmostEqual(figure_counting.error_of([60, 94], 30), -0.5)
        self.assertAlmostEqual(figure_counting.error_of([60, 90], 99), 0.1)

    def test_need_two_numbers(self):
        for paper, ours in [(None, 1.0), (1.0, None), (True, True), (True, 1.0)]:
            self.assertIsNone(figure_counting.error_of(paper, ours))

    def test_that_round_to_nothing_have_no_sign(self):
        self.assertEqual(units.signed_percent(-0.0004), "0.0 %")
        self.assertEqual(units.signed_percent(0.0004, 0), "0 %")
        self.assertEqual(units.signed_percent(-0.006, 0), "-1 %")


class Verdicts(unittest.TestCase):
    def test_of_numbers_agree_within_15_percent(self):
        self.assertEqual(cell(2.0, 1.75)["verdict"], "agrees")
        self.assertEqual(cell(2.0, 1.69)["verdict"], "off")
        self.assertEqual(cell(2.0, 9.0)["verdict"], "off")

    def test_tell_out_of_memory_from_a_number_in_both_directions(self):
        self.assertEqual(cell(None, None, paper_says="out of memory")["verdict"], "agrees")
        self.assertEqual(cell(None, 1.0, paper_says="out of memory")["verdict"], "differs")
        self.assertEqual(cell(1.0, None)["verdict"], "differs")
        self.assertEqual(cell([29.0, 47.0], None)["verdict"], "differs")

    def test_tell_statements_apart(self):
        self.assertEqual(cell(True, True)["verdict"], "agrees")
        self.assertEqual(cell(False, True)["verdict"], "differs")

    def test_of_ratios_differ_where_another_one_wins(self):
        self.assertEqual(cell(1.05, 0.99, unit="x")["verdict"], "differs")
        self.assertEqual(cell([1.7, 10.7], 0.9, unit="x")["verdict"], "differs")
        self.assertEqual(cell([0.5, 1.5], 0.9, unit="x")["verdict"], "agrees")
        self.assertEqual(cell(1.05, 0.99, unit="s")["verdict"], "agrees")

    def test_are_none_where_the_paper_says_nothing_or_words(self):
        self.assertIsNone(cell(None, 1.0)["verdict"])
        self.assertIsNone(cell(None, 1.0, paper_says="lower")["verdict"])


class Counting(unittest.TestCase):
    def test_counts_what_fails_as_100_percent_at_least(self):
        """2, 100, 100 and 300 %: the mean left the failed ones out and was 151 %."""
        rows = [cell(1.0, 1.02), cell(1.0, None), cell(1.2, 0.9, unit="x"), cell(1.0, 4.0)]

        counted = figure_counting.count(rows)
        self.assertAlmostEqual(counted["roles"]["predicted"]["mean"], (0.02 + 1 + 1 + 3) / 4)
        self.assertEqual((counted["cells"], counted["agree"]), (4, 1))
        self.assertAlmostEqual(counted["rest"], 5 / 3)
        self.assertEqual(counted["differ"], [rows[1]["label"], rows[2]["label"]])
        self.assertEqual(counted["worst"], {"label": rows[3]["label"], "error": 3.0})

    def test_keeps_the_roles_apart(self):
        rows = [cell(1.0, 1.0, "fitted"), cell(1.0, 1.5, "informed"), cell(1.0, 0.9),
                cell(1.0, 7.0, "aside")]

        roles = figure_counting.count(rows)["roles"]
        self.assertEqual([roles[role]["cells"] for role in roles], [1, 1, 1])
        for role, error in [("fitted", 0), ("informed", 0.5), ("predicted", 0.1)]:
            self.assertAlmostEqual(roles[role]["mean"], error)

    def test_counts_shared_ranges_apart(self):
        rows = [cell([2.0, 4.0], 3.0), cell([2.0, 4.0], 1.0), cell([2.0, 4.0], None),
                cell(1.0, 1.1)]

        counted = figure_counting.count(rows)
        self.assertEqual((counted["cells"], counted["ranges"], counted["inside"]), (1, 3, 1))
        self.assertAlmostEqual(counted["outside"], 0.75)
        self.assertAlmostEqual(counted["roles"]["predicted"]["mean"], 0.1)
        self.assertEqual(counted["worst"]["error"], 1.0)

    def test_has_no_error_for_statements_that_agree(self):
        counted = figure_counting.count([cell(True, True), cell(1.0, 1.5)])
        self.assertAlmostEqual(counted["roles"]["predicted"]["mean"], 0.5)
        self.assertEqual(counted["agree"], 1)
        self.assertIsNone(figure_counting.count([cell(True, True)])["worst"])

    def test_of_nothing_says_so(self):
        counted = figure_counting.count([cell(None, 1.0, "aside")])
        self.assertEqual(counted["worst"], None)
        self.assertEqual(len(figure_counting.headline(counted)), 1)

    def test_heads_a_table_with_what_differs(self):
        rows = [cell(1.0, 1.02), cell(1.0, None, label="deep")]
        text = "\n".join(figure_counting.headline(figure_counting.count(rows)))

        self.assertIn("1 of 2 cells agrees", text)
        self.assertIn("mean error of the rest 100.0 %", text)
        self.assertIn("predicted 51.0 % (2 cells)", text)
        self.assertIn("100 % or more: deep", text)


class Roles(unittest.TestCase):
    def role(self, *constants, **row):
        told = {"constants": [dict(zip(("role", "rows"), one)) for one in constants]}
        return figure_file.Figure("f", Path(), told).role_of({"label": "a"} | row)

    def test_are_the_strongest_of_what_a_row_rests_on(self):
        self.assertEqual(self.role(), "predicted")
        self.assertEqual(self.role(("informed", ["b"])), "predicted")
        self.assertEqual(self.role(("informed", "all")), "informed")
        self.assertEqual(self.role(("informed", "all"), ("fitted", ["a"])), "fitted")
        self.assertEqual(self.role(("fitted", "all"), role="aside"), "aside")


class Covered(unittest.TestCase):
    def test_counts_overlapping_intervals_once(self):
        self.assertEqual(measures.covered([(0, 2), (1, 3), (5, 6), (5.2, 5.5)]), 4)
        self.assertEqual(measures.covered([]), 0)


class Fake:
    """Experiments with a sweep made by hand: epoch seconds by (edges, gpus)."""

    def __init__(self, seconds):
        runs = []
        for (edges, gpus), value in seconds.items():
            run = type("Run", (), {})()
            run.config = {"edges": edges, "gpus": gpus}
            run.result = {"epoch_seconds": value}
            runs.append(run)
        self.results = {"a": runs}

    pick = Experiments.pick


class FirstAbove(unittest.TestCase):
    def first(self, faster):
        seconds = {(e, 1): 1.0 for e in faster} | {(e, 2): 1 / f for e, f in faster.items()}
        spec = {"of": "a", "key": "edges", "unit_of_key": 10, "at": {"gpus": 2},
                "base": {"gpus": 1}, "above": 2}
        return measures.first_above(Fake(seconds), spec)

    def test_is_where_it_stays_above(self):
        self.assertEqual(self.first({10: 1.5, 20: 2.5, 40: 1.9, 80: 2.1, 160: 2.2}), 8)

    def test_is_nothing_where_it_never_does(self):
        self.assertIsNone(self.first({10: 1.0, 20: 2.0}))
        self.assertEqual(measures.nothing_means({"measure": "first_above"}), "never")
        self.assertEqual(measures.nothing_means({"measure": "ratio"}), "out of memory")


def seeded(values):
    """Experiments of one run "a" by hand: accuracy by (hops, seed)."""
    runs = []
    for (hops, seed), value in values.items():
        run = type("Run", (), {})()
        run.config, run.result = {"hops": hops, "seed": seed}, {"accuracy": value}
        runs.append(run)
    made = Fake({})
    made.results = {"a": runs}
    return made


class Gaps(unittest.TestCase):
    def setUp(self):
        self.made = seeded({(0, 1): 0.5, (1, 1): 0.75})
        self.made.figure = type("Told", (), {})()
        self.made.figure.told = {"rows": [{"label": "a", "paper": 80}, {"label": "b", "paper": 12}]}

    def test_are_between_the_paper_and_the_sum_of_causes(self):
        causes = {"measure": "total", "of": [accuracy(0), accuracy(1)]}
        paper = {"measure": "paper_number", "row": "b"}

        self.assertEqual(measures.value_of(self.made, paper), 12)
        self.assertAlmostEqual(measures.value_of(self.made, causes), 125)
        self.assertAlmostEqual(measures.value_of(self.made, {"measure": "difference", "of": causes, "less": paper}), 113)

    def test_have_no_sum_if_a_cause_is_out_of_memory(self):
        self.made.results["a"][0].result = {"epoch_seconds": None}
        lost = {"measure": "epoch_seconds", "of": "a", "at": {"hops": 0}}

        self.made.pick = lambda name, at: next(run for run in self.made.results[name] if run.config["hops"] == at["hops"])
        self.assertIsNone(measures.value_of(self.made, {"measure": "total", "of": [lost, accuracy(1)]}))


def accuracy(hops):
    return {"measure": "mean", "of": "a", "at": {"hops": hops}, "value": "accuracy", "by": "seed",
            "times": 100}


class Means(unittest.TestCase):
    def setUp(self):
        self.made = seeded({(0, 1): 0.5, (0, 2): 0.75, (1, 1): 0.625, (1, 2): 0.8125, (1, 3): 0.1})

    def test_are_over_the_values_of_a_key(self):
        self.assertAlmostEqual(measures.value_of(self.made, accuracy(0)), 62.5)
        self.assertAlmostEqual(measures.deviation(self.made, accuracy(0)), 12.5 * 2 ** 0.5)

    def test_of_differences_pair_what_both_have(self):
        spec = {"measure": "paired_difference", "of": accuracy(1), "less": accuracy(0)}
        self.assertAlmostEqual(measures.value_of(self.made, spec), (12.5 + 6.25) / 2)
        self.assertAlmostEqual(measures.deviation(self.made, spec), 6.25 / 2 ** 0.5)
        near = {"measure": "within", "of": spec, "limit": 10}
        self.assertTrue(measures.value_of(self.made, near))
        self.assertFalse(measures.value_of(self.made, near | {"limit": 9}))
        # The standard error of two values whose deviation is 6.25 / sqrt 2 is 3.125.
        self.assertTrue(measures.value_of(self.made, near | {"limit": 3.2, "standard_errors": 2}))
        self.assertFalse(measures.value_of(self.made, near | {"limit": 3.1, "standard_errors": 2}))

    def test_of_nothing_are_told(self):
        with self.assertRaises(FigureError):
            measures.value_of(self.made, accuracy(7))

    def test_have_no_deviation_of_one(self):
        self.assertIsNone(measures.deviation(seeded({(0, 1): 0.5}), accuracy(0)))


def timed(seconds):
    """Experiments of runs "a", "b" and others by hand: epoch seconds by (run, rate)."""
    made = Fake({})
    made.results = {"a": [], "b": []}
    for (name, rate), value in seconds.items():
        run = type("Run", (), {})()
        run.config, run.out_of_memory = {"rate": rate}, None
        run.result = {"epoch_seconds": value, "peak_bytes": [3, 8, 5]}
        made.results.setdefault(name, []).append(run)
    return made


class Learning(unittest.TestCase):
    """Two seeds that are evaluated after epochs 1, 3 and, one of them, 5; an epoch takes 2 s."""

    SPEC = {"of": "a", "value": "test_accuracy", "by": "seed", "times": 100}

    def setUp(self):
        self.made = timed({("a", 1): 2.0, ("a", 2): 2.0})
        for run, learned in zip(self.made.results["a"], ((0.5, None, 0.75, None, 0.7), (0.25, None, 0.5))):
            run.epochs = [{"epoch": e, "test_accuracy": a} for e, a in enumerate(learned)]

    def value(self, measure, **more):
        return measures.value_of(self.made, self.SPEC | {"measure": measure} | more)

    def test_is_of_epochs_that_all_runs_tell(self):
        self.assertEqual(measures.learned(self.made, self.SPEC), {0: [50, 25], 2: [75, 50]})
        self.assertEqual(self.value("best_mean", less=2), 60.5)
        with self.assertRaises(FigureError):
            measures.learned(self.made, self.SPEC | {"value": "loss"})

    def test_comes_to_a_level_after_epochs_and_seconds_or_never(self):
        best = self.SPEC | {"measure": "best_mean", "less": 1}
        self.assertEqual(self.value("epochs_to", level=37.5), 1)
        self.assertEqual(self.value("epochs_to", level=best), 3)
        self.assertEqual(self.value("seconds_to", level=best, seconds_of={"of": "a"}), 6.0)
        self.assertIsNone(self.value("seconds_to", level=63, seconds_of={"of": "a"}))
        self.assertEqual(measures.nothing_means({"measure": "epochs_to"}), "never")
        time = {"measure": "seconds_to", "of": "a"}
        self.assertEqual(measures.nothing_means({"measure": "ratio", "of": time, "over": time}), "never")

    def test_comes_to_a_level_after_seconds_of_a_simulation_of_the_run(self):
        """62.5 after three epochs, of 2 s here and of 0.5 s there."""
        self.made.results["a"][0].result["simulated_on"] = {"dgx-1": {"epoch_seconds": 0.5}}
        self.assertEqual(self.value("seconds_to", level=62.5, seconds_of={"of": "a", "on": "dgx-1"}), 1.5)
        with self.assertRaisesRegex(FigureError, "not simulated on dgx-2; known: dgx-1"):
            self.value("seconds_to", level=62.5, seconds_of={"of": "a", "on": "dgx-2"})

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
    def test_is_drawn_with_a_band_over_epochs_or_seconds(self):
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from figures import learning

        figure, axes = plt.subplots()
        self.addCleanup(plt.close, figure)
        series = {"of": "a", "title": "ours"}
        panel = self.SPEC | {"x_name": "epochs", "y_name": "accuracy", "log": "x",
                             "series": [series, series | {"title": "later", "seconds_of": {"of": "a"}}]}
        learning.draw(axes, panel, self.made, [])
        self.assertEqual([list(line.get_xdata()) for line in axes.lines], [[1, 3], [2.0, 6.0]])
        self.assertEqual(list(axes.lines[0].get_ydata()), [37.5, 62.5])
        self.assertEqual(len(axes.collections), 2)
        figure.draw_without_rendering()
        self.assertIn("2", [tick.get_text() for tick in axes.get_xticklabels()], "a plain number")


class BreakEvens(unittest.TestCase):
    SPEC = {"measure": "break_even", "of": "a", "over": "b", "key": "rate"}

    def test_lie_between_the_rates_around_them_on_logarithmic_scales(self):
        """Twice as fast at 1, half as fast at 16: as fast at 4."""
        made = timed({("a", 1): 1, ("b", 1): 2, ("a", 16): 2, ("b", 16): 1})
        self.assertAlmostEqual(measures.value_of(made, self.SPEC), 4)
        self.assertAlmostEqual(measures.value_of(made, self.SPEC | {"times": 10}), 40)

    def test_are_nothing_where_one_is_always_faster(self):
        made = timed({("a", 1): 1, ("b", 1): 2, ("a", 16): 1, ("b", 16): 1.5})
        self.assertIsNone(measures.value_of(made, self.SPEC))


class Volumes(unittest.TestCase):
    def test_of_a_layer_are_what_a_plan_receives_more_because_of_it(self):
        """Of two ranks, in plans of two epochs."""
        class Planned:
            def plan(self, name, settings):
                self.asked = name, settings
                of_rank = 100 * settings["model.layers"]
                return {"ranks": [{"epochs": 2, "bytes": {"internal": of_rank, "external": 8}},
                                  {"epochs": 2, "bytes": {"internal": 0, "external": of_rank}}]}

        made = Planned()
        spec = {"measure": "received_in_layer", "of": "gat", "at": {"cluster.ranks": 2},
                "layers": 3}
        self.assertEqual(measures.value_of(made, spec), 100)
        self.assertEqual(made.asked, ("gat", {"cluster.ranks": 2, "model.layers": 2}))

    def test_of_memory_are_of_the_rank_that_needs_most(self):
        """10 bytes, of which 6 are of a and 3 of b: filling 19 takes 15 of a, or 18 of both."""
        class Planned:
            def plan(self, name, settings):
                return {"ranks": [{"peak_bytes": 8, "by_tensor_class": {"a": 8}},
                                  {"peak_bytes": 10, "by_tensor_class": {"a": 6, "b": 3, "c": 1}}]}

        memory = {"measure": "plan_memory", "of": "full graph"}
        self.assertEqual(measures.value_of(Planned(), memory), 10)
        self.assertEqual(measures.value_of(Planned(), memory | {"classes": ["b", "none"], "unit": 2}), 1.5)
        factor = {"measure": "plan_factor", "of": "full graph", "capacity": 19}
        self.assertEqual(measures.value_of(Planned(), factor | {"classes": ["a"]}), 2.5)
        self.assertEqual(measures.value_of(Planned(), factor | {"classes": ["a", "b"]}), 2)

    def test_are_found_by_their_keys_and_compared(self):
        """A plan with 3 bytes for batches, and trainers that wait a quarter of the time."""
        class Told:
            def plan(self, name, settings):
                return {"batches": {"bytes": 3}} if (name, settings) == ("deep", {"model.layers": 2}) else {}

            def starve(self, name, settings, epochs):
                return {"now": {"waiting_share": 0.25 if epochs == 8 else 0}}

        bytes_ = {"measure": "plan_number", "of": "deep", "at": {"model.layers": 2}, "key": "batches.bytes",
                  "times": 4, "unit": 6}
        waits = {"measure": "starving", "of": "deep", "epochs": 8, "key": "now.waiting_share", "times": 100}
        self.assertEqual(measures.value_of(Told(), bytes_), 2)
        self.assertIsNone(measures.value_of(Told(), bytes_ | {"at": {}}))
        self.assertEqual(measures.value_of(Told(), waits), 25)
        more = {"measure": "exceeds", "of": waits, "over": bytes_}
        self.assertIs(measures.value_of(Told(), more), True)
        self.assertIs(measures.value_of(Told(), more | {"over": 25}), False)
        self.assertIsNone(measures.value_of(Told(), more | {"of": bytes_ | {"at": {}}}))

    def test_of_rows_that_pass_by_are_those_of_all_other_ranks(self):
        """Ranks of 3, 3 and 4 of 10 rows receive 7, 7 and 6 of them, of 5 numbers of 4 bytes."""
        spec = {"measure": "rows_that_pass_by", "ranks": 3, "vertices": 10, "columns": 5}
        self.assertEqual(measures.value_of(None, spec | {"times": 1}), 20 * (7 + 7 + 6))
        self.assertEqual(measures.value_of(None, spec | {"times": 4}), 80 * (7 + 7 + 6))


class FiguresOfOurs(unittest.TestCase):
    def test_put_no_words_into_a_papers_mouth(self):
        for figure in shipped():
            with self.subTest(figure.name):
                own = figure.name.startswith(("orrery/", "beyond/"))
                self.assertTrue(figure.says().startswith("This shows" if own else "The paper says"))
                self.assertTrue(not own or all(row["role"] == "aside" for row in figure.told["rows"]))

    def test_that_are_planned_run_nothing(self):
        """The program that it would run does not exist."""
        figure = figure_file.load("orrery/attention")
        with tempfile.TemporaryDirectory() as folder:
            made = Experiments(figure, folder, "/no/such/program")
            made.stand_ins = {}
            figure.told["runs"] = {name: {k: v for k, v in run.items() if k != "data"}
                                   for name, run in figure.told["runs"].items()}
            made.run_all()
            self.assertEqual(set(map(len, made.results.values())), {0})


class NumbersOfResults(unittest.TestCase):
    def test_of_a_list_are_the_largest(self):
        made = timed({("a", 1): 1})
        spec = {"measure": "result_number", "of": "a", "key": "peak_bytes", "unit": 2}
        self.assertEqual(measures.value_of(made, spec), 4)

    def test_below_another_are_in_percent_of_it(self):
        made = timed({("a", 1): 1, ("b", 1): 4})
        of, over = ({"measure": "epoch_seconds", "of": name} for name in ("a", "b"))
        spec = {"measure": "percent_below", "of": of, "over": over}
        self.assertEqual(measures.value_of(made, spec), 75)

    def test_of_an_epoch_count_as_often_as_the_papers_has_it(self):
        made = timed({("a", 1): 2})
        self.assertEqual(measures.value_of(made, epoch("a") | {"times": 1.5}), 3)

    def test_largest_of_several_is_nothing_where_one_did_not_fit(self):
        made = timed({("a", 1): 1, ("b", 1): 4, ("c", 1): None})
        self.assertEqual(measures.value_of(made, {"measure": "largest", "of": [epoch("a"), epoch("b")]}), 4)
        self.assertIsNone(measures.value_of(made, {"measure": "largest", "of": [epoch("a"), epoch("c")]}))


def epoch(of, **at):
    return {"measure": "epoch_seconds", "of": of} | ({"at": at} if at else {})


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
class PapersMarks(unittest.TestCase):
    """Where the paper's numbers stand on bars of ours."""

    def setUp(self):
        from figures import stacks
        self.stacks = stacks

    def made(self, *rows):
        """A figure and its rows of (ours' spec, the paper's number, ours)."""
        told = [{"ours": spec} for spec, _, _ in rows]
        figure = figure_file.Figure("f", Path(), {"rows": told})
        return figure, [{"paper": paper, "ours": ours} for _, paper, ours in rows]

    def test_stand_where_the_faster_run_would_end_with_the_papers_speed_up(self):
        """3 times in the paper, 1.5 times here: our bar would be half as high."""
        spec = {"measure": "ratio", "of": epoch("slow", gpus=2), "over": epoch("fast", gpus=2)}
        figure, rows = self.made((spec, 3.0, 1.5))

        at = {"at": {"gpus": 2}}
        self.assertAlmostEqual(self.stacks.papers_factor(figure, {"of": "fast"} | at, rows), 0.5)
        self.assertIsNone(self.stacks.papers_factor(figure, {"of": "slow"} | at, rows))
        self.assertIsNone(self.stacks.papers_factor(figure, {"of": "fast"}, rows))

    def test_stand_on_the_slower_runs_where_they_share_a_faster_one(self):
        specs = [{"measure": "ratio", "of": epoch(name), "over": epoch("fast")} for name in "ab"]
        figure, rows = self.made((specs[0], [2.0, 4.0], 8.0), (specs[1], [2.0, 4.0], 1.0))

        self.assertEqual(self.stacks.papers_factor(figure, {"of": "a"}, rows), [0.25, 0.5])
        self.assertEqual(self.stacks.papers_factor(figure, {"of": "b"}, rows), [2.0, 4.0])
        self.assertIsNone(self.stacks.papers_factor(figure, {"of": "fast"}, rows))

    def test_of_a_share_stand_at_the_run_that_has_it(self):
        spec = {"measure": "part_percent", "of": "all", "parts": ["external"]}
        figure, rows = self.made((spec, 40.0, 44.0))

        self.assertAlmostEqual(self.stacks.papers_share(figure, {"of": "all"}, rows), 0.4)
        self.assertIsNone(self.stacks.papers_share(figure, {"of": "other"}, rows))


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is missing")
class PairsWithErrorBars(unittest.TestCase):
    """Accuracies in % with deviations: their labels stand above the bars and below 100 %."""

    def setUp(self):
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from figures import pairs

        rows = [{"label": str(i), "paper": None, "ours": 90.0 + i, "deviation": 2.0, "role": "aside"}
                for i in range(10)]
        panel = {"columns": [{"title": "a", "rows": [str(i) for i in range(5)]},
                             {"title": "b", "rows": [str(i) for i in range(5, 10)]}],
                 "ticks": list("vwxyz"), "x_name": "data set", "y_name": "test accuracy in %"}
        self.figure, self.axes = plt.subplots(figsize=(3.9, 3.1))
        self.addCleanup(plt.close, self.figure)
        pairs.draw(self.axes, panel, None, rows)
        self.figure.draw_without_rendering()

    def test_have_numbers_above_the_caps(self):
        point = self.figure.dpi / 72
        words = sorted(self.axes.texts, key=lambda text: float(text.get_text()))
        for i, text in enumerate(words):
            cap = self.axes.transData.transform((0, 92.0 + i))[1]

            self.assertGreater(text.get_window_extent().y0, cap + 2 * point)

    def test_count_no_more_than_100_percent(self):
        self.assertLessEqual(max(self.axes.get_yticks()), 100)
        self.assertGreater(self.axes.get_ylim()[1], 120, "room for the legend")


class Provenance(unittest.TestCase):
    def sentence(self, told, config):
        run = Run(folders.result(**told), config=config)
        experiments = Fake({})
        experiments.figure = figure_file.Figure("f", Path(), {"runs": {"a": {}}})
        experiments.results = {"a": [run]}
        return provenance.sentence(experiments)

    def test_tells_simulated_from_measured(self):
        host = {"cores": 2, "cpu": "a processor"}
        measured = {"backend": "threads", "simulation": None, "provenance": host,
                    "dataset": {"name": "cora"}}

        self.assertEqual(self.sentence(measured, {}),
                         "Ours: measured on 2 cores of a processor; cora")
        self.assertEqual(self.sentence({"dataset": {"name": "cora"}}, {}),
                         "Ours: simulated on DGX-1 (V100); cora")

    def test_tells_what_of_a_data_set_is_real(self):
        counts = {"name": "x", "dataset": {"statistics": {"vertices": 232965}}}
        made = {"name": "granndis-products", "dataset": {"generate": "communities"}}
        copies = {"name": "y", "dataset": {"path": "cora", "magnify": 3}}

        self.assertTrue(self.sentence({"dataset": {"name": "cora"}}, copies).endswith("; copies of cora"))
        self.assertTrue(self.sentence({}, counts).endswith("; by its counts reddit"))
        self.assertTrue(self.sentence({}, made).endswith("; generated stand-in for ogbn-products"))

    def test_calls_graphs_of_ours_that_have_no_name_what_they_are(self):
        """A weak scaling has one graph for each number of ranks."""
        experiments = Fake({})
        experiments.figure = figure_file.Figure("f", Path(), {"runs": {"a": {}}, "own": True})
        experiments.results = {"a": [
            Run(folders.result(dataset={}), config={"name": "x", "dataset": {"statistics": {"vertices": n}}})
            for n in (111059956, 444239824)]}

        self.assertTrue(provenance.sentence(experiments).endswith(
            "; by their counts ogbn-papers100M and graphs of other sizes"))

    def test_says_what_error_bars_stand_for(self):
        run = Run(folders.result(), config={})
        experiments = Fake({})
        experiments.results = {"a": [run]}

        def sentence(panel, **row):
            experiments.figure = figure_file.Figure("f", Path(), {"runs": {"a": {}}, "panels": [panel]})
            return provenance.sentence(experiments, [{"label": "x"} | row]).partition(". ")[2]

        pairs = {"kind": "pairs", "columns": [{"title": "c", "rows": ["x"]}]}
        spread = {"kind": "spread", "by": "seed", "series": [{"of": "a"}]}
        band = spread | {"series": [{"of": "a", "level": True}]}
        self.assertEqual(sentence(pairs), "")
        self.assertEqual(sentence(pairs, deviation=0.5),
                         "Error bars: standard deviation over seeds")
        self.assertEqual(sentence(spread), "Error bars: standard deviation over seeds")
        self.assertEqual(sentence(band), "Error bars and bands: standard deviation over seeds")

    def test_says_what_the_bars_of_simulated_epochs_stand_for(self):
        interval = {"share": 0.9, "half_width": 0.1, "measured": False, "causes": {"gemm": 0.1}}
        curves = {"kind": "curves", "series": [{"of": "a"}]}

        def words(panel, interval):
            experiments = Fake({})
            experiments.figure = figure_file.Figure("f", Path(), {"runs": {"a": {}}, "panels": [panel]})
            experiments.results = {"a": [Run(folders.result(interval=interval), config={})]}
            return provenance.sentence(experiments).partition(". ")[2]

        self.assertEqual(words(curves, interval),
                         "Bars: what the device profile is assumed to be off by; nobody measured it")
        self.assertEqual(words(curves, interval | {"measured": True}),
                         "Bars: 90 % of real epochs are meant to lie within")
        self.assertEqual(words(curves, None), "")
        self.assertEqual(words(curves | {"base": {"gpus": 1}}, interval), "")

    def test_names_the_machine_also_of_what_did_not_fit(self):
        config = {"cluster": {"file": "dgx-a100"}}
        self.assertIn("on DGX-A100;", self.sentence({"simulation": None}, config))


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
class ParallelEfficiency(unittest.TestCase):
    def points(self, **keys):
        from figures import curves

        experiments = Fake({(1, 8): 4.0, (1, 16): 2.5})
        experiments.results["b"] = Fake({(1, 16): 4.0}).results["a"]
        panel = {"x": "gpus", "base": {"gpus": 8}} | keys
        of = "b" if "base_of" in keys else "a"
        return curves.points(panel, {"of": of, "at": {"edges": 1}}, experiments)

    def test_is_the_speedup_over_what_the_ranks_could_give(self):
        self.assertEqual(self.points(efficiency="strong"), [(8, 100.0), (16, 80.0)])

    def test_of_work_that_grows_with_the_ranks_is_how_little_longer_it_takes(self):
        self.assertEqual(self.points(efficiency="weak"), [(8, 100.0), (16, 160.0)])

    def test_is_over_another_run_where_the_panel_names_one(self):
        self.assertEqual(self.points(efficiency="strong", base_of="a"), [(16, 50.0)])


class FigureCommand(unittest.TestCase):
    def test_lists_what_there_is(self):
        done = folders.orrery("figure", "--list", "--json")

        listed = json.loads(done.stdout)["figures"]
        self.assertEqual([f["name"] for f in listed], figure_file.names())
        for figure in listed:
            self.assertGreater(figure["cost_seconds"], 0)
            self.assertLessEqual({"cells", "agree", "fitted", "informed", "predicted", "worst"},
                                 figure["reached"].keys())

    def test_lists_the_errors_that_device_profiles_cite(self):
        listed = json.loads(folders.orrery("figure", "--list", "--json").stdout)["figures"]
        errors = {figure["name"]: figure["reached"]["informed"] for figure in listed}
        cited = set()
        for profile in (folders.SOURCES / "configs").glob("**/devices/*.json"):
            cited.update(re.findall(r"([\w-]+/\w+) \(([\d.]+) %", profile.read_text()))

        self.assertGreaterEqual(len(cited), 2)
        for figure, percent in cited:
            self.assertEqual(f"{100 * errors[figure]:.1f}", percent, figure)

    def test_lists_them_in_a_table_of_100_columns_in_a_pipe(self):
        lines = folders.orrery("figure", "--list").stdout.splitlines()

        self.assertEqual(lines[0].split()[:3], ["figure", "cells", "agree"])
        self.assertLessEqual(max(map(len, lines)), 100)
        rows = [line for line in lines if line.split()[0] in figure_file.names()]
        self.assertEqual(len(rows), len(figure_file.names()))

    def test_names_the_known_ones_where_there_is_none(self):
        done = folders.orrery("figure", "mg-gcn/fig99")

        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("mg-gcn/table3", done.stderr)

    def test_wants_a_name_or_the_list_or_all(self):
        for words in ([], ["mg-gcn/table3", "--list"], ["--list", "--all"]):
            done = folders.orrery("figure", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("--list", done.stderr)

    def test_lists_without_what_is_for_pictures(self):
        for words in (["--redraw"], ["--record"], ["--out", "x"], ["--width", "3.3"]):
            done = folders.orrery("figure", "--list", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("--json alone", done.stderr)

    def test_refuses_a_width_that_holds_nothing(self):
        done = folders.orrery("figure", "mg-gcn/fig8", "--width", "0.5")

        self.assertEqual(done.returncode, 2)
        self.assertIn("--width", done.stderr)


class FigureFiles(unittest.TestCase):
    def complain(self, **changes):
        told = {"title": "t", "source": "s", "shows": "w", "cost_seconds": 1, "constants": [],
                "reached": {"date": "2026-11-23"}, "runs": {"a": {"file": "a.json"}},
                "rows": [{"label": "l", "unit": "s", "paper": 1.0,
                          "ours": {"measure": "epoch_seconds", "of": "a"}}],
                "panels": [], "notes": []} | changes
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "x/y").mkdir(parents=True)
            (Path(folder) / "x/y/a.json").write_text("{}")
            (Path(folder) / "x/y/figure.json").write_text(json.dumps(told))
            try:
                figure_file.load("x/y", Path(folder))
            except FigureError as error:
                return str(error)
        return ""

    def test_that_are_whole_are_taken(self):
        self.assertEqual(self.complain(), "")

    def test_at_fault_are_told_by_the_place(self):
        ours = {"measure": "epoch_seconds", "of": "b"}
        row = {"label": "l", "unit": "s", "paper": 1.0, "ours": ours}
        self.assertIn("there is no run b", self.complain(rows=[row]))
        self.assertIn("same label", self.complain(rows=[row | {"ours": {"measure": "fits"}}] * 2))
        self.assertIn("rows[0].role", self.complain(rows=[row | {"role": "guessed"}]))
        lost = {"a": {"file": "lost.json"}}
        self.assertIn("lost.json is not there", self.complain(runs=lost))
        right = row | {"ours": ours | {"of": "a"}}
        self.assertIn("needs a note", self.complain(rows=[right | {"role": "aside"}]))
        self.assertIn("needs role aside", self.complain(rows=[right | {"paper": None}]))
        constant = {"is": "c", "by": "b", "role": "fitted", "rows": ["other"]}
        self.assertIn("there is no row other", self.complain(constants=[constant]))
        self.assertIn("constants[0]", self.complain(constants=[{"is": "c"}]))
        self.assertIn("panels[0].kind", self.complain(panels=[{"kind": "pie"}]))
        self.assertIn("unknown key extra", self.complain(extra=1))
        scaled = {"a": {"file": "a.json"}, "b": {"file": "a.json", "scale_of": ["a"]}}
        self.assertIn("no fitted run before it", self.complain(runs=scaled))


class Cells(Experiments):
    """Experiments whose runs take rest + factor · busy seconds, of which `hidden` at most run
    beside the rest."""

    def __init__(self, out, paper, busy=2.0, rest=1.0, hidden=0.0):
        rows = [{"label": "one", "paper": paper, "unit": "s", "ours": {}}]
        super().__init__(figure_file.Figure("x/y", Path(out), {"rows": rows, "runs": {}}), out, "")
        self.busy, self.rest, self.hidden, self.starts = busy, rest, hidden, 0

    def _start(self, name, settings, folder, anew=False):
        self.starts += 1
        busy = self.busy * settings["simulation.scale"]["spmm"]
        seconds = max(busy, self.hidden) + self.rest
        told = folders.result(epoch_seconds=seconds, compute_by_kind={"spmm": busy})
        folders.write_run(folder, told)


class Fit(unittest.TestCase):
    def fitted(self, **cells):
        with tempfile.TemporaryDirectory() as out:
            experiments = Cells(out, **cells)
            fit = {"kind": "spmm", "row": "one", "at": {}}
            return experiments._fit("a", fit, {})["spmm"], experiments.starts

    def test_finds_the_factor_with_which_the_cell_takes_the_papers_time(self):
        factor, starts = self.fitted(paper=4.0)

        self.assertAlmostEqual(factor, 1.5)
        self.assertEqual(starts, 2, "one to learn the rest, one to see that it is right")

    def test_says_so_where_there_is_none(self):
        with self.assertRaisesRegex(FigureError, "no factor on spmm"):
            self.fitted(paper=0.5)


class ReadingBack(unittest.TestCase):
    """Files that a figure wrote, and that --redraw reads."""

    def complaint(self, factors, stand_ins):
        with tempfile.TemporaryDirectory() as out:
            for name, text in (("factors.json", factors), ("stand_ins.json", stand_ins)):
                if text is not None:
                    (Path(out) / name).write_text(text)
            try:
                Experiments(figure_file.Figure("x/y", Path(out), {"runs": {}}), out, "").read_all()
            except FigureError as error:
                return str(error).removeprefix(f"{out}/")
        return ""

    def test_takes_what_was_written(self):
        self.assertEqual(self.complaint('{"a": {"spmm": 1.5}}', '{"a": "cora"}'), "")

    def test_of_cut_or_changed_files_says_what_to_do(self):
        then = "; make the figure without --redraw"
        self.assertEqual(self.complaint("", "{}"), "factors.json: line 1, column 1: expected JSON, found the end of "
                                                   "the file" + then)
        self.assertEqual(self.complaint('{"a": {', "{}"), "factors.json: line 1, column 8: expected JSON, found the "
                                                          "end of the file" + then)
        self.assertEqual(self.complaint('{"a": 5}', "{}"), "factors.json: key a: expected an object, found 5" + then)
        self.assertEqual(self.complaint("{}", "[]"), "stand_ins.json: expected an object, found []" + then)
        self.assertEqual(self.complaint("{}", None), "stand_ins.json: cannot be read: No such file or directory" + then)


SIMULATOR = Path(folders.PROGRAM).parent.parent / "sim/orrery-sim"


@unittest.skipUnless(SIMULATOR.exists(), "this build has no simulator (SimGrid)")
class FigureEndToEnd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One figure, made once."""
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.out = cls.folder / "mg-gcn/fig8"
        cls.told = json.loads(cls.figure("--json").splitlines()[-1])

    @classmethod
    def figure(cls, *words):
        done = folders.orrery("figure", "mg-gcn/fig8", "--out", cls.out, *words)
        if "apt-get install" in done.stderr:
            raise unittest.SkipTest(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_gives_rows_a_picture_and_a_table(self):
        told = self.told

        self.assertEqual(told["name"], "mg-gcn/fig8")
        for row in told["rows"]:
            self.assertAlmostEqual(row["error"], row["ours"] / row["paper"] - 1)
        informed = [abs(row["error"]) for row in told["rows"] if row["role"] == "informed"]
        self.assertAlmostEqual(told["counted"]["roles"]["informed"]["mean"],
                               sum(informed) / len(informed))
        self.assertEqual(Path(told["picture"]).read_bytes()[:4], b"\x89PNG")
        self.assertEqual(Path(told["pdf"]).read_bytes()[:4], b"%PDF")
        self.assertIn("<svg", Path(told["svg"]).read_text())
        lines = Path(told["csv"]).read_text().splitlines()
        self.assertEqual(len(lines), len(told["rows"]) + 1)

    def test_draws_the_papers_numbers_and_says_where_ours_are_from(self):
        svg = Path(self.told["svg"]).read_text()

        for words in ("the paper: 38.0 ms", "simulated on DGX-1", "ogbn-products", "The paper says",
                      "sparse product (SpMM)", "time in ms"):
            self.assertIn(words, svg)

    def test_overlap_makes_the_product_faster(self):
        rows = {row["label"]: row["ours"] for row in self.told["rows"]}

        apart = rows["ogbn-products, 4 GPUs, no overlap"]
        self.assertLess(rows["ogbn-products, 4 GPUs, overlap"], apart)

    def test_redraws_without_running(self):
        results = {f: f.stat().st_mtime_ns for f in self.out.glob("runs/**/result.json")}

        text = self.figure("--redraw")

        self.assertEqual(results, {f: f.stat().st_mtime_ns for f in results})
        self.assertIn("mean error by role", text)
        self.assertIn("The paper says: On products", text)

    def test_is_as_wide_and_its_text_as_large_as_asked(self):
        self.figure("--redraw", "--width", "3.3", "--font-size", "7")

        svg = (self.out / "mg-gcn-fig8.svg").read_text()
        self.assertIn('width="237.6pt"', svg)  # 3.3 inches of 72 points
        self.assertIn("font: 7px", svg)

    def test_of_all_that_are_there_make_a_page_by_the_rules(self):
        folder = self.folder
        done = folders.orrery("figure", "--all", "--redraw", "--json", "--out", folder)
        self.assertEqual(done.returncode, 0, done.stderr)

        told = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(told["made"], ["mg-gcn/fig8"])
        page = (folder / "index.html").read_text()
        for name in figure_file.names():
            self.assertIn(f"<h2>{name}</h2>", page)
        broken = page_rules.broken_rules(page)
        self.assertEqual([one for one in broken if not one.startswith("a link to mg")], [])
        for kind in ("png", "svg", "pdf", "csv"):
            file = f"mg-gcn/fig8/mg-gcn-fig8.{kind}"
            self.assertIn(f'href="{file}"', page)
            self.assertTrue((folder / file).exists())

    def test_of_nothing_there_make_no_page(self):
        done = folders.orrery("figure", "--all", "--redraw", "--out", self.folder / "none")

        self.assertEqual(done.returncode, 1)
        self.assertIn("make it without --redraw", done.stderr)
