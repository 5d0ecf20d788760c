"""Several numbers of ours side by side, a group for each tick; of means with their deviations.

Panel keys: title, columns: [{"title", "rows": [a label for each tick]}], ticks, x_name, y_name; log?
(true: the height is logarithmic); paper? {"y", "title"}: a line at what the paper says.
"""

from figures import style


def draw(axes, panel, experiments, rows):
    of_label = {row["label"]: row for row in rows}
    width = 0.8 / len(panel["columns"])
    # Numbers stay legible where the paper's line crosses them.
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.3} if "paper" in panel else None
    for i, column in enumerate(panel["columns"]):
        at = [x + (i - (len(panel["columns"]) - 1) / 2) * width for x in range(len(panel["ticks"]))]
        found = [(x, of_label[label]) for x, label in zip(at, column["rows"])]
        for x, row in found:
            if row["ours"] is None:
                style.say_instead_of_bar(axes, x, row["ours_says"])
        known = [(x, row["ours"], row.get("deviation")) for x, row in found if row["ours"] is not None]
        at, heights, deviations = zip(*(known or [(0, 0, None)]))
        axes.bar(at, heights, width, color=style.series_colour(column["title"]), label=column["title"],
                 yerr=None if None in deviations else deviations, capsize=2)
        for x, height, deviation in zip(at, heights, deviations):
            axes.annotate(f"{height:.3g}", (x, height + (deviation or 0)), ha="center", va="bottom",
                          fontsize=6.5, bbox=behind)
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
