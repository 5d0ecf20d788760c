"""Runs of a figure that infer: the commands of their cells, weights of other runs, scores; and measures by hand."""

import importlib.util
import json
import tempfile
import unittest
from pathlib import Path

import figure_file
import figure_inferences
import figure_scores
import inference_measures
from figure_file import FigureError
from figures import provenance
from result_folder import Run

# Writes what it was asked into the result folder, and fails for seed 13.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
settings = dict(w.split("=", 1) for w in words if "=" in w)
open({log!r}, "a").write(" ".join(words) + "\\n")
if settings.get("seed") == "13":
    sys.exit("orrery: error: seed: found 13")
out = words[words.index("--out") + 1]
os.makedirs(out, exist_ok=True)
if words[0] == "infer":
    stages = [{{"name": "layer 1", "seconds": 2.0}}, {{"name": "layer 2", "seconds": 3.0}}]
    result = {{"seconds": 5.0, "dataset": "d", "vertices": 8, "stages": stages}}
    json.dump(result, open(out + "/result.json", "w"))
    json.dump({{"seed": int(settings.get("seed", 0))}}, open(out + "/config.json", "w"))
print("{{}}")
"""


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.log, self.file = self.folder / "log", self.folder / "file.json"
        self.file.write_text("{}")
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.format(log=str(self.log)))
        self.program.chmod(0o755)

    def make(self, run, name="run"):
        """The commands that it took."""
        self.log.write_text("")
        figure_inferences.make(str(self.program), self.file, run, self.folder / name)
        return self.log.read_text().splitlines()

    def test_of_a_cell_are_given_once(self):
        run = {"set": {"a.b": True}, "infer": [{"c": 1}, {"c": 2}]}

        self.assertEqual(self.make(run), [
            f"infer {self.file} --out {self.folder}/run/c={c} --force --quiet --json --set a.b=true --set c={c}"
            for c in (1, 2)])
        self.assertEqual(self.make(run), [])
        self.file.write_text("{ }")
        self.assertEqual(len(self.make(run)), 2)

    def test_that_fail_say_why(self):
        with self.assertRaisesRegex(FigureError, "seed: found 13"):
            self.make({"infer": [{"seed": 13}]})

    def test_take_the_weights_that_the_same_seed_or_the_only_settings_trained(self):
        said = self.make({"infer": [{"seed": 1}, {"seed": 2}], "weights_of": "trained"})
        self.assertEqual([line.rpartition("inference.weights=")[2] for line in said],
                         [f"{self.folder}/trained/seed={seed}/training" for seed in (1, 2)])
        said, = self.make({"infer": [{"c": 1}], "weights_of": "trained"})
        self.assertTrue(said.endswith(f"inference.weights={self.folder}/trained/all/training"))

    def test_of_generated_edges_name_their_file_and_are_given_again_for_other_edges(self):
        run = {"infer": [{"c": 1}], "generate": {"kind": "rmat", "vertices": 8}}

        said = self.make(run)
        self.assertEqual(said[0].split()[:3], ["dataset", "generate", "rmat"])
        self.assertTrue(said[1].endswith(f"dataset.edge_list.files={self.folder}/run/graph/edges.npy"))
        self.assertEqual(self.make(run), [])
        run["generate"]["vertices"] = 9
        self.assertEqual(len(self.make(run)), 2)

    def test_on_a_netcluster_have_a_server_for_each_rank(self):
        run = {"netcluster": {"rate": "1gbit", "storage": "8mbps"}}
        start = figure_inferences._start("orrery", run, {"cluster.ranks": 3})

        self.assertEqual(start[1:], ["--servers", "3", "--ranks-per-server", "1", "--rate", "1gbit", "--storage",
                                     "8mbps", "--", "orrery-mpi", "infer", "--backend", "mpi"])
        self.assertTrue(Path(start[0]).exists())

    def test_of_batches_have_draws_that_no_other_seed_has(self):
        cells = [{"seed": seed} for seed in range(10)]
        drawn = [one["seed"] for cell in cells for one in figure_inferences.inferred_for({"batches": 4}, cell)]

        self.assertEqual(len(set(drawn) | set(range(10))), 50)
        self.assertEqual(figure_inferences.inferred_for({}, cells[3]), [cells[3]])

    def test_leave_stages_by_name_and_together(self):
        run = {"infer": [{"seed": 4}]}
        self.make(run)
        found, = figure_inferences.read(run, self.folder / "run")

        self.assertEqual((found.result["layer 2"], found.result["layers"]), (3, 5))
        self.assertIsNone(found.result["features, layer 1"])  # there are no features


@unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is not here")
class Scores(unittest.TestCase):
    def test_take_each_batch_from_an_inference_of_its_own(self):
        import numpy

        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "data").mkdir()
        labels = numpy.arange(40) % 3
        numpy.save(folder / "data/labels.npy", labels)
        right = numpy.eye(3, dtype=numpy.float32)[labels]
        for name, rows in (("right", right), ("wrong", numpy.roll(right, 1, axis=1))):
            (folder / name / "embeddings").mkdir(parents=True)
            parts = []
            for part, piece in enumerate(numpy.array_split(rows, 3)):
                numpy.save(folder / name / f"embeddings/{part}.npy", piece)
                parts.append({"file": f"{part}.npy"})
            (folder / name / "embeddings/meta.json").write_text(json.dumps({"parts": parts}))
        test, data = numpy.arange(0, 40, 2), str(folder / "data")

        of = lambda *names: figure_scores.accuracy([folder / name for name in names], data, test, 0)
        self.assertEqual((of("right"), of("wrong")), (1, 0))
        self.assertEqual(of("right", "wrong", "right", "right"), 0.75)


class Measures(unittest.TestCase):
    """Two parts of 5 vertices: 8 rows of 3 columns travel, each for 16 bytes with its number."""

    def setUp(self):
        self.result = {"ranks": 2, "rows": 2, "vertices": 10, "neighbours": [60], "layers": 3, "sample": 1,
                       "stages": [{"name": "layer 1", "received_bytes": 128},
                                  {"name": "write", "received_bytes": None}]}

    def pick(self, name, at):
        return Run(result=self.result | at, config={})

    def test_count_rows_from_bytes(self):
        spec = {"of": "x", "stage": "layer 1", "columns": 3}

        self.assertEqual(inference_measures.asked_rows_percent(self, spec), 40)
        self.assertEqual(inference_measures.entries_per_row(self, spec), 30 / 8)
        with self.assertRaisesRegex(FigureError, "x has no stage write with bytes"):
            inference_measures.asked_rows_percent(self, spec | {"stage": "write"})

    def test_say_whether_entries_for_a_row_grow(self):
        cells = [{"of": "x", "columns": 3, "at": {"neighbours": [n]}} for n in (60, 61)]
        rise = lambda each: inference_measures.entries_per_row_rise(self, {"stage": "layer 1", "each": each})

        self.assertTrue(rise(cells))
        self.assertFalse(rise(cells[::-1]))
        self.assertEqual(set(figure_file._names_in({"each": cells})), {"x"})

    def test_take_stages_in_percent_of_these_and_others(self):
        part = {"of": "x", "stage": "sample"}

        share = lambda part, rest: inference_measures.percent_of_stages(self, {"part": part, "rest": rest})
        self.assertEqual(share(part, {"of": "x", "stage": "layers"}), 25)
        self.assertEqual(share([part, part], [part, {"of": "x", "stage": "layers"}]), (50 + 25) / 2)


class Origins(unittest.TestCase):
    def sentence(self, told, **results):
        self.figure = figure_file.Figure("x", None, {"runs": told})
        self.results = results
        return provenance.sentence(self)

    def test_leave_out_runs_that_only_train_weights(self):
        run = lambda name: Run(result={"name": name, "dataset": {"name": name}}, config={"seed": 1})
        told = {"trained": {"infer": []}, "taken": {"infer": [], "weights_of": "trained"}}
        found = {"trained": [run("one")], "taken": [run("two")]}

        self.assertEqual(self.sentence(told, **found), "Ours: measured on ; two")
        told["trained"]["scored"] = True
        self.assertEqual(self.sentence(told, **found), "Ours: measured on ; one and two")

    def test_of_what_is_counted_say_so(self):
        told = {"a": {"sharing": [], "generate": {}, "title": "reddit"}, "b": {"sharing": [], "graph": "cora"}}

        self.assertEqual(self.sentence(told, a=[], b=[]),
                         "Ours: counted, not run, in generated stand-ins for reddit. Counted, not run, in cora")


class FilesThatAreAtFault(unittest.TestCase):
    def complaint(self, **run):
        runs = {"first": {"file": "figure.json", "infer": [{"seed": 0}]}, "run": {"file": "figure.json"} | run}
        file = figure_file.CONFIGS / "deal/fig5/figure.json"
        with self.assertRaises(FigureError) as raised:
            figure_file._check_run(file, {"runs": runs, "rows": []}, "run")
        return str(raised.exception).partition("figure.json: ")[2]

    def test_are_told(self):
        cells = [{"seed": 0}]
        for run, words in (
                ({"scored": True}, "runs.run: unknown key scored"),
                ({"infer": cells, "scored": True}, "runs.run.scored: needs data, and a seed in every cell"),
                ({"infer": [{}], "data": "d", "scored": True}, "runs.run.scored: needs data, and a seed in every cell"),
                ({"infer": cells, "batches": 2}, "runs.run.batches: needs scored"),
                ({"infer": cells, "netcluster": {}}, "runs.run.netcluster: needs cluster.ranks in every cell"),
                ({"infer": cells, "weights_of": "run"}, "runs.run.weights_of: run is no inference before it"),
                ({"infer": cells, "weights_of": "none"}, "runs.run.weights_of: none is no inference before it")):
            with self.subTest(words):
                self.assertEqual(self.complaint(**run), words)


if __name__ == "__main__":
    unittest.main()
