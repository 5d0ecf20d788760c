"""Accuracy while it is learned, over epochs or over seconds, a line per series; means over the
values of a key (seeds) with their deviations as bands.

Panel keys: title, x_name, y_name, value (a number that epochs tell), times? (what it is multiplied
by), by (the key that is averaged over); series: [{"of", "at"?, "title", "seconds_of"? {"of", "at"?}
(the run whose seconds an epoch the axis counts; without it epochs)}]; log? ("x"); names? (false: no
legend).
"""

from statistics import mean, stdev

import measures
from figures import style


def draw(axes, panel, experiments, rows):
    for series in panel["series"]:
        colour = style.series(series["title"]).light
        spec = {"of": series["of"], "at": series.get("at", {}), "value": panel["value"],
                "by": panel["by"], "times": panel.get("times", 1)}
        learned = measures.learned(experiments, spec)
        each = measures.epoch_seconds(experiments, series["seconds_of"]) \
            if "seconds_of" in series else 1
        x = [(epoch + 1) * each for epoch in learned]
        middle = [mean(values) for values in learned.values()]
        around = [stdev(values) if len(values) > 1 else 0 for values in learned.values()]
        axes.plot(x, middle, color=colour, linewidth=1.2, label=series["title"])
        axes.fill_between(x, [m - d for m, d in zip(middle, around)],
                          [m + d for m, d in zip(middle, around)], color=colour, alpha=0.12,
                          linewidth=0)
    if "x" in panel.get("log", ""):
        style.logarithmic_width(axes)
    axes.set_xlabel(panel["x_name"])
    style.name_height(axes, panel)
    if panel.get("names", True):
        style.legend(axes, loc="lower right")
