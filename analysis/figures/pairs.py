"""Several numbers of ours side by side, a group for each tick.

Panel keys: title, bars: [{"title", "rows": [a label for each tick]}], ticks, x_name, y_name; log?
(true: the height is logarithmic); paper? {"y", "title"}: a line at what the paper says.
"""

from figures import style


def draw(axes, panel, experiments, rows):
    of_label = {row["label"]: row for row in rows}
    width = 0.8 / len(panel["bars"])
    for i, bar in enumerate(panel["bars"]):
        at = [x + (i - (len(panel["bars"]) - 1) / 2) * width for x in range(len(panel["ticks"]))]
        heights = [of_label[label]["ours"] for label in bar["rows"]]
        axes.bar(at, heights, width, color=style.series_colour(bar["title"]), label=bar["title"])
        for x, height in zip(at, heights):
            axes.annotate(f"{height:.3g}", (x, height), ha="center", va="bottom", fontsize=6.5)
    if "paper" in panel:
        axes.axhline(panel["paper"]["y"], color=style.PAPER, linewidth=0.9, linestyle="--",
                     label=panel["paper"]["title"])
    axes.set_xticks(range(len(panel["ticks"])), panel["ticks"])
    axes.set_xlabel(panel["x_name"])
    axes.set_ylabel(panel["y_name"])
    if panel.get("log"):
        axes.set_yscale("log")
    axes.margins(y=0.15)
    axes.legend(fontsize=7)
