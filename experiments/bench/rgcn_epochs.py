#!/usr/bin/env python3
"""Times epochs of an RGCN in sampled batches on CPUs: Orrery beside DGL's, on one typed graph.

A generated twin of ogbn-mag (dataset.generate: mag) is written as a folder, and both read it. Layers are
y = x·W_0 + the mean over in-neighbours by each relation times its weights, ReLU, no dropout; batches of training papers draw
--fanouts neighbours by each relation; cross-entropy and Adam in float32. In DGL that is a HeteroGraphConv of
GraphConv(norm="right") and a linear layer for the vertex itself, with its NeighborSampler and DataLoader. Both take turns in
each round, so that other work on the machine slows both alike; what is told are medians over rounds. Prints one JSON object.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def read(folder):
    """Types with counts, edges by relation, features, labels, training vertices."""
    import numpy

    meta = json.loads((folder / "meta.json").read_text())
    types = dict(zip(meta["vertex_types"], meta["vertex_type_counts"]))
    first, begin = {}, 0
    for name, count in types.items():
        first[name] = begin
        begin += count
    edges, kinds = numpy.load(folder / "edges.npy"), numpy.load(folder / "edge_relations.npy")
    graph = {}
    for number, (source, name, destination) in enumerate(meta["relations"]):
        own = edges[:, kinds == number].astype(numpy.int64)
        graph[(source, name, destination)] = (own[0] - first[source], own[1] - first[destination])
    features = numpy.load(folder / "features.npy", mmap_mode="r")
    labels = numpy.load(folder / "labels.npy").ravel()
    split = numpy.load(folder / "split.npy").ravel()
    return types, first, graph, features, labels, split


def draw_split(folder):
    """Three of four papers are trained on (ogbn-mag: 86 %), the others are tests."""
    import numpy

    labels = numpy.load(folder / "labels.npy").ravel()
    split = numpy.where(numpy.random.default_rng(0).random(len(labels)) < 0.75, 0, 2)
    numpy.save(folder / "split.npy", numpy.where(labels >= 0, split, 255).astype(numpy.uint8))


class Peer:
    def __init__(self, arguments, folder):
        import dgl
        import numpy
        import torch

        self.torch = torch
        torch.set_num_threads(arguments.threads)
        types, first, graph, features, labels, split = read(folder)
        self.version = f"DGL {dgl.__version__}, PyTorch {torch.__version__}"
        ends = {kind: tuple(torch.from_numpy(end) for end in pair) for kind, pair in graph.items()}
        self.graph = dgl.heterograph(ends, num_nodes_dict=types)
        self.graph = self.graph.formats(["csc", "csr", "coo"])
        for name, count in types.items():
            rows = numpy.array(features[first[name]:first[name] + count])
            self.graph.nodes[name].data["x"] = torch.from_numpy(rows)
        self.labels = torch.from_numpy(labels[:types["paper"]].astype(numpy.int64))
        training = torch.from_numpy(numpy.flatnonzero(split[:types["paper"]] == 0))
        widths = [features.shape[1]] + [arguments.hidden] * (len(arguments.fanouts) - 1) + [int(labels.max()) + 1]
        relations = list(graph)

        class Layer(torch.nn.Module):
            def __init__(self, inputs, outputs):
                super().__init__()
                convolutions = {kind: dgl.nn.GraphConv(inputs, outputs, norm="right", bias=False, allow_zero_in_degree=True)
                                for kind in relations}
                self.relations = dgl.nn.HeteroGraphConv(convolutions, aggregate="sum")
                self.own = torch.nn.Linear(inputs, outputs)

            def forward(self, block, x):
                summed = self.relations(block, x)
                return {name: self.own(x[name][:block.num_dst_nodes(name)]) + summed.get(name, 0)
                        for name in x if block.num_dst_nodes(name) > 0}

        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList([Layer(*pair) for pair in zip(widths, widths[1:])])
        self.optimiser = torch.optim.Adam(self.layers.parameters(), lr=0.01)
        sampler = dgl.dataloading.NeighborSampler(arguments.fanouts[::-1])
        self.loader = dgl.dataloading.DataLoader(self.graph, {"paper": training}, sampler, batch_size=arguments.batch,
                                                 shuffle=True, num_workers=0)

    def sampling(self):
        begin, edges = time.perf_counter(), 0
        for _, _, blocks in self.loader:
            edges += sum(block.num_edges() for block in blocks)
        return time.perf_counter() - begin, edges

    def epoch(self):
        torch = self.torch
        begin, edges = time.perf_counter(), 0
        for _, seeds, blocks in self.loader:
            x = {name: rows for name, rows in blocks[0].srcdata["x"].items()}
            for number, (layer, block) in enumerate(zip(self.layers, blocks)):
                x = layer(block, x)
                if number + 1 < len(self.layers):
                    x = {name: torch.relu(rows) for name, rows in x.items()}
            self.optimiser.zero_grad()
            torch.nn.functional.cross_entropy(x["paper"], self.labels[seeds["paper"]]).backward()
            self.optimiser.step()
            edges += sum(block.num_edges() for block in blocks)
        return time.perf_counter() - begin, edges


def orrery(arguments, folder, scratch):
    """Seconds of an epoch."""
    experiment = {
        "name": "rgcn-epochs",
        "dataset": {"path": str(folder)},
        "model": {"type": "rgcn", "layers": len(arguments.fanouts), "hidden": arguments.hidden, "dropout": 0},
        "strategy": {"type": "mini_batch", "batch": arguments.batch, "fanouts": arguments.fanouts, "fanouts_per": "relation"},
        "train": {"epochs": 2, "eval_every": 0, "learning_rate": 0.01},
        "timeline": {"epochs": 0},
    }
    file = scratch / "epochs.json"
    file.write_text(json.dumps(experiment))
    done = subprocess.run([arguments.orrery, "run", str(file), "--out", str(scratch / "run"), "--force", "--quiet", "--json"],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"rgcn_epochs.py: orrery ended with status {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])["epoch_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vertices", type=int, default=194000, help="(default: 194000, a tenth of ogbn-mag's)")
    parser.add_argument("--edges", type=int, default=2111000, help="undirected ones (default: 2111000)")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--fanouts", type=int, nargs="+", default=[10, 10], help="by relation, the first at the seeds")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of the peer; Orrery takes all cores")
    parser.add_argument("--orrery", default=str(HERE.parents[1] / "build/experiments/orrery"), help="the program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="orrery-rgcn-") as kept:
        scratch = pathlib.Path(kept)
        folder = scratch / "mag"
        subprocess.run([arguments.orrery, "dataset", "generate", "mag", "--vertices", str(arguments.vertices), "--edges",
                        str(arguments.edges), "--classes", "349", "--features", "128", "--out", str(folder)],
                       check=True, stdout=subprocess.DEVNULL)
        draw_split(folder)
        peer = Peer(arguments, folder)
        peer.epoch()  # not counted: it makes the forms of the graph that it needs
        told = {"orrery": [], "peer": [], "peer_sampling": []}
        for _ in range(arguments.rounds):
            told["orrery"].append(orrery(arguments, folder, scratch))
            seconds, edges = peer.epoch()
            told["peer"].append(seconds)
            told["peer_sampling"].append(peer.sampling()[0])
            print({name: round(all_of[-1], 2) for name, all_of in told.items()}, file=sys.stderr)
        print(json.dumps({
            "peer": peer.version, "threads": arguments.threads, "vertices": arguments.vertices, "edges": arguments.edges,
            "edges_of_an_epoch": edges,
            "seconds": {name: statistics.median(all_of) for name, all_of in told.items()},
            "peer_over_orrery": statistics.median(b / a for a, b in zip(told["orrery"], told["peer"])),
        }))


if __name__ == "__main__":
    main()
