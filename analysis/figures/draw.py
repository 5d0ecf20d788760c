"""The picture of a figure: its panels side by side, as PNG, SVG and PDF.

The title and the origin of the numbers stand above them, the paper's statement below.
"""

import io
import os
import textwrap
from pathlib import Path

import whole_file
from figures import config_folder

if "MPLCONFIGDIR" not in os.environ:
    os.environ["MPLCONFIGDIR"] = config_folder.own()

import matplotlib  # noqa: E402  (reads MPLCONFIGDIR)

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from figures import agreement, cells, classes, curves, lanes, learning, pairs, provenance  # noqa: E402
from figures import regions, scatter, shares, spread, stacks, style  # noqa: E402

KINDS = {"agreement": agreement, "cells": cells, "classes": classes, "curves": curves, "lanes": lanes,
         "learning": learning, "pairs": pairs, "regions": regions, "scatter": scatter, "shares": shares,
         "spread": spread, "stacks": stacks}
FONT_SIZE = 8.0
PANEL_WIDTH, LEAST_PANEL_WIDTH = 3.9, 3.0  # inches


def grid_of(panels, width):
    """(width, panels in a row, rows, height of a row) in inches; `width` None: as panels need. A panel may ask for a
    "height" of its own."""
    stacked = all(panel["kind"] == "lanes" for panel in panels)
    columns = 1 if stacked else 2 if len(panels) == 4 else min(3, len(panels))
    if width is None:
        width = 8.0 if stacked else max(6.2, PANEL_WIDTH * columns)
    else:
        columns = max(1, min(columns, int(width / LEAST_PANEL_WIDTH)))
    lines = -(-len(panels) // columns)
    height = 1.95 if stacked else 3.1 if columns > 1 or width > 5 else 2.5
    return width, columns, lines, max([height, *(panel.get("height", 0) for panel in panels)])


def share_scales(panels, axes):
    """Timelines that are compared ("scale": a common word) get the same axis."""
    words = {panel["scale"] for panel in panels if "scale" in panel}
    for word in words:
        same = [axis for panel, axis in zip(panels, axes) if panel.get("scale") == word]
        most = max(axis.get_xlim()[1] for axis in same)
        for axis in same:
            axis.set_xlim(0, most)


def _wrapped(text, width, font_size):
    letters = max(20, int((width - 0.3) * 72 / (0.52 * font_size)))
    return "\n".join(textwrap.fill(line, letters) for line in text.split("\n"))


def draw(experiments, rows, files, width=None, font_size=FONT_SIZE):
    """Writes files["picture"], ["svg"] and ["pdf"], `width` inches wide with text of `font_size`
    points."""
    told = experiments.figure.told
    panels = told["panels"]
    width, columns, lines, panel_height = grid_of(panels, width)
    # Size in points and words of what stands above the panels; then what stands below them.
    above = [(1.25 * font_size, f"{told['title']} ({told['source']})"),
             (font_size, provenance.sentence(experiments, rows))]
    above = [(size, _wrapped(text, width, size)) for size, text in above]
    below = _wrapped(experiments.figure.says(), width, font_size)
    inches = lambda size, text: 1.3 * size * (text.count("\n") + 1) / 72
    head = sum(inches(*line) for line in above) + 0.15
    foot = inches(font_size, below) + 0.12
    height = head + foot + panel_height * lines
    style.forget_series()
    with plt.rc_context(style.rc(font_size)):
        figure, grid = plt.subplots(lines, columns, figsize=(width, height), squeeze=False,
                                    layout="constrained")
        room = (0.0, foot / height, 1.0, 1 - (head + foot) / height)  # left, bottom, width, height
        figure.get_layout_engine().set(rect=room, hspace=0.06, wspace=0.04)
        flat = list(grid.flat)
        for axes, panel in zip(flat, panels):
            KINDS[panel["kind"]].draw(axes, panel, experiments, rows)
            with_legend = panel["kind"] == "lanes" and panel.get("legend", True)
            axes.set_title(_wrapped(panel["title"], width / columns, 1.2 * font_size),
                           pad=1.8 * font_size if with_legend else None)
        share_scales(panels, flat)
        for axes in flat[len(panels):]:
            axes.set_visible(False)
        top = height - 0.07
        for size, text in above:
            figure.text(0.5, top / height, text, fontsize=size, ha="center", va="top",
                        color=style.INK if size > font_size else style.SOFT_INK)
            top -= inches(size, text)
        figure.text(0.15 / width, 0.06 / height, below, ha="left", va="bottom",
                    fontsize=font_size, color=style.SOFT_INK, style="italic")
        style.put_below(figure)
        _save(figure, files["picture"])
        _save(figure, files["svg"], {"Date": None})
        _save(figure, files["pdf"], {"CreationDate": None})
        plt.close(figure)


def _save(figure, file, metadata=None):
    """Writes the whole picture or nothing."""
    file, picture = Path(file), io.BytesIO()
    figure.savefig(picture, format=file.suffix[1:], metadata=metadata)
    whole_file.write_bytes(file, picture.getvalue())
