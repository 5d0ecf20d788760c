"""Small commands under calls that fail one at a time, each with the files that it must leave."""

import array
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

PROGRAM = os.environ["ORRERY_PROGRAM"]
FAILING_CALLS = os.environ["ORRERY_BUILD"] + "/tests/faults/libfailing_calls.so"
MPI_PROGRAM = os.environ["ORRERY_BUILD"] + "/experiments/orrery-mpi"
EMULATED = os.environ["ORRERY_BUILD"] + "/tests/cuda/liborrery_cuda_emulated.so"
# After these a command counts as hanging; beside other work everything takes longer.
SECONDS = int(os.environ.get("ORRERY_HANGS_AFTER", 60))

EXPERIMENT = {
    "name": "faults", "seed": 5,
    "dataset": {"generate": "communities", "vertices": 40, "edges": 120, "features": 4,
                "classes": 3},
    "model": {"type": "gcn", "layers": 2, "hidden": 4},
    "strategy": {"type": "spmm_1d"}, "cluster": {"ranks": 2},
    "train": {"epochs": 3, "checkpoint_every": 1},
}


def digest_of(folder):
    """Names and contents of all files below a folder; None where there is none."""
    if not folder.is_dir():
        return None
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.rglob("*")) if file.is_file()}


def loaded(text, where):
    try:
        return json.loads(text)
    except ValueError as error:
        raise AssertionError(f"{where}: half-written: {error}") from None


def require_whole_files(folder):
    """Every JSON file and every line of a log can be read."""
    require_readable(folder)
    for file in folder.rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            loaded(line, file)


def require_readable(folder):
    """Every JSON file can be read, and every line of a log except one that a kill cut off."""
    for file in folder.rglob("*.json"):
        if not any(".partial-" in part for part in file.parts):
            loaded(file.read_text(), file)
    for file in folder.rglob("*.jsonl"):
        for line in file.read_text().split("\n")[:-1]:
            loaded(line, file)


class Command:
    """A command with arguments in which IN and OUT stand for folders. `front` is the program with what
    starts it, `meant` the name of the process whose calls fail."""

    seconds = SECONDS

    def __init__(self, name, *words, front=(PROGRAM,), meant="orrery", environment=None):
        self.name, self.words, self.front, self.meant = name, words, front, meant
        self.environment = environment or {}

    def prepare(self, out):
        """Puts the files in place that were there before."""

    def state(self, out, said):
        """The files that the command made, without the parts that differ between two runs."""
        return digest_of(out / "made")

    def check_failed(self, out, inputs, whole):
        """Checks that a failed command has left all or nothing under the name of its output."""
        left = digest_of(out / "made")
        assert left is None or left == whole, "a half-written folder stands under its name"


class Advises(Command):
    """Writes plans, and the time that it took."""

    def state(self, out, said):
        made = out / "made"
        if not made.exists():
            return None
        told = {file.name: loaded(file.read_text(), file.name) for file in sorted(made.iterdir())}
        for answer in told["advice.json"]["answers"]:
            answer.pop("bounding_seconds")
        return told

    def check_failed(self, out, inputs, whole):
        left = self.state(out, None)
        assert left is None or left == whole, "some of the files stand there"


class Prints(Command):
    """Prints JSON and leaves nothing."""

    def state(self, out, said):
        return loaded(said, "standard output")

    def check_failed(self, out, inputs, whole):
        pass


class Looks(Prints):
    """Prints JSON with times in it."""

    def state(self, out, said):
        return sorted(loaded(said, "standard output"))


class Replaces(Command):
    """A Command whose output replaces an older data set."""

    def prepare(self, out):
        shutil.copytree(out.parent / "in" / "data", out / "made")

    def check_failed(self, out, inputs, whole):
        left = digest_of(out / "made")
        assert left in (whole, digest_of(inputs / "data")), "neither the old nor the new folder"


class Trains(Command):
    """A run, which a failure may stop and --resume goes on with."""

    def state(self, out, said):
        result = loaded((out / "made" / "result.json").read_text(), "result.json")
        log = (out / "made" / "epochs.jsonl").read_text().splitlines()
        printed = loaded(said.splitlines()[-1], "standard output")
        return [result["loss"], result["test_accuracy"], result["bytes"], printed["loss"],
                [json.loads(line)["loss"] for line in log]]

    def check_failed(self, out, inputs, whole):
        made = out / "made"
        require_whole_files(made)
        words = [w.replace("IN", str(inputs)).replace("OUT", str(out)) for w in self.words]
        more = [] if not made.exists() else ["--resume"]
        again = subprocess.run([*self.front, *words, *more], capture_output=True, text=True,
                               timeout=SECONDS, check=False, env={**os.environ, **self.environment})
        assert again.returncode == 0, f"going on with --resume: {again.stderr}"
        assert self.state(out, again.stdout) == whole, "resumed to another result"


class Sweeps(Trains):
    def state(self, out, said):
        lines = [json.loads(line) for line in
                 (out / "made" / "results.jsonl").read_text().splitlines()]
        printed = loaded(said.splitlines()[-1], "standard output")
        return [[line["label"], line["result"].get("loss")] for line in lines] + [
            len(printed["sweep"])]

    def check_failed(self, out, inputs, whole):
        made = out / "made"
        words = [w.replace("IN", str(inputs)).replace("OUT", str(out)) for w in self.words]
        again = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=SECONDS,
                               check=False)
        assert again.returncode == 0, f"sweeping again: {again.stderr}"
        require_whole_files(made)
        assert self.state(out, again.stdout) == whole, "the sweep went on to other lines"


class Infers(Command):
    """An inference, whose embeddings appear as a whole, and which --resume goes on with."""

    def state(self, out, said):
        # The received bytes are those of the layers that were computed now.
        result = loaded((out / "made" / "result.json").read_text(), "result.json")
        printed = loaded(said.splitlines()[-1], "standard output")
        return [digest_of(out / "made" / "embeddings"), result["name"], printed["name"]]

    def check_failed(self, out, inputs, whole):
        made = out / "made"
        require_whole_files(made)
        assert digest_of(made / "embeddings") in (None, whole[0]), "half of the embeddings"
        words = [w.replace("IN", str(inputs)).replace("OUT", str(out)) for w in self.words]
        again = subprocess.run([*self.front, *words, "--resume"], capture_output=True, text=True,
                               timeout=SECONDS, check=False, env={**os.environ, **self.environment})
        assert again.returncode == 0, f"going on with --resume: {again.stderr}"
        assert self.state(out, again.stdout) == whole, "resumed to other embeddings"
        assert not (made / "layers").exists(), "layers stay beside a result"


COMMANDS = [
    Command("generate", "dataset", "generate", "communities", "--vertices", "40", "--edges", "120",
            "--out", "OUT/made"),
    Replaces("convert", "dataset", "convert", "IN/data", "OUT/made", "--force"),
    Command("partition", "partition", "IN/data", "--parts", "2", "--method", "spring", "--out",
            "OUT/made"),
    Command("stream", "partition", "IN/data", "--stream", "--parts", "2", "--method", "spring",
            "--out", "OUT/made"),
    Prints("plan", "plan", "IN/run.json", "--json"),
    Trains("run", "run", "IN/run.json", "--out", "OUT/made", "--quiet", "--json"),
    Sweeps("sweep", "sweep", "IN/sweep.json", "--out", "OUT/made", "--quiet", "--json"),
    Sweeps("simulate", "sweep", "IN/run.json", "--backend", "sim", "--set",
           'cluster={"file": "dgx-1", "gpus": 2}', "--out", "OUT/made", "--quiet", "--json"),
    Infers("infer", "infer", "IN/infer.json", "--out", "OUT/made", "--keep-layers", "--quiet",
           "--json"),
]


TRAINS = ("run", "IN/run.json", "--out", "OUT/made", "--quiet", "--json", "--set")


def over_mpi(ranks):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    front = ["mpirun", *root, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n",
             str(ranks), MPI_PROGRAM]
    return Trains(f"mpi-{ranks}", *TRAINS, f"cluster.ranks={ranks}", "--backend", "mpi", front=front,
                  meant="orrery-mpi")


BATCHES = 'strategy={"type": "mini_batch", "fanouts": [2, 2], "batch": 10}'

# The same run on every other backend, and what else reads and prints.
BACKENDS = [
    Trains("reference", *TRAINS, "kernels=reference"),
    Trains("emulated", *TRAINS, "kernels=cuda", environment={"ORRERY_CUDA_LIBRARY": EMULATED}),
] + ([over_mpi(1), over_mpi(2)] if os.path.exists(MPI_PROGRAM) and shutil.which("mpirun") else [])
READERS = [
    Looks("info", "dataset", "info", "IN/data", "--json"),
    Looks("cluster", "cluster", "show", "dgx-1", "--json"),
    Looks("cut", "partition", "IN/data", "--parts", "2", "--method", "hash", "--json"),
    Looks("sharing", "dataset", "sharing", "IN/data", "--json"),
    Looks("samples", "dataset", "sample-check", "IN/samples.npy", "--graph", "IN/data", "--fanout",
          "-1", "--json"),
    Looks("caches", "caches", "IN/run.json", "--set", BATCHES, "--json"),
]
# Commands that take a second or more, for tests/faults/run.
BY_HAND = [
    Looks("starve", "starve", "IN/run.json", "--set", BATCHES, "--now", "--json"),
    Looks("breakdown", "breakdown", "IN/run.json", "--methods", "hash", "--out", "OUT/made",
          "--json"),
    Advises("advise", "advise", "IN/run.json", "--set", 'cluster={"file": "dgx-1", "gpus": 2}',
            "--search", "strategy.type=spmm_1d", "--search", "partition.method=metis", "--out",
            "OUT/made"),
]


class Place:
    """A temporary folder with the inputs of the commands, and their undisturbed outcomes."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="orrery-faults-"))
        self.inputs = self.folder / "in"
        self.inputs.mkdir()
        (self.inputs / "run.json").write_text(json.dumps(EXPERIMENT))
        infer = dict(EXPERIMENT, inference={"columns": 2})
        (self.inputs / "infer.json").write_text(json.dumps(infer))
        sweep = dict(EXPERIMENT, sweep={"strategy.type": ["spmm_1d", "full_graph"]})
        (self.inputs / "sweep.json").write_text(json.dumps(sweep))
        subprocess.run([PROGRAM, "dataset", "generate", "communities", "--vertices", "30",
                        "--edges", "90", "--seed", "3", "--out", str(self.inputs / "data")],
                       check=True, capture_output=True)
        self.write_samples()
        self.whole = {}

    def write_samples(self):
        """All neighbours of every vertex of the data set, once."""
        edges = (self.inputs / "data" / "edges.npy").read_bytes()
        begin = 10 + int.from_bytes(edges[8:10], "little")
        ends = array.array("i", edges[begin:])
        half = len(ends) // 2
        lines = array.array("q", (n for edge in zip([0] * half, ends[half:], ends[:half]) for n in edge))
        shape = "{'descr': '<i8', 'fortran_order': False, 'shape': (%d, 3), }" % half
        header = shape.ljust(117).encode() + b"\n"
        (self.inputs / "samples.npy").write_bytes(
            b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header + lines.tobytes())

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, command, **environment):
        """Runs the command in a fresh folder; the process that ended and the folder."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        command.prepare(out)
        words = [w.replace("IN", str(self.inputs)).replace("OUT", str(out)) for w in command.words]
        done = subprocess.Popen([*command.front, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, start_new_session=True,
                                env={**os.environ, **command.environment, **environment})
        try:
            done.said, done.errors = done.communicate(timeout=command.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)
            done.communicate()
            raise AssertionError("hangs") from None
        return done, out

    def undisturbed(self, command):
        if command.name not in self.whole:
            done, out = self.start(command)
            assert done.returncode == 0, done.errors
            self.whole[command.name] = command.state(out, done.said)
        return self.whole[command.name]

    def watched(self, command, call, variable):
        """The library's report on the calls of a kind in the undisturbed command."""
        self.undisturbed(command)
        file = self.folder / "told"
        file.unlink(missing_ok=True)
        done, _ = self.start(command, LD_PRELOAD=FAILING_CALLS, FAULT_CALL=call, FAULT_AT="0",
                             FAULT_PROGRAM=command.meant, **{variable: str(file)})
        assert done.returncode == 0, done.errors
        return file.read_text()

    def count(self, command, call):
        """How many calls of a kind the undisturbed command makes."""
        return int(self.watched(command, call, "FAULT_COUNT"))

    def places(self, command, call):
        """The places in the program that make them."""
        return self.watched(command, call, "FAULT_PLACES").split()

    def fail(self, command, call, at, error, calls=1):
        """Fails one call, the at-th or, where that is a text, the first from this place; "done" or "error",
        or AssertionError for what must not happen."""
        whole = self.undisturbed(command)
        where = {"FAULT_PLACE": at} if isinstance(at, str) else {"FAULT_AT": str(at)}
        done, out = self.start(command, LD_PRELOAD=FAILING_CALLS, FAULT_CALL=call,
                               FAULT_FOR=str(calls), FAULT_ERRNO=str(error),
                               FAULT_PROGRAM=command.meant, **where)
        assert done.returncode in (0, 1, 2), \
            f"ended with status {done.returncode}: {done.errors[-300:]}"
        if done.returncode == 0:
            assert command.state(out, done.said) == whole, "exit 0 with another outcome"
            return "done"
        last = done.errors.strip().splitlines()[-1] if done.errors.strip() else ""
        if call != "write":  # otherwise it may be the error line that cannot be written
            assert "orrery: error: " in done.errors, f"no word about the failure: {last}"
        for raw in ("std::bad_alloc", "json.exception", "terminate called"):
            assert raw not in done.errors, f"raw words: {last}"
        command.check_failed(out, self.inputs, whole)
        # Clearing up needs some calls itself, and a process without memory ends at once.
        if call not in ("remove", "open", "stat", "close", "new"):
            left = [p.name for p in out.iterdir() if ".partial-" in p.name or ".old-" in p.name]
            left += [p.name for p in out.rglob("*.part")]
            assert not left, f"leaves {left}"
        return "error"
