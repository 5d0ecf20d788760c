"""Colours and words that all panels share."""

PAPER = "#9aa3ad"
OURS = "#2f6db5"
FITTED = "#9cc0e8"
COMPUTE = "#2f6db5"
COMMUNICATION = "#e0a52e"
SERIES = ["#2f6db5", "#d1495b", "#2a9d8f", "#8a5fb0", "#e0a52e", "#5b6675", "#111111"]
SHARES = ["#2f6db5", "#2a9d8f", "#e0a52e", "#d1495b", "#8a5fb0", "#8fb3d9", "#c3cad3"]

RC = {"font.size": 8, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False,
      "axes.edgecolor": "#5b6675", "legend.frameon": False, "savefig.dpi": 160,
      "svg.fonttype": "none", "svg.hashsalt": "orrery"}

_given = {}


def series_colour(title):
    """The same for a title in every panel of a figure."""
    return SERIES[_given.setdefault(title, len(_given)) % len(SERIES)]


def name_ticks(axes, names):
    """A name under each of 0, 1, 2, ...; slanted where they would touch."""
    slant = {"rotation": 30, "ha": "right"} if sum(map(len, names)) > 34 else {}
    axes.set_xticks(range(len(names)), names, **slant)


def say_instead_of_bar(axes, x, words):
    """Upright, from the bottom of the picture."""
    axes.text(x, 0.02, words, transform=axes.get_xaxis_transform(), rotation=90, ha="center",
              va="bottom", fontsize=6.5, color="#5b6675")


def logarithmic_height(axes):
    """With room for the legend above the bars."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.25)
