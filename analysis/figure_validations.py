"""Runs of a figure that compare real with simulated epochs: `orrery validate` for the files that the run lists.

The command is called once. Its answer is kept in one file, written whole, so that a figure that was killed
either has it or asks again.
"""

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from statistics import mean, median

import checked_json
import child
import whole_file
from checked_json import Each, anything, count, flag, number, text
from figure_file import FigureError, made
from result_folder import Run

AGREEMENT = 0.05  # kAgreement of experiments/run/validation.hpp: the longest repeat is at most so much longer

_ROW = {"setting": text, "file": text, "label": text, "backend": text, "ranks": count, "disturbed": flag,
        "real_seconds": number, "simulated_seconds": number, "error": number, "repeat_seconds": [number],
        "spread?": number, "half_width?": number, "covered?": flag, "classes_off?": number,
        "classes?": Each({"real_seconds": number, "simulated_seconds": number})}
_VALIDATED = {"asked": anything, "machine?": {"cores": count, "cpu": text}, "result": {"rows": [_ROW]}}


def _asked(run, figure_folder):
    """What was asked for: also the experiments, so that a file that changed is validated again."""
    files = {name: json.loads((figure_folder / name).read_text()) for name in run["validate"]}
    return {"files": files, "repeats": run.get("repeats", 1)}


def _file(folder):
    return folder / "validation.json"


def _why(done, result):
    """Why a command that ended this way is no answer; None if it is one."""
    if failures := (result or {}).get("failures"):
        more = f" (and {len(failures) - 1} more failed)" if len(failures) > 1 else ""
        return f"{failures[0]['file']}: {failures[0]['error']}{more}"
    if result is not None and done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1].removeprefix("orrery: error: ") if lines else "ended without a word"


def _machine(work):
    """The cores and the processor of a real run."""
    for file in sorted(work.glob("**/real/result.json")):
        told = checked_json.read_or_none(file, {"provenance": {"cores": count, "cpu": text}})
        if told is not None:
            return {key: told["provenance"][key] for key in ("cores", "cpu")}
    return None


def make(program, run, figure_folder, folder):
    """Compares all files if that was not done yet.   Errors: FigureError, also if one experiment of them failed: a mean
    over the others would be of another figure"""
    asked, work = _asked(run, figure_folder), folder / "work"
    known = checked_json.read_or_none(_file(folder), _VALIDATED)
    if known is not None and known["asked"] == asked:
        return
    shutil.rmtree(work, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    words = [program, "validate", *(str(figure_folder / name) for name in asked["files"]),
             "--repeats", str(asked["repeats"]), "--quiet", "--json", "--out", str(work)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=child.environment())
    try:
        result = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):  # it ended before it had an answer, or amid it
        result = None
    if (why := _why(done, result)) is not None:
        raise FigureError(f"validate: {why}")
    told = {"asked": asked, "machine": _machine(work), "result": result}
    whole_file.write(_file(folder), json.dumps(told, indent=2) + "\n")


def read(run, figure_folder, folder):
    """A Run for every experiment: its row, with the real epoch as its own; "setting" chooses it."""
    told = made(_file(folder), _VALIDATED)
    asked = _asked(run, figure_folder)
    if told["asked"] != asked:
        raise FigureError(f"{_file(folder)} is of other settings: make the figure without --redraw")
    configs = {Path(name).stem: config for name, config in asked["files"].items()}
    return [Run(result=row | {"name": row["file"], "epoch_seconds": row["real_seconds"], "provenance": told["machine"]},
                config=configs[row["file"]] | {"setting": row["setting"]}) for row in told["result"]["rows"]]


def agrees(row):
    """Whether its real runs take as long as each other; None of a single run."""
    return None if row.get("spread") is None else row["spread"] <= AGREEMENT


def _told(experiments, spec, value):
    """What value() tells of the rows of a run, but for those of which it tells nothing."""
    found = [value(run.result) for run in experiments.results[spec["of"]]]
    return [one for one in found if one is not None]


def mean_error_percent(experiments, spec):
    """The mean of the absolute errors of all rows."""
    return 100 * mean(_told(experiments, spec, lambda row: abs(row["error"])))


def worst_error_percent(experiments, spec):
    return 100 * max(_told(experiments, spec, lambda row: abs(row["error"])))


def _percent_of(found):
    return 100 * sum(found) / len(found) if found else None


def covered_percent(experiments, spec):
    """The share of rows with an interval whose real epoch lies in it; None if no row has one."""
    return _percent_of(_told(experiments, spec, lambda row: row.get("covered")))


def agreeing_percent(experiments, spec):
    """The share of repeated rows whose real runs agree; None if none was repeated."""
    return _percent_of(_told(experiments, spec, agrees))


def classes_off_percent(experiments, spec):
    """The median over the rows of how far their classes of operations are off; None if they have none."""
    found = _told(experiments, spec, lambda row: row.get("classes_off"))
    return 100 * median(found) if found else None


VALIDATION_MEASURES = {"validated_mean_error_percent": mean_error_percent,
                       "validated_worst_error_percent": worst_error_percent,
                       "validated_covered_percent": covered_percent,
                       "validated_agreeing_percent": agreeing_percent,
                       "validated_classes_off_percent": classes_off_percent}


def results_csv(results):
    """A line for the epoch of every row, and one for each of its classes."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["run", "row", "class", "real_seconds", "simulated_seconds", "half_width", "covered", "spread"])
    for name, runs in results.items():
        for row in (run.result for run in runs):
            table.writerow([name, row["setting"], "epoch", row["real_seconds"], row["simulated_seconds"],
                            row.get("half_width"), row.get("covered"), row.get("spread")])
            for kind, told in (row.get("classes") or {}).items():
                table.writerow([name, row["setting"], kind, told["real_seconds"], told["simulated_seconds"],
                                None, None, None])
    return out.getvalue()
