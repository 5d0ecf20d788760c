"""Kills commands that write, at random moments, and compares the remaining files with the promises."""

import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))
import commands_under_faults as small  # noqa: E402  (found by the line above)
import outputs  # noqa: E402

BUILD = Path(os.environ["ORRERY_BUILD"])
MPI_PROGRAM = BUILD / "experiments" / "orrery-mpi"
GONE_WITHIN = 10  # seconds after a kill, for every process of the job
STOPPED_WITHIN = 30  # if a rank may be lost while the others leave MPI: they notice it after 21 s

EXPERIMENT = {
    "name": "campaign", "seed": 5,
    "dataset": {"generate": "communities", "vertices": 600, "edges": 4000, "features": 16},
    "model": {"type": "gcn", "layers": 2, "hidden": 16},
    "strategy": {"type": "spmm_1d"}, "cluster": {"ranks": 2},
    "train": {"epochs": 40, "checkpoint_every": 1},
}


def is_group_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def seconds_until(condition, limit):
    """Seconds until it holds, or None."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit:
        if condition():
            return time.monotonic() - begin
        time.sleep(0.02)
    return None


def leftovers(folder):
    return [str(p.relative_to(folder)) for p in folder.rglob("*")
            if ".partial-" in p.name or ".old-" in p.name or p.name.endswith(".part")]


class Report(small.Command):
    """A page of a result folder."""

    def prepare(self, out):
        shutil.copytree(out.parent / "in" / "result", out / "result")

    def state(self, out, said):
        page = (out / "result" / "report.html").read_text()
        assert page.rstrip().endswith("</html>"), "half a page"
        return len(page)

    def check_failed(self, out, inputs, whole):
        if (out / "result" / "report.html").exists():
            assert self.state(out, "") == whole


class Subject:
    """A command under kills."""

    def __init__(self, command, *again):
        self.command, self.again = command, list(again)
        self.name = command.name

    def look(self, place, out, whole):
        """Looks at what a killed start has left, before the next one mends it."""
        small.require_readable(out)

    def kill_once(self, place, draw):
        """One kill and the start after it; the outcome in a word. AssertionError: a broken promise."""
        command = self.command
        whole = place.undisturbed(command)
        out = place.fresh(command)
        words = place.words(command, out)
        process = subprocess.Popen([*command.front, *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env=place.environment)
        time.sleep(draw.uniform(0.0, 1.05) * place.seconds[command.name])
        process.kill()
        process.communicate()
        assert seconds_until(lambda: not is_group_alive(process.pid), GONE_WITHIN) is not None, \
            "a process that it started outlives it"
        self.look(place, out, whole)
        was_done = process.returncode == 0
        done = subprocess.run([*command.front, *words, *self.again], capture_output=True, text=True,
                              timeout=command.seconds, check=False, env=place.environment)
        if done.returncode != 0:  # only if the killed start had put everything in place
            assert "already" in done.stderr or "of that name" in done.stderr or \
                "exists already" in done.stderr, done.stderr
        else:
            stays = leftovers(out) + [p.name for p in place.temporary.glob("orrery-*")]
            assert not stays, f"stays: {stays}"
        assert command.state(out, done.stdout or "null") == whole, "another outcome"
        if was_done:
            place.seconds[command.name] *= 0.6  # measured when the machine was busier
            return "had ended"
        return "was whole" if done.returncode != 0 else "went on"


class Output(Subject):
    """A command whose output is the old one, the new one or none the moment after a kill."""

    def look(self, place, out, whole):
        super().look(place, out, whole)
        self.command.check_failed(out, place.inputs, whole)


class Job(Subject):
    """A run over MPI, of which a rank or mpirun is killed or stopped."""

    RANKS = 4
    HELD_UP = 2.0  # seconds
    STRATEGIES = {
        **{name: {"type": name} for name in ("spmm_1d", "full_graph", "spmm_15d", "spmm_2d",
                                             "model_averaging", "shared_preloading")},
        "mini_batch": {"type": "mini_batch", "fanouts": [5, 5], "batch": 120},
        "stale halo": {"type": "full_graph", "staleness": 1},
        "stale broadcasts": {"type": "spmm_1d", "staleness": 2},
        "boundary_sampling": {"type": "full_graph", "boundary_sampling": 0.5},
    }
    VICTIMS = ("rank killed", "rank stopped", "rank slow", "mpirun killed",
               "mpirun stopped, rank killed")

    def __init__(self, command):
        super().__init__(command, "--resume")

    @classmethod
    def of_each_kind(cls):
        """A training by each strategy, and an inference."""
        words = ("--backend", "mpi", "--out", "OUT/made", "--quiet", "--json")
        # Checkpoints do not hold rows of earlier epochs: such trainings begin anew.
        anew = ("--set", "train.checkpoint_every=0")
        return [*(cls(small.Trains(f"mpi {name}", "run", "IN/job.json", *words, "--set",
                                   f"strategy={json.dumps(strategy)}",
                                   *(anew if "staleness" in strategy else ())))
                  for name, strategy in cls.STRATEGIES.items()),
                cls(small.Infers("mpi infer", "infer", "IN/infer-job.json", *words,
                                 "--keep-layers"))]

    def mpirun(self):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return ["mpirun", *root, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n",
                str(self.RANKS)]

    @staticmethod
    def children_of(process):
        text = "".join(f.read_text() for f in Path(f"/proc/{process}/task").glob("*/children"))
        return [int(word) for word in text.split()]

    @staticmethod
    def rank_of(process):
        try:
            for entry in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                    return int(entry.split(b"=")[1])
        except OSError:
            pass
        return None

    def ranks_of(self, process):
        try:
            found = {self.rank_of(child): child for child in self.children_of(process)}
        except OSError:
            return {}
        return {rank: child for rank, child in found.items() if rank is not None}

    @staticmethod
    def is_running(process):
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    @staticmethod
    def send(process, number):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass  # the process has ended meanwhile

    def kill_once(self, place, draw):
        how = draw.choice(self.VICTIMS)
        whole = place.undisturbed_job(self)
        out = place.fresh(self.command)
        words = [*self.mpirun(), str(MPI_PROGRAM), *place.words(self.command, out)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        ranks = {}
        while len(ranks) < self.RANKS and process.poll() is None:
            ranks = self.ranks_of(process.pid) or ranks
        time.sleep(draw.uniform(0.0, 0.6) * place.seconds[self.name])
        victim = draw.randrange(self.RANKS)
        alive = [p for p in ranks.values() if self.is_running(p)]
        if how == "rank slow" and victim in ranks:
            return self.slow_down(place, process, ranks[victim], alive, out)
        try:
            if how == "mpirun killed":
                process.kill()
            elif how.startswith("mpirun stopped"):
                self.send(process.pid, signal.SIGSTOP)
            if how != "mpirun killed" and victim in ranks:
                self.send(ranks[victim],
                          signal.SIGSTOP if how == "rank stopped" else signal.SIGKILL)
            gone = seconds_until(lambda: not any(map(self.is_running, ranks.values())),
                                 STOPPED_WITHIN)
        finally:
            for one in (process.pid, *ranks.values()):
                if self.is_running(one) and (one != process.pid or how.startswith("mpirun stopped")):
                    self.send(one, signal.SIGKILL)
        said, errors = process.communicate()
        mpirun_sees_it = how in ("rank killed", "mpirun killed")
        limit = GONE_WITHIN if mpirun_sees_it else STOPPED_WITHIN
        assert gone is not None and gone < limit, f"{how}: ranks live on for {gone} s"
        if process.returncode == 0 or len(alive) < self.RANKS:
            place.seconds[self.name] *= 0.6  # measured when the machine was busier
            return "had ended"
        file = out / "made" / "failure.json"
        told = small.loaded(file.read_text(), file) if file.exists() else None
        if told and how != "mpirun killed":
            assert told["rank"] == victim, f"{how}: rank {victim}, but failure.json says {told}"
        small.require_readable(out)
        again = subprocess.run([*words, *self.again], capture_output=True, text=True,
                               timeout=small.SECONDS, check=False)
        assert again.returncode == 0, again.stderr
        assert self.command.state(out, again.stdout) == whole, "resumed to another result"
        assert not leftovers(out), f"stays: {leftovers(out)}"
        return f"{how}: {'named' if told else 'no failure.json'}"

    def slow_down(self, place, process, rank, alive, out):
        """Stops a rank for less time than makes it count as lost: the job ends as usual."""
        self.send(rank, signal.SIGSTOP)
        time.sleep(self.HELD_UP)
        self.send(rank, signal.SIGCONT)
        said, errors = process.communicate(timeout=small.SECONDS)
        assert process.returncode == 0, f"rank slow: {errors[-300:]}"
        assert self.command.state(out, said) == place.undisturbed_job(self), "slow: another result"
        return "rank slow: the undisturbed outcome" if len(alive) == self.RANKS else "had ended"


class Place(small.Place):
    """The Place of tests/faults, with larger inputs and the seconds that each command takes."""

    def __init__(self):
        super().__init__()
        self.seconds = {}
        self.temporary = self.folder / "temporary"  # of killed commands: nothing stays there
        self.environment = {**os.environ, "TMPDIR": str(self.temporary)}
        self.published = outputs.SetServer(self.inputs / "catalogue.json")
        (self.inputs / "run.json").write_text(json.dumps(EXPERIMENT))
        sweep = dict(EXPERIMENT, train={"epochs": 4},
                     sweep={"strategy.type": ["spmm_1d", "full_graph"], "model.hidden": [8, 16]})
        (self.inputs / "sweep.json").write_text(json.dumps(sweep))
        job = dict(EXPERIMENT, cluster={"ranks": Job.RANKS},
                   train={"epochs": 400, "checkpoint_every": 10})
        (self.inputs / "job.json").write_text(json.dumps(job))
        # Trains for a third of its time, then writes layer after layer.
        layers = dict(EXPERIMENT["model"], layers=4)
        for name, ranks, vertices in (("infer", 2, 4000), ("infer-job", Job.RANKS, 20000)):
            (self.inputs / f"{name}.json").write_text(json.dumps(dict(
                EXPERIMENT, dataset=dict(EXPERIMENT["dataset"], vertices=vertices, edges=8 * vertices),
                model=layers, train={"epochs": 2, "checkpoint_every": 1}, cluster={"ranks": ranks},
                inference={"columns": ranks})))
        for words in (["dataset", "generate", "communities", "--vertices", "3000", "--edges",
                       "20000", "--force", "--out", str(self.inputs / "data")],
                      ["run", str(self.inputs / "run.json"), "--quiet", "--out",
                       str(self.inputs / "result")]):
            subprocess.run([small.PROGRAM, *words], check=True, capture_output=True)

    def remove(self):
        self.published.close()
        super().remove()

    def fresh(self, command):
        out = self.folder / "out"
        for folder in (out, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        command.prepare(out)
        return out

    def words(self, command, out):
        return [w.replace("IN", str(self.inputs)).replace("OUT", str(out)) for w in command.words]

    def undisturbed(self, command):
        if command.name not in self.whole:
            begin = time.monotonic()
            super().undisturbed(command)
            self.seconds[command.name] = time.monotonic() - begin
        return self.whole[command.name]

    def undisturbed_job(self, job):
        if job.name not in self.whole:
            begin = time.monotonic()
            out = self.fresh(job.command)
            words = [*job.mpirun(), str(MPI_PROGRAM), *self.words(job.command, out)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=small.SECONDS,
                                  check=False)
            assert done.returncode == 0, done.stderr
            self.whole[job.name] = job.command.state(out, done.stdout)
            self.seconds[job.name] = time.monotonic() - begin
        return self.whole[job.name]


def written_outputs():
    """The commands of outputs.py."""
    return [Output(command) for command in outputs.commands()]


def subjects():
    """The other commands that write, and a list of the jobs over MPI, which take turns."""
    found = [
        Subject(small.Trains("run", "run", "IN/run.json", "--out", "OUT/made", "--quiet", "--json"),
                "--resume"),
        Subject(small.Sweeps("sweep", "sweep", "IN/sweep.json", "--out", "OUT/made", "--quiet",
                             "--json")),
        Subject(small.Sweeps("simulate", "sweep", "IN/sweep.json", "--backend", "sim", "--set",
                             'cluster={"file": "dgx-1", "gpus": 2}', "--out", "OUT/made", "--quiet",
                             "--json")),
        Subject(small.Command("generate", "dataset", "generate", "communities", "--vertices",
                              "20000", "--edges", "100000", "--out", "OUT/made")),
        Subject(small.Replaces("convert", "dataset", "convert", "IN/data", "OUT/made", "--force")),
        Subject(small.Command("partition", "partition", "IN/data", "--parts", "4", "--method",
                              "spring", "--out", "OUT/made")),
        Subject(small.Command("stream", "partition", "IN/data", "--stream", "--parts", "4",
                              "--method", "spring", "--out", "OUT/made")),
        Subject(Report("report", "report", "OUT/result")),
        Subject(small.Infers("infer", "infer", "IN/infer.json", "--out", "OUT/made",
                             "--keep-layers", "--quiet", "--json"), "--resume"),
        Subject(small.Advises("advise", "advise", "IN/run.json", "--set",
                              'cluster={"file": "dgx-1", "gpus": 2}', "--search",
                              "strategy.type=spmm_1d,full_graph", "--out", "OUT/made")),
    ]
    if MPI_PROGRAM.exists() and shutil.which("mpirun"):
        found.append(Job.of_each_kind())
    return found


def chosen_by(names):
    """All subjects, or those with these names; "mpi" names all jobs. Those that take minutes must be
    named."""
    chosen = [Output(c) for c in outputs.slow_commands() if c.name in (names or ())]
    for subject in subjects() + written_outputs():
        if isinstance(subject, list):
            jobs = [j for j in subject if names is None or "mpi" in names or j.name in names]
            chosen += [jobs] if jobs else []
        elif names is None or subject.name in names:
            chosen.append(subject)
    return chosen


def run(kills, seed, only=None, told=lambda text: None):
    """Kills the commands in turn; outcomes by command, and the promises that were broken."""
    draw = random.Random(seed)
    place = Place()
    outcomes, broken = collections.defaultdict(collections.Counter), []
    try:
        chosen = chosen_by(only)
        for kill in range(kills):
            subject = chosen[kill % len(chosen)]
            if isinstance(subject, list):
                subject = subject[kill // len(chosen) % len(subject)]
            try:
                outcomes[subject.name][subject.kill_once(place, draw)] += 1
            except (AssertionError, OSError, LookupError, subprocess.TimeoutExpired) as problem:
                outcomes[subject.name]["BROKEN"] += 1
                broken.append(f"kill {kill}, {subject.name}: {problem!r}")
                told(broken[-1])
            if (kill + 1) % 100 == 0:
                told(f"{kill + 1} of {kills} kills, {len(broken)} broken promises")
    finally:
        place.remove()
    return outcomes, broken


def table(outcomes):
    """The outcomes as lines of Markdown."""
    lines = ["| command | kills | outcomes |", "|---|---:|---|"]
    for name, counts in outcomes.items():
        words = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        lines.append(f"| {name} | {sum(counts.values())} | {words} |")
    return "\n".join(lines)
