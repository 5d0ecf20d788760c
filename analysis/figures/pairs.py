"""Several numbers of ours side by side, a group for each tick.

Panel keys: title, columns: [{"title", "rows": [a label for each tick]}], ticks, x_name, y_name; log?
(true: the height is logarithmic); paper? {"y", "title"}: a line at what the paper says.
"""

from figures import style


def draw(axes, panel, experiments, rows):
    of_label = {row["label"]: row for row in rows}
    width = 0.8 / len(panel["columns"])
    for i, column in enumerate(panel["columns"]):
        at = [x + (i - (len(panel["columns"]) - 1) / 2) * width for x in range(len(panel["ticks"]))]
        heights = [of_label[label]["ours"] for label in column["rows"]]
        axes.bar(at, heights, width, color=style.series_colour(column["title"]), label=column["title"])
        for x, height in zip(at, heights):
            axes.annotate(f"{height:.3g}", (x, height), ha="center", va="bottom", fontsize=6.5)
    if "paper" in panel:
        axes.axhline(panel["paper"]["y"], color=style.PAPER, linewidth=0.9, linestyle="--",
                     label=panel["paper"]["title"])
    style.name_ticks(axes, panel["ticks"])
    axes.set_xlabel(panel["x_name"])
    axes.set_ylabel(panel["y_name"])
    if panel.get("log"):
        style.logarithmic_height(axes)
    else:
        axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # room for the legend
    axes.legend(fontsize=7)
