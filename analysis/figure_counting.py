"""How the cells of a figure are counted: which cells agree, and how far the others are off.

A cell is a row with something of the paper that is no aside. It
  agrees    where it says the same (fits, out of memory, a statement), or its number lies within
            AGREES_WITHIN of the paper's;
  is off if its number lies further away;
  differs   where it says something else: out of memory where the paper has a number, a number
            where the paper ran out of memory, another statement, or a ratio on the other side of 1
            (another winner). It counts as 100 %, or as its error where that is more.
A mean is over all cells with an error and all that differ. Statements that agree have no error and
are in no mean. Cells whose paper's value is a range that several share are counted apart, since
lying inside it says little.
"""

from statistics import mean

import units

AGREES_WITHIN = 0.15
FAILED = 1.0  # the least error of a cell that differs


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def error_of(paper, ours):
    """(ours - paper) / paper; to the nearer end of a range, 0 inside it; None if one of the two is no number."""
    if not is_number(ours):
        return None
    if isinstance(paper, list):
        least, most = paper
        near = min(max(ours, least), most)
        return (ours - near) / near
    return (ours - paper) / paper if is_number(paper) and paper != 0 else None


def other_winner(paper, ours):
    """Whether two ratios lie on different sides of 1; a range must do so as a whole."""
    ends = paper if isinstance(paper, list) else [paper]
    return all((end - 1) * (ours - 1) < 0 for end in ends)


def verdict_of(told, ours):
    """"agrees", "off" or "differs" for a row of figure.json; None if the paper says nothing."""
    paper = told["paper"]
    if isinstance(paper, bool):
        return "agrees" if ours is paper else "differs"
    if paper is None:
        if told.get("paper_says") != "out of memory":
            return None
        return "agrees" if ours is None else "differs"
    if not is_number(ours) or (told["unit"] == "x" and other_winner(paper, ours)):
        return "differs"
    return "agrees" if abs(error_of(paper, ours)) <= AGREES_WITHIN else "off"


def counted_error(row):
    """The contribution of a cell to a mean; None for a statement that agrees."""
    size = None if row["error"] is None else abs(row["error"])
    return max(FAILED, size or 0) if row["verdict"] == "differs" else size


def _mean(rows):
    errors = [error for row in rows if (error := counted_error(row)) is not None]
    return mean(errors) if errors else None


def count(rows):
    """The cells of make_rows() in numbers: {"cells", "agree", "rest" (mean error of those that do
    not), "roles": {role: {"cells", "mean"}}, "differ": [labels], "ranges", "inside", "outside"
    (mean error of those that are not inside), "worst": {"label", "error"} or None}."""
    counted = [row for row in rows if row["verdict"] and row["role"] != "aside"]
    shared = [row for row in counted if isinstance(row["paper"], list)]
    cells = [row for row in counted if not isinstance(row["paper"], list)]
    agree = [row for row in cells if row["verdict"] == "agrees"]
    inside = [row for row in shared if row["error"] == 0]
    worst = max((row for row in counted if counted_error(row) is not None), key=counted_error,
                default=None)
    return {
        "cells": len(cells), "agree": len(agree),
        "rest": _mean([row for row in cells if row not in agree]),
        "roles": {role: {"cells": len(own), "mean": _mean(own)}
                  for role in ("fitted", "informed", "predicted")
                  for own in [[row for row in cells if row["role"] == role]]},
        "differ": [row["label"] for row in counted if row["verdict"] == "differs"],
        "ranges": len(shared), "inside": len(inside),
        "outside": _mean([row for row in shared if row not in inside]),
        "worst": worst and {"label": worst["label"], "error": counted_error(worst)},
    }


def recorded(counted):
    """The line of figure.json with the results of count()."""
    rounded = lambda error: None if error is None else round(error, 4)
    kept = {key: counted[key] for key in ("cells", "agree", "ranges", "inside")}
    kept |= {role: rounded(found["mean"]) for role, found in counted["roles"].items()}
    worst = counted["worst"] or {"label": None, "error": None}
    return kept | {"worst": rounded(worst["error"]), "worst_cell": worst["label"]}


def _cells(number):
    return f"{number} cell" if number in (1, "no") else f"{number} cells"


def headline(counted):
    """The lines under a figure's table."""
    if not counted["cells"] and not counted["ranges"]:
        return ["No number or statement of the paper is counted here."]
    lines = []
    if cells := counted["cells"]:
        agree = counted["agree"]
        text = (f"{agree} of {_cells(cells)} {'agrees' if agree == 1 else 'agree'} (within "
                f"{100 * AGREES_WITHIN:.0f} %, or the same statement)")
        if agree < cells:
            text += f"; mean error of the rest {units.percent(counted['rest'])}"
        lines.append(text)
        lines.append("mean error by role: " + ", ".join(
            f"{role} {units.percent(found['mean'])} ({_cells(found['cells'] or 'no')})"
            for role, found in counted["roles"].items()))
    if counted["ranges"]:
        text = (f"{counted['inside']} of {_cells(counted['ranges'])} inside a range that several "
                "cells share (counted apart)")
        if counted["inside"] < counted["ranges"]:
            text += f"; mean error of the rest {units.percent(counted['outside'])}"
        lines.append(text)
    if counted["differ"]:
        lines.append("differ, and count as 100 % or more: " + "; ".join(counted["differ"]))
    return lines
