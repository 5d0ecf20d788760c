"""What a run or a sweep left in its result folder, as plain data."""

import json
from dataclasses import dataclass, field
from pathlib import Path


class ResultError(Exception):
    """A folder that holds no readable result; one line for the user."""


@dataclass
class Run:
    """One run. `folder` is None for a combination of a sweep that left nothing (out of memory)."""

    result: dict
    config: dict = field(default_factory=dict)
    epochs: list = field(default_factory=list)  # lines of epochs.jsonl
    folder: Path | None = None

    @property
    def label(self):
        return self.result.get("label") or self.result.get("strategy") or self.result["name"]

    @property
    def simulated(self):
        return self.result.get("backend") in ("sim", "model")

    @property
    def interrupted(self):
        """"after 12 of 100 epochs" where training was interrupted, else nothing."""
        if not self.result.get("interrupted"):
            return ""
        asked = (self.config.get("train") or {}).get("epochs")
        of = f" of {asked}" if asked else ""
        return f"after {self.result['epochs']}{of} epochs"

    @property
    def out_of_memory(self):
        """{"tensor", "asked", "capacity"} of what did not fit, or None."""
        return self.result.get("out_of_memory")

    @property
    def timeline(self):
        file = self.folder / "timeline.json" if self.folder else None
        return file if file and file.exists() else None


@dataclass
class Sweep:
    name: str
    folder: Path
    runs: list
    missing: int = 0  # combinations that were not run
    failure: str | None = None  # why they were not; None: the sweep was interrupted
    ended: bool = True  # False: it was killed, or goes on


def _json(file):
    try:
        return json.loads(file.read_text())
    except OSError as error:
        raise ResultError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ResultError(f"{file}: is no JSON ({error})") from error


def _lines(file):
    if not file.exists():
        return []
    try:
        return [json.loads(line) for line in file.read_text().splitlines() if line]
    except ValueError as error:
        raise ResultError(f"{file}: a line is no JSON ({error})") from error


def read_run(folder):
    """The run of a folder that holds a result.json."""
    config = folder / "config.json"
    return Run(
        result=_json(folder / "result.json"),
        config=_json(config) if config.exists() else {},
        epochs=_lines(folder / "epochs.jsonl"),
        folder=folder,
    )


def _run_of_sweep(sweep_folder, result):
    """A combination as sweep.json tells it, with its own folder where that is there: beside
    sweep.json, wherever the whole folder was moved to."""
    name = Path(result["out_dir"]).name if result.get("out_dir") else ""
    own = sweep_folder / name
    if name and (own / "result.json").exists():
        return read_run(own)
    return Run(result=result)


def read(folder):
    """A Run or a Sweep. A sweep that was killed has no sweep.json yet: its finished runs count."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultError(f"{folder}: is no folder")
    summary = folder / "sweep.json"
    if summary.exists():
        told = _json(summary)
        runs = [_run_of_sweep(folder, one) for one in told["sweep"]]
        return Sweep(told["name"], folder, runs, told.get("missing", 0), told.get("failure"))
    if (folder / "result.json").exists():
        return read_run(folder)
    own = sorted(sub for sub in folder.iterdir() if (sub / "result.json").exists())
    if not own:
        raise ResultError(
            f"{folder}: holds no result.json and no sweep.json; give the folder of a finished run"
        )
    runs = [read_run(sub) for sub in own]
    return Sweep(runs[0].result["name"], folder, runs, ended=False)
