#!/usr/bin/env python3
"""Times training epochs of a GCN in PyTorch Geometric on a data set folder of Orrery, as a peer for `orrery run`.

Full-batch epochs (forward, cross-entropy, backward, Adam) of GCNConv layers with ReLU, without dropout, in float32. The
normalised adjacency is made once. Each way of multiplying with it that PyTorch offers is timed:

  edge_index  GCNConv(cached=True) on edges: gathers a row per edge, scatters sums
  csr         GCNConv on a torch.sparse CSR tensor, normalised beforehand
  csr_twice   the layers' products by torch.sparse.mm with a backward pass that multiplies with A again, which is its own
              transpose: what one would write by hand in PyTorch

A way that does not fit into memory says so. Prints one JSON object.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import numpy
import torch
import torch_geometric
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm


WAYS = ["edge_index", "csr", "csr_twice"]


class SymmetricProduct(torch.autograd.Function):
    """A·x for a symmetric A, whose gradient is A·dy."""

    @staticmethod
    def forward(context, a, x):
        context.a = a
        return torch.sparse.mm(a, x)

    @staticmethod
    def backward(context, gradient):
        return None, torch.sparse.mm(context.a, gradient.contiguous())


class ByHand(torch.nn.Module):
    """A·(x·W) + b with SymmetricProduct."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.dense = torch.nn.Linear(inputs, outputs, bias=False)
        self.bias = torch.nn.Parameter(torch.zeros(outputs))

    def forward(self, x, a):
        return SymmetricProduct.apply(a, self.dense(x)) + self.bias


class Network(torch.nn.Module):
    def __init__(self, layer, widths):
        super().__init__()
        self.layers = torch.nn.ModuleList(layer(*pair) for pair in zip(widths, widths[1:]))

    def forward(self, x, a):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x, a))
        return self.layers[-1](x, a)


def load(folder, device):
    meta = json.loads((folder / "meta.json").read_text())
    edges = torch.from_numpy(numpy.load(folder / "edges.npy")).to(device).long()
    features = torch.from_numpy(numpy.load(folder / "features.npy")).to(device)
    labels = torch.from_numpy(numpy.load(folder / "labels.npy")).to(device).long()
    training = torch.rand(len(labels), generator=torch.Generator().manual_seed(0)) < 0.7
    return edges, (meta, features, labels, training.nonzero().flatten().to(device))


def normalised_csr(edges, vertices):
    """The adjacency with self-loops, symmetrically normalised."""
    index, weight = gcn_norm(edges, None, vertices, add_self_loops=True)
    return torch.sparse_coo_tensor(index, weight, (vertices, vertices)).coalesce().to_sparse_csr()


def time_epochs(network, features, adjacency, labels, training, epochs, device):
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    seconds, losses = [], []
    for _ in range(epochs):
        wait()
        begin = time.perf_counter()
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(features, adjacency)[training], labels[training])
        loss.backward()
        optimiser.step()
        wait()
        seconds.append(time.perf_counter() - begin)
        losses.append(loss.item())
    return seconds, losses


def time_way(way, arguments, data, adjacency):
    meta, features, labels, training = data
    device = arguments.device
    widths = [meta["num_features"]] + [arguments.hidden] * (arguments.layers - 1) + [meta["num_classes"]]
    layers = {
        "edge_index": lambda inputs, outputs: GCNConv(inputs, outputs, cached=True),
        "csr": lambda inputs, outputs: GCNConv(inputs, outputs, normalize=False),
        "csr_twice": ByHand,
    }
    torch.manual_seed(0)
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    try:
        network = Network(layers[way], widths).to(device)
        seconds, losses = time_epochs(network, features, adjacency, labels, training, arguments.epochs, device)
    except torch.cuda.OutOfMemoryError:
        return {"out_of_memory": True}
    result = {"epoch_seconds": statistics.median(seconds[2:]), "first_loss": losses[0], "last_loss": losses[-1]}
    if device == "cuda":
        result["peak_bytes"] = torch.cuda.max_memory_allocated()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="data set folder, undirected, with dense features")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=12, help="the first two are not counted (default: 12)")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("pyg_epoch.py: PyTorch sees no GPU here; --device cpu runs anywhere")
    adjacency, data = load(arguments.folder, arguments.device)
    device = torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu"
    result = {"device": device, "torch": torch.__version__, "torch_geometric": torch_geometric.__version__,
              "folder": arguments.folder.name, "layers": arguments.layers, "hidden": arguments.hidden, "ways": {}}
    for way in sorted(arguments.ways, key=WAYS.index):
        if way != "edge_index" and adjacency.layout != torch.sparse_csr:
            adjacency = normalised_csr(adjacency, data[0]["num_nodes"])  # and the edges are gone
        result["ways"][way] = time_way(way, arguments, data, adjacency)
        print(way, result["ways"][way], file=sys.stderr)
    times = [way["epoch_seconds"] for way in result["ways"].values() if "epoch_seconds" in way]
    result["fastest_epoch_seconds"] = min(times) if times else None
    print(json.dumps(result))


if __name__ == "__main__":
    main()
