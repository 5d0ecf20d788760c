"""orrery watch DIR: a run or a sweep at the terminal while it goes on, from the files that it writes."""

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import child
import plain_text
import setting_words
import units
import whole_file

BLOCKS = " ▁▂▃▄▅▆▇█"


def read(file):
    """A JSON file; None if it is not there, or just being written."""
    try:
        return plain_text.in_one_line(json.loads(whole_file.read(file)))
    except (OSError, ValueError):
        return None


class Epochs:
    """The lines of epochs.jsonl; each call reads only the new ones."""

    def __init__(self, file):
        self.file, self.end, self.lines = file, 0, []

    def update(self):
        try:
            if not self.file.is_file():
                return
            with self.file.open("rb") as log:
                log.seek(0, 2)
                if log.tell() < self.end:  # another start began from the first epoch
                    self.end, self.lines = 0, []
                log.seek(self.end)
                new = log.read()
        except OSError:
            return
        whole = new[:new.rfind(b"\n") + 1]
        self.end += len(whole)
        for line in whole.splitlines():
            try:
                told = json.loads(line)
                del self.lines[told["epoch"]:]
                self.lines.append(told)
            except (ValueError, KeyError, TypeError):
                continue

    def column(self, key):
        return [line[key] for line in self.lines if line.get(key) is not None]


class Run:
    """One run's folder."""

    def __init__(self, folder, program):
        self.folder, self.program = folder, program
        self.epochs = Epochs(folder / "epochs.jsonl")
        self.memory, self.asked, self.planning = None, False, None

    def update(self):
        self.config, self.result = read(self.folder / "config.json"), read(self.folder / "result.json")
        self.failure = read(self.folder / "failure.json")
        self.epochs.update()
        if self.result and isinstance(self.result.get("peak_bytes"), list):
            self.memory = ("held at most", self.result["peak_bytes"])
        elif self.ended:
            self.close()  # a forecast for what is over
        elif self.config and not self.asked and self.program:
            self._ask()
        if self.planning and self.planning.poll() is not None:
            self._take()

    def _ask(self):
        """The memory that each rank will hold, from the plan."""
        self.asked = True
        try:
            self.said = tempfile.TemporaryFile("w+")  # a pipe holds less than the plan of many ranks
        except OSError:
            return  # no room for it: the forecast is left out
        self.planning = subprocess.Popen([self.program, "plan", str(self.folder / "config.json"), "--json"],
                                         stdin=subprocess.DEVNULL, stdout=self.said,
                                         stderr=subprocess.DEVNULL, start_new_session=True,
                                         env=child.environment())

    def _take(self):
        self.planning = None
        with self.said as file:
            file.seek(0)
            said = file.read()
        try:
            told = json.loads(said.splitlines()[-1])
            peaks = [rank["peak_bytes"] for rank in told["ranks"]]
        except (ValueError, KeyError, IndexError, TypeError):
            return
        if self.memory is None:
            self.memory = ("will hold at most", peaks)

    def wait_for_plan(self, seconds):
        """For so long at most: what it says is left out after that."""
        if self.planning:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.planning.wait(timeout=seconds)

    def close(self):
        if self.planning:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.planning.pid, signal.SIGKILL)  # and what it has started
            self.planning.wait()
            self.planning = None
            self.said.close()

    @property
    def name(self):
        return plain_text.one_line(self.folder.name)

    @property
    def ended(self):
        return self.result is not None or self.failure is not None

    def setting(self, *keys):
        value = self.config
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def state(self):
        if self.failure:
            return "failed"
        if self.result is None:
            return "going on" if self.epochs.lines else "starting"
        if self.result.get("out_of_memory"):
            return "out of memory"
        if self.result.get("interrupted"):
            return "interrupted"
        return "stopped early" if self.result.get("stopped_early") else "done"

    @property
    def did_not_fit(self):
        """"no room for features" of a run that ended out of memory."""
        tensor = ((self.result or {}).get("out_of_memory") or {}).get("tensor")
        return f"no room for {tensor}" if tensor else ""

    @property
    def epoch(self):
        """The seconds of the median epoch: of a run that goes on, of those so far."""
        times = self.epochs.column("seconds")
        told = (self.result or {}).get("epoch_seconds")
        return told if told is not None else statistics.median_low(times) if times else None

    @property
    def settings(self):
        """[(key, value)] of the swept keys, from the folder's name: "seed=1_strategy.type=spmm_1d". None
        where it says nothing of them."""
        found, begin = [], 0
        for equals in (match.start() for match in re.finditer("=", self.name)):
            keys = [self.name[at:equals] for at in range(begin, equals)
                    if at == 0 or found and self.name[at - 1] == "_"]
            keys = [key for key in keys if re.fullmatch(_KEY, key)]
            # Words of a value may seem to belong to the next key: "full_graph_seed=1".
            known = [key for key in keys if key.split(".")[0] in (self.config or {})]
            if not keys:
                continue  # one of a value
            key = (known or keys[-1:])[0]
            if found:
                found[-1][1] = self.name[begin:equals - len(key) - 1]
            found.append([key, ""])
            begin = equals + 1
        if not found or not self.name.startswith(f"{found[0][0]}="):
            return None
        found[-1][1] = self.name[begin:]
        return [(key, self._in_full(key, value)) for key, value in found]

    def _in_full(self, key, value):
        """The value as the experiment file has it: a folder's name has "_" for what is no letter."""
        told = str(self.setting(*key.split(".")))
        return told if re.sub(r"[^A-Za-z0-9.=_-]+", "_", told) == value else value

    @property
    def made(self):
        """How its numbers were made: simulated, modelled or measured."""
        return {"sim": "simulated", "model": "modelled"}.get(self.setting("backend"), "measured")


def spark(values, width):
    """A line of blocks, the last `width` values between their least and their greatest."""
    values = values[-width:]
    if not values:
        return ""
    least, most = min(values), max(values)
    scale = (len(BLOCKS) - 2) / (most - least) if most > least else 0
    return "".join(BLOCKS[1 + int((value - least) * scale)] for value in values)


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def seconds(value):
    return "-" if value is None else units.seconds(value)


def last(values):
    return values[-1] if values else None


GAP = 2  # between columns
LEAST_NAME = 12  # letters of a name that are kept before a column is left out for it
_KEY = r"[A-Za-z_]\w*(\.\w+)*"  # of an experiment file


def shortened(name, width):
    """A name of at most so many letters, "…" in the place of its middle."""
    made, kept = name, min(len(name), width)
    while cell_len(made) > width and kept > 0:
        kept -= 1  # letters beside the mark; some take two cells
        made = name[:kept // 2] + "…" + name[len(name) - (kept - kept // 2):]
    return made


def fitted(columns, width, leave_out=(), narrower=()):
    """A table whose cells are whole, from (title, justification, cells). What is too wide is made narrower:
    the first column becomes the next of `narrower`; its names are shortened as long as they can be told
    apart; and the columns that `leave_out` has are left out in that order, with a line that says so."""
    columns, without, narrower = list(columns), [], list(narrower)
    apart = lambda names: len({*names}) == len({*columns[0][2]})
    wanted = lambda cells: max(map(cell_len, cells), default=0) + GAP
    while True:
        (title, _, names), *others = columns
        room = width - GAP - sum(wanted([name, *cells]) for name, _, cells in others)
        if narrower and max(map(cell_len, names)) > room:
            columns[0] = narrower.pop(0)
            continue
        short = [shortened(name, max(room, 1)) for name in names]
        # Names that differ only where they are cut at any room need no more of it.
        told_apart = apart(short) or not apart([shortened(name, width - GAP) for name in names])
        enough = room >= min(LEAST_NAME, wanted([title, *names]) - GAP) and told_apart
        drop = None if enough else next((name for name in leave_out if name in [one[0] for one in others]), None)
        if drop is None:
            break
        columns = [one for one in columns if one[0] != drop]
        without.append(drop)
    table = Table(box=None, padding=(0, GAP, 0, 0))
    for name, justify, _ in columns:
        table.add_column(shortened(name, max(room, 1)) if name == title else name, justify=justify, no_wrap=True)
    for cells in zip(short, *(cells for _, _, cells in others)):
        table.add_row(*map(Text, cells))
    return Group(table, Text(f"left out at this width: {', '.join(without)}")) if without else table


def numbers(run, width):
    """Loss, accuracies and seconds: the last value of each, and its course."""
    lines = [("loss", run.epochs.column("loss"), lambda value: f"{value:.4f}", min)]
    lines += [(name, run.epochs.column(key), percent, max) for key, name in (
        ("train_accuracy", "training"), ("val_accuracy", "validation"), ("test_accuracy", "test"))]
    lines.append((f"epoch, {run.made}", run.epochs.column("seconds"), seconds, min))
    lines = [line for line in lines if line[1]]
    if not lines:
        return None
    return fitted([("", "left", [name for name, *_ in lines]),
                   ("last", "right", [words(values[-1]) for _, values, words, _ in lines]),
                   ("best", "right", [words(best(values)) for _, values, words, best in lines]),
                   ("so far", "left", [spark(values, max(10, width - 45)) for _, values, *_ in lines])],
                  width, ["so far", "best"])


def memory(run, width):
    if not run.memory or not run.memory[1]:
        return None
    words, peaks = run.memory
    limit = run.result.get("device_bytes") if run.result else None
    most, shown = limit or max(peaks) or 1, peaks[:16]
    more = [f"{len(peaks) - 16} more"] if len(peaks) > 16 else []
    whole = f"share of the device's {units.bytes_(limit)}" if limit else "share of the largest"
    bars = ["█" * max(1, int(24 * peak / most)) for peak in shown]
    return fitted([("memory of rank", "left", [*map(str, range(len(shown))), *("..." for _ in more)]),
                   (words, "right", [*map(units.bytes_, shown), *more]),
                   (whole, "left", [*bars, *("" for _ in more)])],
                  width, [whole])


def heading(run):
    total, done = run.setting("train", "epochs"), len(run.epochs.lines)
    why = run.did_not_fit or plain_text.one_line(str((run.failure or {}).get("message", "")))
    words = [f"{run.setting('name') or run.name}", ": ".join(filter(None, [run.state(), why]))]
    if run.config:  # a job over MPI may fail before it has settings
        words.append(f"{run.setting('strategy', 'type')}, {run.made}")
    if total and run.made == "measured" and (done or not run.ended):  # an inference ends without any
        words.append(f"epoch {done} of {total}")
    times = run.epochs.column("seconds")
    if not run.ended and times and total:
        words.append(f"about {seconds(sum(times) / len(times) * (total - done))} left without evaluations")
    return Text("  ".join(words), style="bold")


def one(run, width):
    return Group(*filter(None, [heading(run), numbers(run, width), memory(run, width)]))


def names_of(runs):
    """The first column of several runs, from wide to narrow, each with names that differ: of one swept key
    its values, as `orrery run` prints them; of several keys words, then their values alone; else the names of
    folders."""
    folders = [("run", "left", [run.name for run in runs])]
    settings = [run.settings for run in runs]
    if None in settings or len({tuple(key for key, _ in one) for one in settings}) != 1:
        return folders
    differ = [at for at, of in enumerate(zip(*settings)) if len({*of}) > 1]
    settings = [[one[at] for at in differ] for one in settings]
    keys = [key for key, _ in settings[0]]
    title = keys[0] if len(keys) == 1 else ", ".join(key.rsplit(".", 1)[-1] for key in keys)
    values = (title, "left", [", ".join(value for _, value in one) for one in settings])
    words = ("run", "left", [setting_words.short(one) for one in settings])
    made = [values] if len(keys) == 1 else [words, values]
    return [one for one in made if len({*one[2]}) == len(runs)] or folders


def several(runs, width):
    """A line for each run."""
    columns = {name: [] for name in ("state", "epochs", "loss", "validation", "test", "epoch", "memory",
                                     "loss so far")}
    for run in runs:
        loss = run.epochs.column("loss")
        peak = max(run.memory[1]) if run.memory and run.memory[1] else None
        cells = [f"{run.state()}, {run.made}", str(len(run.epochs.lines)),
                 f"{loss[-1]:.4f}" if loss else "-", percent(last(run.epochs.column("val_accuracy"))),
                 percent(last(run.epochs.column("test_accuracy"))), seconds(run.epoch),
                 "-" if peak is None else units.bytes_(peak), spark(loss, 20)]
        for column, cell in zip(columns.values(), cells):
            column.append(cell)
    words = ("state", "loss so far")
    # What no run has, such as the loss of simulated ones, takes no room.
    told = [(name, "left" if name in words else "right", cells) for name, cells in columns.items()
            if {*cells} - {"-", ""} or name == "epoch"]
    first, *narrower = names_of(runs)
    return fitted([first, *told], width,
                  ["loss so far", "memory", "epochs", "test", "validation", "epoch", "state"], narrower)


_OF_SEEDS = {"test_accuracy": ("test", 100, " %"), "val_accuracy": ("validation", 100, " %"),
             "test_macro_f1": ("macro F1", 1, ""), "test_auc": ("AUC", 1, ""), "loss": ("loss", 1, ""),
             "mean_epoch_seconds": ("epoch", 1000, " ms")}


def of_seeds(sweep):
    """Of runs that differ in their seeds: mean and standard deviation, a line for each combination of other settings."""
    lines = []
    for one in (sweep or {}).get("seeds", []):
        words = [f"{key}={plain_text.one_line(str(value))}" for key, value in one["settings"].items()]
        words = [" ".join(words + [f"{one['runs']} seeds at their best epochs"])]
        for key, (name, scale, unit) in _OF_SEEDS.items():
            if key in one:
                mean, deviation = (scale * one[key][kind] for kind in ("mean", "std"))
                digits = 4 if scale == 1 else 2
                words.append(f"{name} {mean:.{digits}f} ± {deviation:.{digits}f}{unit}")
        lines.append(Text("  ".join(words)))
    return Group(*lines)


class Watched:
    """A folder of one run, or of a sweep whose runs come one after the other."""

    def __init__(self, folder, program):
        self.folder, self.program, self.runs = folder, program, {}

    def update(self):
        folders = [self.folder] if (self.folder / "config.json").exists() else sorted(
            (file.parent for file in self.folder.glob("*/config.json")), key=lambda f: f.stat().st_ctime)
        if not folders and (self.folder / "failure.json").exists():
            folders = [self.folder]  # a job over MPI that failed before it wrote its settings
        for folder in folders:
            self.runs.setdefault(folder, Run(folder, self.program))
        for run in self.runs.values():
            run.update()

    @property
    def ended(self):
        if self.folder in self.runs:
            return self.runs[self.folder].ended
        return (self.folder / "sweep.json").exists()

    def picture(self, width):
        runs = list(self.runs.values())
        if not runs:
            return Text(f"{plain_text.one_line(str(self.folder))}: nothing has begun here yet")
        if len(runs) == 1:
            return one(runs[0], width)
        return Group(several(runs, width), of_seeds(read(self.folder / "sweep.json")))

    def close(self):
        for run in self.runs.values():
            run.close()


def arguments():
    parser = argparse.ArgumentParser(prog="orrery watch")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", default="")
    parser.add_argument("--once", action="store_true")
    return parser.parse_args()


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    asked = arguments()
    signal.signal(signal.SIGTERM, interrupted)
    console = Console(highlight=False)
    if not asked.folder.is_dir():
        print(f"orrery: error: {plain_text.one_line(str(asked.folder))}: is no folder; name that of a run or a sweep",
              file=sys.stderr)
        return 1
    watched = Watched(asked.folder, asked.program)
    try:
        if asked.once or not console.is_terminal:
            watched.update()
            for run in watched.runs.values():  # the forecast is worth a moment
                run.wait_for_plan(60)
            watched.update()
            console.print(watched.picture(console.width))
            return 0
        with Live(console=console, auto_refresh=False) as live:
            while True:
                watched.update()
                live.update(watched.picture(console.width), refresh=True)
                if watched.ended:
                    return 0
                time.sleep(0.5)
    except KeyboardInterrupt:
        return 130
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        said = plain_text.one_line(f"{asked.folder}: holds files that no run of this version wrote so "
                                   f"({type(error).__name__}: {error})")
        print(f"orrery: error: {said}", file=sys.stderr)
        return 1
    finally:
        watched.close()


if __name__ == "__main__":
    sys.exit(main())
