"""Two numbers of every cell of a sweep against each other, a mark per cell.

Panel keys: title, x_name, y_name; series: [{"title", "cells": run, "keys": [swept keys], "at"?, "x": measure,
"y": measure}] (analysis/cell_measures.py: each measure gets the cell's settings); log? ("y"); signed? (true: both
axes have both signs, logarithmic away from zero, with the line of equal numbers); divides? {"x"?, "y"?}: a line there.
"""

import cell_measures
from figures import style
from matplotlib.ticker import FuncFormatter, NullLocator

MARKS = "os^Dv"


def points(series, experiments):
    """[(x, y)] of the cells where both are numbers."""
    found = [tuple(cell_measures.in_cell(experiments, series[axis], here) for axis in "xy")
             for here in cell_measures.settings_of_cells(experiments, series)]
    return [point for point in found if None not in point]


def draw(axes, panel, experiments, rows):
    for mark, series in zip(MARKS, panel["series"]):
        found = points(series, experiments)
        axes.plot([x for x, _ in found], [y for _, y in found], mark, markersize=3.5, alpha=0.8,
                  color=style.series(series["title"]).light, label=series["title"], linewidth=0)
    if panel.get("signed"):
        axes.axline((0, 0), slope=1, color=style.SOFT_INK, linewidth=0.8, label="equal")
        for scale, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
            scale("symlog", linthresh=0.1)
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    elif "y" in panel.get("log", ""):
        axes.set_yscale("log")
        style.name_height(axes, panel)
    divides = panel.get("divides", {})
    if "x" in divides:
        axes.axvline(divides["x"], color=style.SOFT_INK, linewidth=0.8, linestyle="--")
    if "y" in divides:
        axes.axhline(divides["y"], color=style.SOFT_INK, linewidth=0.8, linestyle="--")
    axes.set_xlabel(panel["x_name"])
    axes.set_ylabel(panel["y_name"])
    style.legend(axes)
