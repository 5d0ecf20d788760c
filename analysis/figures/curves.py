"""A number of the results over a swept key, a line per series.

Panel keys: title, x (key), x_name, y_name; series: [{"of", "at"?, "title",
"over"?: a run whose epoch is divided by this one's}]; base? (keys of the run
that each point is divided into: y is a speedup over it, else seconds per epoch); unit_of_x? (what x
is divided by); y? (another number of the result by its key); legend? (false: another panel has it); log? ("x", "y", "xy"); quoted? [{"title", "of", "at", "factor"}]: a number of the
paper that is a multiple of ours, with marks? {mark: title}; references?
[{"y", "title"}]: horizontal lines.
"""

import measures
from figure_runs import value_at
from figures import style


def points(panel, series, experiments):
    """(x, y) of one series; combinations that did not fit have none."""
    chosen, unit = series.get("at", {}), panel.get("unit_of_x", 1)
    out = []
    for x in sorted({value_at(run, panel["x"]) for run in experiments.results[series["of"]]}):
        here = chosen | {panel["x"]: x}
        if "base" in panel:
            y = measures.speedup(experiments, series["of"], here, here | panel["base"])
        elif "over" in series:
            spec = {name: {"measure": "epoch_seconds", "of": series[run], "at": here}
                    for name, run in (("of", "over"), ("over", "of"))}
            y = measures.ratio(experiments, spec)
        else:
            y = experiments.pick(series["of"], here).result[panel.get("y", "epoch_seconds")]
        if y is not None:
            out.append((x / unit, y))
    return out


def _quoted(axes, panel, experiments, colours):
    for quote in panel.get("quoted", []):
        ours = experiments.pick(quote["of"], quote["at"]).result["epoch_seconds"]
        if ours is not None:
            axes.plot([quote["at"][panel["x"]]], [ours * quote["factor"]], quote.get("mark", "x"),
                      color=colours.get(quote["of"], "black"), markersize=5, linestyle="none")
    for mark, title in panel.get("marks", {}).items():
        axes.plot([], [], mark, color="#5b6675", markersize=5, label=title)


def draw(axes, panel, experiments, rows):
    colours = {}
    for series in panel["series"]:
        line = points(panel, series, experiments)
        colour = style.series_colour(series["title"])
        colours[series["of"]] = colour
        axes.plot([x for x, _ in line], [y for _, y in line], "o-", color=colour, markersize=3,
                  label=series["title"])
    for reference in panel.get("references", []):
        axes.axhline(reference["y"], color=style.PAPER, linewidth=0.8, linestyle="--")
        axes.annotate(reference["title"], (0.99, reference["y"]), fontsize=6.5, ha="right",
                      xycoords=("axes fraction", "data"), va="bottom", color="#5b6675")
    _quoted(axes, panel, experiments, colours)
    if "x" in panel.get("log", ""):
        axes.set_xscale("log", base=2)
        ticks = sorted({x for s in panel["series"] for x, _ in points(panel, s, experiments)})
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.minorticks_off()
    if "y" in panel.get("log", ""):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel["x_name"])
    axes.set_ylabel(panel["y_name"])
    if not panel.get("legend", True):
        return
    if len(panel["series"]) > 4:  # would lie on the curves
        axes.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    else:
        axes.legend(fontsize=7)
