#!/usr/bin/env python3
"""Draws docs/predicted.svg from the table of validated runs in docs/validation.md: simulated over measured epoch times.

  docs/predicted.py           writes the picture
  docs/predicted.py --check   is the picture of that table?"""

import re
import sys
from pathlib import Path
from zlib import crc32

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "analysis"))

ROW = re.compile(r"^\| (?P<name>[^\s|]+) (?P<rest>[^|]*)\| (?P<real>[\d.]+ m?s) \| (?P<simulated>[\d.]+ m?s)[^|]*\|")
KINDS = (("threads and processes, a core for each rank", lambda name: not ("4-strategies" in name or "netcluster" in name)),
         ("two servers with shaped links", lambda name: "netcluster" in name),
         ("four ranks on two cores", lambda name: "4-strategies" in name))


def runs():
    """(name, measured, simulated) of each row, in ms."""
    text = (DOCS / "validation.md").read_text()
    return [(row["name"], milliseconds(row["real"]), milliseconds(row["simulated"]))
            for row in map(ROW.match, text.splitlines()) if row]


def milliseconds(shown):
    number, unit = shown.split()
    return float(number) * (1 if unit == "ms" else 1000)


def mark(found):
    """The summary of the rows in the picture."""
    return f"{len(found)} runs, {crc32(repr(found).encode()):08x}"


def draw(found):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    from colours import INK, PARTS
    matplotlib.rcParams.update({"svg.hashsalt": "orrery", "svg.fonttype": "none", "font.size": 10,
                                "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"]})
    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    for (label, belongs), part, shape in zip(KINDS, ("compute", "external", "internal"), "os^"):
        points = [(real, 100 * (simulated / real - 1)) for name, real, simulated in found if belongs(name)]
        axes.scatter(*zip(*points), label=f"{label} ({len(points)})", color=PARTS[part].light, marker=shape, s=28)
    axes.axhline(0, color=INK.light, linewidth=1)
    axes.axhspan(-10, 10, color="#000000", alpha=0.07, linewidth=0)
    axes.set(xscale="log", xlabel="measured epoch, ms", ylabel="error of the simulation, %", ylim=(-55, 80),
             title="Simulated against measured epochs; the grey band is 10 %")
    axes.legend(loc="upper right", frameon=False)
    figure.savefig(DOCS / "predicted.svg", metadata={"Date": None, "Description": mark(found)})


def main():
    found = runs()
    if sys.argv[1:] == ["--check"]:
        if mark(found) in (DOCS / "predicted.svg").read_text():
            return 0
        print("docs/predicted.svg is not of the table in docs/validation.md: run python3 docs/predicted.py", file=sys.stderr)
        return 1
    draw(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
