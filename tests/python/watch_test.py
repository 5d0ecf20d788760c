"""What orrery watch says of runs and sweeps, from folders made by hand."""

import io
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

import watch
from rich.console import Console

OUT_OF_MEMORY = {"peak_bytes": None, "epoch_seconds": None,
                 "out_of_memory": {"tensor": "features", "space": "device", "asked": 9, "capacity": 4}}
EPOCHS = [{"epoch": i, "loss": 2.5 - i, "val_accuracy": 0.5, "test_accuracy": 0.625, "seconds": seconds}
          for i, seconds in enumerate((0.9, 0.012, 0.011))]


class Watching(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.asked = self.path / "asked"
        self.planner = self.path / "planner"  # in the place of `orrery plan`
        self.planner.write_text(f"#!{sys.executable}\nopen({str(self.asked)!r}, 'a').write('x')\n"
                                """print('{"ranks": [{"peak_bytes": 2048}]}')\n""")
        self.planner.chmod(0o755)

    def run_of(self, name="run", result=None, epochs=(), config=None):
        """A folder of a run below that of the test."""
        run = self.path / "runs" / name
        run.mkdir(parents=True)
        told = {"name": "made-up", "backend": "threads", "strategy": {"type": "spmm_1d"}}
        (run / "config.json").write_text(json.dumps(told | (config or {})))
        (run / "epochs.jsonl").write_text("".join(json.dumps(epoch) + "\n" for epoch in epochs))
        if result is not None:
            (run / "result.json").write_text(json.dumps(result))
        return run

    def seen(self, folder, width=100):
        watched = watch.Watched(folder, str(self.planner))
        self.addCleanup(watched.close)
        watched.update()
        for run in watched.runs.values():
            run.wait_for_plan(20)
        watched.update()
        console = Console(width=width, file=io.StringIO(), highlight=False)
        console.print(watched.picture(width))
        return console.file.getvalue()


class WatchedRun(Watching):
    def test_that_goes_on_has_the_memory_of_its_plan(self):
        told = self.seen(self.run_of(epochs=EPOCHS))

        self.assertEqual(self.asked.read_text(), "x")
        self.assertRegex(told, "memory of rank +will hold at most +share of the largest *\n0 +2 KiB +█{24}")

    def test_that_ended_is_not_planned(self):
        failed = self.run_of("failed")
        (failed / "failure.json").write_text('{"error": "made up"}')

        self.assertIn("done", self.seen(self.run_of("ended", {"peak_bytes": None})))
        self.assertIn("failed", self.seen(failed))

        self.assertFalse(self.asked.exists())

    def test_that_failed_before_it_had_settings_says_why(self):
        folder = self.run_of("early")
        (folder / "config.json").unlink()
        (folder / "failure.json").write_text(json.dumps({"message": "no data set of that name"}))

        told = self.seen(folder)

        self.assertIn("failed: no data set of that name", told)
        self.assertNotIn("None", told)

    def test_that_ends_while_it_is_planned_has_no_forecast(self):
        folder = self.run_of()
        self.planner.write_text("#!/bin/sh\nexec sleep 60\n")
        run = watch.Run(folder, str(self.planner))
        self.addCleanup(run.close)
        run.update()
        (folder / "result.json").write_text(json.dumps(OUT_OF_MEMORY))

        run.update()

        self.assertIsNone(run.planning)
        self.assertIsNone(run.memory)

    def test_that_did_not_fit_says_what_had_no_room(self):
        told = self.seen(self.run_of(result=OUT_OF_MEMORY))

        self.assertIn("out of memory: no room for features", told)
        self.assertNotIn("done", told)
        self.assertFalse(self.asked.exists())

    def test_without_epochs_has_no_empty_table_and_no_line_of_what_is_left_out(self):
        told = self.seen(self.run_of(result={"peak_bytes": [512, 1024], "device_bytes": 4096}))

        self.assertNotIn("so far", told)
        self.assertNotIn("\n\n", told)
        self.assertRegex(told, r"share of the device's 4 KiB +\n0 +512 B +█{3} +\n1 +1 KiB +█{6} +\n$")

    def test_names_the_bars_that_a_narrow_terminal_has_no_room_for(self):
        folder = self.run_of(result={"peak_bytes": [512, 1024]})

        self.assertRegex(self.seen(folder, 40), r"left out at this width: share of\s+the\s+largest\s*$")


class WatchedSweep(Watching):
    def sweep(self, names, result=None, **config):
        for name in names:
            self.run_of(name, {"peak_bytes": [1 << 20]} if result is None else result, EPOCHS, config)
        return self.path / "runs"

    def names_in(self, told, runs):
        return [re.split(r" {2,}", line)[0] for line in told.splitlines()[1:1 + runs]]

    def test_names_runs_by_the_one_key_that_differs_as_run_does(self):
        told = self.seen(self.sweep(["seed=1_strategy.type=full_graph", "seed=1_strategy.type=spmm_1d"]), 60)

        self.assertTrue(told.startswith("strategy.type "))
        self.assertEqual(set(self.names_in(told, 2)), {"full_graph", "spmm_1d"})

    def test_names_settings_in_words_or_where_these_are_too_wide_by_their_values(self):
        names = [f"cluster.ranks={ranks}_partition.method={method}_strategy.type={kind}"
                 for ranks in (1, 4) for method in ("hash", "metis") for kind in ("full_graph", "spmm_1d")]
        folder = self.sweep(names, cluster={"ranks": 4}, partition={"method": "metis"})

        wide, narrow = self.seen(folder, 140), self.seen(folder, 80)

        self.assertIn("4 ranks, cut by metis, full_graph", self.names_in(wide, 8))
        self.assertIn("4, metis, spmm_1d", self.names_in(narrow, 8))
        self.assertRegex(narrow, r"^ranks, m.*type +state ")

    def test_keeps_state_and_epoch_on_narrow_terminals(self):
        names = [f"cluster.ranks={ranks}_partition.method={method}_strategy.type={kind}"
                 for ranks in (1, 4) for method in ("hash", "metis") for kind in ("full_graph", "spmm_1d")]
        folder = self.sweep(names, partition={"method": "metis"})

        for width in (80, 60):
            header, *rows = self.seen(folder, width).splitlines()[:9]
            self.assertRegex(header, r" state .* epoch\b")
            self.assertEqual(len({row.split("  ")[0] for row in rows}), 8)
            for row in rows:
                self.assertLessEqual(len(row), width)
                self.assertRegex(row, r"done, measured .* 12 ms")

    def test_reads_values_with_words_that_look_like_the_next_key(self):
        folder = self.sweep([f"strategy.type=full_graph_seed={seed}_cluster.device_bytes={size}_MiB"
                             for seed in (1, 2) for size in (1, 2)],
                            seed=1, cluster={"device_bytes": "1 MiB"})

        names = self.names_in(self.seen(folder, 60), 4)

        self.assertEqual(sorted(names), ["1, 1 MiB", "1, 2_MiB", "2, 1 MiB", "2, 2_MiB"])

    def test_of_folders_that_name_no_settings_has_their_names(self):
        folder = self.sweep(["one", "k=2", "=3"])

        self.assertEqual(set(self.names_in(self.seen(folder), 3)), {"one", "k=2", "=3"})

    def test_has_the_median_epoch_as_the_report_does(self):
        self.run_of("k=1", {"peak_bytes": [1], "epoch_seconds": 0.0113}, EPOCHS)
        self.run_of("k=2", None, EPOCHS[:2])

        told = self.seen(self.path / "runs")

        self.assertRegex(told, r"\n1 +done, measured .* 11\.3 ms")
        self.assertRegex(told, r"\n2 +going on, measured .* 12 ms")

    def test_of_runs_without_a_loss_has_no_columns_for_it(self):
        for kind in ("full_graph", "spmm_1d"):
            self.run_of(f"strategy.type={kind}", {"peak_bytes": [1 << 20], "epoch_seconds": 0.004},
                        config={"backend": "sim"})

        header = self.seen(self.path / "runs").splitlines()[0]

        self.assertEqual(header.split(), ["strategy.type", "state", "epochs", "epoch", "memory"])

    def test_of_a_run_that_did_not_fit_says_so_in_its_line(self):
        told = self.seen(self.sweep(["k=1", "k=2"], OUT_OF_MEMORY), 60)

        self.assertEqual(told.count("out of memory, measured"), 2)


if __name__ == "__main__":
    unittest.main()
