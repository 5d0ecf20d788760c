"""Runs of a figure that count what ego networks share: `orrery dataset sharing` for every cell.

A cell has the flags of the command ("merged", "cached", ...). The graph is a data set of ORRERY_DATA
("graph") or is generated first ("generate"). Each cell leaves a file, written whole, so that a figure
that was killed goes on with what is missing.
"""

import csv
import io
import json
import subprocess

import checked_json
import whole_file
from checked_json import anything, number, text
from figure_file import FigureError, made
from result_folder import Run

_KNOWN = {"asked": anything, "result": {}}
_COUNTED = {"asked": anything,
            "result": {"systems": [{"system": text, "mean_over_levels": number, "sharing": number}]}}


def _flags(settings):
    words = []
    for key, value in settings.items():
        values = value if isinstance(value, list) else [value]
        words += [f"--{key}", *map(str, values)]
    return words


def _said(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return lines[-1]
    errors = [line for line in done.stderr.splitlines() if line.strip()]
    last = errors[-1] if errors else "ended without a word"
    raise FigureError(f"{' '.join(words[1:])}: {last.removeprefix('orrery: error: ')}")


def _known(file, asked):
    told = checked_json.read_or_none(file, _KNOWN)
    return told["result"] if told and told["asked"] == asked else None


def graph_of(program, run, folder):
    """What names the graph on a command line; it is generated where it is not there yet."""
    if "graph" in run:
        return run["graph"]
    graph, asked = folder / "graph", run["generate"]
    if _known(folder / "graph.json", asked) is None or not graph.exists():
        words = [program, "dataset", "generate", asked["kind"], "--out", str(graph), "--force"]
        rest = {key: value for key, value in asked.items() if key != "kind"}
        result = json.loads(_said([*words, *_flags(rest), "--json"]))
        whole_file.write(folder / "graph.json", json.dumps({"asked": asked, "result": result}))
    return str(graph)


def _file(folder, i):
    return folder / f"cell-{i}.json"


def make(program, run, folder):
    """Counts what is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    graph = graph_of(program, run, folder)
    source = run.get("graph") or run["generate"]
    for i, cell in enumerate(run["sharing"]):
        asked = [source, cell]
        if _known(_file(folder, i), asked) is None:
            words = [program, "dataset", "sharing", graph, *_flags(cell), "--json"]
            told = {"asked": asked, "result": json.loads(_said(words))}
            whole_file.write(_file(folder, i), json.dumps(told, indent=2) + "\n")


def read(run, folder):
    """A Run for every cell; of each system the mean over the levels, in percent, under its name."""
    runs, source = [], run.get("graph") or run["generate"]
    for i, cell in enumerate(run["sharing"]):
        told = made(_file(folder, i), _COUNTED)
        if told["asked"] != [source, cell]:
            raise FigureError(f"{_file(folder, i)} is of other settings: make the figure without --redraw")
        result = told["result"]
        for system in result["systems"]:
            result[system["system"]] = 100 * system["mean_over_levels"]
        result["epoch_seconds"] = None  # nothing ran
        runs.append(Run(result=result, config=cell))
    return runs


def results_csv(results):
    """A line for every cell and system."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["run", "cell", "system", "mean_over_levels_percent", "all_levels_percent"])
    for name, runs in results.items():
        for run in runs:
            cell = " ".join(_flags(run.config))
            for one in run.result["systems"]:
                out.writerow([name, cell, one["system"], run.result[one["system"]],
                              100 * one["sharing"]])
    return text.getvalue()


def percent(experiments, spec):
    """The sharing ratio of a "system" in the cell `at`, in percent."""
    return experiments.pick(spec["of"], spec.get("at", {})).result[spec["system"]]


def sharing_rises(experiments, spec):
    """Whether the ratios grow along "each": systems of one cell, or cells of one system."""
    found = [percent(experiments, spec | ({"system": one} if isinstance(one, str) else {"at": one}))
             for one in spec["each"]]
    return all(a < b for a, b in zip(found, found[1:]))


SHARING_MEASURES = {"sharing_percent": percent, "sharing_rises": sharing_rises}
