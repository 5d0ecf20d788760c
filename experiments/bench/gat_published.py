#!/usr/bin/env python3
"""The accuracy of GAT on a citation set by a second way: a program in PyTorch with the recipe of the published one
(github.com/PetarV-/GAT), written anew, beside configs/citation/*-gat.json.

  gat_published.py FOLDER --seeds 10 [--shared] [--output-heads 8 --rate 0.01 --decay 1e-3]

Two layers of 8 heads of 8 columns, ELU, biases at the ends of edges and of outputs; 60 % dropped of inputs (by each head for
itself, or once for all with --shared, where ends have no bias), of weights of edges and of projected rows; weights by Glorot
for each head; L2 on all; Adam. The result is the test accuracy of the last epoch at which accuracy and loss of the validation
vertices were both the best so far; a hundred epochs in which neither was end the training. Prints a line for each seed.
"""

import argparse
import json
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

DROP, HEADS, COLUMNS, PATIENCE, SLOPE = 0.6, 8, 8, 100, 0.2


class SparseProduct(torch.autograd.Function):
    """Rows of features times weights, and its gradient in the weights."""

    @staticmethod
    def forward(ctx, values, weights, features):
        ctx.values, ctx.features = values, features
        return features.matrix(values) @ weights

    @staticmethod
    def backward(ctx, gradient):
        return None, ctx.features.transposed(ctx.values) @ gradient.contiguous(), None


class SparseFeatures:
    """A pattern whose values change, because some are dropped."""

    def __init__(self, rows, columns, values, shape):
        self.shape, self.values = shape, torch.tensor(values)
        order = np.lexsort((rows, columns))
        self._row = (torch.tensor(np.searchsorted(rows, np.arange(shape[0] + 1))), torch.tensor(columns))
        self._column = (torch.tensor(np.searchsorted(columns[order], np.arange(shape[1] + 1))), torch.tensor(rows[order]))
        self._order = torch.tensor(order)

    def matrix(self, values):
        return torch.sparse_csr_tensor(*self._row, values, size=self.shape)

    def transposed(self, values):
        return torch.sparse_csr_tensor(*self._column, values[self._order], size=self.shape[::-1])

    def times(self, weights, drop):
        return SparseProduct.apply(F.dropout(self.values, DROP, drop), weights, self)


class DenseFeatures:
    def __init__(self, rows):
        self.rows = rows

    def times(self, weights, drop):
        return F.dropout(self.rows, DROP, drop) @ weights


def read_set(folder):
    """(features divided by the sums of their rows, labels, split, sources, destinations with self-loops)."""
    meta = json.loads((folder / "meta.json").read_text())
    n, width = meta["num_nodes"], meta["num_features"]
    if meta["feature_storage"]["kind"] == "csr":
        begins, columns = np.load(folder / "features_indptr.npy"), np.load(folder / "features_indices.npy")
        rows = np.repeat(np.arange(n), np.diff(begins))
        values = np.ones(len(columns), np.float32)
        if (folder / "features_data.npy").exists():
            values = np.load(folder / "features_data.npy")
    else:
        dense = np.load(folder / "features.npy")
        rows, columns = np.nonzero(dense)
        values = dense[rows, columns]
    sums = np.bincount(rows, values, n)
    values = (values / sums[rows]).astype(np.float32)
    ends = np.load(folder / "edges.npy").astype(np.int64)
    pairs = np.unique(np.concatenate([ends[1] * n + ends[0], np.arange(n) * (n + 1)]))
    return (SparseFeatures(rows, columns.astype(np.int64), values, (n, width)),
            torch.tensor(np.load(folder / "labels.npy").astype(np.int64)), torch.tensor(np.load(folder / "split.npy")),
            torch.tensor(pairs % n), torch.tensor(pairs // n))


def glorot(rows, columns):
    bound = (6 / (rows + columns)) ** 0.5
    return torch.empty(rows, columns).uniform_(-bound, bound)


class Layer:
    def __init__(self, inputs, heads, columns, shared):
        self.heads, self.columns, self.shared = heads, columns, shared
        self.weights = [glorot(inputs, columns) for _ in range(heads)]
        self.ends = [torch.stack([glorot(columns, 1)[:, 0] for _ in range(heads)]) for _ in range(2)]
        self.biases = [torch.zeros(heads), torch.zeros(heads)]
        self.bias = torch.zeros(heads * columns)

    def parameters(self):
        return [*self.weights, *self.ends, self.bias, *([] if self.shared else self.biases)]

    def __call__(self, features, sources, destinations, drop):
        if self.shared or not drop:
            z = features.times(torch.cat(self.weights, 1), drop)
        else:
            z = torch.cat([features.times(weights, drop) for weights in self.weights], 1)
        z = z.view(-1, self.heads, self.columns)
        at = [(z * end).sum(2) + bias for end, bias in zip(self.ends, self.biases)]
        scores = F.leaky_relu(at[0][destinations] + at[1][sources], SLOPE)
        powers = torch.exp(scores - scores.max().detach())
        sums = torch.zeros(len(z), self.heads).index_add_(0, destinations, powers)
        alpha = F.dropout(powers / sums[destinations], DROP, drop).unsqueeze(2)
        out = torch.zeros_like(z).index_add_(0, destinations, alpha * F.dropout(z, DROP, drop)[sources])
        return out + self.bias.view(1, self.heads, self.columns)


def train(data, asked, seed):
    features, labels, split, sources, destinations = data
    torch.manual_seed(seed)
    classes = int(labels.max()) + 1
    first = Layer(features.shape[1], HEADS, COLUMNS, asked.shared)
    last = Layer(HEADS * COLUMNS, asked.output_heads, classes, asked.shared)
    parameters = [p.requires_grad_() for p in first.parameters() + last.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=asked.rate, weight_decay=asked.decay)

    def forward(drop):
        hidden = F.elu(first(features, sources, destinations, drop).flatten(1))
        return last(DenseFeatures(hidden), sources, destinations, drop).mean(1)

    def accuracy(out, part):
        return float((out[split == part].argmax(1) == labels[split == part]).float().mean())

    best_accuracy, best_loss, waited, kept, epoch = 0.0, float("inf"), 0, (0.0, 0), 0
    while waited < PATIENCE:
        optimizer.zero_grad()
        F.cross_entropy(forward(True)[split == 0], labels[split == 0]).backward()
        optimizer.step()
        with torch.no_grad():
            out = forward(False)
            loss, right = float(F.cross_entropy(out[split == 1], labels[split == 1])), accuracy(out, 1)
            if right >= best_accuracy and loss <= best_loss:
                kept = (accuracy(out, 2), epoch)
        waited = 0 if right >= best_accuracy or loss <= best_loss else waited + 1
        best_accuracy, best_loss, epoch = max(best_accuracy, right), min(best_loss, loss), epoch + 1
    return kept, epoch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--shared", action="store_true", help="all heads see the same dropped inputs")
    parser.add_argument("--output-heads", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.005)
    parser.add_argument("--decay", type=float, default=5e-4)
    asked = parser.parse_args()
    data, results = read_set(asked.folder), []
    for seed in range(asked.seeds):
        begin = time.time()
        (test, at), epochs = train(data, asked, seed)
        results.append(100 * test)
        spread = np.std(results, ddof=1) if seed else 0.0
        print(f"seed {seed}: {100 * test:.1f} % at epoch {at} of {epochs}, {time.time() - begin:.0f} s; "
              f"mean {np.mean(results):.2f} ± {spread:.2f} %", flush=True)


if __name__ == "__main__":
    main()
