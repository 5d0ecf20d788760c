"""The parts of training beside its steps, compared with NumPy: schedules, class weights, weights of edges, early
stopping, the best weights, predictions and their scores."""

import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

sys.path[:0] = [os.environ["ORRERY_SOURCES"] + "/python", os.environ["ORRERY_BUILD"] + "/python"]
import orrery

N, WIDTH, HIDDEN, CLASSES = 60, 5, 8, 3


def small_set(folder, directed=False):
    """60 vertices in three classes of unequal size, with weights on the edges."""
    rng = np.random.default_rng(1)
    labels = rng.choice(CLASSES, N, p=[0.6, 0.3, 0.1])
    pairs = rng.integers(0, N, (2, 200))
    pairs = pairs[:, (labels[pairs[0]] == labels[pairs[1]]) | (rng.random(200) < 0.3)]
    weights = rng.uniform(0.1, 2, pairs.shape[1])
    if not directed:
        pairs = np.concatenate([pairs, pairs[::-1]], 1)
        weights = np.concatenate([weights, weights])
    features = rng.normal(size=(N, WIDTH)) + np.eye(CLASSES, WIDTH)[labels]
    split = rng.choice([0, 1, 2], N)
    orrery.write_dataset(folder, pairs, num_nodes=N, features=features, labels=labels, split=split,
                         edge_weights=weights, edge_features=rng.normal(size=(pairs.shape[1], 2)))


class Gcn:
    """Two layers of Kipf and Welling's network with softmax, by matrices: its own forward and backward pass."""

    def __init__(self, folder, normalisation="symmetric", weighted=False, class_weights=None):
        source, destination = np.load(folder / "edges.npy")
        self.x = np.load(folder / "features.npy").astype(float)
        self.labels, self.split = np.load(folder / "labels.npy"), np.load(folder / "split.npy")
        a = np.zeros((N, N))
        a[destination, source] = np.load(folder / "edge_weights.npy") if weighted else 1
        lacks = np.setdiff1d(np.arange(N), destination[destination == source])
        a[lacks, lacks] = 1  # a self-loop that is there keeps its weight
        d = a.sum(1)
        self.a = a / np.sqrt(np.outer(d, d)) if normalisation == "symmetric" else a / d[:, None]
        self.train = np.flatnonzero(self.split == 0)
        w = np.ones(CLASSES) if class_weights is None else np.asarray(class_weights, float)
        self.w = w[self.labels[self.train]]
        self.w *= len(self.train) / self.w.sum()

    def forward(self, p):
        self.h = np.maximum(self.a @ self.x @ p["layers.1.weight"] + p["layers.1.bias"], 0)
        return self.a @ self.h @ p["layers.2.weight"] + p["layers.2.bias"]

    def step(self, p, rate):
        logits = self.forward(p)
        likely = np.exp(logits - logits.max(1, keepdims=True))
        likely /= likely.sum(1, keepdims=True)
        n = len(self.train)
        loss = -(self.w * np.log(likely[self.train, self.labels[self.train]])).sum() / n
        g = np.zeros_like(logits)
        g[self.train] = likely[self.train] * self.w[:, None] / n
        g[self.train, self.labels[self.train]] -= self.w / n
        back = (self.a.T @ g @ p["layers.2.weight"].T) * (self.h > 0)
        gradients = {"layers.2.weight": self.h.T @ (self.a.T @ g), "layers.2.bias": g.sum(0, keepdims=True),
                     "layers.1.weight": self.x.T @ (self.a.T @ back), "layers.1.bias": back.sum(0, keepdims=True)}
        for name, gradient in gradients.items():
            p[name] = p[name] - rate * gradient
        return loss


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)
        small_set(cls.folder / "set")
        small_set(cls.folder / "directed", directed=True)
        first = {"epochs": 1, "checkpoint_every": 1, "learning_rate": 1e-3}
        cls.begin = cls.run_on("begin", train=first)
        cls.begin_directed = cls.run_on("begin directed", data="directed", train=first)

    @classmethod
    def config(cls, data="set", train=None, **more):
        dataset = {"path": str(cls.folder / data), "row_normalise": False, **more.pop("dataset", {})}
        return {"name": "t", "dataset": dataset,
                "model": cls.model_of(more.pop("model", {})),
                "partition": {"method": "random"}, "strategy": {"type": "full_graph"},
                "train": {"optimizer": "sgd", "learning_rate": 0.5, "weight_decay": 0} | (train or {}), **more}

    @staticmethod
    def model_of(asked):
        model = {"type": "gcn", "layers": 2, "hidden": HIDDEN, "dropout": 0} | asked
        return {key: value for key, value in model.items() if key != "hidden" or model["type"] != "sgc"}

    @classmethod
    def run_on(cls, name, ranks=1, **settings):
        out = cls.folder / name
        orrery.run(cls.config(cluster={"ranks": ranks}, **settings), out=out, force=True, quiet=True)
        return out

    @staticmethod
    def lines(run, key):
        return [json.loads(line)[key] for line in (run / "epochs.jsonl").read_text().splitlines()]

    def expect_as_by_numpy(self, reference, rates, ranks=1, **settings):
        begin = self.begin if settings.get("data", "set") == "set" else self.begin_directed
        train = {"epochs": len(rates), "checkpoint_every": len(rates), "weights": str(begin)} | settings.pop(
            "train", {})
        run = self.run_on("compared", ranks, train=train, **settings)
        p = {name: array.astype(float) for name, array in orrery.read_checkpoint(begin).parameters.items()}
        losses = [reference.step(p, rate) for rate in rates]
        np.testing.assert_allclose(self.lines(run, "loss"), losses, rtol=2e-5)
        for name, array in orrery.read_checkpoint(run).parameters.items():
            np.testing.assert_allclose(array, p[name], atol=2e-5, err_msg=name)

    def test_ATrainingThatBeginsWithWeights(self):
        self.expect_as_by_numpy(Gcn(self.folder / "set"), [0.5] * 6)
        self.expect_as_by_numpy(Gcn(self.folder / "set"), [0.5] * 6, ranks=3)

    def test_Schedules(self):
        rate = 0.5
        cosine = lambda e: 0.1 + 0.9 * (1 + math.cos(math.pi * e / 8)) / 2
        for schedule, factors in [
                ({"type": "constant", "warmup": 3}, [1 / 4, 2 / 4, 3 / 4, 1, 1, 1]),
                ({"type": "step", "every": 2, "factor": 0.5}, [1, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 4]),
                ({"type": "linear"}, [1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
                ({"type": "linear", "epochs": 3, "least": 0.5}, [1, 5 / 6, 4 / 6, 1 / 2, 1 / 2, 1 / 2]),
                ({"type": "cosine", "epochs": 10, "warmup": 2, "least": 0.1},
                 [1 / 3, 2 / 3] + [cosine(e) for e in range(4)])]:
            with self.subTest(schedule):
                self.expect_as_by_numpy(Gcn(self.folder / "set"), [rate * f for f in factors],
                                        train={"schedule": schedule})

    def test_ClassWeights(self):
        labels, split = np.load(self.folder / "set/labels.npy"), np.load(self.folder / "set/split.npy")
        balanced = 1 / np.bincount(labels[split == 0], minlength=CLASSES)
        for given, weights in (("balanced", balanced), ([1, 2, 0.5], [1, 2, 0.5])):
            with self.subTest(given):
                self.expect_as_by_numpy(Gcn(self.folder / "set", class_weights=weights), [0.5] * 5, ranks=2,
                                        train={"class_weights": given})

    def test_WeightsOfEdges(self):
        asked = {"dataset": {"edge_weights": True}}
        for ranks in (1, 3):
            self.expect_as_by_numpy(Gcn(self.folder / "set", weighted=True), [0.5] * 5, ranks, **asked)
        self.expect_as_by_numpy(Gcn(self.folder / "directed", "row", weighted=True), [0.5] * 5, 2,
                                data="directed", **asked)
        for strategy in ("spmm_1d", "spmm_2d"):
            self.expect_as_by_numpy(Gcn(self.folder / "set", weighted=True), [0.5] * 5, 4,
                                    strategy={"type": strategy}, **asked)

    def test_SageWeighsItsMean(self):
        begin = self.run_on("sage", model={"type": "sage"}, dataset={"edge_weights": True},
                            train={"epochs": 1, "keep_best": True})
        said = orrery.predict(begin, force=True, quiet=True)
        p = orrery.read_checkpoint(begin / "best.bin").parameters
        source, destination = np.load(self.folder / "set/edges.npy")
        a = np.zeros((N, N))
        a[destination, source] = np.load(self.folder / "set/edge_weights.npy")
        np.fill_diagonal(a, 0)
        a /= np.maximum(a.sum(1, keepdims=True), 1e-30)
        h = np.load(self.folder / "set/features.npy").astype(float)
        for l in (1, 2):
            h = h @ p[f"layers.{l}.self"] + a @ h @ p[f"layers.{l}.neighbours"] + p[f"layers.{l}.bias"]
            h = np.maximum(h, 0) if l == 1 else h
        np.testing.assert_allclose(said.logits, h, atol=1e-5)

    def stops_at(self, accuracies, patience):
        """The epochs of a training with patience, by the log of one without."""
        best, at = -1, None
        for epoch, accuracy in enumerate(accuracies):
            if accuracy > best:
                best, at = accuracy, epoch
            elif epoch - at >= patience:
                return epoch + 1, at, best
        return len(accuracies), at, best

    def test_EarlyStopping(self):
        train = {"epochs": 80, "optimizer": "adam", "learning_rate": 0.05}
        whole = self.lines(self.run_on("whole", train=train), "val_accuracy")
        epochs, at, best = self.stops_at(whole, 7)
        self.assertLess(epochs, 80)  # otherwise this test shows nothing
        for ranks in (1, 2):
            run = self.run_on("stopped", ranks, train=train | {"patience": 7})
            result = json.loads((run / "result.json").read_text())
            self.assertEqual((result["epochs"], result["best_epoch"], result["val_accuracy"]), (epochs, at, best))
            self.assertTrue(result["stopped_early"])
            kept = orrery.read_checkpoint(run / "best.bin")
            self.assertEqual((kept.epochs, kept.best["validation_accuracy"]), (at + 1, best))
            self.assertAlmostEqual(orrery.predict(run, force=True, quiet=True).scores["validation"]["accuracy"], best)

    def test_EarlyStoppingGoesOnFromACheckpoint(self):
        for name, by in (("accuracy", {}), ("both", {"best_by": "accuracy_and_loss"})):
            train = {"epochs": 80, "optimizer": "adam", "learning_rate": 0.05, "patience": 7, "checkpoint_every": 1} | by
            run = self.run_on(f"straight {name}", train=train)
            straight = self.lines(run, "loss")
            begun = self.run_on(f"resumed {name}", train=train | {"epochs": len(straight) - 3})
            orrery.run(self.config(cluster={"ranks": 1}, train=train), out=begun, resume=True, quiet=True)
            self.assertEqual(self.lines(begun, "loss"), straight)
            again = orrery.run(self.config(cluster={"ranks": 1}, train=train), out=begun, resume=True, quiet=True)
            self.assertEqual(again["epochs"], len(straight))
            self.assertEqual(again["best_epoch"], json.loads((run / "result.json").read_text())["best_epoch"])

    def test_AResumedTrainingIsTheStraightOne(self):
        """To the bit, with everything that a step depends on beside the weights."""
        settings = {"dataset": {"edge_weights": True}, "train": {
            "epochs": 6, "optimizer": "adam", "class_weights": "balanced", "checkpoint_every": 1,
            "schedule": {"type": "cosine", "epochs": 10, "warmup": 2}}}
        for ranks in (1, 3):
            straight = self.run_on("straight", ranks, **settings)
            begun = self.run_on("resumed", ranks, **settings | {"train": settings["train"] | {"epochs": 2}})
            orrery.run(self.config(cluster={"ranks": ranks}, **settings), out=begun, resume=True, quiet=True)
            self.assertEqual(self.lines(begun, "loss"), self.lines(straight, "loss"))
            one, other = orrery.read_checkpoint(straight), orrery.read_checkpoint(begun)
            self.assertEqual(one.epochs, 6)
            for name, row in one.arrays.items():
                self.assertEqual(row.tobytes(), other.arrays[name].tobytes(), name)

    def by_hand(self, said, which):
        """Scores by definition: of every class, and over every pair."""
        labels = np.load(self.folder / "set/labels.npy")
        chosen = np.load(self.folder / "set/split.npy") == which
        logits, labels = said.logits[chosen].astype(float), labels[chosen]
        predicted = logits.argmax(1)
        likely = np.exp(logits - logits.max(1, keepdims=True))
        likely /= likely.sum(1, keepdims=True)
        f1, auc = [], []
        for c in range(CLASSES):
            tp, fp, fn = (np.sum((predicted == c) & (labels == c)), np.sum((predicted == c) & (labels != c)),
                          np.sum((predicted != c) & (labels == c)))
            if tp + fp + fn:
                f1.append(2 * tp / (2 * tp + fp + fn))
            if 0 < np.sum(labels == c) < len(labels):
                gap = likely[labels == c, c][:, None] - likely[labels != c, c]
                auc.append(np.mean((gap > 0) + 0.5 * (gap == 0)))
        return {"vertices": len(labels), "accuracy": np.mean(predicted == labels), "macro_f1": np.mean(f1),
                "auc": np.mean(auc)}

    def test_PredictionsAndTheirScores(self):
        run = self.run_on("scored", 2, train={"epochs": 30, "metrics": ["macro_f1", "auc"]})
        said = orrery.predict(run, quiet=True)
        reference = Gcn(self.folder / "set")
        logits = reference.forward(orrery.read_checkpoint(run / "best.bin").parameters)
        np.testing.assert_allclose(said.logits, logits, atol=2e-5)
        np.testing.assert_allclose(said.embeddings, reference.h, atol=2e-5)
        np.testing.assert_array_equal(said.predictions, said.logits.argmax(1))
        for part, which in (("train", 0), ("validation", 1), ("test", 2)):
            expected = self.by_hand(said, which)
            for key, value in expected.items():
                self.assertAlmostEqual(said.scores[part][key], value, places=6, msg=(part, key))
        self.assertEqual(json.loads((run / "result.json").read_text())["scores"], said.scores)
        schema = json.loads(Path(os.environ["ORRERY_SOURCES"], "experiments/config/schemas/prediction.json").read_text())
        self.assertEqual(set(json.loads((said.folder / "scores.json").read_text())), set(schema["required"]))
        three = orrery.predict(run, out=self.folder / "by three", ranks=3, quiet=True)
        np.testing.assert_allclose(three.logits, said.logits, atol=1e-5)
        with self.assertRaisesRegex(orrery.RunFailed, "force"):
            orrery.predict(run, quiet=True)

    def test_PredictionsAreRowsOfTheFilesWhereARunRenumbersVertices(self):
        run = self.run_on("renumbered", dataset={"reorder": "degree"}, train={"epochs": 20, "keep_best": True})
        logits = Gcn(self.folder / "set").forward(orrery.read_checkpoint(run / "best.bin").parameters)
        np.testing.assert_allclose(orrery.predict(run, quiet=True).logits, logits, atol=2e-5)
        file = self.folder / "renumbered.json"
        file.write_text(json.dumps(self.config(dataset={"reorder": "degree"})))
        for words in (["infer", file, "--out", self.folder / "inferred"],
                      ["partition", file, "--set", "cluster.ranks=2", "--owners", self.folder / "owners"]):
            done = subprocess.run([os.environ["ORRERY_PROGRAM"], *words], capture_output=True, text=True, check=False)
            self.assertIn("dataset.reorder: numbers vertices anew", done.stderr)

    def test_TheOneLayerOfSgcIsItsFirst(self):
        train = {"epochs": 5, "weight_decay": 0.1, "weight_decay_on": "first"}
        losses = [self.lines(self.run_on(model, model={"type": model, "layers": 1}, train=train), "loss")
                  for model in ("gcn", "sgc")]
        np.testing.assert_allclose(*losses, rtol=1e-6)

    def test_CheckpointsOfLearnedFeaturesNameThem(self):
        for optimizer in ("sgd", "adam"):
            run = self.run_on("learned", 2, train={"epochs": 2, "checkpoint_every": 2, "optimizer": optimizer},
                              strategy={"type": "full_graph", "learn_features": True})
            kept = orrery.read_checkpoint(run)
            self.assertEqual(kept.arrays["learned_features"].size % WIDTH, 0)
            self.assertIn("learned_second_moment", kept.arrays)
            self.assertEqual(kept.parameters["layers.1.weight"].shape[0], WIDTH)

    def test_OtherModels(self):
        for model, width in (({"type": "gat", "heads": 2}, HIDDEN), ({"type": "sgc"}, WIDTH),
                             ({"type": "resgcn+", "layers": 3}, HIDDEN), ({"type": "gcn", "batch_norm": True}, HIDDEN),
                             ({"type": "sage", "layer_norm": True, "inner_layers": 1}, HIDDEN)):
            with self.subTest(model):
                run = self.run_on("other", train={"epochs": 5, "keep_best": True}, model=model)
                said = orrery.predict(run, force=True, quiet=True)
                self.assertEqual(said.embeddings.shape, (N, width))
                self.assertAlmostEqual(said.scores["validation"]["accuracy"], max(self.lines(run, "val_accuracy")))
                names = orrery.read_checkpoint(run / "best.bin").parameters
                self.assertEqual(sum(array.size for array in names.values()),
                                 sum(array.size for array in orrery.read_checkpoint(run / "best.bin").arrays.values()))

    def test_TheBestOfAveragedModelsIsTheirAverage(self):
        run = self.run_on("averaged", 2, strategy={"type": "model_averaging", "interval": 3, "evaluate_on": "graph"},
                          train={"epochs": 8, "keep_best": True})
        said = orrery.predict(run, quiet=True)
        self.assertAlmostEqual(said.scores["validation"]["accuracy"], max(self.lines(run, "val_accuracy")))

    def test_AttentionSeesFeaturesOfEdges(self):
        begin = self.run_on("featured", 2, model={"type": "gat", "hidden": 6, "heads": 2, "dropout": 0},
                            dataset={"edge_features": True}, train={"epochs": 3, "keep_best": True})
        said = orrery.predict(begin, force=True, quiet=True)
        p = orrery.read_checkpoint(begin / "best.bin").parameters
        source, destination = np.load(self.folder / "set/edges.npy")
        features = np.zeros((N, N, 2))  # those of self-loops that are added stay zeros
        features[destination, source] = np.load(self.folder / "set/edge_features.npy")
        edges = np.eye(N, dtype=bool)
        edges[destination, source] = True
        h = np.load(self.folder / "set/features.npy").astype(float)
        for layer, heads in ((1, 2), (2, 1)):
            z = h @ p[f"layers.{layer}.weight"]
            width = z.shape[1] // heads
            y = []
            for k in range(heads):
                part, ends = z[:, k * width:(k + 1) * width], p[f"layers.{layer}.attention"]
                score = (part @ ends[k])[:, None] + (part @ ends[heads + k])[None, :]
                score = score + features @ p[f"layers.{layer}.edge_features"][:, k]
                power = np.where(edges, np.exp(np.where(score > 0, score, 0.2 * score)), 0)
                y.append(power / power.sum(1, keepdims=True) @ part)
            h = np.concatenate(y, 1) + p[f"layers.{layer}.bias"]
            h = np.maximum(h, 0) if layer == 1 else h
        np.testing.assert_allclose(said.logits, h, atol=1e-4)

    def test_Mistakes(self):
        for settings, words in [
                ({"train": {"class_weights": [1, 2]}}, "expected 3 numbers"),
                ({"train": {"class_weights": "even"}}, "balanced"),
                ({"train": {"schedule": {"type": "cosine", "warmup": 200}}}, "warmup"),
                ({"train": {"schedule": {"type": "step", "least": 0.1}}}, "least"),
                ({"train": {"patience": 3, "eval_every": 0}}, "eval_every"),
                ({"train": {"weights": str(self.folder / "nowhere")}}, "train.weights"),
                ({"train": {"weights": str(self.begin)}, "model": {"hidden": 9}}, "model.hidden"),
                ({"dataset": {"edge_weights": True}, "model": {"type": "gat"}}, "dataset.edge_weights"),
                ({"dataset": {"edge_weights": True, "reorder": "bfs"}}, "dataset.reorder"),
                ({"dataset": {"edge_features": True, "reorder": "bfs"}, "model": {"type": "gat"}}, "dataset.reorder"),
                ({"dataset": {"edge_features": True}, "model": {"type": "gcn"}}, "dataset.edge_features"),
                ({"dataset": {"edge_weights": True}, "strategy": {"type": "shared_preloading"}}, "dataset.edge_weights"),
                ({"dataset": {"edge_weights": True},
                  "strategy": {"type": "mini_batch", "sampler": "saint-node", "batch": 10}}, "strategy.sampler")]:
            with self.subTest(settings), self.assertRaisesRegex(orrery.RunFailed, words.replace("[", r"\[")):
                self.run_on("wrong", **settings)
        with self.assertRaisesRegex(orrery.RunFailed, "config.json"):
            orrery.predict(self.folder / "nowhere", quiet=True)


class Watching(unittest.TestCase):
    def test_LogsOfAllKindsSayTheSame(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            small_set(folder / "set")
            config = {"name": "t", "dataset": {"path": str(folder / "set")}, "model": {"type": "gcn", "hidden": 4},
                      "strategy": {"type": "full_graph"}, "train": {"epochs": 4, "eval_every": 2}}
            (folder / "t.json").write_text(json.dumps(config))
            environment = os.environ | {"ORRERY_PYTHON": sys.executable}
            subprocess.run([os.environ["ORRERY_PROGRAM"], "run", folder / "t.json", "--out", folder / "run", "--csv",
                            "--tensorboard", "--quiet"], check=True, env=environment)
            lines = [json.loads(line) for line in (folder / "run/epochs.jsonl").read_text().splitlines()]

            with open(folder / "run/epochs.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([[float(row["loss"]), row["val_accuracy"]] for row in rows],
                             [[line["loss"], "" if line["val_accuracy"] is None else str(line["val_accuracy"])]
                              for line in lines])

            values = {}
            event_file, = (folder / "run/tensorboard").glob("events.*")
            for event in self.events(event_file.read_bytes()):
                for value in event.summary.value:
                    values[value.tag, event.step] = value.simple_value
            for line in lines:
                self.assertAlmostEqual(values["loss/train", line["epoch"]], line["loss"], places=5)
            self.assertEqual({step for tag, step in values if tag == "accuracy/test"}, {1, 3})

            seen = subprocess.run([os.environ["ORRERY_PROGRAM"], "watch", folder / "run", "--once"], check=True,
                                  capture_output=True, text=True, env=environment | {"COLUMNS": "100"})
            self.assertIn("done", seen.stdout)
            self.assertIn(f"{lines[-1]['loss']:.4f}", seen.stdout)
            self.assertRegex(seen.stdout,
                             r"memory of rank +held at most +share of the largest\s+0 +[\d.]+ KiB")

            waiting = folder / "waiting"  # whose plan is more than a pipe holds
            waiting.mkdir()
            many = config | {"backend": "sim", "cluster": {"file": "fat-tree", "gpus": 64, "servers": 8},
                             "dataset": {"generate": "communities", "vertices": 640, "edges": 4000},
                             "strategy": {"type": "spmm_1d"}}
            (waiting / "config.json").write_text(json.dumps(many))
            seen = subprocess.run([os.environ["ORRERY_PROGRAM"], "watch", waiting, "--once"], check=True,
                                  capture_output=True, text=True, env=environment | {"COLUMNS": "100"})
            self.assertRegex(seen.stdout,
                             r"memory of rank +will hold at most +share of the largest\s+0 +[\d.]+ KiB")

            orrery.run(config, out=folder / "from python", csv=True, tensorboard=True, quiet=True)
            self.assertEqual(len((folder / "from python/epochs.csv").read_text().splitlines()), 1 + len(lines))
            self.assertTrue(list((folder / "from python/tensorboard").glob("events.*")))

            seeds = orrery.run(config | {"sweep": {"seed": [0, 1]}}, out=folder / "seeds", quiet=True)["seeds"][0]
            seen = subprocess.run([os.environ["ORRERY_PROGRAM"], "watch", folder / "seeds", "--once"], check=True,
                                  capture_output=True, text=True, env=environment | {"COLUMNS": "200"})
            self.assertIn("2 seeds at their best epochs", seen.stdout)
            self.assertIn(f"loss {seeds['loss']['mean']:.4f} ± {seeds['loss']['std']:.4f}", seen.stdout)

    def test_NumbersOfASweepAreWholeAtAnyWidth(self):
        with tempfile.TemporaryDirectory() as name:
            names = [f"dataset.features_type=float16_strategy.type={kind}_seed={seed}"
                     for kind in ("full_graph", "spmm_15d") for seed in (0, 1)]
            for i, one in enumerate(names):
                run = Path(name) / one
                run.mkdir()
                (run / "config.json").write_text(json.dumps({"backend": "threads"}))
                (run / "epochs.jsonl").write_text(json.dumps(
                    {"epoch": 0, "loss": 2.3456 + i, "val_accuracy": 0.125, "test_accuracy": 0.25, "seconds": 0.0123}))
                with (run / "epochs.jsonl").open("a") as log:
                    log.write("\n")
                (run / "result.json").write_text(json.dumps({"peak_bytes": [(i + 1) << 20], "interrupted": True}))
            seen = {}
            for width in (200, 80, 50, 20):
                seen[width] = subprocess.run(
                    [os.environ["ORRERY_PROGRAM"], "watch", name, "--once"], check=True, capture_output=True, text=True,
                    env=os.environ | {"ORRERY_PYTHON": sys.executable, "COLUMNS": str(width)}).stdout
                for line in seen[width].splitlines():
                    self.assertLessEqual(len(line), width)
                for i in range(4):
                    self.assertIn(f"{2.3456 + i:.4f}", seen[width])
        self.assertIn("full_graph, seed 0", seen[200])  # the settings that differ
        self.assertNotIn("float16", seen[200])
        self.assertNotIn("left out", seen[200])
        header, *rows = seen[80].splitlines()[:5]
        without = seen[80].split("left out at this width:")[1]
        cells = {"state": "interrupted, measured", "epochs": "1", "loss": "2.3456", "validation": "12.5 %",
                 "test": "25.0 %", "epoch": "12.3 ms", "memory": "1.00 MiB"}
        for column, cell in cells.items():
            if column not in re.split(", |\n", without.strip()):
                self.assertIn(column, header.split())
                self.assertIn(cell, rows[0])
        self.assertEqual(len({row.split("  ")[0] for row in rows}), 4)
        self.assertNotRegex(without, "state|epoch\\b")  # what one watches stays longest

    @staticmethod
    def events(content):
        """Records of length, its checksum, event, its checksum."""
        from tensorboardX.proto.event_pb2 import Event

        at = 0
        while at < len(content):
            size = int.from_bytes(content[at:at + 8], "little")
            yield Event.FromString(content[at + 12:at + 12 + size])
            at += 12 + size + 4


if __name__ == "__main__":
    unittest.main()
