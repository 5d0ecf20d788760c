"""Commands that write a page, a drawing, a table, a trace or a data set, each with what must stand under its
name after a kill: nothing, the older file, or the whole of it."""

import gzip
import hashlib
import json
import os
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2]
os.environ.setdefault("ORRERY_SOURCES", str(SOURCES))
sys.path[:0] = [str(SOURCES / "analysis"), str(SOURCES / "tests" / "analysis")]
import commands_under_faults as small  # noqa: E402  (campaign.py says where it is)
import dataset_get_test as sets  # noqa: E402  (found by the lines above)

ON_A_CLUSTER = ("--set", 'cluster={"file": "dgx-1", "gpus": 2}')
BATCHES = 'strategy={"type": "mini_batch", "fanouts": [2, 2], "batch": 50}'
SHORT = ("--set", "train.epochs=3")
# What validate compares: one rank, on a cluster whose description ships.
ONE_RANK = ("--set", 'cluster={"file": "r5-16-25gbe", "gpus": 1}', "--set",
            "simulation.library=mpi")


class File(small.Command):
    """Replaces one file."""

    OLD = b"of an earlier day\n"

    def prepare(self, out):
        (out / "made").write_bytes(self.OLD)

    def state(self, out, said):
        return (out / "made").read_bytes()

    def check_failed(self, out, inputs, whole):
        left = (out / "made").read_bytes()
        assert left in (self.OLD, whole), f"{len(left)} bytes: neither the old nor the new file"


class Folder(small.Command):
    """Writes a folder of which each file is whole. Times and dates in it are another's with every start."""

    def told(self, made):
        """What two starts have in common, from the files."""
        raise NotImplementedError

    def state(self, out, said):
        made = out / "made"
        names = sorted(str(f.relative_to(made)) for f in made.rglob("*") if f.is_file())
        return names, self.told(made)

    def check_failed(self, out, inputs, whole):
        pass  # the files that stand there can be read, as is checked of every command


class Figure(Folder):
    KINDS = (".csv", ".svg", ".png", ".pdf")

    def told(self, made):
        return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in made.iterdir()
                if f.suffix in self.KINDS}

    def check_failed(self, out, inputs, whole):
        made = out / "made"
        for name, digest in self.told(made).items() if made.exists() else ():
            assert digest == whole[1][name], f"{name}: half-written"


class Validates(Folder):
    def told(self, made):
        told = small.loaded((made / "validate.json").read_text(), "validate.json")
        return [[row["label"], row["ranks"], row["simulated_seconds"]] for row in told["rows"]]


class BreaksDown(Folder):
    """Times stages; its parts are gone when it ends, the run that it timed stays."""

    def told(self, made):
        return [json.loads(line)["loss"] for file in sorted(made.rglob("epochs.jsonl"))
                for line in file.read_text().splitlines()]


class Calibrates(Folder):
    """Measures this machine and replaces the two files about it, one after the other."""

    FILES = ("devices/this-machine.json", "clusters/this-machine.json")
    OLD = {"of": "an earlier day"}
    seconds = max(small.SECONDS, 1800)

    def prepare(self, out):
        for name in self.FILES:
            (out / "made" / name).parent.mkdir(parents=True)
            (out / "made" / name).write_text(json.dumps(self.OLD))

    def told(self, made):
        """The keys of each file, without the numbers, which are measured, and without the key that other
        work on the machine adds."""
        files = [small.loaded((made / name).read_text(), name) for name in self.FILES]
        return [sorted(set(file) - {"other_work_cores"}) + sorted(file.get("tables", ())) for file in files]

    def check_failed(self, out, inputs, whole):
        for left, new in zip(self.told(out / "made"), whole[1]):
            assert left in (sorted(self.OLD), new), f"neither the old nor the new file: {left}"


class Gets(small.Command):
    """Fetches a data set from a server on this machine, and converts it."""

    def state(self, out, said):
        assert not (out / ".downloads" / "ring").exists(), "a download stays beside its data set"
        return small.digest_of(out / "ring")

    def check_failed(self, out, inputs, whole):
        left = small.digest_of(out / "ring")
        assert left is None or left == whole, "a half-written data set stands under its name"


class SetServer:
    """Publishes a small data set on this machine as sites do, and writes a catalogue that names it."""

    def __init__(self, catalogue):
        content = gzip.compress(sets.EDGES.encode(), mtime=0)
        self.server = sets.Server({"edges.txt.gz": content})
        files = [{"url": self.server.address("edges.txt.gz"),
                  "sha256": hashlib.sha256(content).hexdigest()}]
        ring = {"source": "nobody", "licence": "none", "size": "1 kB", "converter": "snap",
                "files": files}
        catalogue.write_text(json.dumps({"sets": {"ring": ring}}))

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def commands():
    """Each takes some tenths of a second, the figure three."""
    cut = ("partition", "IN/data", "--parts", "4")
    made = ("--out", "OUT/made")
    get = (sys.executable, "-B", sets.SCRIPT)
    return [
        File("owners", *cut, "--method", "spring", "--owners", "OUT/made"),
        File("compare --svg", *cut, "--compare", "all", "--svg", "OUT/made"),
        File("cluster --svg", "cluster", "show", "dgx-1", "--svg", "OUT/made"),
        File("caches --svg", "caches", "IN/run.json", "--set", BATCHES, "--svg", "OUT/made"),
        small.Command("predict", "predict", "IN/result", *made),
        small.Command("trace", "trace", "IN/run.json", *ON_A_CLUSTER, *SHORT, *made),
        BreaksDown("breakdown", "breakdown", "IN/run.json", "--methods", "hash", *SHORT, *made),
        Validates("validate", "validate", "IN/run.json", *ONE_RANK, *SHORT, "--repeats", "1", *made),
        Gets("get", "ring", "--catalogue", "IN/catalogue.json", "--program", small.PROGRAM, "--data",
             "OUT", "--wait", "0.01", front=get),
        Figure("figure", "figure", "mg-gcn/fig8", *made),
    ]


def slow_commands():
    """They are for campaigns by hand: this one measures for minutes before it writes."""
    return [Calibrates("calibrate", "calibrate", "--quick", "--busy-ok", "--out", "OUT/made")]
