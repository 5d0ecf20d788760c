"""JSON files that others may have written or cut, held against the shape that their readers need.

A shape is a kind (`number`, `count`, `text`, `flag`, `anything`), [shape] for a list of such, Each(shape) for an object
with any keys, or {key: shape} for an object with at least these keys; "key?" may be absent or null.
"""

import json
import math
from dataclasses import dataclass
from typing import Any, Callable

import plain_text
import whole_file


class ResultError(Exception):
    """A folder that holds no readable result; one line for the user."""


@dataclass(frozen=True)
class Kind:
    words: str  # "a number"
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class Each:
    """An object with any keys."""

    shape: Any


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


number = Kind("a number", _is_number)
count = Kind("a count", lambda value: _is_number(value) and isinstance(value, int) and value >= 0)
text = Kind("a text", lambda value: isinstance(value, str))
flag = Kind("true or false", lambda value: isinstance(value, bool))
anything = Kind("anything", lambda value: True)

_ABSENT = object()


def _shown(value):
    if value is _ABSENT:
        return "none"
    words = json.dumps(value, ensure_ascii=False)
    return words if len(words) <= 60 else words[:57] + "..."


def _joined(key, name):
    return f"{key}/{name}" if key else str(name)


def check(value, shape, place, key=""):
    """Holds a value against a shape.   Errors: ResultError with place, key, what was expected and what was found"""
    def refuse(expected):
        where = f"{place}: key {key}" if key else place
        raise ResultError(plain_text.one_line(f"{where}: expected {expected}, found {_shown(value)}"))

    if isinstance(shape, Kind):
        if value is _ABSENT or not shape.fits(value):
            refuse(shape.words)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            refuse("a list")
        for i, one in enumerate(value):
            check(one, shape[0], place, _joined(key, i))
    elif not isinstance(value, dict):
        refuse("an object")
    elif isinstance(shape, Each):
        for name, one in value.items():
            check(one, shape.shape, place, _joined(key, name))
    else:
        for name, inner in shape.items():
            found = value.get(name.removesuffix("?"), _ABSENT)
            if not (name.endswith("?") and (found is _ABSENT or found is None)):
                check(found, inner, place, _joined(key, name.removesuffix("?")))


def _text_of(file):
    try:
        return whole_file.read(file)
    except UnicodeDecodeError as error:
        found = error.object[error.start]
        raise ResultError(f"{file}: byte {error.start}: expected UTF-8 text, found {found:#04x}") from error
    except OSError as error:
        raise ResultError(f"{file}: cannot be read: {error.strerror}") from error


def _parsed(words, place, line):
    try:
        return json.loads(words)
    except json.JSONDecodeError as error:
        where = f"line {line or error.lineno}, column {error.colno}"
        found = plain_text.one_line(error.doc[error.pos:error.pos + 20]) or "the end of the file"
        raise ResultError(f"{place}: {where}: expected JSON, found {found}") from error
    except RecursionError as error:
        raise ResultError(f"{place}: expected JSON, found it too deep to read") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise ResultError(f"{place}: expected JSON, found a number with too many digits") from error


def read(file, shape):
    """The value of a file.   Errors: ResultError"""
    value = _parsed(_text_of(file), file, None)
    check(value, shape, file)
    return value


def read_or_none(file, shape):
    """The same; None where the file is not there or has another shape."""
    try:
        return read(file, shape)
    except ResultError:
        return None


def read_lines(file, shape):
    """The values of a file's lines; none where it is not there.   Errors: ResultError"""
    if not file.exists():
        return []
    values = []
    for i, line in enumerate(_text_of(file).split("\n"), 1):
        if line:
            values.append(_parsed(line, file, i))
            check(values[-1], shape, f"{file}: line {i}")
    return values
