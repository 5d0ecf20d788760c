"""Orrery in Python: its partitioners, samplers and products on arrays, its runs, and its results.

Kernels work on arrays that are in memory; runs are those of the program `orrery`:

    owner = orrery.partition(edge_index, 4, method="spring", seed=0)
    for flow in orrery.sample(orrery.graph(edge_index), train, [10, 10], batch_size=512): ...
    run = orrery.run("configs/quickstart.json", set={"train.epochs": 20})
    frames = orrery.results(run["out_dir"])
"""

from _orrery import ConfigError, Csr, DataError, Error, MessageFlow, NotBuilt, ShapeError

from .checkpoint import Checkpoint, read_checkpoint, save_npz, save_safetensors
from .data import from_dgl, from_networkx, from_pyg, from_scipy, write_dataset
from .kernels import Batches, empty, graph, kernels, partition, partition_methods, sample, spmm
from .panels import PaperFigure, breakdown, curves, figure, paper_figures, timeline
from .results import Results, results
from .runs import Predictions, RunFailed, plan, predict, run, simulate, validate

__all__ = [
    "Batches", "Checkpoint", "ConfigError", "Csr", "DataError", "Error", "MessageFlow", "NotBuilt",
    "PaperFigure", "Predictions", "Results", "RunFailed", "ShapeError", "breakdown", "curves", "empty",
    "figure", "from_dgl", "from_networkx", "from_pyg", "from_scipy", "graph", "kernels",
    "paper_figures", "partition", "partition_methods", "plan", "predict", "read_checkpoint",
    "results", "run", "sample", "save_npz", "save_safetensors", "simulate", "spmm", "timeline",
    "validate", "write_dataset",
]
