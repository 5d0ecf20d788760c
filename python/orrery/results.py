"""Result folders as pandas frames."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _orrery import DataError

if TYPE_CHECKING:
    import pandas


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{file}: is no JSON: {error}") from error


def _lines(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    whole = file.read_text(encoding="utf-8").split("\n")[:-1]  # the last line may not be finished yet
    try:
        return [json.loads(line) for line in whole if line]
    except ValueError as error:
        raise DataError(f"{file}: a line is no JSON: {error}") from error


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested objects, such as ("train.epochs", 20); lists stay whole."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value


@dataclass
class _Run:
    folder: Path
    result: dict[str, Any]
    config: dict[str, Any]

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass
class Results:
    """The contents of result folders. `folder` in each frame is the folder of the run."""

    runs: "pandas.DataFrame"  #: a row for each run: its numbers, and its settings as columns
    epochs: "pandas.DataFrame"  #: a row for each epoch of each run: the lines of epochs.jsonl
    settings: list[str]  #: columns of `runs` and `epochs` in which the runs differ
    _folders: list[Path]

    def timeline(self, folder: Any = None) -> "pandas.DataFrame":
        """The timeline of a run (default: the only one): a row for each operation: name, rank, lane,
        begin_seconds, seconds, and further facts that the run recorded. Raises DataError if there is none."""
        import pandas

        if folder is None:
            if len(self._folders) != 1:
                raise DataError(f"timeline: say of which of {len(self._folders)} runs")
            folder = self._folders[0]
        return pandas.DataFrame(_operations(_json(Path(folder) / "timeline.json")))


def _operations(trace: Any) -> list[dict[str, Any]]:
    """The operations of a Chrome trace, whose times are microseconds."""
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    names: dict[tuple[Any, Any], str] = {}
    for event in events:
        if event.get("ph") == "M" and event.get("name") in ("process_name", "thread_name"):
            names[event.get("pid"), event.get("tid") if event["name"] == "thread_name" else None] = (
                event.get("args") or {}).get("name", "")
    return [{"name": event.get("name"), "rank": event.get("pid"),
             "process": names.get((event.get("pid"), None), ""),
             "lane": names.get((event.get("pid"), event.get("tid")), str(event.get("tid"))),
             "begin_seconds": event["ts"] * 1e-6, "seconds": event.get("dur", 0) * 1e-6,
             **{key: value for key, value in (event.get("args") or {}).items()
                if key not in ("name", "rank", "lane")}}
            for event in events if event.get("ph") == "X"]


def _found(folder: Path) -> list[_Run]:
    files = [folder / "result.json"] if (folder / "result.json").exists() else sorted(
        file for file in folder.glob("*/result.json"))
    runs = []
    for file in files:
        config = file.with_name("config.json")
        runs.append(_Run(file.parent, _json(file), _json(config) if config.exists() else {}))
    return runs


def results(*folders: str | os.PathLike) -> Results:
    """The runs of result folders: of single runs, of sweeps, or of several of both.

    A setting is a column by its path in the experiment file ("cluster.ranks"), a number of the
    result by its path there ("breakdown.compute"). Raises DataError if a folder holds no result.
    """
    import pandas

    runs: list[_Run] = []
    for folder in folders:
        here = _found(Path(folder))
        if not here:
            raise DataError(f"{os.fspath(folder)}: holds no result.json, and no folder in it does")
        runs += here
    if not runs:
        raise DataError("results: expected at least one folder, found none")
    settings = [dict(_flat({k: v for k, v in run.config.items() if k not in ("name", "sweep")}))
                for run in runs]
    paths = list(dict.fromkeys(path for one in settings for path in one))
    differ = [path for path in paths
              if len({json.dumps(one.get(path), sort_keys=True) for one in settings}) > 1]
    rows, epochs = [], []
    for run, one in zip(runs, settings):
        row = {"folder": str(run.folder), **dict(_flat(run.result))}
        rows.append(row | {path: value for path, value in one.items() if path not in row})
        mine = {"folder": str(run.folder), **{path: one.get(path) for path in differ}}
        epochs += [mine | dict(_flat(line)) for line in _lines(run.folder / "epochs.jsonl")]
    return Results(pandas.DataFrame(rows), pandas.DataFrame(epochs), differ,
                   [run.folder for run in runs])
