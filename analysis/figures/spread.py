"""Means over the values of a key (seeds), with error bars of one standard deviation, over another
key; a line per series.

Panel keys: title, x (key), x_name, y_name, y_unit?, value (a number of the result), times? (what it
is multiplied by), by (the key that is averaged over); series: [{"of", "at"?, "title", "level"?,
"colour_of"? (title of a series of that colour)}], where a level is a series without x, drawn
across; least?, log? ("x", "y", "xy"); names? (false: no legend).
"""

from statistics import mean, stdev

import measures
from figure_runs import value_at
from figures import style


def at_one(panel, series, experiments, at):
    """(mean, deviation) over the values of the panel's `by`."""
    spec = {"measure": "mean", "of": series["of"], "at": series.get("at", {}) | at,
            "value": panel["value"], "by": panel["by"], "times": panel.get("times", 1)}
    found = list(measures.numbers(experiments, spec).values())
    return mean(found), stdev(found) if len(found) > 1 else 0.0


def values_of_x(panel, series, experiments):
    at = series.get("at", {})
    return sorted({value_at(run, panel["x"]) for run in experiments.results[series["of"]]
                   if all(value_at(run, k) == v for k, v in at.items())})


def draw(axes, panel, experiments, rows):
    every_x = set()
    for series in panel["series"]:
        colour = style.series(series.get("colour_of", series["title"])).light
        if series.get("level"):
            middle, around = at_one(panel, series, experiments, {})
            axes.axhline(middle, color=colour, linewidth=0.8, linestyle="--", label=series["title"])
            axes.axhspan(middle - around, middle + around, color=colour, alpha=0.12, linewidth=0)
            continue
        x = values_of_x(panel, series, experiments)
        every_x.update(x)
        spread = [at_one(panel, series, experiments, {panel["x"]: value}) for value in x]
        axes.errorbar(x, [m for m, _ in spread], yerr=[d for _, d in spread], fmt="o-",
                      color=colour, markersize=3, capsize=2, linewidth=1, label=series["title"])
    if "x" in panel.get("log", ""):
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
    axes.set_xticks(sorted(every_x), [f"{x:g}" for x in sorted(every_x)])
    if "y" in panel.get("log", ""):
        axes.set_yscale("log")
    elif "least" in panel:
        axes.set_ylim(bottom=panel["least"])
    axes.set_xlabel(panel["x_name"])
    style.name_height(axes, panel)
    if panel.get("names", True):
        style.legend(axes)
