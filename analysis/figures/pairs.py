"""Several numbers of ours side by side, a group for each tick, with the paper's where it has them;
of means with their deviations.

Panel keys: title, columns: [{"title", "rows": [a label for each tick]}], ticks, x_name, y_name,
y_unit?; log? (true: the height is logarithmic); line? {"y", "title"}: a line across.
"""

import colours
from figures import style


def draw(axes, panel, experiments, rows):
    of_label = {row["label"]: row for row in rows}
    width = 0.8 / len(panel["columns"])
    # Numbers stay legible where a line crosses them.
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
    bars = len(panel["columns"]) * len(panel["ticks"])
    upright = {"rotation": 90} if bars > 9 else {}
    papers, highest = [], 0.0
    for i, column in enumerate(panel["columns"]):
        colour, told = style.series(column["title"]), column["title"]
        for tick, label in enumerate(column["rows"]):
            row, x = of_label[label], tick + (i - (len(panel["columns"]) - 1) / 2) * width
            paper = row["paper"] if not isinstance(row["paper"], bool) and row["role"] != "aside" else None
            if row["ours"] is None:
                style.say_instead_of_bar(axes, x, row["ours_says"])
            else:
                top, deviation = row["ours"], row.get("deviation")
                axes.bar(x, top, 0.94 * width, label=told, yerr=deviation, capsize=2,
                         error_kw={"elinewidth": 1, "ecolor": style.INK}, **colours.fill(colour))
                above = 1 if deviation is None else 3  # points, over the cap of the error bar
                top, told = top + (deviation or 0), None
                if "band" in row:
                    style.mark_band(axes, x, row["band"])
                    top, above = max(top, row["band"][1]), 3
                highest = max(highest, row["ours"])
                near = paper is not None and not isinstance(paper, list) and paper > top
                number = f"{row['ours']:,.0f}" if row["ours"] >= 1000 else f"{row['ours']:.3g}"
                axes.annotate(number, (x, paper if near and paper < 1.15 * top else top),
                              xytext=(0, 4 if near and paper < 1.15 * top else above),
                              textcoords="offset points", ha="center", va="bottom",
                              fontsize=style.TINY, bbox=behind, zorder=4, **upright)
            if paper is not None:
                style.mark_paper(axes, x, paper)
                papers.append(row["paper"])
    if "line" in panel:
        axes.axhline(panel["line"]["y"], color=style.SOFT_INK, linewidth=0.9, linestyle="--",
                     label=panel["line"]["title"], zorder=0.5)
    axes.set_xlim(-0.6, len(panel["ticks"]) - 0.4)
    style.name_ticks(axes, panel["ticks"])
    axes.set_xlabel(panel["x_name"])
    if panel.get("log"):
        style.logarithmic_height(axes)
    else:
        axes.set_ylim(0, (1.5 if upright else 1.35) * axes.get_ylim()[1])  # room for the legend
        if panel["y_name"].endswith("in %") and highest <= 100:
            style.no_ticks_above(axes, 100)  # where only the legend is
    style.name_height(axes, panel)
    style.legend(axes, style.paper_handle() if papers else None, ncols=2, loc="upper center",
                 columnspacing=1.0, handlelength=1.2)
