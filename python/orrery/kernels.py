"""Kernels of Orrery's core on arrays in memory: no files, and no copies where types fit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import _orrery
import numpy as np
from _orrery import ConfigError, Csr, DataError, MessageFlow, ShapeError

_MOST_VERTICES = 2147483647  # vertices are numbered by int32


def _numbers(values: Any, name: str) -> np.ndarray:
    """An array of whole numbers, unchanged; anything else is refused."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of unequal length
        raise DataError(f"{name}: expected whole numbers: {error}") from error
    if array.dtype == bool or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise DataError(f"{name}: expected whole numbers, found {array.dtype}")
    return array


def _vertices(values: Any, name: str) -> np.ndarray:
    """int32 [n]: copied only if the type is another, or the values are not contiguous."""
    array = _numbers(values, name)
    if array.ndim != 1:
        raise ShapeError(f"{name}: expected one dimension, found shape {array.shape}")
    if array.dtype != np.int32 and array.size and (array.min() < 0 or array.max() > _MOST_VERTICES):
        raise DataError(
            f"{name}: expected vertices from 0 to {_MOST_VERTICES}, found {array.min()} to {array.max()}")
    return np.ascontiguousarray(array, dtype=np.int32)


def _whole(value: Any, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ConfigError(f"{name}: expected a whole number, found {value!r}")
    if not least <= value <= most:
        raise ConfigError(f"{name}: expected {least} to {most}, found {value}")
    return int(value)


def graph(edges: Any, num_nodes: int | None = None, *, threads: int = 0) -> Csr:
    """The graph that samplers, partitioners and products take, made once.

    edges: [2, E] of whole numbers, row 0 the sources and row 1 the destinations (PyTorch
        Geometric's edge_index; NumPy, or a tensor on the CPU); or a SciPy sparse matrix, whose
        entry (v, u) is the edge u -> v and whose values are not looked at; or a Csr, given back.
    num_nodes: of edges; default: one more than the greatest that occurs.
    threads: 0 takes all cores. The graph does not depend on it.

    Edges that come several times are one edge. Raises DataError, ShapeError, ConfigError.
    """
    if isinstance(edges, Csr):
        if num_nodes is not None and num_nodes != edges.shape[0]:
            raise ConfigError(f"num_nodes: the graph has {edges.shape[0]}, found {num_nodes}")
        return edges
    if hasattr(edges, "tocsr") and hasattr(edges, "shape"):
        return _of_matrix(edges, num_nodes)
    array = _numbers(edges, "edge_index")
    if array.ndim != 2 or array.shape[0] != 2:
        raise ShapeError(f"edge_index: expected shape [2, E], found {list(array.shape)}")
    source, destination = (_vertices(array[i], f"edge_index[{i}]") for i in (0, 1))
    if num_nodes is None:
        num_nodes = int(max(source.max(), destination.max())) + 1 if source.size else 0
    vertices = _whole(num_nodes, "num_nodes", 0, _MOST_VERTICES)
    return _orrery.csr_from_edges(vertices, source, destination,
                                  _whole(threads, "threads", 0, 4096))


def _of_matrix(matrix: Any, num_nodes: int | None) -> Csr:
    rows = matrix.tocsr()
    if not getattr(rows, "has_canonical_format", False):
        rows = rows.copy() if rows is matrix else rows
        rows.sum_duplicates()
    if num_nodes is not None and num_nodes != rows.shape[0]:
        raise ConfigError(f"num_nodes: the matrix has {rows.shape[0]} rows, found {num_nodes}")
    return _orrery.csr_from_rows(
        np.ascontiguousarray(rows.indptr, dtype=np.int64), _vertices(rows.indices, "indices"),
        int(rows.shape[1]))


def partition(edges: Any, parts: int, method: str = "spring", *, num_nodes: int | None = None,
              seed: int = 0, split: Any = None, threads: int = 0, **settings: Any) -> np.ndarray:
    """The part that owns each vertex: int32 [vertices], each in [0, parts).

    edges: as graph() takes them. Every edge counts in both directions.
    method: a name of partition_methods(); `spring`, `metis`, `ldg`, ...
    split: for metis with the constraints training, validation or test: uint8 [vertices], 0 train,
        1 validation, 2 test, 255 none.
    settings: those of the method, as the keys of `partition` in an experiment file:
        partition(e, 8, "spring", refine=4), partition(e, 8, "hdrf", **{"lambda": 2}).

    The same as `orrery partition` with the same seed, on any number of threads. Other threads of
    Python go on meanwhile. Raises ConfigError, DataError, ShapeError, NotBuilt.
    """
    made = graph(edges, num_nodes, threads=threads)
    of_vertices = np.empty(0, np.uint8) if split is None else _numbers(split, "split")
    if of_vertices.size and (of_vertices.min() < 0 or of_vertices.max() > 255):
        raise DataError("split: expected 0 (train), 1 (validation), 2 (test) or 255 (none)")
    of_vertices = np.ascontiguousarray(of_vertices, dtype=np.uint8).reshape(-1)
    return _orrery.partition(
        made, _whole(parts, "parts", 1, 65536), method, _whole(seed, "seed", 0, 2**64 - 1),
        of_vertices, settings, _whole(threads, "threads", 0, 4096))


def partition_methods() -> list[dict[str, Any]]:
    """The methods of partition(): name, description, whether it depends on the seed (`drawn`), and
    the names of its settings."""
    return _orrery.partition_methods()


class Batches:
    """The batches of sample(): every loop over it is one epoch, and the next one draws anew."""

    def __init__(self, made: Csr, seeds: np.ndarray, fanouts: Sequence[int], batch_size: int,
                 rule: str, weights: Any, shuffle: bool, seed: int, epoch: int, edges: bool,
                 workers: int):
        given = np.empty(0, np.float32) if weights is None else np.asarray(weights)
        if given.ndim != 1:
            raise ShapeError(f"weights: expected one dimension, found shape {given.shape}")
        fanouts = [_whole(fanout, f"fanouts[{i}]", -1, 2**31 - 1) for i, fanout in enumerate(fanouts)]
        if np.unique(seeds).size != seeds.size:
            raise DataError("seeds: the same vertex comes twice")
        if seeds.size and (seeds.min() < 0 or seeds.max() >= made.shape[0]):
            raise DataError(f"seeds: expected vertices from 0 to {made.shape[0] - 1}, "
                            f"found {seeds.min()} to {seeds.max()}")
        self.graph = made
        self.seed = _whole(seed, "seed", 0, 2**64 - 1)
        self.epoch = _whole(epoch, "epoch", 0, 2**31 - 1)  #: that of the next loop
        self.batch_size = _whole(batch_size, "batch_size", 1, 2**31 - 1)
        self._given = None if shuffle else seeds
        self._order = _orrery.Seeds(seeds, self.batch_size, self.seed)
        self._steps = -(-seeds.size // self.batch_size)
        self._edges = bool(edges)
        self._workers = _whole(workers, "workers", 0, 1024)
        self._sampler = _orrery.Sampler(made, fanouts, rule,
                                        np.ascontiguousarray(given, dtype=np.float32),
                                        min(self.batch_size, max(1, seeds.size)))

    def __len__(self) -> int:
        """Batches of an epoch; the last one may be smaller."""
        return self._steps

    def seeds(self, epoch: int, step: int) -> np.ndarray:
        """int32: the vertices that a batch begins with."""
        _whole(step, "step", 0, self._steps - 1)
        if self._given is None:
            return self._order.of(_whole(epoch, "epoch", 0, 2**31 - 1), step)
        return self._given[step * self.batch_size:(step + 1) * self.batch_size]

    def batch(self, epoch: int, step: int) -> MessageFlow:
        """One batch: a function of (seed, epoch, step) alone."""
        return self._sampler.sample(self.seeds(epoch, step), self.seed, epoch, step, self._edges)

    def __iter__(self) -> Iterator[MessageFlow]:
        epoch, self.epoch = self.epoch, self.epoch + 1
        return self._ahead(epoch) if self._workers else (
            self.batch(epoch, step) for step in range(self._steps))

    def _ahead(self, epoch: int) -> Iterator[MessageFlow]:
        """The batches in order; each worker draws two ahead."""
        with ThreadPoolExecutor(self._workers, "orrery-sample") as pool:
            drawn: deque = deque()
            try:
                for step in range(self._steps):
                    drawn.append(pool.submit(self.batch, epoch, step))
                    if len(drawn) > 2 * self._workers:
                        yield drawn.popleft().result()
                while drawn:
                    yield drawn.popleft().result()
            finally:
                for one in drawn:
                    one.cancel()


def sample(edges: Any, seeds: Any, fanouts: Sequence[int], *, batch_size: int = 1024,
           rule: str = "uniform", weights: Any = None, shuffle: bool = True, seed: int = 0,
           epoch: int = 0, with_edges: bool = False, workers: int = 0) -> Batches:
    """Message-flow graphs of batches of seeds, for a training loop of one's own.

    edges: as graph() takes them; make the graph once for several calls.
    seeds: distinct vertices, usually the training ones.
    fanouts: neighbours of a vertex in each layer, the first at the seeds; -1 takes all.
    rule: uniform; replacement; weighted (by `weights`, float32 for each entry of graph.indices);
        labor (LABOR: rows share their draws).
    shuffle: an order of its own in every epoch, that of strategy mini_batch on one rank;
        without, seeds come as they are given.
    with_edges: tell also which entry of the graph each sampled edge is (MessageFlow.edges).
    workers: threads that draw ahead; batches and their order do not depend on it.

    Raises ConfigError, DataError, ShapeError.
    """
    made = graph(edges)
    return Batches(made, _vertices(seeds, "seeds"), fanouts, batch_size, rule, weights, shuffle,
                   seed, epoch, with_edges, workers)


def _floats(values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of unequal length
        raise DataError(f"{name}: expected numbers: {error}") from error
    if array.dtype == bool or not np.issubdtype(array.dtype, np.number):
        raise DataError(f"{name}: expected numbers, found {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float32)


def empty(rows: int, width: int) -> np.ndarray:
    """A new float32 array [rows, width], not filled, for what products read and write.

    Its rows begin at whole cache lines where width is a multiple of 16, and a large array lies on
    huge pages where the system grants them. Arrays of NumPy begin 16 bytes later, so that each of
    their rows touches a cache line more: see docs/benchmarks.md for what that costs.

    Raises ConfigError, MemoryError.
    """
    rows, width = _whole(rows, "rows", 0, 2**40), _whole(width, "width", 0, 2**31 - 1)
    if 4 * rows * width >= 2**62:
        raise MemoryError(f"{rows} rows of {width} float32 are more than any machine has")
    return _orrery.new_matrix(rows, width)


def spmm(edges: Any, x: Any, values: Any = None, *, out: np.ndarray | None = None,
         beta: float = 0.0, threads: int = 0) -> np.ndarray:
    """y = A x + beta out, float32 [rows, width]: row i sums the rows of x that it has entries for.

    edges: A, as graph() takes it, or a block of a MessageFlow. Values of SciPy matrices are not
        looked at: give them as `values`.
    x: [columns, width]; float32 is taken as it lies, other types are converted. Fastest in an
        array of empty().
    values: [nnz], or [nnz, heads] where head k weighs the k-th of `heads` equal runs of columns;
        in the order of graph.indices; default: all ones.
    out: float32 [rows, width], contiguous, written where given; beta weighs what it held.

    Raises ShapeError, DataError.
    """
    made = graph(edges)
    rows = _floats(x, "x")
    if rows.ndim != 2:
        raise ShapeError(f"x: expected shape [columns, width], found {list(rows.shape)}")
    weights = None if values is None else _floats(values, "values")
    if weights is not None and weights.ndim == 1:
        weights = weights.reshape(-1, 1)
    if weights is not None and (weights.ndim != 2 or 0 in weights.shape[1:]):
        raise ShapeError(f"values: expected [nnz] or [nnz, heads], found {list(weights.shape)}")
    if out is None:
        if beta:
            raise ConfigError("beta: is the weight of the old values of out, and there is no out")
        out = empty(made.shape[0], rows.shape[1])
    elif not (isinstance(out, np.ndarray) and out.dtype == np.float32 and out.ndim == 2
              and out.flags.c_contiguous and out.flags.writeable):
        raise ShapeError("out: expected a writable, contiguous float32 array [rows, width]")
    _orrery.spmm(made, rows, weights, out, float(beta), _whole(threads, "threads", 0, 4096))
    return out


def kernels() -> str:
    """The kernels that spmm() runs on here: "cpu (avx512, oneDNN)"."""
    return _orrery.kernels()
