"""The page of orrery report: it is whole, needs no other file, and has the numbers of the result."""

import contextlib
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import epoch_parts
import folders
import limits
import report
import timeline_file
import units

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Text of a page, with plain spaces before units; raises where tags do not close each other."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.links, self.ids, self.shapes = [], [], [], set(), 0
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.links += [told[key] for key in ("href", "src") if key in told]
        self.ids.add(told.get("id"))
        self.shapes += tag == "rect" and told.get("x", "").endswith("%")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.shapes += tag == "rect" and dict(attributes).get("x", "").endswith("%")

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data.replace("\u00a0", " "))

    @property
    def text(self):
        return " ".join(self.words)


OF_PYTHON = r"\.py|Error:|NoneType|argument of type|object is not|codec|Expecting"


class OfDamagedFiles(unittest.TestCase):
    """Files of a run with changed values give a page or one line of error, never a traceback."""

    OTHERS = (None, [], {}, "x", -1, 5, float("nan"), [1], {"a": 1})

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "run"

    def told(self):
        """The exit status and the error message."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", ["report", str(self.path)]), \
                mock.patch.object(report.os, "dup2"), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return report.main(), err.getvalue()

    def test_any_value_of_a_result_may_be_another(self):
        whole, refused = folders.result(), 0
        for key in (None, *whole):
            for other in self.OTHERS:
                folders.write_run(self.path, dict(whole, **{key: other}) if key else other)
                with self.subTest(key=key, other=other):
                    status, said = self.told()
                    self.assertIn(status, (0, 1))
                    self.assertEqual(said.count("\n"), status, said)
                    self.assertNotRegex(said, OF_PYTHON)
                    refused += status
        self.assertGreater(refused, len(whole))

    def test_any_text_may_stand_in_a_file(self):
        folders.write_run(self.path, folders.result())
        for name in ("result.json", "config.json", "epochs.jsonl"):
            kept = (self.path / name).read_bytes() if (self.path / name).exists() else b""
            for text in (b"", b"{", b"[" * 100000, b"5", b"\xff", b"null", b"{}", kept[:-20]):
                (self.path / name).write_bytes(text)
                with self.subTest(file=name, text=text[:10]):
                    status, said = self.told()
                    self.assertIn(status, (0, 1))
                    self.assertEqual(said.count("\n"), status, said)
                    self.assertNotRegex(said, OF_PYTHON)
            (self.path / name).write_bytes(kept)

    def test_are_told_by_file_key_expected_and_found(self):
        def said(name, text):
            folders.write_run(self.path, folders.result())
            (self.path / name).write_text(text)
            status, words = self.told()
            self.assertEqual(status, 1)
            return words.removeprefix(f"orrery: error: {self.path}/").rstrip()

        result = lambda **changes: json.dumps(folders.result() | changes)
        self.assertEqual(said("result.json", "5"), "result.json: expected an object, found 5")
        self.assertEqual(said("result.json", "[]"), "result.json: expected an object, found []")
        self.assertEqual(said("result.json", "{}"), "result.json: key name: expected a text, found none")
        self.assertEqual(said("result.json", ""),
                         "result.json: line 1, column 1: expected JSON, found the end of the file")
        self.assertEqual(said("result.json", result(bytes={"internal": "many"})),
                         'result.json: key bytes/internal: expected a number, found "many"')
        self.assertEqual(said("result.json", result(peak_bytes=[1, None])),
                         "result.json: key peak_bytes/1: expected a number, found null")
        self.assertEqual(said("result.json", result(ranks=7)),
                         "result.json: key ranks: expected 2, one for each of peak_bytes, found 7")
        self.assertEqual(said("config.json", "[1]"), "config.json: expected an object, found [1]")
        self.assertEqual(said("epochs.jsonl", '{"epoch": 0}\n{"epoch": -1}\n'),
                         "epochs.jsonl: line 2: key epoch: expected a count, found -1")
        self.assertEqual(said("epochs.jsonl", '{"epoch": 0}\n{"ep\n'),
                         "epochs.jsonl: line 2, column 2: expected JSON, found \"ep")
        self.assertEqual(said("epochs.jsonl", "7\n"), "epochs.jsonl: line 1: expected an object, found 7")


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def report_of(self, folder):
        done = folders.orrery("report", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        source = (folder / "report.html").read_text()
        return source, Page(source)


class ReportOfARealRun(ReportTest):
    def test_holds_the_numbers_of_its_result(self):
        out = folders.real_run(self.path)
        told = json.loads((out / "result.json").read_text())

        _, page = self.report_of(out)

        self.assertIn(units.seconds(told["epoch_seconds"]), page.text)
        self.assertIn(units.percent(told["test_accuracy"]), page.text)
        self.assertIn(units.bytes_(max(told["peak_bytes"])), page.text)
        self.assertIn(units.bytes_(told["bytes"]["internal"]), page.text)
        for name in told["peak_by_class"]:
            self.assertIn(name, page.text)
        self.assertIn("measured", page.text)
        self.assertRegex(told["dataset"]["fingerprint"], "^[0-9a-f]{8}$")
        self.assertIn(told["dataset"]["fingerprint"], page.text)

    def test_of_a_run_that_predicts_links_is_whole(self):
        out = folders.real_run(self.path, links={}, strategy={"type": "full_graph"})

        _, page = self.report_of(out)

        self.assertIn("does not know which links its bytes took", page.text)

    def test_of_runs_that_predict_links_says_auc_where_others_say_accuracy(self):
        out = folders.real_run(self.path, links={}, strategy={"type": "full_graph"}, sweep={"seed": [0, 1]})

        for folder in (out, out / "seed=0"):
            _, page = self.report_of(folder)
            words = page.text[:page.text.index("resolved experiment file")]
            for one in ("test AUC", "validation AUC", "AUC by epoch, of each split of the links", "Time to AUC"):
                self.assertIn(one, words)
            self.assertNotIn("accurac", words.lower())
        self.assertEqual(folders.orrery("report", out, "--tex", self.path / "t.tex").returncode, 0)
        self.assertIn("memory & test AUC", (self.path / "t.tex").read_text())

    def test_names_every_part_of_the_epoch_as_its_result_does(self):
        out = folders.real_run(self.path)
        told = json.loads((out / "result.json").read_text())

        source, page = self.report_of(out)

        self.assertEqual([part.key for part in epoch_parts.told(told)], list(told["breakdown"]))
        self.assertEqual(epoch_parts.told(told), epoch_parts.told({}), "as for older results")
        for part in epoch_parts.present(epoch_parts.exposed(told), told["breakdown_of_rank"]):
            self.assertIn(part.title, page.text)
            self.assertIn(f'class="{part.css}"', source)

    def test_knows_the_memory_over_time_up_to_its_peak(self):
        out = folders.real_run(self.path)
        told = json.loads((out / "result.json").read_text())

        epochs, ranks = timeline_file.extent(out / "timeline.json")
        timelines = timeline_file.read_epoch(out / "timeline.json", epochs[-1], ranks)

        self.assertEqual([max(b for _, b in t.memory) for t in timelines], told["peak_bytes"])

    def test_needs_no_network_and_no_other_file(self):
        out = folders.real_run(self.path)

        source, page = self.report_of(out)

        self.assertNotRegex(source, r"https?://|<script|@import|url\((?!#hatch-)")
        self.assertEqual([link for link in page.links if not link.startswith("#")], [])

    def test_draws_every_operation_of_a_short_timeline(self):
        first = folders.span(0, 0, "spmm", 0.0, 1.0)
        second = folders.span(0, 0, "gemm", 2.0, 1.0)
        other_epoch = folders.span(0, 0, "adam", -5.0, 1.0, "epoch 1 update")
        evaluation = folders.span(0, 0, "score", 4.0, 1.0, "epoch 1 evaluate")
        out = folders.write_run(self.path / "run", folders.result(), [first, second])
        _, one = self.report_of(out)
        folders.write_run(out, folders.result(), [first, second, other_epoch, evaluation])
        _, two = self.report_of(out)

        self.assertEqual(one.shapes - two.shapes, 1, "the last epoch has one operation, not two")
        self.assertIn("Epoch 0", one.text)
        self.assertIn("Epoch 1", two.text)

    def test_of_a_sweep_compares_and_links_all_combinations(self):
        out = folders.real_run(self.path, sweep={"strategy.type": ["spmm_1d", "full_graph"]})

        _, page = self.report_of(out)

        self.assertEqual(page.links, ["#all-combinations", "#run0", "#run1", "#run0", "#run1"])
        self.assertLessEqual({"run0", "run1"}, page.ids)
        for run in json.loads((out / "sweep.json").read_text())["sweep"]:
            self.assertIn(units.seconds(run["epoch_seconds"]), page.text)


    def test_tells_a_command_that_makes_the_same_result_again(self):
        out = folders.real_run(self.path)
        _, page = self.report_of(out)

        command = re.search(r"\./orrery (run \S+config\.json)", page.text)[1]
        done = folders.orrery(*command.split(), "--out", self.path / "again")

        self.assertEqual(done.returncode, 0, done.stderr)
        first, again = (json.loads((folder / "result.json").read_text())
                        for folder in (out, self.path / "again"))
        for key in ("loss", "test_accuracy", "peak_bytes", "bytes"):
            self.assertEqual(again[key], first[key])

    def test_says_where_ranks_shared_cores(self):
        made = {"provenance": {"cores": 2, "cpu": "a CPU"}, "backend": "threads", "kernels": "cpu"}
        told = lambda ranks: self.report_of(folders.write_run(
            self.path / "run", folders.result(ranks=ranks, **made), []))[1].text

        self.assertIn("2 cores for 4 ranks", told(4))
        self.assertNotIn("Fewer cores than ranks", told(2))

    def test_says_that_other_programs_were_at_work_before_any_time(self):
        note = "this machine was at work while it was measured"
        made = {"backend": "threads", "other_work": {"load_before": 5.0, "cores": 1.6, "note": note}}

        _, page = self.report_of(folders.write_run(self.path / "run", folders.result(**made), []))
        made["other_work"]["note"] = None
        _, alone = self.report_of(folders.write_run(self.path / "run", folders.result(**made), []))

        self.assertIn(f"{note}. Times here are longer than on an idle machine.", page.text)
        self.assertLess(page.text.index(note), page.text.index("10 ms"))
        self.assertNotIn("at work", alone.text[:alone.text.index("How to repeat it")])

    def test_draws_ranks_whose_clocks_are_not_aligned_from_their_own_first_operation(self):
        events = [folders.span(0, 0, "spmm", 0.0, 1.0), folders.span(1, 0, "spmm", 7.0, 1.0)]
        drawn = {}
        for backend in ("threads", "sim"):
            out = folders.write_run(self.path / backend, folders.result(backend=backend), events)
            source, page = self.report_of(out)
            lanes = re.findall(r'<rect x="([\d.]+)%" y="1"', source[source.index("<h2>Timeline"):])
            drawn[backend] = [float(x) for x in lanes], page.text

        self.assertEqual(drawn["threads"][0], [0, 0])
        self.assertRegex(drawn["threads"][1], r"rank 1, 0\s+1\s+1 s\s+100\.0 %")
        self.assertIn("each rank is drawn from its own first operation", drawn["threads"][1])
        self.assertEqual(drawn["sim"][0], [0, 87.5])
        self.assertRegex(drawn["sim"][1], r"rank 1, 0\s+1\s+1 s\s+12\.5 %")

    def test_divides_busy_time_of_ranks_whose_clocks_are_not_aligned_by_the_epoch(self):
        events = [folders.span(0, 0, "spmm", 0.0, 0.004), folders.span(1, 0, "spmm", 7.0, 0.002)]
        out = folders.write_run(self.path / "run", folders.result(backend="threads"), events,
                                epochs=[{"epoch": 0, "seconds": 0.010}])

        _, page = self.report_of(out)

        self.assertRegex(page.text, r"rank 0, 0\s+1\s+4 ms\s+40\.0 %")
        self.assertRegex(page.text, r"rank 1, 0\s+1\s+2 ms\s+20\.0 %")

    def test_breaks_no_line_between_a_number_and_its_unit(self):
        out = folders.write_run(self.path / "run 5 s", folders.result(), [])

        source, _ = self.report_of(out)

        self.assertIn("10\u00a0ms", source)
        self.assertIn("60\u00a0% of the epoch", source)
        self.assertIn("run 5 s", source, "a command stays as it is typed")
        self.assertIn("97 %&quot;", source, "a result stays as it was written")

    def test_says_its_set_up_apart_from_the_epoch(self):
        told = json.loads((folders.real_run(self.path) / "result.json").read_text())

        _, page = self.report_of(self.path / "out")

        self.assertAlmostEqual(told["set_up"]["seconds"], sum(
            told["set_up"][key] for key in ("partition_seconds", "structure_seconds", "device_seconds")))
        self.assertIn(f"{units.seconds(told['set_up']['structure_seconds'])} to cut subgraphs", page.text)

    def test_says_how_long_it_takes_to_an_accuracy_here_and_on_simulated_clusters(self):
        """Of 0.8 at best: 0.72 first after two epochs, 0.8 after four; an epoch takes 10 ms, or 2.5 ms there."""
        learned = [{"epoch": i, "val_accuracy": a} for i, a in enumerate((0.5, 0.72, 0.7, 0.8))]
        there = {"dgx-a100": {"epoch_seconds": 0.0025}, "dgx-1": {"epoch_seconds": None, "not_simulated": "why"}}
        out = folders.write_run(self.path / "run", folders.result(backend="threads", simulated_on=there), [],
                                epochs=learned)

        _, page = self.report_of(out)

        table = page.text[page.text.rindex("Time to accuracy"):page.text.rindex("How to repeat it")]
        self.assertRegex(table, r"72\.0 % \(90 % of the best\)\s+2\s+20 ms\s+5 ms")
        self.assertRegex(table, r"80\.0 % \(100 % of the best\)\s+4\s+40 ms\s+10 ms")
        self.assertNotIn("simulated on dgx-1", table)

    def test_shows_its_simulations_beside_it_with_their_error(self):
        simulated = {"this-machine": {"epoch_seconds": 0.0081, "error": -0.19, "limited_by": None},
                     "dgx-a100": {"epoch_seconds": None, "not_simulated": "it has 8 devices"}}
        out = folders.write_run(self.path / "run", folders.result(
            backend="threads", simulated_on=simulated), [])
        folders.write_run(out / "simulated-on-this-machine", folders.result(), [])

        _, page = self.report_of(out)

        self.assertNotIn("AUC", page.text)
        for words in ("Measured and simulated", "8.1 ms", "-19.0 %", "it has 8 devices"):
            self.assertIn(words, page.text)
        self.assertNotIn("(*)", page.text)

    def test_marks_the_error_of_what_was_measured_beside_other_programs(self):
        simulated = {"this-machine": {"epoch_seconds": 0.0081, "error": -0.19, "disturbed": "it was at work"}}
        out = folders.write_run(self.path / "run", folders.result(
            backend="threads", simulated_on=simulated, other_work={"note": "others were at work"}), [])

        _, page = self.report_of(out)

        self.assertRegex(page.text, r"measured here\s+10 ms \(\*\)")
        self.assertIn("-19.0 % (*)", page.text)
        self.assertIn("(*) others were at work; it was at work. Measured times are then too long", page.text)


class ReportOfASweep(ReportTest):
    def sweep(self, runs):
        out = folders.write_run(self.path / "s", folders.result())
        (out / "result.json").unlink()
        (out / "sweep.json").write_text(json.dumps(folders.result(sweep=runs)))
        return out

    def row(self, page, *cells):
        self.assertRegex(page.text, r"\s+".join(map(re.escape, cells)))

    def test_over_ranks_has_speed_up_and_efficiency(self):
        out = self.sweep([folders.result(label=f"cluster.gpus={n}", ranks=n, epoch_seconds=seconds)
                          for n, seconds in [(2, 0.4), (4, 0.25), (8, 0.1)]])

        _, page = self.report_of(out)

        self.assertNotIn("Other programs", page.text)
        self.assertIn("over 2 ranks, which count as 2", page.text)
        self.row(page, "2", "400 ms", "1.00", "100 %")
        self.row(page, "4", "250 ms", "1.60", "80 %")
        self.row(page, "8", "100 ms", "4.00", "100 %")

    def test_marks_what_was_measured_beside_other_programs(self):
        real = lambda **told: folders.result(backend="threads", **told)
        out = self.sweep([real(label="seed=1"),
                          real(label="seed=2", other_work={"note": "others were at work"})])

        _, page = self.report_of(out)

        self.assertIn("beside 1 of 2 combinations, which are marked (*)", page.text)
        self.assertIn("Of seed=2: others were at work.", page.text)
        self.row(page, "seed=2", "measured", "10 ms (*)")

    def test_over_ranks_and_a_strategy_has_a_curve_for_each_strategy(self):
        label = "strategy.type={}, cluster.ranks={}".format
        out = self.sweep([folders.result(label=label(kind, n), ranks=n, epoch_seconds=seconds / n)
                          for kind, seconds in [("a", 1.0), ("b", 2.0)] for n in (1, 2)])

        source, page = self.report_of(out)

        self.row(page, "2", "1 s", "2.00", "100 %", "strategy.type=b")
        self.assertEqual(len(re.findall(r'<polyline[^>]*class="line series', source)), 2)

    def test_is_a_table_for_spreadsheets_and_for_papers(self):
        runs = [folders.result(label="case=A & B, cluster.ranks=2", ranks=2, epoch_seconds=0.25, test_accuracy=0.5),
                folders.result(label="case=A & B, cluster.ranks=4", ranks=4, epoch_seconds=None, breakdown=None,
                               bytes=None, test_accuracy=None,
                               out_of_memory={"tensor": "x_0", "asked": 5, "capacity": 4})]
        out = self.sweep(runs)

        done = folders.orrery("report", out, "--csv", self.path / "t.csv", "--tex", self.path / "t.tex")

        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = csv.DictReader((self.path / "t.csv").open())
        self.assertEqual((first["case"], first["cluster.ranks"], first["epoch_seconds"]), ("A & B", "2", "0.25"))
        self.assertEqual(float(first["compute_seconds"]), runs[0]["breakdown"]["compute"])
        self.assertEqual((second["epoch_seconds"], second["out_of_memory"]), ("", "x_0"))
        tex = (self.path / "t.tex").read_text()
        self.assertIn(r"case & ranks & median epoch & computation", tex)
        self.assertIn(r"A \& B & 2 & 250 ms & ", tex)
        self.assertIn(r" & 50.0 \% \\", tex)
        self.assertIn(r"A \& B & 4 & out of memory & - & - & - & ", tex)

    def test_has_no_numbers_of_what_ran_out_of_memory(self):
        short = dict(label="cluster.gpus=1", epochs=0, epoch_seconds=None, mean_epoch_seconds=0.0,
                     breakdown=None, bytes=None, peak_bytes=None,
                     out_of_memory={"tensor": "x_0", "asked": 5, "capacity": 4})
        told = {key: value for key, value in folders.result(**short).items() if key != "simulation"}
        out = self.sweep([told | {"out_dir": "k"}, folders.result(label="cluster.gpus=2")])
        folders.write_run(out / "k", told, config={"cluster": {"file": "configs/clusters/dgx-1.json"}})

        _, page = self.report_of(out)
        done = folders.orrery("report", out, "--csv", self.path / "t.csv", "--tex", self.path / "t.tex")

        self.row(page, "gpus=1", "simulated", "out of memory", "-", "-", "-")
        self.assertIn("on dgx-1, where it does not fit into memory", page.text)
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(csv.DictReader((self.path / "t.csv").open()))
        self.assertEqual((line["cluster"], line["mean_epoch_seconds"], line["peak_bytes"]), ("dgx-1", "", ""))
        for words in (page.text, (self.path / "t.tex").read_text()):
            self.assertNotIn("(?)", words)

    def test_of_a_modelled_run_names_its_cluster(self):
        told = folders.result(backend="model", model={"cluster": "dgx-a100", "profile": "a100-sxm-80gb"})
        del told["simulation"]
        out = folders.write_run(self.path / "run", told, [])

        _, page = self.report_of(out)
        folders.orrery("report", out, "--csv", self.path / "t.csv")

        self.assertIn("closed formulas of a paper for dgx-a100; nothing ran", page.text)
        self.assertEqual(next(csv.DictReader((self.path / "t.csv").open()))["cluster"], "dgx-a100")

    def test_over_ranks_keeps_clusters_apart_that_differ_in_more(self):
        label = "cluster.gpus={}, cluster.link_factors={}".format
        runs = [folders.result(label=label(n, factor), ranks=n, epoch_seconds=seconds)
                for n, factor, seconds in [(1, 1, 0.8), (2, 1, 0.4), (1, 2, 0.8), (2, 2, 0.8)]]

        _, page = self.report_of(self.sweep(runs))

        self.row(page, "2", "400 ms", "2.00", "100 %", "cluster.link_factors=1")
        self.row(page, "2", "800 ms", "1.00", "50 %", "cluster.link_factors=2")

    def test_over_seeds_has_the_mean_and_deviation_that_the_terminal_prints(self):
        out = folders.real_run(self.path, sweep={"seed": [1, 2, 3]})
        told = json.loads((out / "sweep.json").read_text())
        mean, deviation = told["mean_test_accuracy"], told["std_test_accuracy"]

        _, page = self.report_of(out)

        self.row(page, "all runs", "3", f"{100 * mean:.1f} ± {100 * deviation:.1f} %")

    def test_over_seeds_is_limited_by_the_part_with_the_largest_median(self):
        parts = [dict(compute=6, other=4), dict(compute=3, other=7), dict(compute=5, internal=5),
                 dict(compute=2, internal=7, other=1), dict(compute=7, other=3)]
        results = [folders.result(breakdown=folders.breakdown(**one)) for one in parts]

        self.assertEqual(limits.limit_of_alike(results),
                         "computation, 50 % of the epoch (median of 5 runs; 20 to 70 %)")
        self.assertIsNone(limits.limit_of_alike([folders.result(breakdown=None)]))


class ReportOfASimulatedRun(ReportTest):
    def test_says_simulated_and_shows_its_links(self):
        out = folders.write_run(self.path / "run", folders.result(), [])

        _, page = self.report_of(out)

        self.assertIn("simulated", page.text)
        self.assertIn("dgx-1", page.text)
        self.assertIn("s0/nic0 > ib", page.text)
        self.assertIn("97.0 %", page.text)

    MEANING = "±: 90 % of real epochs are meant to lie within"

    def interval(self, half_width, **causes):
        return {"share": 0.9, "half_width": half_width, "low_seconds": 0.008, "high_seconds": 0.0125, "causes": causes}

    def test_shows_the_interval_of_its_epoch_and_says_what_it_is(self):
        _, without = self.report_of(folders.write_run(self.path / "run", folders.result(), []))
        _, page = self.report_of(folders.write_run(self.path / "run", folders.result(interval=self.interval(0.25)), []))

        self.assertIn("10 ms ± 25 %", page.text)
        self.assertIn(self.MEANING, page.text)
        self.assertNotIn("±", without.text)

    def test_shows_the_ends_of_its_sensitivity(self):
        told = folders.result()
        told["simulation"]["sensitivity"] = {"low_seconds": 0.007, "high_seconds": 0.021}

        _, page = self.report_of(folders.write_run(self.path / "run", told, []))

        self.assertIn("The simulated epoch is 7 ms with all efficiencies of the device profile at their highest, and "
                      "21 ms with all at their lowest", page.text)

    def test_of_a_sweep_shows_intervals_and_what_they_do_not_tell_apart(self):
        made = [("spmm_1d", 0.010, {"spmm": 0.1}), ("full_graph", 0.0101, {"spmm": 0.1}),
                ("spmm_2d", 0.011, {"gemm": 0.2}), ("spmm_15d", 0.09, {"gemm": 0.2})]
        runs = [folders.result(label=f"strategy.type={name}", epoch_seconds=seconds,
                               interval=self.interval(0.25, **causes))
                for name, seconds, causes in made]
        out = folders.write_run(self.path / "s", folders.result())
        (out / "result.json").unlink()
        (out / "sweep.json").write_text(json.dumps(folders.result(sweep=runs)))

        _, page = self.report_of(out)

        self.assertIn("90 ms ± 25 %", page.text)
        self.assertIn(self.MEANING, page.text)
        self.assertIn("As fast as spmm_1d, within 5 %: full_graph. The intervals do not tell spmm_1d from spmm_2d.",
                      page.text)

    def test_of_a_measured_run_shows_the_intervals_of_its_simulations(self):
        out = folders.write_run(self.path / "run", folders.result(
            backend="threads", simulated_on={"dgx-1": {"epoch_seconds": 0.002}}), [])
        folders.write_run(out / "simulated-on-dgx-1", folders.result(interval=self.interval(0.3)), [])

        _, page = self.report_of(out)

        self.assertIn("2 ms ± 30 %", page.text)
        self.assertIn(self.MEANING, page.text)

    def test_of_a_sweep_shows_what_ran_out_of_memory(self):
        short = {"tensor": "features", "asked": 2048, "capacity": 1024}
        limit = {"part": "memory", "share": 1.0, "sentence": "device memory: no room for features"}
        runs = [folders.result(label="cluster.gpus=1", epoch_seconds=None, out_of_memory=short,
                               limited_by=limit, breakdown=None, peak_bytes=[], out_dir="gone"),
                folders.result(label="cluster.gpus=2")]
        out = folders.write_run(self.path / "s", folders.result())
        (out / "result.json").unlink()
        (out / "sweep.json").write_text(json.dumps(folders.result(sweep=runs)))

        _, page = self.report_of(out)

        self.assertIn("out of memory", page.text)
        self.assertIn("no room for features", page.text)
        self.assertIn("2 KiB", page.text)

    def test_of_many_ranks_says_which_are_shown(self):
        parts = [folders.breakdown(compute=0.001 + 0.001 * (i == 40)) for i in range(64)]
        events = [folders.span(i, 0, "spmm", 0.0, 1.0) for i in range(64)]
        peaks = [1 + (i == 50) for i in range(64)]
        told = folders.result(ranks=64, breakdown_of_rank=parts, peak_bytes=peaks)
        out = folders.write_run(self.path / "run", told, events)

        _, page = self.report_of(out)

        self.assertIn("The first 7 of 64 ranks and the slowest one, rank 40", page.text)
        self.assertIn("The first 31 of 64 ranks and the slowest one, rank 40", page.text)
        self.assertRegex(page.text, r"rank 40\s+2 ms\s+2 ms")
        self.assertIn("The first 31 of 64 ranks and that with the largest peak, rank 50", page.text)
        self.assertNotRegex(page.text, r"rank 35\b")


class ReportOfWhatWasInterrupted(ReportTest):
    def sweep(self, name, **told):
        out = folders.write_run(self.path / name, folders.result())
        (out / "result.json").unlink()
        runs = [folders.result(label="seed=1"),
                folders.result(label="seed=2", interrupted=True, epochs=2)]
        (out / "sweep.json").write_text(json.dumps(folders.result(sweep=runs) | told))
        return out

    def assert_above_all_numbers(self, words, page):
        self.assertIn(words, page.text)
        self.assertLess(page.text.index(words), page.text.index(units.seconds(0.010)))

    def test_of_a_run_says_so_above_all_numbers(self):
        out = folders.write_run(self.path / "run", folders.result(interrupted=True), [],
                                config={"train": {"epochs": 100}})

        _, page = self.report_of(out)

        self.assert_above_all_numbers("after 3 of 100 epochs", page)
        self.assertIn("INTERRUPTED after 3 of 100 epochs", folders.orrery("report", out).stdout)

    def test_of_a_whole_run_says_nothing(self):
        out = folders.write_run(self.path / "run", folders.result(interrupted=False), [])

        _, page = self.report_of(out)

        self.assertNotIn("every number below is of those", page.text)

    def test_of_a_sweep_says_what_is_not_there_and_why(self):
        _, interrupted = self.report_of(self.sweep("a", missing=2))
        _, failed = self.report_of(self.sweep("b", missing=2, failure="no such cluster"))

        self.assert_above_all_numbers("seed=2, after 2 epochs", interrupted)
        self.assert_above_all_numbers("2 of 4 combinations were not run", interrupted)
        self.assert_above_all_numbers("combinations were not run: no such cluster", failed)

    def test_of_a_sweep_that_was_killed_says_so(self):
        folders.write_run(self.path / "s" / "seed=1", folders.result(label="seed=1"), [])

        _, page = self.report_of(self.path / "s")

        self.assert_above_all_numbers("the sweep was killed or goes on", page)


class ReportOfALatestFolder(ReportTest):
    def test_is_of_the_last_run_of_that_name_and_says_so(self):
        for name in ("cora-20260101-120000", "cora-20260301-120000", "cora-20260301-120000-2",
                     "cora-20260301-120000-10", "cora-big-20261001-120000"):
            folders.write_run(self.path / name, folders.result(), [])
        (self.path / "cora-20261101-120000").mkdir()  # of a run that was killed before its result

        done = folders.orrery("report", self.path / "cora")

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"the latest is {self.path / 'cora-20260301-120000-10'}", done.stderr)
        self.assertTrue((self.path / "cora-20260301-120000-10" / "report.html").exists())

    def test_is_of_the_folder_itself_where_there_is_one(self):
        for name in ("cora", "cora-20260101-120000"):
            folders.write_run(self.path / name, folders.result(), [])

        done = folders.orrery("report", self.path / "cora")

        self.assertEqual(done.stderr, "")
        self.assertTrue((self.path / "cora" / "report.html").exists())

    def test_that_is_not_there_says_what_to_give(self):
        done = folders.orrery("report", self.path / "cora")

        self.assertEqual(done.returncode, 1)
        self.assertIn("no folder cora-DATE-TIME is beside it", done.stderr)


class ReportOfNothing(ReportTest):
    def test_is_one_line_that_says_what_is_missing(self):
        done = folders.orrery("report", self.path)

        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("holds no result.json", done.stderr)

    def test_of_an_inference_says_what_it_is(self):
        (Path(self.path) / "result.json").write_text('{"stages": []}')

        done = folders.orrery("report", self.path)

        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("holds an inference", done.stderr)


class ReportWhoseWordsAreLost(ReportTest):
    def test_ends_with_one_line_and_1(self):
        out = folders.real_run(self.path)
        for words in ((), ("--json",)):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = subprocess.run([folders.PROGRAM, "report", out, *words], stdout=full,
                                      stderr=subprocess.PIPE, text=True)

                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn("No space left on device", done.stderr)
