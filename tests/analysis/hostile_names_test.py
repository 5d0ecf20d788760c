"""Names from files never reach a page, a terminal or a shell as anything but text."""

import importlib.util
import json
import subprocess
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import folders
import plain_text

HOSTILE = ("\x1b[31m\x07\r\n\x9b2J'\"></style></title></pre></svg><script>ran()</script>"
           "<img src=x onerror=ran()>$(touch ran)`touch ran`&amp;")
CONTROL = "[\x00-\x09\x0b-\x1f\x7f-\x9f]"
SHELL = ["1; touch ran", "$(touch ran)", "`touch ran`", "1\ntouch ran", "'; touch ran #", "1 | touch ran"]


def with_hostile_names(value):
    """Every text below a value with HOSTILE behind it."""
    if isinstance(value, str):
        return value + HOSTILE
    if isinstance(value, list):
        return [with_hostile_names(one) for one in value]
    if isinstance(value, dict):
        return {key: with_hostile_names(one) for key, one in value.items()}
    return value


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers = set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]


class HostileNames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def write(self, name, wrap):
        """A result folder with the texts as `wrap` makes them; backends and the like are compared with
        known words, so that theirs stay."""
        told = folders.result(label="k=1")
        told["dataset"]["notes"] = ["a note"]
        kept = {"backend", "limited_by", "strategy"}
        told = {key: value if key in kept else wrap(value) for key, value in told.items()}
        told["limited_by"]["sentence"] = wrap("a sentence")
        events = [{"name": wrap("spmm"), "cat": "compute", "ph": "X", "ts": 0, "dur": 5, "pid": 0,
                   "tid": 0, "args": {"epoch": 1}}]
        folders.write_run(self.path / name, told, events=events,
                          config=wrap({"name": "x", "model": {"type": "gcn"}, "seed": 0}))
        return self.path / name

    def test_are_text_on_a_page_and_on_the_terminal(self):
        plain, hostile = self.write("plain", lambda v: v), self.write("hostile", with_hostile_names)
        pages = []
        for folder in (plain, hostile):
            done = folders.orrery("report", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            for said in (done.stdout, done.stderr):
                self.assertEqual([c for c in said if c < " " and c != "\n" or "\x7f" <= c < "\xa0"], [])
                self.assertLessEqual(said.count("\n"), 3)
            pages.append((folder / "report.html").read_text())

        tags = [Tags(page) for page in pages]
        self.assertEqual(tags[1].tags, tags[0].tags)
        self.assertEqual(tags[1].handlers, [])
        self.assertGreater(pages[1].count("&lt;script&gt;ran()"), 5)
        self.assertNotIn("\x1b", pages[1])

    def test_are_shown_as_the_program_shows_them(self):
        self.assertEqual(plain_text.one_line("a\x1b[31m\n\x9b\r é…"), r"a\x1b[31m\n\xc2\x9b\x0d é…")

    def test_in_the_meta_file_of_a_data_set_do_not_steer_the_terminal(self):
        data = self.path / "data"
        made = folders.orrery("dataset", "generate", "communities", "--vertices", "40", "--edges",
                              "120", "--out", data)
        self.assertEqual(made.returncode, 0, made.stderr)
        meta = json.loads((data / "meta.json").read_text())
        (data / "meta.json").write_text(json.dumps(dict(meta, name="set" + HOSTILE, made_up=[HOSTILE])))
        for words in (["dataset", "info", data], ["partition", data, "--parts", "2"],
                      ["partition", data, "--parts", "2", "--stream", "--method", "spring"]):
            done = folders.orrery(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotRegex(done.stdout + done.stderr, CONTROL, words)

    def test_in_advice_are_text(self):
        from advice_page_test import answer, plan
        limited = {"part": "compute", "share": 0.6, "sentence": "computation" + HOSTILE}
        hostile = plan("strategy.type=a" + HOSTILE, 0.02, limited_by=limited, difference="old" + HOSTILE)
        told = {"schema_version": 1, "name": "n" + HOSTILE, "cluster": "c" + HOSTILE, "ranks": 4, "simulated": True,
                "answers": [answer([plan("strategy.type=b" + HOSTILE, 0.02), hostile], what_if="w" + HOSTILE,
                                   failed="f" + HOSTILE,
                                   refused=[{"plan": "p" + HOSTILE, "too_large": False, "reason": "r" + HOSTILE}]),
                            answer([plan("strategy.type=b", 0.02)], setting="s" + HOSTILE)]}
        (self.path / "advice.json").write_text(json.dumps(told))
        done = folders.orrery("report", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, CONTROL)
        page = (self.path / "report.html").read_text()
        tags = Tags(page)
        self.assertEqual((tags.tags & {"script", "img"}, tags.handlers), (set(), []))
        self.assertGreater(page.count("&lt;script&gt;ran()"), 5)
        self.assertNotIn("\x1b", page)

    def test_in_experiments_are_refused_by_the_commands_that_read_them(self):
        file = self.path / "e.json"
        for key in ("name", "model.type", "dataset.generate"):
            told = json.loads(json.dumps(folders.EXPERIMENT))
            owner, _, last = key.rpartition(".")
            (told[owner] if owner else told)[last] = HOSTILE
            file.write_text(json.dumps(told))
            for words in (["advise", file], ["infer", file, "--set", "inference={}"], ["caches", file],
                          ["breakdown", file], ["dataset", "sharing", file], ["plan", file]):
                done = folders.orrery(*words)
                self.assertNotEqual(done.returncode, 0, words)
                self.assertNotRegex(done.stdout + done.stderr, CONTROL, (key, words))

    def test_in_what_a_run_left_do_not_steer_the_terminal_of_predict(self):
        run = folders.real_run(self.path, train={"epochs": 1, "checkpoint_every": 1})
        config = json.loads((run / "config.json").read_text())
        for changed in (config | {"name": HOSTILE}, config | {"dataset": {"path": HOSTILE}},
                        config | {"strategy": {"type": HOSTILE}}, config | {HOSTILE: HOSTILE}):
            (run / "config.json").write_text(json.dumps(changed))
            done = folders.orrery("predict", run, "--force")
            self.assertIn(done.returncode, (0, 1, 2))
            self.assertNotRegex(done.stdout + done.stderr, CONTROL)

    def test_of_runs_that_are_watched_are_text(self):
        for name in ("[red]\x1b[31mone", "[link=x]two"):
            told = folders.result(label="k=1")
            folders.write_run(self.path / name, told, config={"name": "x" + HOSTILE, "strategy": {"type": HOSTILE}},
                              epochs=[{"epoch": 1, "loss": 1.0, "seconds": 0.1}])
        for folder in (self.path, self.path / "[link=x]two"):
            done = folders.orrery("watch", folder, "--once")
            if "rich is missing" in done.stderr:
                self.skipTest("needs rich")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotRegex(done.stdout + done.stderr, CONTROL)
        (self.path / "[link=x]two" / "epochs.jsonl").write_text('{"epoch": 0, "loss": "high"}\n')
        done = folders.orrery("watch", self.path, "--once")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("holds files that no run of this version wrote so", done.stderr)

    def test_in_the_options_of_netcluster_start_nothing(self):
        netcluster = folders.SOURCES / "experiments" / "netcluster"
        for option in ("--servers", "--ranks-per-server", "--rate"):
            for hostile in SHELL:
                done = subprocess.run([netcluster, option, hostile, "--", "true"], cwd=self.path,
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, (option, hostile, done.stderr))
        self.assertEqual([file.name for file in self.path.iterdir()], [])

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
    def test_are_no_formulas_in_figures(self):
        from figures import curves, draw, style
        with draw.plt.rc_context(style.rc(8)):
            drawn, axes = draw.plt.subplots()
            axes.set_title("$(touch ran)$ of a$_b$")
            curves._ticks_of(axes, [10.5 ** k for k in range(12)], {})
            axes.plot([1, 1e12], [1, 2])
            drawn.savefig(self.path / "a.svg")
            draw.plt.close(drawn)

        text = (self.path / "a.svg").read_text()
        self.assertIn("$(touch ran)$ of a$_b$", text)
        self.assertNotIn("mathdefault", text)
