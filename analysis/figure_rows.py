"""The rows of a figure: the paper's number, ours, the error."""

import csv
import io
from statistics import mean

import epoch_parts
import figure_cuts
import limits
import measures
import units
from figure_runs import value_at

HEADER = ["label", "paper", "ours", "unit", "error", "role"]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def error_of(paper, ours):
    """(ours - paper) / paper; to the nearer end of a range, 0 inside it; None where one of the two
    is no number."""
    if not is_number(ours):
        return None
    if isinstance(paper, list):
        least, most = paper
        near = min(max(ours, least), most)
        return (ours - near) / near
    return (ours - paper) / paper if is_number(paper) and paper != 0 else None


def agreement(row, ours):
    """Whether ours says the same where the paper gives no number to compare; None: nothing said."""
    if isinstance(row["paper"], bool):
        return ours == row["paper"]
    if row.get("paper_says") == "out of memory":
        return ours is None
    return None


def make_rows(experiments):
    rows = []
    for told in experiments.figure.told["rows"]:
        ours = measures.value_of(experiments, told["ours"])
        row = {"label": told["label"], "paper": told["paper"], "ours": ours, "unit": told["unit"],
               "error": error_of(told["paper"], ours), "role": told.get("role", "predicted")}
        if ours is None:
            row["ours_says"] = measures.nothing_means(told["ours"])
        if (spread := measures.deviation(experiments, told["ours"])) is not None:
            row["deviation"] = spread
        agrees = agreement(told, ours)
        if agrees is not None:
            row["agrees"] = agrees
        for key in ("note", "paper_says"):
            if key in told:
                row[key] = told[key]
        rows.append(row)
    return rows


def mean_abs_error(rows):
    """Over what was predicted; None where no number of the paper was."""
    errors = [abs(r["error"]) for r in rows if r["role"] == "predicted" and r["error"] is not None]
    return mean(errors) if errors else None


def _said(value, says):
    if value is None:
        return says or "-"
    if isinstance(value, list):
        return f"{value[0]:g} to {value[1]:g}"
    return units.plain(value)


def _aligned(table):
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = []
    for row in table:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(lines)


def as_text(rows):
    table = [HEADER]
    for row in rows:
        error = units.signed_percent(row["error"])
        if "agrees" in row:
            error = "agrees" if row["agrees"] else "DIFFERS"
        ours = _said(row["ours"], row.get("ours_says"))
        if "deviation" in row:
            ours += f" ± {row['deviation']:.2g}"
        table.append([row["label"], _said(row["paper"], row.get("paper_says")), ours, row["unit"],
                      error, row["role"]])
    return _aligned(table)


def as_csv(rows):
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*HEADER, "deviation"])
    for row in rows:
        paper = row["paper"]
        paper = f"{paper[0]}..{paper[1]}" if isinstance(paper, list) else paper
        out.writerow([row["label"], paper, row["ours"], row["unit"], row["error"], row["role"],
                      row.get("deviation")])
    return text.getvalue()


def results_csv(experiments):
    """Every run behind the figure, a line each: what it was and the numbers of its result. Where
    all of them cut graphs, the numbers of cuts."""
    told = experiments.figure.told["runs"]
    if all("cuts" in run for run in told.values()):
        return figure_cuts.results_csv(experiments.results)
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
