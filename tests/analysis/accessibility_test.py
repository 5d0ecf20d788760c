"""Reports that everybody can read: pages keep the rules of page_rules.py, and these rules find what they forbid."""

import json
import tempfile
import unittest
from pathlib import Path

import folders
import page_rules
import rendered
import report
import result_folder

SPANS = [folders.span(rank, lane, kind, 0.001 * i, 0.001, cname=cname)
         for rank in (0, 1)
         for i, (lane, kind, cname) in enumerate([(0, "spmm", "good"), (0, "gemm", "good"),
                                                  (0, "adam", "good"), (1, "broadcast", "yellow"),
                                                  (1, "broadcast", "terrible")])]
MEMORY = [{"ph": "C", "name": "device bytes", "pid": rank, "ts": 10.0 * i,
           "args": {"bytes": 1000 * (1 + rank + i % 2)}} for rank in (0, 1) for i in range(4)]
EPOCHS = [{"epoch": i, "loss": 2.0 - 0.1 * i, "train_accuracy": 0.1 * i, "val_accuracy": 0.1 * i,
           "test_accuracy": None, "seconds": 0.01} for i in range(5)]


def one_run(path, **told):
    return folders.write_run(path, folders.result(**told), SPANS + MEMORY, epochs=EPOCHS)


def sweep(path, labels, **told):
    """A sweep with a folder of its own for each combination."""
    runs = []
    for i, (label, changes) in enumerate(labels):
        runs.append(folders.result(label=label, out_dir=f"run-{i}", **(told | changes)))
        folders.write_run(path / f"run-{i}", runs[-1], SPANS + MEMORY, epochs=EPOCHS)
    (path / "sweep.json").write_text(json.dumps(folders.result(sweep=runs)))
    return path


class PagesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def pages(self):
        """(name, source) of a page of every kind."""
        beside = {"this-machine": {"epoch_seconds": 0.009, "error": -0.1,
                                   "limited_by": {"sentence": "computation"}},
                  "dgx-1": {"epoch_seconds": None, "not_simulated": "no such device"}}
        kinds = {
            "run": one_run(self.path / "run", device_bytes=2500),
            "interrupted": one_run(self.path / "stopped", interrupted=True, backend="threads",
                                   kernels="cpu", links=[], simulated_on=beside,
                                   provenance={"cores": 1, "cpu": "a CPU"}),
            "ranks": sweep(self.path / "ranks", [(f"cluster.ranks={n}", {"ranks": n})
                                                 for n in (1, 2, 4)]),
            "seeds": sweep(self.path / "seeds", [(f"seed={n}", {"test_accuracy": 0.8 + 0.01 * n})
                                                 for n in range(6)]),
        }
        for name, folder in kinds.items():
            yield name, report.make_page(result_folder.read(folder))


class Accessibility(PagesTest):
    def test_of_every_kind_of_page_breaks_no_rule(self):
        for name, source in self.pages():
            with self.subTest(page=name):
                self.assertEqual(page_rules.broken_rules(source), [])

    def test_is_judged_by_rules_that_see_what_they_forbid(self):
        _, good = next(self.pages())
        breaches = [
            ("<main>", "<main><h1>again</h1>", "2 <h1>"),
            ("<h2>Where the epoch went</h2>", "<h3>Where</h3>", "follows <h1>"),
            ('lang="en"', "", "language"),
            ('href="#memory"', 'href="#gone"', "not there"),
            ('<section id="learning">', '<section id="memory">', "two elements"),
            ('<li><a href="#memory">Memory</a></li>', "", "contents lacks"),
            ('<th scope="col">busy', "<th>busy", "no scope"),
            ("<caption><span>Training loss by epoch</span></caption>", "", "without a caption"),
            ('<th scope="row">rank 0</th>', "<td>rank 0</td>", "has no name"),
            ('tabindex="0"', "", "keyboard"),
            ("<figcaption>Training loss by epoch", "<figcaption>", "figure without a caption"),
            ('aria-label="device memory over time"', "", "without a name"),
            ('<svg height="22" aria-hidden="true">', '<svg height="22">', "neither named nor hidden"),
            ('class="part-external"/></svg>communication', 'class="part-load"/></svg>communication',
             "no legend for"),
            ("--part-compute:#2f6db5", "--part-compute:#d0d8e0", "expected 3:1"),
            ("--soft:#a3aebc", "--soft:#505862", "in dark"),
            ("font-size:12px", "font-size:9px", "9 pixels"),
            ("</main>", "<script>1</script></main>", "a script"),
        ]
        for old, new, words in breaches:
            with self.subTest(old=old):
                self.assertIn(old, good)
                found = page_rules.broken_rules(good.replace(old, new, 1))
                self.assertIn(words, "; ".join(found))

    @unittest.skipUnless(rendered.chromium(), "no Chromium here")
    def test_of_a_page_as_it_is_shown_on_a_phone_breaks_no_rule_in_light_and_dark(self):
        pages = dict(self.pages())

        dark = rendered.look(pages["ranks"], rendered.PHONE, 0)
        broken = pages["run"].replace("<main>", '<main><p style="width:900px;color:#888">wide</p>')
        light = rendered.look(broken, rendered.PHONE, 1)

        self.assertGreater(dark["seen"], 200)
        self.assertEqual(dark["told"], [])
        self.assertEqual(len(light["told"]), 3, light["told"])
        for words in ("pixels wide on 390", '"wide" stands out', '"wide" leaves the page'):
            self.assertIn(words, "; ".join(light["told"]))
