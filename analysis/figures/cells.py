"""The cells of a table: the paper's bar beside ours.

Panel keys: title, rows (labels), ticks, x_name, y_name; log? (true: the height is logarithmic).
"""

from figures import style


def _bar(axes, x, value, colour, label, says):
    if isinstance(value, list):  # a range of the paper
        axes.bar(x, value[1] - value[0], 0.38, bottom=value[0], color=colour, label=label)
    elif value is None and says:
        style.say_instead_of_bar(axes, x, says)
    elif value is None:
        return  # the paper says nothing here
    else:
        axes.bar(x, value, 0.38, color=colour, label=label)


def draw(axes, panel, experiments, rows):
    of_label = {row["label"]: row for row in rows}
    seen = set()
    for i, label in enumerate(panel["rows"]):
        row = of_label[label]
        fitted = row["role"] == "fitted"
        ours = ("ours, fitted", style.FITTED) if fitted else ("ours", style.OURS)
        paper = ("paper", style.PAPER)
        for x, value, (name, colour), says in [
                (i - 0.2, row["paper"], paper, row.get("paper_says")),
                (i + 0.2, row["ours"], ours, row.get("ours_says"))]:
            missing = value is None
            told = None if name in seen or missing else name
            _bar(axes, x, value, colour, told, says)
            if not missing:
                seen.add(name)
        if row["error"] is not None and not fitted:
            axes.annotate(f"{100 * row['error']:+.0f} %", (i + 0.2, row["ours"]), ha="center",
                          va="bottom", fontsize=7)
    style.name_ticks(axes, panel["ticks"])
    axes.set_xlabel(panel["x_name"])
    axes.set_ylabel(panel["y_name"])
    axes.set_xlim(-0.6, len(panel["rows"]) - 0.4)
    if panel.get("log"):
        style.logarithmic_height(axes)
    else:
        axes.set_ylim(bottom=0)
        axes.margins(y=0.15)
    axes.legend()
