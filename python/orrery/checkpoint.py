"""The contents of checkpoint.bin: weights and the state of training, as arrays."""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _orrery import ConfigError, DataError

_MAGIC = b"ORRERYC1"


@dataclass
class Checkpoint:
    """The state of a run after `epochs` epochs and `steps` steps of the next one.

    arrays: float32, by name: "weights", all parameters of the model one after the other; with adam
    "first_moment" and "second_moment" of these; with batch norm its running "averages". The local models of
    model_averaging have these for each part, as "part0.weights" and so on.
    """
    # best.bin (train.keep_best) has only the weights and the averages.

    epochs: int
    steps: int
    experiment: dict[str, Any]  #: the keys that the weights depend on
    widths: dict[str, int] | None  #: columns of the features, and classes; of old files none
    arrays: dict[str, np.ndarray]
    #: names and shapes of what `weights` is made of, in order: ("layers.1.weight", (1433, 16))
    shapes: list[tuple[str, tuple[int, int]]]
    #: the same of the averages: ("layers.1.norm.averages", (2, 16)): means, variances
    average_shapes: list[tuple[str, tuple[int, int]]]
    best: dict[str, Any] | None  #: epoch and validation_accuracy of the best evaluation so far

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Each parameter, and each running average, by its name and in its shape: views. Raises DataError for files
        without the names, and for models of several parts."""
        if not self.shapes:
            raise DataError("the checkpoint does not say what its weights are called: it is of an older "
                            "version; read `arrays`")
        if "weights" not in self.arrays:
            raise DataError("the checkpoint holds a model for each part: read `arrays`")
        return {**_cut(self.arrays["weights"], self.shapes),
                **_cut(self.arrays.get("averages", np.empty(0, np.float32)), self.average_shapes)}


def _cut(row: np.ndarray, shapes: list[tuple[str, tuple[int, int]]]) -> dict[str, np.ndarray]:
    if sum(rows * columns for _, (rows, columns) in shapes) != row.size:
        raise DataError("the checkpoint's names do not fit its numbers")
    made, begin = {}, 0
    for name, (rows, columns) in shapes:
        made[name] = row[begin:begin + rows * columns].reshape(rows, columns)
        begin += rows * columns
    return made


def _names(rows: int, experiment: dict[str, Any], kept: str) -> list[str]:
    """The names of the rows, in the order in which the program writes them."""
    model = ["weights"]
    if kept == "training" and experiment.get("train", {}).get("optimizer") == "adam":
        model += ["first_moment", "second_moment"]
    if experiment.get("model", {}).get("batch_norm"):
        model.append("averages")
    if rows == len(model):
        return model
    if experiment.get("strategy", {}).get("learn_features") and rows == len(model) + 3:
        return model + ["learned_features", "learned_first_moment", "learned_second_moment"]
    if rows % len(model):
        return [f"row{i}" for i in range(rows)]
    return [f"part{part}.{name}" for part in range(rows // len(model)) for name in model]


def read_checkpoint(file: str | os.PathLike) -> Checkpoint:
    """Reads a checkpoint.bin or best.bin, or that of a run's folder (its checkpoint.bin, else best.bin).
    Raises DataError: not there, cut short, damaged."""
    path = Path(file)
    if path.is_dir():
        last = path / "checkpoint.bin"
        path = last if last.exists() or not (path / "best.bin").exists() else path / "best.bin"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; train with "
                        "train.checkpoint_every or train.keep_best to have one") from error
    if not content.startswith(_MAGIC):
        raise DataError(f"{path}: is no checkpoint of Orrery")
    if len(content) < 20 or zlib.crc32(content[:-4]) != struct.unpack("<I", content[-4:])[0]:
        raise DataError(f"{path}: is damaged: its checksum does not fit")
    (size,) = struct.unpack_from("<Q", content, 8)
    try:
        header = json.loads(content[16:16 + size])
        counts, experiment = [int(n) for n in header["rows"]], dict(header["experiment"])
        epochs, steps = int(header["epochs"]), int(header.get("steps", 0))
        kept = str(header.get("kept", "training"))
        shapes, averages = ([(str(one["name"]), (int(one["shape"][0]), int(one["shape"][1])))
                             for one in header.get(key, [])] for key in ("weights", "averages"))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: its header cannot be read: {error!r}") from error
    if min(counts, default=0) < 0 or 16 + size + 4 * sum(counts) + 4 != len(content):
        raise DataError(f"{path}: its rows are not as long as its header says")
    values = np.frombuffer(content, "<f4", sum(counts), 16 + size)
    rows = np.split(values, np.cumsum(counts)[:-1])
    return Checkpoint(epochs, steps, experiment, header.get("widths"),
                      dict(zip(_names(len(counts), experiment, kept), rows)), shapes, averages,
                      header.get("best"))


def _arrays(given: Checkpoint | dict[str, Any]) -> dict[str, np.ndarray]:
    arrays = given
    if isinstance(given, Checkpoint):  # names and shapes where the file has them
        arrays = given.parameters if given.shapes and "weights" in given.arrays else given.arrays
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _write_whole(file: str | os.PathLike, write: Any) -> None:
    """Writes the whole file, or leaves it as it was."""
    target = Path(file)
    handle, part = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent or ".")
    try:
        with os.fdopen(handle, "wb") as out:
            write(out)
            out.flush()
            os.fsync(out.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def save_npz(given: Checkpoint | dict[str, Any], file: str | os.PathLike) -> None:
    """Writes the arrays (of a checkpoint its parameters by name) as one .npz file, which numpy.load()
    reads."""
    _write_whole(file, lambda out: np.savez(out, **_arrays(given)))


_TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32",
          "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}


def save_safetensors(given: Checkpoint | dict[str, Any], file: str | os.PathLike) -> None:
    """Writes the arrays (of a checkpoint its parameters by name) in the safetensors format: 8 bytes with the length of
    a header, the header (JSON), the arrays. Raises ConfigError for a type that the format does not have."""
    arrays, header, begin = _arrays(given), {}, 0
    for name, array in arrays.items():
        if array.dtype.name not in _TYPES:
            raise ConfigError(f"{name}: safetensors has no {array.dtype}")
        header[name] = {"dtype": _TYPES[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [begin, begin + array.nbytes]}
        begin += array.nbytes
    if isinstance(given, Checkpoint):
        header["__metadata__"] = {"orrery": json.dumps(
            {"epochs": given.epochs, "experiment": given.experiment, "widths": given.widths})}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    def write(out: Any) -> None:
        out.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            out.write(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())

    _write_whole(file, write)
