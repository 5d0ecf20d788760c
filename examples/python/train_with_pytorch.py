"""Trains GraphSAGE in PyTorch, on batches of Orrery's sampler, on the parts of Orrery's partitioner:

    ./orrery dataset generate communities --vertices 5000 --edges 50000 --classes 8 --features 16 --out data/eight
    ./orrery python -m pip install torch
    ./orrery python examples/python/train_with_pytorch.py data/eight

One process takes the place of all ranks: part after part gives a batch, and the step is taken on the mean of their
gradients, as data-parallel training does it.
"""

import sys

import numpy as np
import orrery
import torch
from torch import nn


class MeanConvolution(nn.Module):
    """W·h_v + U·(mean of the sampled neighbours of v)."""

    def __init__(self, width, out):
        super().__init__()
        self.own, self.neighbours = nn.Linear(width, out), nn.Linear(width, out, bias=False)

    def forward(self, block, rows):
        source, destination = torch.from_numpy(block.edge_index).long()
        sums = torch.zeros(block.shape[0], rows.shape[1]).index_add_(0, destination, rows[source])
        degree = torch.from_numpy(np.diff(block.indptr)).clamp(min=1)
        return self.own(rows[:block.shape[0]]) + self.neighbours(sums / degree[:, None])


class Sage(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        self.layers = nn.ModuleList([MeanConvolution(width, hidden), MeanConvolution(hidden, classes)])

    def forward(self, flow, features):
        rows = features[torch.from_numpy(flow.vertices.astype(np.int64))]
        for i, (layer, block) in enumerate(zip(self.layers, flow.blocks)):
            rows = layer(block, rows)
            if i + 1 < len(self.layers):
                rows = rows.relu()
        return rows


def train(folder, parts=4, epochs=20, seed=0):
    """Accuracy on the vertices that were not trained on."""
    torch.manual_seed(seed)
    features = torch.from_numpy(np.load(f"{folder}/features.npy"))
    labels = torch.from_numpy(np.load(f"{folder}/labels.npy")).long()
    graph = orrery.graph(np.load(f"{folder}/edges.npy"), len(labels))
    order = np.random.default_rng(seed).permutation(len(labels))
    train_vertices, others = np.split(order, [len(order) // 2])

    owner = orrery.partition(graph, parts, method="metis", seed=seed)
    loaders = [orrery.sample(graph, train_vertices[owner[train_vertices] == part], [10, 10], batch_size=32,
                             seed=seed, workers=1) for part in range(parts)]
    model = Sage(features.shape[1], 32, int(labels.max()) + 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(epochs):
        for flows in zip(*loaders):
            optimiser.zero_grad()
            for flow in flows:
                seeds = torch.from_numpy(flow.seeds.astype(np.int64))
                (nn.functional.cross_entropy(model(flow, features), labels[seeds]) / len(flows)).backward()
            optimiser.step()

    model.eval()
    right = 0
    with torch.no_grad():
        for flow in orrery.sample(graph, others, [-1, -1], batch_size=1024, shuffle=False):
            seeds = torch.from_numpy(flow.seeds.astype(np.int64))
            right += int((model(flow, features).argmax(1) == labels[seeds]).sum())
    return right / len(others)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: train_with_pytorch.py DATA_SET_FOLDER")
    print(f"accuracy {train(sys.argv[1]):.3f}")
