"""Result folders as pandas frames."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _orrery import DataError

from .runs import analysis

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


_APART = {"name", "sweep", "simulate_on", "timeline", "schema_version"}  # what runs do not depend on


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
    settings: list[str]  #: columns of `runs` and `epochs` by which the runs were chosen: what was swept, or differs
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


def _case(run: _Run) -> dict[str, str]:
    """The name of a sweep's case, which sets several keys and has none of its own."""
    return {key: value for key, value in analysis("setting_words").pairs(run.result.get("label")) if key == "case"}


def _chosen(runs: list[_Run], settings: list[dict[str, Any]]) -> list[str]:
    """The paths that tell the runs apart: those that were swept, and others in which folders differ. What only follows
    from these is left out: defaults of a strategy or a method, and numbers that the program chose in a sweep."""
    values = {path: [json.dumps(one.get(path), sort_keys=True) for one in settings]
              for path in dict.fromkeys(path for one in settings for path in one)}
    swept: set[str] = set()
    sweeps: dict[Path, list[int]] = {}
    for i, run in enumerate(runs):
        if keys := [key for key, _ in analysis("setting_words").pairs(run.result.get("label"))]:
            swept.update(keys)
            sweeps.setdefault(run.folder.parent, []).append(i)

    def of_its_kind(path: str) -> bool:
        """Whether only some kinds of strategy, model, ... have the key, and each of them one value."""
        names = {f"{path.split('.')[0]}.{word}" for word in ("type", "method", "file")} - {path}
        kinds = [values[name] for name in names if name in values]
        return ("null" in values[path] and bool(kinds)
                and len(set(zip(*kinds))) == len(set(zip(*kinds, values[path]))))

    def chosen(path: str) -> bool:
        if path in swept:
            return True
        inside = any(path.startswith(f"{key}.") for key in swept)  # an object was swept
        made = any(len({values[path][i] for i in sweep}) > 1 for sweep in sweeps.values())
        return (inside or not made) and not of_its_kind(path)

    return [path for path, found in values.items() if len(set(found)) > 1 and chosen(path)]


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
    settings = [dict(_flat({k: v for k, v in run.config.items() if k not in _APART})) | _case(run)
                for run in runs]
    differ = _chosen(runs, settings)
    rows, epochs = [], []
    for run, one in zip(runs, settings):
        row = {"folder": str(run.folder), **dict(_flat(run.result))}
        rows.append(row | {path: value for path, value in one.items() if path not in row})
        mine = {"folder": str(run.folder), **{path: one.get(path) for path in differ}}
        epochs += [mine | dict(_flat(line)) for line in _lines(run.folder / "epochs.jsonl")]
    return Results(pandas.DataFrame(rows), pandas.DataFrame(epochs), differ,
                   [run.folder for run in runs])
