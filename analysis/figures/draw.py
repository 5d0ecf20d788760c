"""The picture of a figure: its panels side by side, as PNG and SVG."""

import os
import tempfile

os.environ.setdefault("MPLCONFIGDIR", tempfile.mkdtemp(prefix="orrery-matplotlib-"))

import matplotlib  # noqa: E402  (reads MPLCONFIGDIR)

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from figures import cells, curves, lanes, shares, style  # noqa: E402

KINDS = {"cells": cells, "curves": curves, "lanes": lanes, "shares": shares}


def draw(experiments, rows, files):
    told = experiments.figure.told
    panels = told["panels"]
    stacked = all(panel["kind"] == "lanes" for panel in panels)
    columns = 1 if stacked else min(3, len(panels))
    lines = -(-len(panels) // columns)
    with plt.rc_context(style.RC):
        size = (8.0, 2.1 * lines) if stacked else (3.9 * columns, 3.1 * lines)
        figure, grid = plt.subplots(lines, columns, figsize=size, squeeze=False)
        flat = list(grid.flat)
        for axes, panel in zip(flat, panels):
            KINDS[panel["kind"]].draw(axes, panel, experiments, rows)
            axes.set_title(panel["title"])
        for axes in flat[len(panels):]:
            axes.set_visible(False)
        figure.suptitle(f"{told['title']} ({told['source']})", fontsize=10)
        figure.tight_layout()
        figure.savefig(files["picture"])
        figure.savefig(files["svg"], metadata={"Date": None})
        plt.close(figure)
