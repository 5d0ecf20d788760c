"""Which run is fastest over two swept keys: a map of winners.

Panel keys: title, x, y (keys), x_name, y_name, x_unit? (what x is multiplied by), winners [{"of", "at"?,
"title"}]: runs with every pair of values; closed_forms? [{"of", "at"?, "title"}]: the same by equations, with
the titles of winners; points? [{"x", "y", "title"}]: cases, between values as they lie on a logarithmic scale;
legend? (false: another panel has it).

A cell has the colour of the winner's title. Dots: another cannot be told from it by the interval of their
ratio, or is as fast. A letter: closed forms name another winner. A circle on a border: where both take as long, with the
interval of that place.
"""

from math import log

import intervals
from figure_runs import value_at
from figures import style
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

NOT_APART = "cannot tell, or as fast"


def results_at(experiments, entries, at):
    """{title: result} for the entries that fit there."""
    found = {}
    for entry in entries:
        run = experiments.pick(entry["of"], entry.get("at", {}) | at)
        if run.result.get("epoch_seconds") is not None:
            found[entry["title"]] = run.result
    return found


def winner(results):
    """(title of the fastest, whether another one may be, or is as fast); None if nothing fits."""
    if not results:
        return None
    best = min(results, key=lambda title: results[title]["epoch_seconds"])
    unsure = any(intervals.verdict(results[best], other) in ("cannot_tell", "as_fast")
                 for title, other in results.items() if title != best)
    return best, unsure


def gain(one, other):
    return log(other["epoch_seconds"] / one["epoch_seconds"])


def places(x, gains):
    """The first x at which a line through (x, gains) crosses zero; None if it does not."""
    for (x0, g0), (x1, g1) in zip(zip(x, gains), list(zip(x, gains))[1:]):
        if (g0 > 0) != (g1 > 0):
            return x0 + (x1 - x0) * g0 / (g0 - g1)
    return None


def borders(rows_of_results, first, second):
    """(place, low, high) in cells along one row, at which `first` takes as long as `second`."""
    there = [i for i, results in enumerate(rows_of_results) if first in results and second in results]
    if len(there) < 2:
        return None
    gains = [gain(rows_of_results[i][first], rows_of_results[i][second]) for i in there]
    widths = [intervals.half_width_of_ratio(rows_of_results[i][first], rows_of_results[i][second]) or 0 for i in there]
    middle = places(there, gains)
    if middle is None:
        return None
    ends = [places(there, [g + sign * w for g, w in zip(gains, widths)]) for sign in (-1, 1)]
    # Borders that do not cross within the map go on beyond its edge.
    edges = [there[0] - 0.5, there[-1] + 0.5]
    falls = gains[0] > gains[-1]
    low = ends[0] if ends[0] is not None else edges[0 if falls else 1]
    high = ends[1] if ends[1] is not None else edges[1 if falls else 0]
    return middle, min(low, high, middle), max(low, high, middle)


def place_of(values, value):
    """The place of a value among sorted ones, in cells, on a logarithmic scale."""
    if value <= values[0]:
        return 0.0
    for i, (low, high) in enumerate(zip(values, values[1:])):
        if value <= high:
            return i + log(value / low) / log(high / low)
    return len(values) - 1.0


def cells(panel, experiments):
    """(values of x, values of y, results at each [y][x], those of closed forms)."""
    runs = experiments.results[panel["winners"][0]["of"]]
    xs = sorted({value_at(run, panel["x"]) for run in runs})
    ys = sorted({value_at(run, panel["y"]) for run in runs})
    of = lambda entries: [[results_at(experiments, entries, {panel["x"]: x, panel["y"]: y}) for x in xs] for y in ys]
    return xs, ys, of(panel["winners"]), of(panel.get("closed_forms", []))


def draw_borders(axes, row, y):
    """A circle with its interval between neighbouring cells with different winners."""
    names = [won[0] if (won := winner(results)) else None for results in row]
    drawn = set()
    for left, right in zip(names, names[1:]):
        if None in (left, right) or left == right or (left, right) in drawn:
            continue
        drawn.add((left, right))
        if border := borders(row, left, right):
            middle, low, high = border
            axes.plot([low, high], [y, y], color=style.INK, linewidth=1, zorder=3)
            axes.plot([middle], [y], "o", color="white", markeredgecolor=style.INK, markersize=4, zorder=4)


def draw(axes, panel, experiments, rows):
    xs, ys, simulated, equations = cells(panel, experiments)
    titles = [entry["title"] for entry in panel["winners"]]
    colour = {title: style.series(title).light for title in titles}
    for j, row in enumerate(simulated):
        for i, results in enumerate(row):
            won = winner(results)
            if won is None:
                axes.text(i, j, "does not fit", ha="center", va="center", fontsize=style.TINY)
                continue
            title, unsure = won
            axes.add_patch(Rectangle((i - 0.5, j - 0.5), 1, 1, facecolor=colour[title], edgecolor="white",
                                     linewidth=1.5, hatch="..." if unsure else None))
            closed = winner(equations[j][i])
            if closed and closed[0] != title:
                axes.text(i, j + 0.28, closed[0][0].upper(), ha="center", va="center", fontsize=style.TINY,
                          color="white", bbox={"boxstyle": "circle,pad=0.15", "fc": style.INK, "ec": "white", "lw": 0.5},
                          zorder=3)
        draw_borders(axes, row, j)
    for point in panel.get("points", []):
        x, y = place_of(xs, point["x"]), place_of(ys, point["y"])
        axes.plot([x], [y], "D", color=style.PAPER.light,
                  markeredgecolor="white", markersize=6, zorder=5)
        axes.annotate(point["title"], (x, y), (0, -7), textcoords="offset points", ha="center", va="top",
                      fontsize=style.TINY, color="white", zorder=5,
                      bbox={"boxstyle": "round,pad=0.15", "fc": style.INK, "ec": "none", "alpha": 0.75})
    axes.set_xlim(-0.5, len(xs) - 0.5)
    axes.set_ylim(-0.5, len(ys) - 0.5)
    axes.set_xticks(range(len(xs)), [f"{x * panel.get('x_unit', 1):g}" for x in xs])
    axes.set_yticks(range(len(ys)), [f"{y:,g}" for y in ys])
    axes.set_xlabel(panel["x_name"])
    axes.set_ylabel(panel["y_name"])
    if panel.get("legend", True):
        maps = [one for one in experiments.figure.told["panels"] if one["kind"] == "regions"]
        every = dict.fromkeys(entry["title"] for one in maps for entry in one["winners"])
        handles = [Patch(facecolor=style.series(title).light, label=f"{title} wins") for title in every]
        handles.append(Patch(facecolor="white", edgecolor=style.SOFT_INK, hatch="...", label=NOT_APART))
        handles.append(Line2D([], [], marker="o", color=style.INK, markerfacecolor="white", markersize=4,
                              label="border, 90 % interval"))
        if panel.get("closed_forms"):
            handles.append(Line2D([], [], marker="o", color="none", markerfacecolor=style.INK, markersize=7,
                                  label="closed forms name another (its letter)"))
        axes.legend(handles=handles, **style.outside(axes))
