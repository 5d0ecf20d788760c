"""The cells of a table: the paper's bar beside ours.

Panel keys: title, rows (labels), ticks, x_name, y_name; log? (true: the height is logarithmic).
"""

from figures import style


def _bar(axes, x, value, colour, label, says):
    if isinstance(value, list):  # a range of the paper
        axes.bar(x, value[1] - value[0], 0.38, bottom=value[0], color=colour, label=label)
    elif value is None and says:
        axes.text(x, 0, f" {says}", rotation=90, ha="center", va="bottom", fontsize=6.5,
                  color="#5b6675")
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
        for x, value, (name, colour) in [(i - 0.2, row["paper"], ("paper", style.PAPER)),
                                         (i + 0.2, row["ours"], ours)]:
            missing = value is None
            told = None if name in seen or missing else name
            _bar(axes, x, value, colour, told, row.get("paper_says"))
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
