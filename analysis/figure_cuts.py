"""Runs of a figure that cut graphs: `orrery partition` for every graph, method and number of parts.

Each cut leaves a file, written beside and renamed, so that a killed figure goes on with the missing cuts. A cut counts
as done when its file has the same settings; a new version of the program does not count: remove the folder to cut
again.
"""

import csv
import io
import itertools
import json
import os
import subprocess
import tempfile
from pathlib import Path

import checked_json
import child
import whole_file
from figure_file import FigureError, made
from result_folder import Run

COLUMNS = ("replication_factor", "edge_cut", "balance", "edge_balance", "clusters_before",
           "clusters_after", "seconds", "process_peak_bytes")
_CUT = {"settings": {}, "result": {}}


def folder_of(graph):
    """The folder of a data set in ORRERY_DATA or ./data."""
    folders = [f for f in os.environ.get("ORRERY_DATA", "").split(":") if f] + ["data"]
    for folder in folders:
        if (Path(folder) / graph).exists():
            return Path(folder) / graph
    raise FigureError(f"the data set {graph} is not in ORRERY_DATA")


def combinations(run):
    """{"graph", "method", "parts"} in the order of the file."""
    names = ("graph", "method", "parts")
    for values in itertools.product(*(run["cuts"][name] for name in names)):
        yield dict(zip(names, values))


def settings_of(run, cut):
    """The --set options of a cut: those for all cuts, for its graph, and for its method."""
    settings = dict(run.get("set", {}))
    if not run.get("stream"):
        settings |= run.get("set_for", {}).get(cut["graph"], {})
    return settings | run.get("set_method", {}).get(cut["method"], {})


def _write_whole(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    whole_file.write(file, text)


def _cut(program, run, cut, settings):
    """The result of one `orrery partition`, with the peak of its whole process."""
    data = folder_of(cut["graph"])
    graph = str(data / "edges.npy") if run.get("stream") else cut["graph"]
    words = [program, "partition", graph, "--method", cut["method"], "--parts", str(cut["parts"]),
             "--json"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        cutting = subprocess.Popen(words, stdout=out, stderr=errors, env=child.environment())
        _, status, usage = os.wait4(cutting.pid, 0)
        cutting.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        lines, complaint = out.read().strip().splitlines(), errors.read().strip()
    if cutting.returncode != 0 or not lines:
        last = complaint.splitlines()[-1] if complaint else "ended without a word"
        raise FigureError(f"{' '.join(words[1:])}: {last.removeprefix('orrery: error: ')}")
    result = json.loads(lines[-1])
    result["process_peak_bytes"] = usage.ru_maxrss * 1024
    result["data_set_bytes"] = sum(f.stat().st_size for f in data.iterdir() if f.is_file())
    return result


def file_of(folder, cut):
    return folder / f"{cut['graph']}-{cut['method']}-{cut['parts']}.json".replace("/", "_")


def make(program, run, folder):
    """Makes the missing cuts."""
    for cut in combinations(run):
        settings = settings_of(run, cut)
        known = checked_json.read_or_none(file_of(folder, cut), _CUT)
        if known is None or known["settings"] != settings:
            told = cut | {"settings": settings, "result": _cut(program, run, cut, settings)}
            _write_whole(file_of(folder, cut), json.dumps(told, indent=2) + "\n")


def read(run, folder):
    """A Run for every cut; its config is {"graph", "method", "parts"}."""
    runs = []
    for cut in combinations(run):
        known = made(file_of(folder, cut), _CUT)
        runs.append(Run(result=known["result"], config=cut))
    return runs


def results_csv(results):
    """Every cut of every run, a line each."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["run", "graph", "method", "parts", *COLUMNS])
    for name, run in ((name, run) for name, runs in results.items() for run in runs):
        out.writerow([name, *run.config.values(), *(run.result.get(c) for c in COLUMNS)])
    return text.getvalue()
