"""Runs of a figure that infer: `orrery infer` for every cell that the run lists.

A cell is the --set options besides the run's own "set". Each leaves a result folder; one whose
resolved settings are known already is not run again.
"""

import json
import subprocess

from figure_file import FigureError
from result_folder import Run


def settings_of(run, cell):
    return dict(run.get("set", {})) | cell


def folder_of(folder, cell):
    """"cluster.servers=8,inference.columns=2": a folder for each cell."""
    words = ",".join(f"{key}={value}" for key, value in cell.items())
    return folder / (words.replace("/", "_") or "all")


def _command(program, file, settings, folder):
    words = [program, "infer", str(file), "--out", str(folder), "--force", "--quiet", "--json"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


def make(program, file, run, folder):
    """Infers the missing cells, with these settings of this file."""
    for cell in run["infer"]:
        out = folder_of(folder, cell)
        words = _command(program, file, settings_of(run, cell), out)
        asked = words[1:] + [file.read_text()]
        known = folder / (out.name + ".asked.json")
        if (out / "result.json").exists() and known.exists():
            if json.loads(known.read_text()) == asked:
                continue
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not (out / "result.json").exists():
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            last = lines[-1] if lines else "ended without a word"
            raise FigureError(f"{' '.join(words[1:])}: {last.removeprefix('orrery: error: ')}")
        known.write_text(json.dumps(asked))


def _as_run(folder):
    """The result with the keys that pictures and tables read from a training, each stage by its name, and all layers
    together."""
    try:
        result = json.loads((folder / "result.json").read_text())
        config = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise FigureError(f"{folder} is not there: make the figure without --redraw") from error
    result["epoch_seconds"] = result["seconds"]
    result["dataset"] = {"name": result["dataset"], "vertices": result["vertices"]}
    for stage in result["stages"]:
        result[stage["name"]] = stage["seconds"]
    result["layers"] = sum(stage["seconds"] for stage in result["stages"]
                           if stage["name"].startswith("layer "))
    return Run(result=result, config=config, folder=folder)


def read(run, folder):
    """A Run for every cell."""
    return [_as_run(folder_of(folder, cell)) for cell in run["infer"]]
