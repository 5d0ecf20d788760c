"""How fast Python draws batches, cuts a graph and multiplies, beside the same calls in C++ (python_bench.cpp):

    ninja -C build experiments/bench/python_bench
    ORRERY_DATA=... ./orrery python experiments/bench/python_speed.py [--only WORK,...] [--pairs N] [FILE.json]

ogbn-arxiv, symmetric. An epoch of batches of 1,000 seeds with fanouts 15, 10, 5 on one thread; a cut by SPRING into 16
parts; products of 128 columns with the graph and with the first block of a batch, on all cores. A pair is a new process
of each language, because speed depends on the pages that a process happens to get. The two alternate many times, so that
other work on the machine meets both. Of each alternation the best of some rounds counts. Told are the best time of
all, and the median over the pairs of Python's best over C++'s best. The work is compared: times stand for the same.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import orrery

ROOT = Path(__file__).resolve().parents[2]
PARTS, BATCH, WIDTH = 16, 1000, 128
PROGRAM = os.environ.get("PYTHON_BENCH", ROOT / "build/experiments/bench/python_bench")
# Work: what it is, alternations, rounds of each.
WORKS = {"sample": ("an epoch of batches", 2, 1),
         "partition": ("a cut by spring", 4, 1),
         "spmm": ("a product with the graph, into an array that is there", 10, 2),
         "spmm_new": ("a product with the graph, into a new array", 10, 2),
         "spmm_numpy": ("a product with the graph, from NumPy's memory into NumPy's", 10, 2),
         "block_spmm": ("a product with a block, into an array that is there", 30, 20),
         "block_spmm_separate": ("the same, 0.1 ms after the last one", 30, 20),
         "block_spmm_new": ("a product with a block, into a new array", 30, 20),
         "block_spmm_numpy": ("a product with a block, from NumPy's memory into NumPy's", 30, 20)}


def data_set(name):
    for folder in os.environ.get("ORRERY_DATA", "").split(":") + ["data"]:
        if (Path(folder) / name / "edges.npy").exists():
            return Path(folder) / name
    sys.exit(f"{name} is not here: set ORRERY_DATA")


class Cpp:
    """python_bench as it waits for work."""

    def __init__(self, folder):
        self.process = subprocess.Popen([PROGRAM, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.facts = json.loads(self.process.stdout.readline())

    def best_of(self, work, rounds):
        self.process.stdin.write(f"{work} {rounds}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("python_bench failed")


def spread_order(n):
    """The order of python_bench.cpp."""
    stride = 7919
    while math.gcd(stride, n) != 1:
        stride += 1
    return (np.arange(n, dtype=np.int64) * stride % n).astype(np.int32)


class Python:
    """The same in this process."""

    def __init__(self, folder):
        edges = np.load(folder / "edges.npy")
        self.graph = orrery.graph(np.concatenate([edges, edges[::-1]], 1))
        self.order = spread_order(self.graph.shape[0])
        edges, flow = self.draw()
        owner = self.cut()
        block = flow.blocks[0]
        self.facts = {"nnz": self.graph.nnz, "sampled_edges": edges, "block_nnz": block.nnz,
                      "owners": int((np.arange(len(owner)) % 1009 * owner.astype(np.int64)).sum())}
        self.works = {"sample": self.draw, "partition": self.cut}
        for name, pattern in (("spmm", self.graph), ("block_spmm", block)):
            self.add_products(name, pattern)

    def draw(self):
        edges = 0
        for flow in orrery.sample(self.graph, self.order, [15, 10, 5], batch_size=BATCH, shuffle=False):
            edges += sum(block.nnz for block in flow.blocks)
        return edges, flow

    def cut(self):
        return orrery.partition(self.graph, PARTS, method="spring")

    def add_products(self, name, pattern):
        x, out = (orrery.empty(n, WIDTH) for n in reversed(pattern.shape))
        x[:], out[:] = 0.5, 0
        numpy_x, numpy_out = x.copy(), out.copy()  # NumPy's own memory
        self.works[name] = self.works[name + "_separate"] = lambda: orrery.spmm(pattern, x, out=out)
        self.works[name + "_new"] = lambda: orrery.spmm(pattern, x)
        self.works[name + "_numpy"] = lambda: orrery.spmm(pattern, numpy_x, out=numpy_out)

    def best_of(self, work, rounds):
        do, best = self.works[work], math.inf
        for _ in range(rounds):
            if work.endswith("_separate"):
                until = time.perf_counter() + 1e-4
                while time.perf_counter() < until:
                    pass
            begin = time.perf_counter()
            do()
            best = min(best, time.perf_counter() - begin)
        return best


def pair(folder, works):
    """Best seconds of C++ and of Python for each work; in this process, and one beside it."""
    cpp, python = Cpp(folder), Python(folder)
    if cpp.facts != python.facts:
        sys.exit(f"not the same work: {cpp.facts} in C++ and {python.facts} in Python")
    best = {}
    for work in works:
        _, alternations, rounds = WORKS[work]
        beside = work.replace("_numpy", "")  # C++ allocates as orrery.empty() does
        each = [(cpp.best_of(beside, rounds), python.best_of(work, rounds)) for _ in range(alternations)]
        best[work] = [min(one) for one in zip(*each)]
    cpp.close()
    return {"facts": cpp.facts, "best": best}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(WORKS))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--one-pair", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("file", nargs="?")
    asked = parser.parse_args()
    works = asked.only.split(",")
    folder = data_set("ogbn-arxiv")
    if asked.one_pair:
        print(json.dumps(pair(folder, works)))
        return
    pairs = []
    for one in range(asked.pairs):
        said = subprocess.run([sys.executable, __file__, "--one-pair", "--only", asked.only], check=True,
                              stdout=subprocess.PIPE, text=True)
        pairs.append(json.loads(said.stdout))
        print(f"pair {one + 1} of {asked.pairs}", file=sys.stderr, flush=True)
    rows = {}
    for work in works:
        times = [one["best"][work] for one in pairs]
        cpp, python = (1e3 * min(side) for side in zip(*times))
        more = sorted(100 * (p / c - 1) for c, p in times)
        rows[work] = {"cpp_ms": cpp, "python_ms": python, "more_percent": statistics.median(more),
                      "more_percent_of_pairs": more}
        print(f"{WORKS[work][0]}: C++ {cpp:.3f} ms, Python {python:.3f} ms: {statistics.median(more):+.1f} % "
              f"(pairs: {more[0]:+.1f} to {more[-1]:+.1f} %)")
    if asked.file:
        Path(asked.file).write_text(json.dumps(rows | {"work": pairs[0]["facts"]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
