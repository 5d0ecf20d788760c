"""Runs of a figure that time every stage: `orrery breakdown` for the partitioners that the run lists.

The answer is one file, written whole, so that a figure that was killed goes on with what is missing.
"""

import csv
import io
import json
import subprocess

import checked_json
import child
import whole_file
from checked_json import anything, count, number, text
from figure_file import FigureError, made
from result_folder import Run

STAGES = ("partition_seconds", "save_seconds", "load_parts_seconds", "load_all_parts_seconds", "epoch_seconds",
          "train_seconds")
_KNOWN = {"asked": anything, "result": {}}
_TIMED = {"asked": anything, "result": {
    "name": text, "ranks": count, "epochs": count, "simulated": anything, "load_seconds?": number,
    "other_work": anything, "methods": [{"method": text} | {f"{stage}?": number for stage in STAGES}]}}


def _words(program, file, run, folder):
    words = [program, "breakdown", str(file), "--methods", ",".join(run["breakdown"]), "--out", str(folder), "--json"]
    for key, value in run.get("set", {}).items():
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


def _known(folder, asked):
    told = checked_json.read_or_none(folder / "breakdown.json", _KNOWN)
    return told["result"] if told and told["asked"] == asked else None


def _asked(file, run):
    return [file.read_text(), run["breakdown"], run.get("set", {})]


def make(program, file, run, folder):
    """Times the stages unless this was done with the same settings."""
    asked = _asked(file, run)
    if _known(folder, asked) is not None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    words = _words(program, file, run, folder)
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=child.environment())
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        last = errors[-1] if errors else "ended without a word"
        raise FigureError(f"{' '.join(words[1:])}: {last.removeprefix('orrery: error: ')}")
    told = {"asked": asked, "result": json.loads(lines[-1])}
    whole_file.write(folder / "breakdown.json", json.dumps(told, indent=2) + "\n")


def read(file, run, folder):
    """A Run for every partitioner."""
    told = made(folder / "breakdown.json", _TIMED)
    if told["asked"] != _asked(file, run):
        raise FigureError(f"{folder / 'breakdown.json'} is of other settings: make the figure without --redraw")
    told = told["result"]
    shared = {key: told[key] for key in ("name", "ranks", "epochs", "simulated", "load_seconds", "other_work")}
    return [Run(result=shared | stages, config={"method": stages["method"]}) for stages in told["methods"]]


def results_csv(results):
    """A line for every partitioner."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["run", "method", "load_seconds", *STAGES])
    for name, runs in results.items():
        for run in runs:
            out.writerow([name, run.result["method"], run.result["load_seconds"],
                          *(run.result[stage] for stage in STAGES)])
    return text.getvalue()


def stage_seconds(experiments, spec):
    """The sum of spec["stages"] ("partition_seconds", ...) of the partitioner at `at`, times spec["times"]."""
    result = experiments.pick(spec["of"], spec.get("at", {})).result
    return spec.get("times", 1) * sum(result[stage] for stage in spec["stages"])


BREAKDOWN_MEASURES = {"stage_seconds": stage_seconds}
