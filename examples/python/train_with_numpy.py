"""Trains SGC (linear, means of sampled neighbours) on batches, in a loop of one's own:

    ./orrery dataset generate communities --vertices 5000 --edges 50000 --classes 8 --features 16 --out data/eight
    ./orrery python examples/python/train_with_numpy.py data/eight
"""

import sys

import numpy as np
import orrery


def means(flow, features):
    """For each seed: the mean over its neighbours of the means over theirs; its own row counts, too."""
    rows = features[flow.vertices]
    for block in flow.blocks:
        degree = np.diff(block.indptr)[:, None] + 1
        rows = (orrery.spmm(block, rows) + rows[:block.shape[0]]) / degree
    return rows


def train(folder, epochs=5, rate=0.5, seed=0):
    """Accuracy on the vertices that were not trained on."""
    features = np.load(f"{folder}/features.npy", mmap_mode="r")
    labels = np.load(f"{folder}/labels.npy")
    graph = orrery.graph(np.load(f"{folder}/edges.npy"), len(labels))
    order = np.random.default_rng(seed).permutation(len(labels))
    train_vertices, others = np.split(order, [len(order) // 2])
    weights = np.zeros((features.shape[1], labels.max() + 1), np.float32)

    loader = orrery.sample(graph, train_vertices, [10, 10], batch_size=256, seed=seed, workers=1)
    for _ in range(epochs):
        for flow in loader:
            rows = means(flow, features)
            logits = rows @ weights
            gradient = np.exp(logits - logits.max(1, keepdims=True))
            gradient /= gradient.sum(1, keepdims=True)
            gradient[np.arange(len(rows)), labels[flow.seeds]] -= 1
            weights -= rate * rows.T @ gradient / len(rows)

    everyone = orrery.sample(graph, others, [-1, -1], batch_size=1024, shuffle=False)
    right = sum((np.argmax(means(flow, features) @ weights, 1) == labels[flow.seeds]).sum()
                for flow in everyone)
    return right / len(others)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: train_with_numpy.py DATA_SET_FOLDER")
    print(f"accuracy {train(sys.argv[1]):.3f}")
