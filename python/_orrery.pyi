"""Kernels of Orrery; import orrery instead."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


class Error(RuntimeError):
    """
    Something that Orrery refuses on purpose, with one line that says what to do.
    """

class ConfigError(Error):
    """A setting that cannot be honoured; the message begins with its name."""

class DataError(Error):
    """Input that is truncated, mistyped or out of range."""

class ShapeError(Error):
    """Arrays that do not fit together."""

class NotBuilt(Error):
    """A part that this build does not have; the message says how to get it."""

class Csr:
    """
    A graph in compressed rows: row v lists the in-neighbours of v, so the edge u -> v is the entry (v, u). Made by orrery.graph(); not changed by anything.
    """

    @property
    def indptr(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]:
        """int64 [rows + 1]: where rows begin in indices"""

    @property
    def indices(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """int32 [nnz]: columns, row after row"""

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""

    @property
    def nnz(self) -> int:
        """number of entries"""

    @property
    def edge_index(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
        """
        int64 [2, nnz], a new array: row 0 the column, row 1 the row of each entry
        """

    def transpose(self) -> Csr:
        """The graph with every edge turned round."""

    def symmetrise(self) -> Csr:
        """The graph with the reverse of every edge added."""

    def __eq__(self, arg: Csr, /) -> bool: ...

    def __repr__(self) -> str: ...

def csr_from_edges(vertices: int, source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], destination: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 0) -> Csr: ...

def csr_from_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int) -> Csr: ...

def partition(graph: Csr, parts: int, method: str, seed: int, split: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], settings: dict, threads: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

def partition_methods() -> list: ...

class MessageFlow:
    """
    What a batch computes. Level 0 is the model's input, the last level the seeds; level l has the first rows[l] of the vertices, so a vertex keeps its row from level to level, and the seeds come first.
    """

    @property
    def vertices(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """
        int32 [rows[0]]: global numbers of the rows; take the features of these
        """

    @property
    def seeds(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """int32 [rows[-1]]: the vertices that get a result"""

    @property
    def rows(self) -> list[int]:
        """list [layers + 1]: rows of each level"""

    @property
    def blocks(self) -> list:
        """
        list [layers] of Csr: block l is [rows[l + 1], rows[l]]; row i aggregates row j of the level below where (i, j) is an entry. Columns are in the order of the draws
        """

    @property
    def edges(self) -> list:
        """
        list [layers] of int64 [nnz]: the place in graph.indices of each entry; empty unless asked for with edges=True
        """

    @property
    def sampled_edges(self) -> int:
        """entries of all blocks"""

    def __repr__(self) -> str: ...

class Sampler:
    def __init__(self, graph: Csr, fanouts: Sequence[int], rule: str, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], most_seeds: int) -> None: ...

    def sample(self, seeds: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, epoch: int, step: int, edges: bool = False) -> MessageFlow: ...

class Seeds:
    def __init__(self, training: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], batch_size: int, seed: int) -> None: ...

    @property
    def steps(self) -> int: ...

    def of(self, epoch: int, step: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

def spmm(graph: Csr, x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], beta: float, threads: int) -> None: ...

def new_matrix(rows: int, cols: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

def kernels() -> str: ...
