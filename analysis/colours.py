"""One colour for one meaning, on every page and in every figure.

No colour stands alone: each has a hatch, and every mark in it has a label or a legend.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Colour:
    light: str  # on white; at least 3:1 against it
    dark: str  # on DARK_PAPER; at least 3:1 against it
    hatch: str = ""  # in matplotlib's words: / \\ - | x . and nothing for a plain area


PAPER, DARK_PAPER = "#ffffff", "#14181f"  # what marks and text stand on
INK, SOFT_INK = Colour("#1c2430", "#e6eaf0"), Colour("#566070", "#a3aebc")  # text; at least 4.5:1

# The parts of an epoch, by their key in a result.
PARTS = {
    "compute": Colour("#2f6db5", "#6aa5ea"),
    "internal": Colour("#a67500", "#e3b341", "/"),
    "external": Colour("#c2311e", "#f0796a", "x"),
    "synchronise": Colour("#7d4fa8", "#bb98df", "."),
    "sample": Colour("#2c7d4f", "#6cc28f", "-"),
    "load": Colour("#8a5a44", "#c99a83", "|"),
    "other": Colour("#737d8a", "#8590a0", "\\"),  # waiting
    "hidden": Colour("#a67500", "#e3b341", "/"),  # communication beside computation
}

# Computation by kind of operation, of which PARTS["compute"] is the whole.
SPARSE = Colour("#1d4480", "#8fbdf5")
DENSE = Colour("#0d857a", "#41bfb1", "-")
OTHER_COMPUTATION = Colour("#5f86b3", "#4f79ab", "|")
COMPUTATION = {"spmm": SPARSE, "gemm": DENSE}  # other kinds: OTHER_COMPUTATION

MEMORY = Colour("#5b5f97", "#9a9fdc")
LINK = Colour("#5a6b7b", "#8fa3b5")
FULL_LINK = Colour("#5a6b7b", "#8fa3b5", "x")

# Lines and bars that stand for runs; the legend of their chart explains them.
SERIES = [
    Colour("#2f6db5", "#6aa5ea"),
    Colour("#c2311e", "#f0796a", "/"),
    Colour("#0d857a", "#41bfb1", "-"),
    Colour("#7d4fa8", "#bb98df", "."),
    Colour("#a67500", "#e3b341", "x"),
    Colour("#566070", "#a3aebc", "\\"),
    Colour("#8a5a44", "#c99a83", "|"),
    Colour("#1c2430", "#e6eaf0", "+"),
]

# A paper's numbers beside ours.
OF_PAPER = Colour("#767f8a", "#8f99a6")
OURS = Colour("#2f6db5", "#6aa5ea")
FITTED = Colour("#2f6db5", "#6aa5ea", "//")  # ours, if it uses a number of this very paper


# Dashes of lines for each hatch: lengths of ink and gap.
DASHES = {"/": (8, 4), "\\": (3, 3), "x": (10, 3, 2, 3), "-": (14, 5), "|": (5, 5), "+": (2, 5), ".": (1, 4)}


def fill(colour):
    """Keywords of matplotlib for an area in this Colour, hatched."""
    return {"color": colour.light, "hatch": 2 * colour.hatch, "edgecolor": PAPER, "linewidth": 0}


def line(i):
    """Keywords of matplotlib for the i-th line of a picture."""
    colour = SERIES[i % len(SERIES)]
    return {"color": colour.light, "linestyle": (0, DASHES[colour.hatch]) if colour.hatch else "-"}


def part(key):
    """The colour of a part of an epoch; an unknown part has the colour of waiting."""
    return PARTS.get(key, PARTS["other"])


def computation(kind):
    """The colour of a computing operation of this kind."""
    return COMPUTATION.get(kind, OTHER_COMPUTATION)


def luminance(colour):
    """Relative luminance of "#rrggbb". Source: WCAG 2.2, "relative luminance"."""
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast ratio of two colours, 1 to 21. Source: WCAG 2.2, "contrast ratio"."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
