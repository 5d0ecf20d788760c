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


class _Reader(pickle.Unpickler):
    """Knows arrays, sparse matrices, lists and dicts."""

    _KNOWN = {("scipy.sparse.csr", "csr_matrix"), ("scipy.sparse._csr", "csr_matrix")}

    def find_class(self, module, name):
        import numpy

        if (module, name) in self._KNOWN:
            return Matrix
        if name == "_reconstruct" and module.startswith(("numpy.core", "numpy._core")):
            return getattr(numpy, "_core", numpy.core).multiarray._reconstruct
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(numpy, name)
        if (module, name) == ("collections", "defaultdict"):
            return collections.defaultdict
        if module in ("__builtin__", "builtins") and name == "list":
            return list
        if (module, name) == ("_codecs", "encode"):
            return lambda text, encoding="latin1": text.encode("latin1")
        raise PickleProblem(f"holds {module}.{name}, which is no array, sparse matrix, list or dict")


def _read(file, name):
    try:
        return _Reader(file, encoding="latin1").load()
    except PickleProblem as error:
        raise PickleProblem(f"{name}: {error}") from None
    except Exception as error:  # any error that a broken pickle causes
        raise PickleProblem(f"{name}: cannot be read: {error}") from error


def load(path):
    with open(path, "rb") as file:
        return _read(file, path.name)


def load_saved(path):
    """What torch.save() wrote, since PyTorch 1.6: a zip archive with one pickle. Tensors are refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(pickles) != 1:
                raise PickleProblem(f"{path.name}: expected one data.pkl, found {len(pickles)}")
            with archive.open(pickles[0]) as file:
                return _read(file, path.name)
    except zipfile.BadZipFile as error:
        raise PickleProblem(f"{path.name}: is no zip archive as torch.save() writes it: {error}") from error
