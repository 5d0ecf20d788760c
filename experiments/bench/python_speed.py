"""How fast Python draws batches and cuts graphs, beside the C++ programs in the same run:

    ninja -C build experiments/bench/sample_bench
    ORRERY_DATA=... ./orrery python experiments/bench/python_speed.py

ogbn-arxiv, symmetric. Batches of 1,000 seeds with fanouts 15, 10, 5 on one thread, as sample_bench draws them; rates are
sampled edges per second, the best of the rounds, in turns. Cuts by SPRING into 16 parts, as `orrery partition` makes them.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import orrery

ROOT = Path(__file__).resolve().parents[2]
ROUNDS, SECONDS = 5, 2.0


def data_set(name):
    for folder in os.environ.get("ORRERY_DATA", "").split(":") + ["data"]:
        if (Path(folder) / name / "edges.npy").exists():
            return Path(folder) / name
    sys.exit(f"{name} is not here: set ORRERY_DATA")


def by_program():
    """Sampled edges per second of the C++ loop."""
    said = subprocess.run(
        [ROOT / "build/experiments/bench/sample_bench", "--benchmark_filter=ogbn-arxiv/uniform/.*threads:1$",
         f"--benchmark_min_time={SECONDS}", "--benchmark_format=json"], check=True, capture_output=True, text=True,
        env=os.environ | {"SAMPLE_BENCH_SCALE": "4"})
    return json.loads(said.stdout)["benchmarks"][0]["items_per_second"]


def by_python(graph, order):
    """The same in a loop over orrery.sample()."""
    loader = orrery.sample(graph, order, [15, 10, 5], batch_size=1000, shuffle=False)
    edges, batches, begin = 0, 0, time.perf_counter()
    while (seconds := time.perf_counter() - begin) < SECONDS:
        for flow in loader:
            edges += sum(block.nnz for block in flow.blocks)
            batches += 1
            if time.perf_counter() - begin >= SECONDS:
                break
    return edges / seconds


def cut_by_program(folder):
    begin = time.perf_counter()
    subprocess.run([ROOT / "build/experiments/orrery", "partition", folder, "--method", "spring", "--parts", "16",
                    "--json"], check=True, capture_output=True)
    return time.perf_counter() - begin


def main():
    folder = data_set("ogbn-arxiv")
    edges = np.load(folder / "edges.npy")
    graph = orrery.graph(np.concatenate([edges, edges[::-1]], 1))
    order = np.random.default_rng(1).permutation(graph.shape[0]).astype(np.int32)
    rates = np.array([[by_program(), by_python(graph, order)] for _ in range(ROUNDS)])
    program, python = rates.max(0)
    print(f"sampled edges/s: C++ {program / 1e6:.1f} M, Python {python / 1e6:.1f} M, "
          f"Python {100 * (python / program - 1):+.1f} %  (rounds: "
          + ", ".join(f"{100 * (p / c - 1):+.1f} %" for c, p in rates) + ")")
    begin = time.perf_counter()
    owner = orrery.partition(graph, 16, method="spring")
    print(f"spring, 16 parts of {len(owner)} vertices: Python {time.perf_counter() - begin:.2f} s; "
          f"`orrery partition` with reading and measuring the cut {cut_by_program(folder):.2f} s")


if __name__ == "__main__":
    main()
