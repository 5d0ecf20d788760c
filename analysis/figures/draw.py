"""The picture of a figure: its panels side by side, as PNG and SVG."""

import os
import textwrap

from figures import config_folder

if "MPLCONFIGDIR" not in os.environ:
    os.environ["MPLCONFIGDIR"] = config_folder.own()

import matplotlib  # noqa: E402  (reads MPLCONFIGDIR)

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from figures import cells, curves, lanes, pairs, shares, spread, stacks, style  # noqa: E402

KINDS = {"cells": cells, "curves": curves, "lanes": lanes, "pairs": pairs, "shares": shares,
         "spread": spread, "stacks": stacks}


def size_of(panels, columns, lines):
    if all(panel["kind"] == "lanes" for panel in panels):
        return 8.0, 1.95 * lines + 0.5
    return (6.2 if columns == 1 else 3.9 * columns), 3.1 * lines + 0.4


def share_scales(panels, axes):
    """Timelines that are compared ("scale": a common word) get the same axis."""
    words = {panel["scale"] for panel in panels if "scale" in panel}
    for word in words:
        same = [axis for panel, axis in zip(panels, axes) if panel.get("scale") == word]
        most = max(axis.get_xlim()[1] for axis in same)
        for axis in same:
            axis.set_xlim(0, most)


def draw(experiments, rows, files):
    told = experiments.figure.told
    panels = told["panels"]
    stacked = all(panel["kind"] == "lanes" for panel in panels)
    columns = 1 if stacked else min(3, len(panels))
    lines = -(-len(panels) // columns)
    with plt.rc_context(style.RC):
        size = size_of(panels, columns, lines)
        figure, grid = plt.subplots(lines, columns, figsize=size, squeeze=False)
        flat = list(grid.flat)
        for axes, panel in zip(flat, panels):
            KINDS[panel["kind"]].draw(axes, panel, experiments, rows)
            axes.set_title(panel["title"])
        share_scales(panels, flat)
        for axes in flat[len(panels):]:
            axes.set_visible(False)
        title = f"{told['title']} ({told['source']})"
        title = textwrap.fill(title, int(14 * size[0]))
        figure.suptitle(title, fontsize=10, y=1 - 0.07 / size[1])
        figure.tight_layout()
        figure.savefig(files["picture"])
        figure.savefig(files["svg"], metadata={"Date": None})
        plt.close(figure)
