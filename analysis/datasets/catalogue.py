"""The catalogue of published data sets (configs/datasets.json), and the addresses of their files."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit


class GetError(Exception):
    """An error, told in one line."""


@dataclass
class File:
    url: str
    sha256: str | None
    bytes: int | None  #: exactly, where somebody published it

    @property
    def name(self):
        return urlsplit(self.url).path.rsplit("/", 1)[-1]


@dataclass
class Set:
    name: str
    source: str
    licence: str
    size: str  #: of all files, about
    converter: str
    files: list[File]
    options: dict  #: of the converter


def load(path):
    told = json.loads(Path(path).read_text(encoding="utf-8"))["sets"]
    return {name: Set(name, one["source"], one["licence"], one["size"], one["converter"],
                      [File(file["url"], file.get("sha256"), file.get("bytes")) for file in one["files"]],
                      one.get("options", {}))
            for name, one in told.items()}


def with_sums(found, given):
    """The set with the checksums that were given: "SUM" where there is one file, else "FILE=SUM"."""
    for words in given:
        name, _, total = words.rpartition("=")
        if len(total) != 64 or set(total.lower()) - set("0123456789abcdef"):
            raise GetError(f"--sha256: expected 64 hexadecimal digits, found '{total}'")
        if not name and len(found.files) > 1:
            raise GetError(f"--sha256: {found.name} has {len(found.files)} files: write FILE=SUM for each")
        fits = [file for file in found.files if not name or file.name == name]
        if not fits:
            raise GetError(f"--sha256: {found.name} has no file {name}; it has "
                           + ", ".join(file.name for file in found.files))
        for file in fits:
            if file.sha256 and file.sha256 != total.lower():
                raise GetError(f"--sha256: {file.name} has another one in the catalogue, {file.sha256}")
            file.sha256 = total.lower()
    return found


def address(found, file):
    """The address at the publisher, or at an institute's mirror: $ORRERY_MIRROR/SET/FILE."""
    mirror = os.environ.get("ORRERY_MIRROR", "").rstrip("/")
    if not mirror:
        return file.url
    if urlsplit(mirror).scheme not in ("http", "https"):
        raise GetError(f"ORRERY_MIRROR: expected an address with http or https, found '{mirror}'")
    return f"{mirror}/{found.name}/{file.name}"
