"""How fast Python draws batches, cuts a graph and multiplies, beside the same calls in C++ (python_bench.cpp):

    ninja -C build experiments/bench/python_bench
    ORRERY_DATA=... ./orrery python experiments/bench/python_speed.py [FILE.json]

ogbn-arxiv, symmetric. An epoch of batches of 1,000 seeds with fanouts 15, 10, 5 on one thread; a cut by SPRING into 16
parts; products of 128 columns with the graph and with the first block of a batch, on all cores. Both languages do it in
turns; numbers are the best of all rounds. The work is compared, so that times stand for the same.
"""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import orrery

ROOT = Path(__file__).resolve().parents[2]
TURNS, ROUNDS, PARTS, BATCH, WIDTH = 5, 2, 16, 1000, 128
PROGRAM = os.environ.get("PYTHON_BENCH", ROOT / "build/experiments/bench/python_bench")
WORK = ("nnz", "sampled_edges", "owners", "block_nnz")
NAMES = {"sample_seconds": "an epoch of batches", "partition_seconds": "a cut by spring",
         "spmm_seconds": "a product with the graph, into an array that is there",
         "spmm_new_seconds": "a product with the graph, into a new array",
         "spmm_numpy_seconds": "a product with the graph, from NumPy's memory into NumPy's",
         "block_spmm_seconds": "a product with a block, into an array that is there",
         "block_spmm_separate_seconds": "the same, 0.1 ms after the last one",
         "block_spmm_new_seconds": "a product with a block, into a new array",
         "block_spmm_numpy_seconds": "a product with a block, from NumPy's memory into NumPy's"}


def data_set(name):
    for folder in os.environ.get("ORRERY_DATA", "").split(":") + ["data"]:
        if (Path(folder) / name / "edges.npy").exists():
            return Path(folder) / name
    sys.exit(f"{name} is not here: set ORRERY_DATA")


def best_of(rounds, work, pause=0.0):
    best = math.inf
    for _ in range(rounds):
        until = time.perf_counter() + pause
        while time.perf_counter() < until:
            pass
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def by_cpp(folder):
    said = subprocess.run([PROGRAM, folder, str(ROUNDS)], check=True, capture_output=True, text=True)
    return json.loads(said.stdout)


def spread_order(n):
    """The order of python_bench.cpp."""
    stride = 7919
    while math.gcd(stride, n) != 1:
        stride += 1
    return (np.arange(n, dtype=np.int64) * stride % n).astype(np.int32)


def by_python(graph):
    order, said = spread_order(graph.shape[0]), {"nnz": graph.nnz}

    def draw():
        edges = 0
        for flow in orrery.sample(graph, order, [15, 10, 5], batch_size=BATCH, shuffle=False):
            edges += sum(block.nnz for block in flow.blocks)
        said["sampled_edges"], said["flow"] = edges, flow

    def cut():
        said["owner"] = orrery.partition(graph, PARTS, method="spring")

    said["sample_seconds"] = best_of(ROUNDS, draw)
    said["partition_seconds"] = best_of(ROUNDS, cut)
    owner = said.pop("owner")
    said["owners"] = int((np.arange(len(owner)) % 1009 * owner.astype(np.int64)).sum())
    block = said.pop("flow").blocks[0]
    said["block_nnz"] = block.nnz
    for name, pattern, rounds in (("spmm", graph, 3 * ROUNDS), ("block_spmm", block, 30 * ROUNDS)):
        x, out = (orrery.empty(n, WIDTH) for n in reversed(pattern.shape))
        x[:], out[:] = 0.5, 0
        said[name + "_seconds"] = best_of(rounds, lambda: orrery.spmm(pattern, x, out=out))
        said[name + "_new_seconds"] = best_of(rounds, lambda: orrery.spmm(pattern, x))
        said[name + "_separate_seconds"] = best_of(rounds, lambda: orrery.spmm(pattern, x, out=out), 1e-4)
        x, out = x.copy(), out.copy()  # NumPy's own memory
        said[name + "_numpy_seconds"] = best_of(rounds, lambda: orrery.spmm(pattern, x, out=out))
    return said


def main():
    folder = data_set("ogbn-arxiv")
    edges = np.load(folder / "edges.npy")
    graph = orrery.graph(np.concatenate([edges, edges[::-1]], 1))
    turns = []
    for turn in range(TURNS):
        cpp, python = by_cpp(folder), by_python(graph)
        for key in WORK:
            if cpp[key] != python[key]:
                sys.exit(f"not the same work: {key} is {cpp[key]} in C++ and {python[key]} in Python")
        turns.append((cpp, python))
        print(f"turn {turn + 1} of {TURNS}", file=sys.stderr, flush=True)
    rows = {}
    for key, name in NAMES.items():
        beside = key.replace("_numpy", "")  # C++ allocates as orrery.empty() does
        cpp, python = min(c[beside] for c, _ in turns), min(p[key] for _, p in turns)
        each = [100 * (p[key] / c[beside] - 1) for c, p in turns]
        rows[key] = {"cpp_ms": 1e3 * cpp, "python_ms": 1e3 * python, "more_percent": 100 * (python / cpp - 1),
                     "more_percent_of_turns": each}
        print(f"{name}: C++ {1e3 * cpp:.2f} ms, Python {1e3 * python:.2f} ms: {100 * (python / cpp - 1):+.1f} % "
              f"(turns: {', '.join(f'{one:+.1f}' for one in each)} %)")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(rows | {"work": {key: turns[0][0][key] for key in WORK}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
