"""Result folders for tests: made by hand, or left by a tiny real run."""

import json
import os
import subprocess
from pathlib import Path

import epoch_parts

PROGRAM = os.environ["ORRERY_PROGRAM"]
SOURCES = Path(os.environ["ORRERY_SOURCES"])

EXPERIMENT = {
    "name": "tiny",
    "dataset": {"generate": "communities", "vertices": 200, "edges": 800, "classes": 4,
                "features": 8},
    "model": {"type": "gcn", "hidden": 8},
    "strategy": {"type": "spmm_1d"},
    "train": {"epochs": 5},
    "cluster": {"ranks": 2},
}


def orrery(*words):
    """The finished process of a command of the program."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


def real_run(folder, **changes):
    """Trains the tiny experiment with these keys replaced; the result folder."""
    file = Path(folder) / "tiny.json"
    file.write_text(json.dumps(EXPERIMENT | changes))
    out = Path(folder) / "out"
    done = orrery("run", file, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


def breakdown(**seconds):
    return {part.key: seconds.get(part.key, 0.0) for part in epoch_parts.told({})}


def result(**changes):
    """The result of a simulated run of two ranks, 0.010 s an epoch."""
    seconds = breakdown(compute=0.004, external=0.006, hidden=0.001)
    ranks = changes.get("ranks", 2)
    base = {
        "name": "made-up", "label": "", "backend": "sim", "strategy": "spmm_1d", "ranks": 2,
        "epochs": 3, "loss": None, "test_accuracy": None, "val_accuracy": None,
        "epoch_seconds": 0.010, "breakdown": seconds, "breakdown_of_rank": [seconds, seconds],
        "compute_by_kind": {"spmm": 0.003, "gemm": 0.001},
        "limited_by": {"part": "communication", "share": 0.6,
                       "sentence": "exposed communication, 60 % of the epoch (between servers "
                                   "60 %); busiest link s0/nic0 > ib at 97 %"},
        "bytes": {"internal": 0, "external": 4096}, "peak_bytes": [1000] + [2000] * (ranks - 1),
        "peak_by_class": {"features": 1500, "scratch": 500},
        "dataset": {"name": "made-up", "vertices": 10, "edges": 20},
        "simulation": {"simulated": True, "cluster": "dgx-1", "profile": "v100",
                       "profile_origin": "derived",
                       "algorithms": [{"collective": "broadcast", "ranks": 2, "algorithm": "ring",
                                       "bytes": [64, 4096], "calls": 12, "epochs": 3}]},
        "links": [
            {"name": "s0/nic0 > ib", "type": "ib-qdr", "bytes_per_second": 4e9, "bytes": 3.9e7,
             "busy_seconds": 0.0097, "utilisation": 0.97},
            {"name": "s0/gpu0 > s0/pcie0", "type": "pcie4-x16", "bytes_per_second": 2e10,
             "bytes": 3.9e7, "busy_seconds": 0.002, "utilisation": 0.2},
        ],
    }
    return base | changes


def write_run(folder, told, events=None, config=None, epochs=None):
    """A result folder with these files."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps(told))
    (folder / "config.json").write_text(json.dumps(config or {"seed": 0}))
    if events is not None:
        lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
        (folder / "timeline.json").write_text(
            '{"displayTimeUnit":"ms","traceEvents":[\n' + lines + "\n]}\n")
    if epochs is not None:
        (folder / "epochs.jsonl").write_text("".join(json.dumps(e) + "\n" for e in epochs))
    return folder


def span(rank, lane, kind, begin, seconds, phase="epoch 0 forward layer 1", cname="good"):
    """An event as trace.cpp writes it; times in seconds."""
    return {"ph": "X", "name": kind, "cat": "-", "cname": cname, "pid": rank, "tid": lane,
            "ts": begin * 1e6, "dur": seconds * 1e6,
            "args": {"phase": phase, "flop": 0, "bytes": 8}}
