"""Colours and words that all panels share."""

import colours
import units
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

PAPER, OURS, FITTED = colours.OF_PAPER, colours.OURS, colours.FITTED
INK, SOFT_INK = colours.INK.light, colours.SOFT_INK.light
SMALL, TINY = "small", "x-small"  # sizes that follow the figure's font size

_given = {}


def rc(font_size):
    """The settings of matplotlib for a figure with text of this size in points."""
    return {"font.size": font_size, "axes.titlesize": 1.1 * font_size, "legend.fontsize": SMALL,
            "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "axes.spines.top": False,
            "axes.spines.right": False, "axes.edgecolor": SOFT_INK, "legend.frameon": False,
            "hatch.linewidth": 0.4, "savefig.dpi": 160, "svg.fonttype": "none",
            "svg.hashsalt": "orrery", "pdf.fonttype": 42,
            "text.parse_math": False}  # a name between two $ is no formula


def forget_series():
    """Begins a new figure: its series get new colours."""
    _given.clear()


def series(title):
    """The Colour of a series: the same for a title in every panel of a figure."""
    return colours.SERIES[_given.setdefault(title, len(_given)) % len(colours.SERIES)]


def marker(title, taken=()):
    """The marker of a series on lines: as its colour the same in every panel, and none of those that are
    taken. A diamond is the paper's number."""
    free = [one for one in "osv^P*<>pX" if one not in taken]
    return free[_given.setdefault(title, len(_given)) % len(free)]


def name_ticks(axes, names):
    """A name under each of 0, 1, 2, ...; slanted if they would touch."""
    inches = axes.get_window_extent().width / axes.figure.dpi
    letters = max((len(part) for name in names for part in name.split("\n")), default=0)
    room = inches * 72 / (0.5 * axes.xaxis.get_ticklabels()[0].get_fontsize() or 8)
    slant = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(names)), names,
                    **(slant if (letters + 1) * len(names) > 0.8 * room else {}))


def say_instead_of_bar(axes, x, words):
    """Upright, from the bottom of the picture."""
    axes.text(x, 0.02, words, transform=axes.get_xaxis_transform(), rotation=90, ha="center",
              va="bottom", fontsize=TINY, color=SOFT_INK)


def name_height(axes, panel):
    """Names the height of the panel, with numbers beside it; "y_unit": "s" writes times
    with their units. Called when the scale is chosen."""
    axes.set_ylabel(panel["y_name"])
    words = units.seconds if panel.get("y_unit") == "s" else "{:,g}".format
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 2000 * low else (1,)))
        axes.yaxis.set_minor_locator(NullLocator())
    elif panel.get("y_unit") != "s":
        return
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: words(value)))


def logarithmic_height(axes):
    """With room for the legend above the bars."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.3)


def logarithmic_width(axes):
    """With plain numbers at 1, 2, 5, 10, ... below it."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def no_ticks_above(axes, most):
    """Leaves out numbers that no value of this kind can have."""
    low, high = axes.get_ylim()
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= most])
    axes.set_ylim(low, high)


def mark_paper(axes, x, value, colour=INK):
    """The paper's number at x: a diamond, or a span for a range."""
    if isinstance(value, list):
        axes.errorbar([x], [sum(value) / 2], yerr=(value[1] - value[0]) / 2, fmt="none", capsize=3,
                      elinewidth=1.2, ecolor=colour, zorder=5)
    else:
        axes.plot([x], [value], "D", markersize=4.5, markeredgecolor="white",
                  markeredgewidth=0.6, color=colour, zorder=5)


def mark_band(axes, x, band):
    """What ours becomes at the ends of a profile's efficiencies: a line with caps."""
    axes.errorbar([x], [sum(band) / 2], yerr=(band[1] - band[0]) / 2, fmt="none", capsize=2,
                  elinewidth=1, ecolor=INK, zorder=4)


def paper_handle(words="the paper", span=False):
    """An entry of a legend for mark_paper()."""
    if span:
        return Line2D([], [], color=INK, linewidth=1, marker="_", label=words)
    return Line2D([], [], color=INK, marker="D", markersize=4, linestyle="none", label=words)


def words_handle(words):
    """An entry of a legend without a mark, for words that stand beside marks."""
    return Line2D([], [], linestyle="none", label=words)


def legend(axes, *more, **where):
    """A legend of the drawn series and of these handles."""
    handles, _ = axes.get_legend_handles_labels()
    handles += [handle for handle in more if handle is not None]
    if handles:
        axes.legend(handles=handles, **where)


def outside(axes):
    """The place of a legend that would lie on the marks: beside the last panel of a wide row, below
    others (put_below() moves it out of the way of the names there)."""
    wide = axes.figure.get_figwidth() >= 5
    if wide and axes.get_subplotspec().is_last_col():
        return {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    return {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2 if wide else 1}


def put_below(figure):
    """Moves legends that stand below their panels under the names of the ticks and the axis."""
    for _ in range(2):  # room for the legend shortens the panel, which moves the names
        figure.draw_without_rendering()
        for axes in figure.axes:
            legend = axes.get_legend()
            if legend is None or legend.get_bbox_to_anchor().y0 >= axes.bbox.y0:
                continue
            lowest = axes.xaxis.get_tightbbox(figure.canvas.get_renderer()).y0
            below = axes.transAxes.inverted().transform((0, lowest))[1]
            legend.set_bbox_to_anchor((0.5, below), transform=axes.transAxes)
