"""A number of the results over a swept key, a line per series; simulated epochs and their ratios with bars
of their 90 % intervals, where they have some, and with the band of the profile's efficiencies
(sensitivity.py), where the figure asks for it.

Panel keys: title, x (key), x_name, y_name, y_unit?; series: [{"of", "at"?, "title", "over"?: a run
whose epoch is divided by this one's}]; base? (keys of the run that each point is divided into: y is
a speedup over it, else seconds per epoch); base_of? (the run whose cell that is; else the series' own);
efficiency? (with base: y is the parallel efficiency in percent, "strong" where x is the number of
ranks, or grows as it does, and the work stays, "weak" where the work grows as well); unit_of_x?
(what x is divided by); y? (another number of the result by its key); legend? (false: another panel
has it); log? ("x", "y", "xy"); quoted?
[{"title", "of", "at", "factor"}]: a number of the paper that is a multiple of ours; peers? [{"of", "at",
"as", "mark"}]: single epochs of other runs, in the colour of the run "as"; both with marks? {mark: title}; references? [{"y", "title"}]: lines across; linear? (true: y = x, the ideal);
paper_rows? [{"row", "x" or "y"}]: rows whose paper's number is marked, as a height at x or as a
place at the height y, with paper_name?: words for the mark.
"""

from math import exp

import intervals
import measures
import sensitivity
from figure_runs import value_at
from figures import style


def points(panel, series, experiments):
    """(x, y) for one series, without combinations that did not fit."""
    chosen, unit = series.get("at", {}), panel.get("unit_of_x", 1)
    out = []
    for x in sorted({value_at(run, panel["x"]) for run in experiments.results[series["of"]]}):
        here = chosen | {panel["x"]: x}
        if "base" in panel:
            y = measures.speedup(experiments, series["of"], here, here | panel["base"], panel.get("base_of"))
            if y is not None and "efficiency" in panel:
                y *= 100 * (panel["base"][panel["x"]] / x if panel["efficiency"] == "strong" else 1)
        elif "over" in series:
            spec = {name: {"measure": "epoch_seconds", "of": series[run], "at": here}
                    for name, run in (("of", "over"), ("over", "of"))}
            y = measures.ratio(experiments, spec)
        else:
            y = experiments.pick(series["of"], here).result[panel.get("y", "epoch_seconds")]
        if y is not None:
            out.append((x / unit, y))
    return out


def half_widths(panel, series, experiments):
    """{x: relative half width} for points whose y is an epoch or a ratio of two."""
    if "base" in panel or panel.get("y", "epoch_seconds") != "epoch_seconds":
        return {}
    chosen, unit, widths = series.get("at", {}), panel.get("unit_of_x", 1), {}
    for run in experiments.results[series["of"]]:
        here = chosen | {panel["x"]: value_at(run, panel["x"])}
        result = experiments.pick(series["of"], here).result
        width = (intervals.half_width_of_ratio(experiments.pick(series["over"], here).result, result)
                 if "over" in series else intervals.half_width(result))
        if width is not None:
            widths[here[panel["x"]] / unit] = width
    return widths


def _band(axes, panel, series, experiments, colour):
    """From the line at one end of all efficiencies to that at the other."""
    if not sensitivity.asked(experiments.figure) or panel.get("y", "epoch_seconds") != "epoch_seconds":
        return
    stated, low, high = (dict(points(panel, series, one)) for one in [experiments, *sensitivity.both(experiments)])
    x = [x for x in stated if x in low and x in high]
    ends = [(stated[one], low[one], high[one]) for one in x]
    axes.fill_between(x, list(map(min, ends)), list(map(max, ends)), color=colour, alpha=0.18, linewidth=0, zorder=0.4)


def _bars(axes, line, widths, colour):
    for x, y in line:
        if x in widths:
            axes.plot([x, x], [y * exp(-widths[x]), y * exp(widths[x])], color=colour, linewidth=0.8,
                      alpha=0.6, zorder=1)


def _marks_of_others(panels):
    """The marks of single numbers of peers and papers in all panels of a figure."""
    return {one.get("mark", "x") for panel in panels for key in ("quoted", "peers")
            for one in panel.get(key, [])}


def _quoted(axes, panel, experiments, colour_of):
    for quote in panel.get("quoted", []):
        ours = experiments.pick(quote["of"], quote["at"]).result["epoch_seconds"]
        if ours is not None:
            axes.plot([quote["at"][panel["x"]]], [ours * quote["factor"]], quote.get("mark", "x"),
                      color=colour_of.get(quote["of"], style.INK), markersize=5, linestyle="none")
    for peer in panel.get("peers", []):
        seconds = experiments.pick(peer["of"], peer["at"]).result["epoch_seconds"]
        if seconds is not None:
            axes.plot([peer["at"][panel["x"]]], [seconds], peer["mark"], color=colour_of[peer["as"]], markersize=5,
                      linestyle="none")
    for mark, title in panel.get("marks", {}).items():
        axes.plot([], [], mark, color=style.SOFT_INK, markersize=5, label=title)


def _references(axes, panel, lines):
    """Each has its words at its end if the curves are far enough apart; the words of a single one stand in the
    legend."""
    references = panel.get("references", [])
    look = {"color": style.SOFT_INK, "linewidth": 0.8, "linestyle": "--", "zorder": 0.5}
    if len(references) == 1:
        axes.axhline(references[0]["y"], label=references[0]["title"], **look)
        return
    for reference in references:
        y = reference["y"]
        axes.axhline(y, **look)
        room = [min(abs(line[end][1] - y) for line in lines if line) for end in (0, -1)]
        left = room[0] > room[1]
        axes.annotate(reference["title"], (0.01 if left else 0.99, y),
                      ha="left" if left else "right", va="bottom", fontsize=style.TINY,
                      xycoords=("axes fraction", "data"), color=style.SOFT_INK)


def _ticks_of(axes, x, panel):
    """Every value of x if they are powers of two; a decimal scale otherwise."""
    if all(float(value).is_integer() for value in x) or len(x) <= 8:
        axes.set_xscale("log", base=2)
        axes.set_xticks(x, [f"{value:,g}" for value in x])
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()


def draw(axes, panel, experiments, rows):
    colour_of, lines, others = {}, [], _marks_of_others(experiments.figure.told["panels"])
    for series in panel["series"]:
        line = points(panel, series, experiments)
        lines.append(line)
        colour = colour_of[series["of"]] = style.series(series["title"]).light
        axes.plot([x for x, _ in line], [y for _, y in line], marker=style.marker(series["title"], others),
                  color=colour, markersize=3.5, linewidth=1.2, label=series["title"])
        _bars(axes, line, half_widths(panel, series, experiments), colour)
        _band(axes, panel, series, experiments, colour)
    x = sorted({x for line in lines for x, _ in line})
    if panel.get("linear"):
        axes.plot(x, x, "--", color=style.SOFT_INK, linewidth=0.8, label="ideal", zorder=0.5)
    _references(axes, panel, lines)
    _quoted(axes, panel, experiments, colour_of)
    papers = {row["label"]: row["paper"] for row in rows}
    for mark in panel.get("paper_rows", []):
        paper = papers[mark["row"]]
        style.mark_paper(axes, mark.get("x", paper), mark.get("y", paper))
    if "x" in panel.get("log", ""):
        _ticks_of(axes, x, panel)
    if "y" in panel.get("log", ""):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel["x_name"])
    style.name_height(axes, panel)
    if panel.get("legend", True):
        paper = style.paper_handle(panel.get("paper_name", "the paper"))
        handle = paper if panel.get("paper_rows") else None
        # It would lie on the curves or on the words of a line.
        many = len(panel["series"]) + len(panel.get("marks", {})) > 4 or "references" in panel
        style.legend(axes, handle, **(style.outside(axes) if many else {}))
