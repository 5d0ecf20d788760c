"""The cells of a table: the paper's bar beside ours, with its band if it has one, and how far ours is
off (the error) above both.

Panel keys: title, rows (labels), ticks, x_name, y_name, y_unit?; log? (true: the height is
logarithmic).
"""

import colours
import units
from figures import style


def _bar(axes, x, value, colour, label, says):
    if value is None:
        if says:
            style.say_instead_of_bar(axes, x, says)
        return 0.0
    bottom, top = value if isinstance(value, list) else (0.0, value)  # a range of the paper
    axes.bar(x, top - bottom, 0.38, bottom=bottom, label=label, **colours.fill(colour))
    return top


def _ours(row):
    fitted = row["role"] == "fitted"
    return ("ours, fitted to this", style.FITTED) if fitted else ("ours", style.OURS)


def draw(axes, panel, experiments, rows):
    of_label = {row["label"]: row for row in rows}
    seen, off = {None}, None
    for i, label in enumerate(panel["rows"]):
        row, top = of_label[label], 0.0
        for x, key, (name, colour) in [(i - 0.2, "paper", ("the paper", style.PAPER)),
                                       (i + 0.2, "ours", _ours(row))]:
            told = None if name in seen or row[key] is None else name
            top = max(top, _bar(axes, x, row[key], colour, told, row.get(f"{key}_says")))
            seen.add(told)
        if "band" in row:
            style.mark_band(axes, i + 0.2, row["band"])
            top = max(top, row["band"][1])
        if row["error"] is not None:
            inside = isinstance(row["paper"], list) and row["error"] == 0
            words = "inside" if inside else units.signed_percent(row["error"], 0)
            off = off or style.words_handle("above: error")
            axes.annotate(words, (i, top), xytext=(0, 1.5),
                          textcoords="offset points", ha="center", va="bottom",
                          fontsize=style.TINY)
    style.name_ticks(axes, panel["ticks"])
    axes.set_xlabel(panel["x_name"])
    axes.set_xlim(-0.6, len(panel["rows"]) - 0.4)
    if panel.get("log"):
        style.logarithmic_height(axes)
    else:
        axes.set_ylim(0, 1.35 * axes.get_ylim()[1])  # room for the legend
    style.name_height(axes, panel)
    style.legend(axes, off, ncols=3, loc="upper center", columnspacing=1.0, handlelength=1.2)
