"""The rows of a figure: the paper's number, ours, the error."""

import csv
import io

import epoch_parts
import figure_counting
import figure_breakdowns
import figure_cuts
import figure_sharing
import figure_validations
import limits
import measures
import sensitivity
import text_table
import units
from figure_runs import value_at

HEADER = ["cell", "paper", "ours", "unit", "error", "role"]
CSV_HEADER = ["label", "paper", "ours", "unit", "error", "role", "verdict", "deviation", "low", "high"]


def make_rows(experiments):
    rows = []
    for told in experiments.figure.told["rows"]:
        ours = measures.value_of(experiments, told["ours"])
        row = {"label": told["label"], "paper": told["paper"], "ours": ours, "unit": told["unit"],
               "error": figure_counting.error_of(told["paper"], ours),
               "role": experiments.figure.role_of(told),
               "verdict": figure_counting.verdict_of(told, ours)}
        if ours is None:
            row["ours_says"] = measures.nothing_means(told["ours"])
        if (spread := measures.deviation(experiments, told["ours"])) is not None:
            row["deviation"] = spread
        if (band := sensitivity.band(experiments, told["ours"])) is not None:
            row["band"] = band
        for key in ("note", "paper_says"):
            if key in told:
                row[key] = told[key]
        rows.append(row)
    return rows


def _said(value, says):
    if value is None:
        return says or "-"
    if isinstance(value, list):
        return f"{value[0]:g} to {value[1]:g}"
    return units.plain(value)


def error_in_words(row):
    """"+12.3 %", "inside" a range, "agrees" or "DIFFERS"; a number that differs has both."""
    if isinstance(row["paper"], list) and row["error"] == 0:
        return "inside"
    number = units.signed_percent(row["error"]) if row["error"] is not None else ""
    if row["verdict"] == "differs":
        return f"{number}, DIFFERS" if number else "DIFFERS"
    return number or ("agrees" if row["verdict"] == "agrees" else "-")


def cells_of(row):
    """The row's words, in the order of HEADER."""
    ours = _said(row["ours"], row.get("ours_says"))
    if "deviation" in row:
        ours += f" ± {row['deviation']:.2g}"
    if "band" in row:
        ours += f" ({row['band'][0]:.3g} to {row['band'][1]:.3g})"
    return [row["label"], _said(row["paper"], row.get("paper_says")), ours,
            "" if row["unit"] == "bool" else row["unit"], error_in_words(row),
            row["role"]]


def as_text(rows, room=0):
    return text_table.aligned([HEADER, *map(cells_of, rows)], room)


def as_csv(rows):
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(CSV_HEADER)
    for row in rows:
        paper = row["paper"]
        paper = f"{paper[0]}..{paper[1]}" if isinstance(paper, list) else paper
        out.writerow([row["label"], paper, row["ours"], row["unit"], row["error"], row["role"],
                      row["verdict"], row.get("deviation"), *row.get("band", (None, None))])
    return text.getvalue()


def results_csv(experiments):
    """Every run behind the figure, a line each: what it was and the numbers of its result. Where
    all of them cut graphs, count what is shared, time stages or validate, the numbers of these."""
    told = experiments.figure.told["runs"]
    if all("cuts" in run for run in told.values()):
        return figure_cuts.results_csv(experiments.results)
    if all("sharing" in run for run in told.values()):
        return figure_sharing.results_csv(experiments.results)
    if all("breakdown" in run for run in told.values()):
        return figure_breakdowns.results_csv(experiments.results)
    if all("validate" in run for run in told.values()):
        return figure_validations.results_csv(experiments.results)
    runs = [(name, run) for name, found in experiments.results.items()
            if "cuts" not in told[name] for run in found]
    keys = [part.key for part in epoch_parts.told(runs[0][1].result if runs else {})]
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["run", "label", "gpus", "epoch_seconds", *keys, "peak_bytes", "internal_bytes",
                  "external_bytes", "limited_by"])
    for name, run in runs:
        result, seconds = run.result, run.result.get("breakdown") or {}
        moved, limit = result.get("bytes") or {}, limits.limit_of(result)
        out.writerow([
            name, run.label, value_at(run, "cluster.gpus"), result["epoch_seconds"],
            *(seconds.get(key) for key in keys),
            max(result.get("peak_bytes") or [0]) or None, moved.get("internal"),
            moved.get("external"), limit.sentence if limit else ""])
    return text.getvalue()
