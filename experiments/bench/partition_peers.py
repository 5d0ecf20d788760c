#!/usr/bin/env python3
"""Cuts of METIS, PT-Scotch, KaMinPar and SPRING side by side: cut edges, balance and seconds at one objective.

    ORRERY_DATA=... python3 experiments/bench/partition_peers.py [GRAPH ...] [--parts 4 16 64] [--threads 1 2]

All cut the symmetrised graph without self-loops for the least edge cut, parts of at most 1.03 times the mean number of
vertices. SPRING, a stream, knows neither: it bounds the vertices of its clusters by 1.03, and stands for the cheap end.
KaMinPar is measured where Python can import it (pip install kaminpar); it is no dependency. GRAPH is the name of a data
set, or communities:VERTICES:EDGES, which is generated.

On N threads: METIS is serial, so it stands with one, and so does SPRING; PT-Scotch has N processes of one thread each,
KaMinPar has N threads. Seconds are those of the call in memory for KaMinPar, of its whole method for the others: from
a graph in memory to the owners in memory. For PT-Scotch that includes files and the start of its processes. They are the
median of some rounds, each with a seed of its own; a round asks all methods in turn, so that other work on the machine
meets all. One counter counts the cut (median) and the balance (worst) of every method from its owners. Prints one JSON
object, and a table on standard error.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ORRERY_PROGRAM", ROOT / "build/experiments/orrery")
IMBALANCE = 0.03
GRAPHS = ["cora", "pubmed", "coauthor-cs", "ogbn-arxiv", "communities:1000000:10000000"]


class Graph:
    """The symmetrised graph without self-loops: in memory, and as a data set that Orrery reads."""

    def __init__(self, name, scratch):
        self.name = name
        source = generated(name, scratch) if ":" in name else found(name)
        edges = numpy.load(source / "edges.npy").astype(numpy.int64)
        self.vertices = json.loads((source / "meta.json").read_text())["num_nodes"]
        both = numpy.concatenate([edges, edges[::-1]], axis=1)
        both = both[:, both[0] != both[1]]
        keys = numpy.unique(both[0] * self.vertices + both[1])
        self.rows, self.columns = keys // self.vertices, keys % self.vertices
        self.folder = scratch / "graph"
        self.folder.mkdir(exist_ok=True)
        numpy.save(self.folder / "edges.npy", numpy.stack([self.rows, self.columns]).astype(numpy.int32))
        meta = {"name": "graph", "num_nodes": self.vertices, "directed": False}
        (self.folder / "meta.json").write_text(json.dumps(meta))

    def measures(self, owner, parts):
        if len(owner) != self.vertices or owner.min() < 0 or owner.max() >= parts:
            sys.exit(f"partition_peers.py: {self.name}: not every vertex has a part")
        sizes = numpy.bincount(owner, minlength=parts)
        return {"cut": float(numpy.mean(owner[self.rows] != owner[self.columns])),
                "balance": float(sizes.max() * parts / self.vertices), "empty_parts": int((sizes == 0).sum())}


def found(name):
    for folder in os.environ.get("ORRERY_DATA", "").split(":"):
        if (pathlib.Path(folder) / name / "edges.npy").exists():
            return pathlib.Path(folder) / name
    sys.exit(f"partition_peers.py: {name} is not here: set ORRERY_DATA")


def generated(name, scratch):
    kind, vertices, edges = name.split(":")
    folder = scratch / "generated"
    subprocess.run([PROGRAM, "dataset", "generate", kind, "--vertices", vertices, "--edges", edges, "--force",
                    "--out", folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


class Orrery:
    """A method of the program."""

    def __init__(self, graph, scratch, method, *settings):
        self.words = [PROGRAM, "partition", graph.folder, "--method", method, "--json"]
        self.owners = scratch / "owners.txt"
        for setting in (f"partition.balance={1 + IMBALANCE}",) + settings:
            self.words += ["--set", setting]

    def cut(self, parts, seed):
        words = self.words + ["--parts", str(parts), "--owners", self.owners, "--set", f"seed={seed}"]
        run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            sys.exit(f"partition_peers.py: {run.stderr}")
        owner = numpy.fromstring(self.owners.read_text(), dtype=numpy.int64, sep="\n")
        return owner, json.loads(run.stdout.splitlines()[-1])["seconds"]


class KaMinPar:
    """The library in this process."""

    def __init__(self, graph, scratch, threads):
        import kaminpar

        self.library = kaminpar
        file = scratch / "graph.parhip"
        # Its binary form: no weights (3), counts, bytes at which the rows begin, columns; all of 64 bits.
        starts = numpy.searchsorted(graph.rows, numpy.arange(graph.vertices + 1))
        front = numpy.array([3, graph.vertices, len(graph.columns)])
        with file.open("wb") as out:
            for values in (front, 8 * (len(front) + len(starts) + starts), graph.columns):
                out.write(values.astype(numpy.uint64).tobytes())
        self.graph = kaminpar.load_graph(str(file), kaminpar.GraphFileFormat.PARHIP)
        self.of_graph = graph
        self.instance = kaminpar.KaMinPar(threads, kaminpar.default_context())

    def cut(self, parts, seed):
        self.library.reseed(seed)
        begin = time.perf_counter()
        owner = self.instance.compute_partition(self.graph, parts, IMBALANCE)
        seconds = time.perf_counter() - begin
        crossing = self.library.edge_cut(self.graph, owner)
        owner = numpy.asarray(owner, dtype=numpy.int64)
        if 2 * crossing != round(self.of_graph.measures(owner, parts)["cut"] * len(self.of_graph.rows)):
            sys.exit("partition_peers.py: KaMinPar was given another graph, for it counts another cut")
        return owner, seconds


def methods_of(graph, scratch, threads):
    """Each method by its name, with the number of its threads or processes."""
    vertices = 'partition.constraints=["vertices"]'
    all_methods = {("metis", 1): Orrery(graph, scratch, "metis", vertices),
                   ("spring", 1): Orrery(graph, scratch, "spring")}
    for count in threads:
        all_methods["ptscotch", count] = Orrery(graph, scratch, "ptscotch", vertices, f"partition.processes={count}")
    try:
        for count in threads:
            all_methods["kaminpar", count] = KaMinPar(graph, scratch, count)
    except ImportError:
        print("kaminpar is left out: pip install kaminpar", file=sys.stderr)
    return all_methods


def rows_of(graph, scratch, asked):
    all_methods = methods_of(graph, scratch, asked.threads)
    for parts in asked.parts:
        measured = {key: [] for key in all_methods}
        for seed in range(1, asked.rounds + 1):
            for key, method in all_methods.items():
                owner, seconds = method.cut(parts, seed)
                measured[key].append(graph.measures(owner, parts) | {"seconds": seconds})
        for (name, count), rounds in measured.items():
            row = {"graph": graph.name, "parts": parts, "method": name, "threads": count}
            row |= {key: statistics.median(one[key] for one in rounds) for key in ("cut", "seconds")}
            row |= {key: max(one[key] for one in rounds) for key in ("balance", "empty_parts")}
            print("| {graph} | {parts} | {method}, {threads} | {cut:.4f} | {balance:.3f} | {seconds:.2f} |".format(**row),
                  file=sys.stderr, flush=True)
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=GRAPHS, metavar="GRAPH", help="default: " + " ".join(GRAPHS))
    parser.add_argument("--parts", nargs="+", type=int, default=[4, 16, 64])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    rows = []
    for name in asked.graphs:
        with tempfile.TemporaryDirectory(prefix="partition-peers-") as scratch:
            rows += rows_of(Graph(name, pathlib.Path(scratch)), pathlib.Path(scratch), asked)
    print(json.dumps({"imbalance": IMBALANCE, "rounds": asked.rounds, "load_before": load,
                      "load_after": os.getloadavg()[0], "rows": rows}))


if __name__ == "__main__":
    main()
