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
    """Of a run after `epochs` epochs and `steps` steps of the next one.

    arrays: float32, by name: "weights", all parameters of the model one after the other; with adam
    "first_moment" and "second_moment" of these; with batch norm its running "averages". Of
    model_averaging's local models these of each part, as "part0.weights" and so on.
    """

    epochs: int
    steps: int
    experiment: dict[str, Any]  #: the keys that the weights depend on
    widths: dict[str, int] | None  #: columns of the features, and classes; of old files none
    arrays: dict[str, np.ndarray]


def _names(rows: int, experiment: dict[str, Any]) -> list[str]:
    """What the rows are, in the order in which the program writes them."""
    model = ["weights"]
    if experiment.get("train", {}).get("optimizer") == "adam":
        model += ["first_moment", "second_moment"]
    if experiment.get("model", {}).get("batch_norm"):
        model.append("averages")
    if rows == len(model):
        return model
    if rows % len(model):
        return [f"row{i}" for i in range(rows)]
    return [f"part{part}.{name}" for part in range(rows // len(model)) for name in model]


def read_checkpoint(file: str | os.PathLike) -> Checkpoint:
    """Reads a checkpoint.bin, or that of a run's folder. Raises DataError: not there, cut short,
    damaged."""
    path = Path(file)
    if path.is_dir():
        path = path / "checkpoint.bin"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; train with "
                        "train.checkpoint_every to have one") from error
    if not content.startswith(_MAGIC):
        raise DataError(f"{path}: is no checkpoint of Orrery")
    if len(content) < 20 or zlib.crc32(content[:-4]) != struct.unpack("<I", content[-4:])[0]:
        raise DataError(f"{path}: is damaged: its checksum does not fit")
    (size,) = struct.unpack_from("<Q", content, 8)
    try:
        header = json.loads(content[16:16 + size])
        counts, experiment = [int(n) for n in header["rows"]], dict(header["experiment"])
        epochs, steps = int(header["epochs"]), int(header.get("steps", 0))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: its header cannot be read: {error!r}") from error
    if min(counts, default=0) < 0 or 16 + size + 4 * sum(counts) + 4 != len(content):
        raise DataError(f"{path}: its rows are not as long as its header says")
    values = np.frombuffer(content, "<f4", sum(counts), 16 + size)
    rows = np.split(values, np.cumsum(counts)[:-1])
    return Checkpoint(epochs, steps, experiment, header.get("widths"),
                      dict(zip(_names(len(counts), experiment), rows)))


def _arrays(given: Checkpoint | dict[str, Any]) -> dict[str, np.ndarray]:
    arrays = given.arrays if isinstance(given, Checkpoint) else given
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _write_whole(file: str | os.PathLike, write: Any) -> None:
    """The file has all of it, or stays as it was."""
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
    """Writes the arrays as one .npz file, which numpy.load() reads."""
    _write_whole(file, lambda out: np.savez(out, **_arrays(given)))


_TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32",
          "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}


def save_safetensors(given: Checkpoint | dict[str, Any], file: str | os.PathLike) -> None:
    """Writes the arrays in the safetensors format: 8 bytes with the length of a header, the header
    (JSON), the arrays. Raises ConfigError for a type that the format does not have."""
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
