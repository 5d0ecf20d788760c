#!/usr/bin/env python3
"""Times training epochs of a GAT on CPUs: Orrery beside what Python can import of DGL, PyTorch Geometric and plain PyTorch.

Full-batch epochs (forward, cross-entropy on 70 % of the vertices, backward, Adam) without dropout and with ReLU, in float32,
of the same widths, on the same edges with both directions and self-loops. Features are made up. The ways:

  dgl    dgl.nn.GATConv: sums weighted rows edge by edge without keeping them (GSpMM)
  pyg    torch_geometric.nn.GATConv on edges: gathers a row per edge, scatters sums
  torch  what PyTorch Geometric does, written out: index_select, a softmax by scatter_reduce, index_add

Orrery and every way take turns in each round, so that other work on the machine slows all alike; what is told are medians over
rounds: of seconds, of processor time (which other work changes less), and of their ratios to Orrery within a round. Prints
one JSON object.
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent
SLOPE = 0.2


class PlainConv(torch.nn.Module):
    """GAT's additive form on an edge list, heads side by side."""

    def __init__(self, inputs, columns, heads):
        super().__init__()
        self.shape = (heads, columns)
        self.dense = torch.nn.Linear(inputs, heads * columns, bias=False)
        self.ends = torch.nn.Parameter(torch.nn.init.xavier_normal_(torch.empty(2, heads, columns)))
        self.bias = torch.nn.Parameter(torch.zeros(heads * columns))

    def forward(self, x, edges):
        source, target = edges
        z = self.dense(x).view(len(x), *self.shape)
        left, right = ((z * end).sum(-1) for end in self.ends)
        scores = torch.nn.functional.leaky_relu(left[target] + right[source], SLOPE)
        of_edge = target[:, None].expand_as(scores)
        most = torch.full_like(left, -torch.inf).scatter_reduce(0, of_edge, scores.detach(), "amax")
        powers = (scores - most[target]).exp()
        sums = torch.zeros_like(left).index_add(0, target, powers)
        weights = powers / sums[target]
        y = torch.zeros_like(z).index_add(0, target, z[source] * weights[:, :, None])
        return y.flatten(1) + self.bias


def plain(edges, vertices):
    return edges, PlainConv


def pyg(edges, vertices):
    from torch_geometric.nn import GATConv

    return edges, lambda inputs, columns, heads: GATConv(inputs, columns, heads, add_self_loops=False)


def dgl(edges, vertices):
    import dgl as library

    class Conv(library.nn.GATConv):
        def forward(self, x, graph):
            return super().forward(graph, x).flatten(1)

    graph = library.graph((edges[0].int(), edges[1].int()), num_nodes=vertices).formats(["csr", "csc", "coo"])
    graph.create_formats_()
    return graph, lambda inputs, columns, heads: Conv(inputs, columns, heads)


WAYS = {"dgl": dgl, "pyg": pyg, "torch": plain}


class Network(torch.nn.Module):
    def __init__(self, conv, widths, heads):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.layers = torch.nn.ModuleList(
            [conv(i, o // heads, heads) for i, o in pairs[:-1]] + [conv(*pairs[-1], 1)])

    def forward(self, x, graph):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x, graph))
        return self.layers[-1](x, graph)


class Peer:
    def __init__(self, way, arguments, edges, labels):
        vertices, classes = len(labels), int(labels.max()) + 1
        self.graph, conv = WAYS[way](edges, vertices)
        widths = [arguments.features] + [arguments.hidden] * (arguments.layers - 1) + [classes]
        torch.manual_seed(0)
        self.network = Network(conv, widths, arguments.heads)
        self.features = torch.rand(vertices, arguments.features)
        self.labels = labels
        self.training = (torch.rand(vertices) < 0.7).nonzero().flatten()
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=0.01)

    def epoch(self):
        """(seconds, processor seconds)"""
        begin, busy = time.perf_counter(), time.process_time()
        self.optimiser.zero_grad()
        logits = self.network(self.features, self.graph)
        torch.nn.functional.cross_entropy(logits[self.training], self.labels[self.training]).backward()
        self.optimiser.step()
        return time.perf_counter() - begin, time.process_time() - busy


def read(folder):
    """Edges in both directions with self-loops, each once, and labels."""
    labels = torch.from_numpy(numpy.load(folder / "labels.npy")).long().flatten()
    one = torch.from_numpy(numpy.load(folder / "edges.npy").astype(numpy.int64))
    vertices = len(labels)
    loops = torch.arange(vertices)
    source, target = torch.cat([one[0], one[1], loops]), torch.cat([one[1], one[0], loops])
    numbers = torch.unique(target * vertices + source)  # by target
    return torch.stack([numbers % vertices, numbers // vertices]), labels.clamp(min=0)


def orrery_run(arguments, scratch, epochs):
    """(seconds of an epoch, processor seconds of the run)"""
    experiment = {
        "name": "gat-epochs",
        "dataset": {"path": str(arguments.folder), "symmetric": True, "features": {"random": arguments.features}},
        "model": {"type": "gat", "layers": arguments.layers, "hidden": arguments.hidden, "heads": arguments.heads, "dropout": 0},
        "strategy": {"type": "full_graph"},
        "train": {"epochs": epochs, "eval_every": 0},
        "timeline": {"epochs": 0},
    }
    file = scratch / "epochs.json"
    file.write_text(json.dumps(experiment))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([arguments.orrery, "run", str(file), "--out", str(scratch / "run"), "--force", "--quiet", "--json"],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"gat_epochs.py: orrery ended with status {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.strip().splitlines()[-1])["epoch_seconds"], busy


def orrery_epoch(arguments, scratch):
    """As Peer.epoch(); the processor time is what a run takes more for further epochs."""
    few, more = 2, 10
    _, less = orrery_run(arguments, scratch, few)
    seconds, busy = orrery_run(arguments, scratch, more)
    return seconds, (busy - less) / (more - few)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="data set folder with edges.npy and labels.npy")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--rounds", type=int, default=3, help="(default: 3)")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=256, help="all heads of a layer together (default: 256)")
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--orrery", default=str(HERE.parents[1] / "build/experiments/orrery"), help="the program")
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    edges, labels = read(arguments.folder)
    peers, left_out = {}, {}
    for way in arguments.ways:
        try:
            peers[way] = Peer(way, arguments, edges, labels)
            peers[way].epoch()  # not counted
        except (ImportError, OSError, RuntimeError) as error:
            peers.pop(way, None)
            left_out[way] = str(error).splitlines()[0]
    epochs = {name: [] for name in ["orrery", *peers]}
    with tempfile.TemporaryDirectory(prefix="orrery-gat-") as scratch:
        for _ in range(arguments.rounds):
            epochs["orrery"].append(orrery_epoch(arguments, pathlib.Path(scratch)))
            for way, peer in peers.items():
                epochs[way].append(peer.epoch())
            print({name: [round(t, 2) for t in told[-1]] for name, told in epochs.items()}, file=sys.stderr)
    result = {"torch": torch.__version__, "threads": torch.get_num_threads(), "vertices": len(labels),
              "entries": edges.shape[1], "left_out": left_out}
    for i, kind in enumerate(("seconds", "processor_seconds")):
        result[kind] = {name: statistics.median(told[i] for told in all_of) for name, all_of in epochs.items()}
        result[f"{kind}_over_orrery"] = {
            way: statistics.median(a[i] / b[i] for a, b in zip(epochs[way], epochs["orrery"])) for way in peers}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
