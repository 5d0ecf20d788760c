#!/usr/bin/env python3
"""Times a batch of sampled GraphSAGE training in DGL on a data set folder of Orrery, as a peer for step_bench, or, with
--draw, its sampler alone, as a peer for sample_bench.

Three SAGEConv layers with the mean, hidden 256, ReLU and dropout 0.5, cross-entropy, Adam, float32, on the CPU; batches of
1,000 seeds with fanouts 15, 10, 5, the first at the seeds, on the symmetric graph, with 128 made-up features. DGL counts
fanouts from the input, so the list is given to it turned round. A batch is timed from asking the loader for it to the end
of the update; --workers sets the loader's processes. Seeds of training are the training vertices, as in step_bench, those of
--draw all vertices, as in sample_bench. Prints one JSON object.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import numpy

try:
    import dgl
    import torch
except ImportError as error:
    sys.exit(f"{error}: install DGL and PyTorch to run this")

FANOUTS = [15, 10, 5]


class Network(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.layers = torch.nn.ModuleList(dgl.nn.SAGEConv(*pair, "mean") for pair in zip(widths, widths[1:]))
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, blocks, x):
        for number, (layer, block) in enumerate(zip(self.layers, blocks)):
            x = layer(block, self.dropout(x))
            if number + 1 < len(self.layers):
                x = torch.relu(x)
        return x


def load(folder):
    edges = numpy.load(folder / "edges.npy")
    both = numpy.unique(numpy.concatenate([edges, edges[::-1]], axis=1), axis=1)
    both = both[:, both[0] != both[1]]
    labels = torch.from_numpy(numpy.load(folder / "labels.npy")).long()
    # Numbers of 64 bits, as DGL has them unless told otherwise.
    graph = dgl.graph(tuple(torch.from_numpy(ends).long() for ends in both), num_nodes=len(labels))
    split = folder / "split.npy"
    training = numpy.flatnonzero(numpy.load(split) == 0) if split.exists() else numpy.arange(len(labels))
    features = torch.rand(len(labels), 128, generator=torch.Generator().manual_seed(0))
    return graph, features, labels, torch.from_numpy(training).to(graph.idtype)


def shuffled(vertices):
    return vertices[torch.randperm(len(vertices), generator=torch.Generator().manual_seed(0))]


def draw(graph, sampler, asked):
    """Edges a second of the sampler alone, over all batches after the first ten."""
    seeds = shuffled(torch.arange(graph.num_nodes(), dtype=graph.idtype))
    edges, begin = 0, time.perf_counter()
    for number in range(asked.batches + 10):
        if number == 10:
            edges, begin = 0, time.perf_counter()
        first = number * asked.batch % (len(seeds) - asked.batch)
        _, _, blocks = sampler.sample(graph, seeds[first:first + asked.batch])
        edges += sum(block.num_edges() for block in blocks)
    seconds = time.perf_counter() - begin
    print(json.dumps({"dgl": dgl.__version__, "threads": torch.get_num_threads(), "edges_per_batch": edges / asked.batches,
                      "edges_per_second": edges / seconds}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="with edges.npy and labels.npy")
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, help="of PyTorch and DGL (default: theirs)")
    parser.add_argument("--draw", action="store_true", help="time the sampler alone")
    asked = parser.parse_args()
    if asked.threads:
        torch.set_num_threads(asked.threads)
        dgl.utils.set_num_threads(asked.threads)

    graph, features, labels, training = load(asked.folder)
    sampler = dgl.dataloading.NeighborSampler(FANOUTS[::-1])
    if asked.draw:
        graph = graph.formats("csc")
        draw(graph, sampler, asked)
        return
    loader = dgl.dataloading.DataLoader(graph, shuffled(training), sampler, batch_size=asked.batch, shuffle=True,
                                        num_workers=asked.workers)
    network = Network([features.shape[1], asked.hidden, asked.hidden, int(labels.max()) + 1])
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)

    seconds, begin = [], time.perf_counter()
    for inputs, seeds, blocks in loader:
        loss = torch.nn.functional.cross_entropy(network(blocks, features[inputs]), labels[seeds])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        seconds.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        if len(seconds) > asked.batches:
            break
    print(json.dumps({"dgl": dgl.__version__, "torch": torch.__version__, "threads": torch.get_num_threads(),
                      "batch_seconds": statistics.median(seconds[1:])}))


if __name__ == "__main__":
    main()
