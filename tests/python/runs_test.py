"""Runs of the program from Python, and what they leave behind as frames and arrays."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

sys.path[:0] = [os.environ["ORRERY_SOURCES"] + "/python", os.environ["ORRERY_BUILD"] + "/python"]
import orrery

SMALL = {
    "name": "small",
    "dataset": {"generate": "communities", "vertices": 300, "edges": 1500, "classes": 4,
                "features": 8},
    "model": {"type": "gcn", "layers": 2, "hidden": 8},
    "strategy": {"type": "full_graph"},
    "train": {"epochs": 3, "checkpoint_every": 3},
    "cluster": {"ranks": 2},
}


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Runs(InAFolder):
    def test_LeaveFramesWithSettingsAsColumns(self):
        answer = orrery.run(SMALL | {"sweep": {"seed": [1, 2]}}, set={"train.epochs": 4},
                            out=self.folder / "swept", quiet=True)

        found = orrery.results(self.folder / "swept")

        self.assertIsInstance(answer, dict)
        self.assertEqual(found.settings, ["seed"])
        self.assertEqual(sorted(found.runs["seed"]), [1, 2])
        self.assertEqual(set(found.runs["train.epochs"]), {4})
        self.assertEqual(len(found.epochs), 8)
        self.assertEqual(list(found.epochs.groupby("seed")["epoch"].count()), [4, 4])
        with self.assertRaisesRegex(orrery.DataError, "of which of 2 runs"):
            found.timeline()

    def test_SettingsAreThoseThatTellRunsApart(self):
        orrery.run(SMALL | {"sweep": {"strategy": [{"type": "spmm_1d", "variant": "row"},
                                                   {"type": "spmm_1d", "variant": "column"}, {"type": "full_graph"}]}},
                   out=self.folder / "objects", quiet=True)
        for name, strategy in (("a", "spmm_1d"), ("b", "full_graph")):
            orrery.run(SMALL, set={"strategy.type": strategy, "model.hidden": 2 + len(strategy)},
                       out=self.folder / name, quiet=True)

        settings = lambda *names: orrery.results(*(self.folder / name for name in names)).settings
        self.assertEqual(settings("objects"), ["strategy.type", "strategy.variant"])
        self.assertEqual(set(settings("a", "b")), {"strategy.type", "model.hidden"})
        self.assertEqual(settings("a"), [])
        cases = [{"label": "wide", "model.hidden": 8}, {"label": "short", "train.epochs": 1}]
        orrery.run(SMALL | {"sweep": {"cases": cases, "seed": [1, 2]}}, out=self.folder / "cases", quiet=True)
        self.assertEqual(set(settings("cases")), {"case", "seed"})
        self.assertEqual(set(orrery.results(self.folder / "cases").runs["case"]), {"wide", "short"})
        found = orrery.results(self.folder / "a", self.folder / "b")
        self.assertEqual(len(found.runs[found.settings + ["epoch_seconds"]]), 2)

    def test_TimelinesCoverAllRanks(self):
        orrery.run(SMALL, out=self.folder / "one", quiet=True)

        timeline = orrery.results(self.folder / "one").timeline()

        self.assertEqual(set(timeline["rank"]), {0, 1})
        self.assertGreaterEqual(timeline["seconds"].min(), 0)
        self.assertIn("spmm", " ".join(timeline["name"]))

    def test_MistakesAreExceptionsWithTheProgramsWords(self):
        with self.assertRaisesRegex(orrery.RunFailed, "hiden.*hidden") as caught:
            orrery.run(SMALL, set={"model.hiden": 3}, quiet=True)
        self.assertNotEqual(caught.exception.status, 0)
        with self.assertRaises(orrery.RunFailed):
            orrery.plan(self.folder / "none.json")
        with self.assertRaisesRegex(orrery.ConfigError, "no JSON"):
            orrery.plan({"name": object()})

    def test_PlansRunNothing(self):
        plan = orrery.plan(SMALL)

        self.assertIsInstance(plan, dict)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_AnInterruptEndsTheProgram(self):
        code = ("import orrery, runs_test as t\n"
                "t.SMALL['train']['epochs'] = 10**6\n"
                "try: orrery.run(t.SMALL, out='here', quiet=True)\n"
                "except KeyboardInterrupt: print('interrupted')\n")
        paths = [os.environ["ORRERY_SOURCES"] + "/tests/python", *sys.path]
        child = subprocess.Popen([sys.executable, "-B", "-c", code], cwd=self.folder, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)})
        for _ in range(500):
            if (self.folder / "here" / "epochs.jsonl").exists():
                break
            time.sleep(0.02)

        child.send_signal(signal.SIGINT)
        said, errors = child.communicate(timeout=60)

        self.assertEqual(said, "interrupted\n", errors)
        # The program has ended: another may have its folder.
        orrery.run(SMALL, out=self.folder / "here", force=True, quiet=True)


class Checkpoints(InAFolder):
    def setUp(self):
        super().setUp()
        orrery.run(SMALL, out=self.folder / "run", quiet=True)
        self.file = self.folder / "run" / "checkpoint.bin"

    def test_AreArraysAsManyAsTheModelHas(self):
        kept = orrery.read_checkpoint(self.folder / "run")

        self.assertEqual(kept.epochs, 3)
        self.assertEqual(kept.widths, {"features": 8, "classes": 4})
        self.assertEqual(list(kept.arrays), ["weights", "first_moment", "second_moment"])
        self.assertEqual(kept.arrays["weights"].size, 8 * 8 + 8 + 8 * 4 + 4)
        self.assertTrue((kept.arrays["second_moment"] >= 0).all())

    def test_AreReadByOthersOnceSaved(self):
        from safetensors.numpy import load_file
        kept = orrery.read_checkpoint(self.file)

        orrery.save_npz(kept, self.folder / "w.npz")
        orrery.save_safetensors(kept, self.folder / "w.safetensors")

        for read in (np.load(self.folder / "w.npz"), load_file(self.folder / "w.safetensors")):
            self.assertEqual(sorted(read), ["layers.1.bias", "layers.1.weight", "layers.2.bias",
                                            "layers.2.weight"])
            # Every number of the checkpoint's weights, whatever their order there.
            np.testing.assert_array_equal(np.sort(np.concatenate([read[name].ravel() for name in read])),
                                          np.sort(kept.arrays["weights"].ravel()))
        self.assertEqual({one.name for one in self.folder.iterdir()},
                         {"run", "w.npz", "w.safetensors"})

    def test_DamageIsTold(self):
        whole = self.file.read_bytes()
        for content in (whole[:-1], whole[:30], whole[:8], b"x" + whole[1:],
                        whole[:200] + b"\x00" + whole[201:], b""):
            self.file.write_bytes(content)
            with self.assertRaises(orrery.DataError):
                orrery.read_checkpoint(self.file)
