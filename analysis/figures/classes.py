"""What the epochs of a validation consist of: for each experiment the real one above the simulated one, as stacked
horizontal bars in percent of the real epoch.

Panel keys: title, of (a run that validates), height? (inches of all panels). An inference has no classes of operations
and no bars.
"""

import colours
import setting_words
from figures import style

CLASSES = {"spmm": ("sparse products", colours.computation("spmm")),
           "gemm": ("dense products", colours.computation("gemm")),
           "other compute": ("other kernels", colours.OTHER_COMPUTATION),
           "communication": ("communication", colours.part("internal")),
           "other": ("waiting and the rest", colours.part("other"))}
HEIGHT = 0.36  # of a bar; experiments are 1 apart


def name_of(row):
    """The file, and below it what its sweep sets."""
    words = setting_words.short(setting_words.pairs(row["label"]))
    return f"{row['file']}\n{words}" if words else row["file"]


def bars(row):
    """{"real" or "simulated": [(class, begin, length)]} in percent of the real epoch."""
    stacks = {}
    for which in ("real", "simulated"):
        begin, stacks[which] = 0.0, []
        for name in CLASSES:
            length = 100 * row["classes"][name][f"{which}_seconds"] / row["real_seconds"]
            stacks[which].append((name, begin, length))
            begin += length
    return stacks


def draw(axes, panel, experiments, rows):
    found = [run.result for run in experiments.results[panel["of"]] if run.result.get("classes")]
    for y, row in enumerate(found):
        for offset, stack in zip((-0.5, 0.5), bars(row).values()):
            for name, begin, length in stack:
                title, colour = CLASSES[name]
                axes.barh(y + offset * HEIGHT, length, HEIGHT, left=begin,
                          label=title if y == 0 and offset < 0 else None, **colours.fill(colour))
        axes.axhline(y - 0.5, color="white", linewidth=1.5)
    axes.axvline(100, color=style.INK, linewidth=0.8)
    axes.set_yticks(range(len(found)), [name_of(row) for row in found], fontsize=style.TINY)
    axes.set_ylim(len(found) - 0.45, -0.55)
    axes.set_xlabel("of the real epoch, in %")
    style.legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
