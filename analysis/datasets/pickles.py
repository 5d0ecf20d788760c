"""Reads pickles of arrays and numbers, and refuses those that name anything else."""

import collections
import pickle
import zipfile


class PickleProblem(Exception):
    """One line for a person."""


class Matrix:
    """The contents of a pickled csr_matrix of SciPy."""

    def __setstate__(self, state):
        self.__dict__.update(state)


def _empty_array(kind, shape, dtype):
    """What NumPy pickles before the state of an array, which brings shape, type and bytes, and is checked."""
    import numpy

    if kind != "ndarray":
        raise PickleProblem(f"holds an array that is a {kind}")
    return numpy.empty(0)


def _no_bytes():
    """Python's pickles of the first protocols name empty bytes so."""
    return b""


class _Reader(pickle.Unpickler):
    """Knows numbers, arrays, sparse matrices, lists and dicts."""

    _KNOWN = {("scipy.sparse.csr", "csr_matrix"), ("scipy.sparse._csr", "csr_matrix")}

    def find_class(self, module, name):
        import numpy

        if (module, name) in self._KNOWN:
            return Matrix
        if module.startswith(("numpy.core", "numpy._core")):
            if name == "_reconstruct":
                return _empty_array
            if name == "scalar":
                return getattr(numpy, "_core", numpy.core).multiarray.scalar
        if (module, name) == ("numpy", "ndarray"):
            return "ndarray"  # only named: as a function it would take any amount of memory
        if (module, name) == ("numpy", "dtype"):
            return numpy.dtype
        if module == "collections" and name in ("defaultdict", "OrderedDict"):
            return getattr(collections, name)
        if module in ("__builtin__", "builtins") and name == "list":
            return list
        if module in ("__builtin__", "builtins") and name == "bytes":
            return _no_bytes
        if (module, name) == ("_codecs", "encode"):
            return lambda text, encoding="latin1": text.encode("latin1")
        raise PickleProblem(f"holds {module}.{name}, which is no number, array, sparse matrix, list or dict")


def _read(file, name):
    try:
        return _Reader(file, encoding="latin1").load()
    except PickleProblem as error:
        raise PickleProblem(f"{name}: {error}") from None
    except Exception as error:  # any error that a broken pickle causes
        raise PickleProblem(f"{name}: cannot be read: {error}") from error


def load(path):
    with open(path, "rb") as file:
        return _read(file, path)


def load_saved(path):
    """What torch.save() wrote, since PyTorch 1.6: a zip archive with one pickle. Tensors are refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(pickles) != 1:
                raise PickleProblem(f"{path}: expected one data.pkl, found {len(pickles)}")
            with archive.open(pickles[0]) as file:
                return _read(file, path)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:  # damaged, encrypted, packed otherwise
        raise PickleProblem(f"{path}: is no zip archive as torch.save() writes it: {error}") from error
