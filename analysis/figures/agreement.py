"""Simulated over real epochs of a validation, a mark for each experiment, on logarithmic axes.

Panel keys: title, of (a run that validates), height? (inches of all panels). A mark stands at the median of the
real runs; a horizontal bar spans them, a vertical one is the interval of the simulated epoch. Where real runs do not
agree with each other, or other programs were at work, the mark is hollow: its error says little about the simulation.
"""

from math import exp

import figure_validations
import units
from figures import style
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

BAND = 0.1
MARKS = "os^vP"


def ends(row):
    """((least, most) of the real runs, (low, high) of the simulated epoch, which is both where it has no interval)."""
    half, simulated = row.get("half_width") or 0, row["simulated_seconds"]
    real = [row["real_seconds"], *row["repeat_seconds"]]
    return (min(real), max(real)), (simulated * exp(-half), simulated * exp(half))


def _series(row):
    """What rows of the same marks have in common: "MPI, 2 ranks"."""
    backend = row["backend"].replace("mpi", "MPI")
    return f"{backend}, {row['ranks']} rank{'' if row['ranks'] == 1 else 's'}"


def unsure(row):
    """Whether the real runs are no measure for the simulation."""
    return row["disturbed"] or figure_validations.agrees(row) is False


def _mark(axes, row, marker, title):
    (least, most), (low, high) = ends(row)
    x, y, colour = row["real_seconds"], row["simulated_seconds"], style.series(title).light
    axes.errorbar([x], [y], xerr=[[x - least], [most - x]], yerr=[[y - low], [high - y]], fmt="none", ecolor=colour,
                  elinewidth=0.8, alpha=0.55, zorder=2)
    axes.plot([x], [y], marker, color=colour, markersize=4.5, zorder=3,
              markerfacecolor="white" if unsure(row) else colour)


def _handle(marker, label, **look):
    return Line2D([], [], marker=marker, linestyle="none", label=label, **({"color": style.INK, "markersize": 4} | look))


def _legend(axes, marks, rows):
    handles = [_handle(mark, title, color=style.series(title).light) for title, mark in marks.items()]
    if any(map(unsure, rows)):
        words = f"real runs disturbed, or over\n{100 * figure_validations.AGREEMENT:.0f} % apart"
        handles.append(_handle("o", words, markerfacecolor="white"))
    handles.append(_handle("|", "interval of the simulated epoch", markersize=7))
    handles.append(_handle("_", "least to most of the real runs", markersize=7))
    style.legend(axes, *handles, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)


def draw(axes, panel, experiments, rows):
    found = [run.result for run in experiments.results[panel["of"]]]
    marks = {}
    for row in found:
        title = _series(row)
        _mark(axes, row, marks.setdefault(title, MARKS[len(marks) % len(MARKS)]), title)
    every = [end for row in found for pair in ends(row) for end in pair]
    least, most = 0.85 * min(every), 1.15 * max(every)
    axes.fill_between([least, most], [(1 - BAND) * least, (1 - BAND) * most], [(1 + BAND) * least, (1 + BAND) * most],
                      color=style.INK, alpha=0.08, linewidth=0, zorder=0, label=f"within {100 * BAND:.0f} %")
    axes.plot([least, most], [least, most], color=style.SOFT_INK, linewidth=0.8, zorder=1, label="equal")
    axes.set(xscale="log", yscale="log", xlim=(least, most), ylim=(least, most), xlabel="real epoch",
             ylabel="simulated epoch")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 3)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: units.seconds(value)))
    _legend(axes, marks, found)
