"""The page of orrery report: whole, in need of nothing outside, saying what the result says."""

import json
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import epoch_parts
import folders
import trace
import units

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Text of a page; raises where tags do not close each other."""

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
        self.shapes += tag == "rect"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.shapes += tag == "rect"

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


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

        epochs, ranks = trace.extent(out / "timeline.json")
        timelines = trace.read_epoch(out / "timeline.json", epochs[-1], ranks)

        self.assertEqual([max(b for _, b in t.memory) for t in timelines], told["peak_bytes"])

    def test_needs_no_network_and_no_other_file(self):
        out = folders.real_run(self.path)

        source, page = self.report_of(out)

        self.assertNotRegex(source, r"https?://|<script|@import|url\(")
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

        self.assertEqual(page.links, ["#run0", "#run1"])
        self.assertLessEqual({"run0", "run1"}, page.ids)
        for run in json.loads((out / "sweep.json").read_text())["sweep"]:
            self.assertIn(units.seconds(run["epoch_seconds"]), page.text)


class ReportOfASimulatedRun(ReportTest):
    def test_says_simulated_and_shows_its_links(self):
        out = folders.write_run(self.path / "run", folders.result(), [])

        _, page = self.report_of(out)

        self.assertIn("simulated", page.text)
        self.assertIn("dgx-1", page.text)
        self.assertIn("s0/nic0 > ib", page.text)
        self.assertIn("97.0 %", page.text)

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
        told = folders.result(ranks=64, breakdown_of_rank=parts, peak_bytes=[1] * 64)
        out = folders.write_run(self.path / "run", told, events)

        _, page = self.report_of(out)

        self.assertIn("The first 7 of 64 ranks and the slowest one, rank 40", page.text)


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


class ReportOfNothing(ReportTest):
    def test_is_one_line_that_says_what_is_missing(self):
        done = folders.orrery("report", self.path)

        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("holds no result.json", done.stderr)
