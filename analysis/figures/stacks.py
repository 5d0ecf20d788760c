"""Epochs side by side as stacked parts, a bar per run.

Panel keys: title; bars: [{"of", "at"?, "title"}]; over? {"of", "at"?}:
the run whose epoch is 1, else milliseconds; legend? (false: another panel has it).
"""

import epoch_parts
from figures import style


def seconds_of(experiments, bar):
    """[(part, seconds)]; None where the run did not fit."""
    run = experiments.pick(bar["of"], bar.get("at", {}))
    if run.out_of_memory:
        return None
    seconds = run.result["breakdown"]
    return [(part, seconds[part.key]) for part in epoch_parts.exposed(run.result)]


def draw(axes, panel, experiments, rows):
    unit = 1e-3
    if "over" in panel:
        over = experiments.pick(panel["over"]["of"], panel["over"].get("at", {}))
        unit = over.result["epoch_seconds"]
    told, heights, missing = set(), [], []
    for x, bar in enumerate(panel["bars"]):
        stack = seconds_of(experiments, bar)
        if stack is None:
            missing.append(x)
            continue
        bottom = 0.0
        for part, seconds in stack:
            height = seconds / unit
            if height <= 0.002 * (bottom + height):
                continue
            colour = style.SHARES[part.place % len(style.SHARES)]
            axes.bar(x, height, 0.7, bottom=bottom, color=colour,
                     label=None if part.key in told else part.words)
            told.add(part.key)
            bottom += height
        height = f"{bottom:.0f}" if bottom >= 100 else f"{bottom:.3g}"
        axes.annotate(height, (x, bottom), ha="center", va="bottom", fontsize=6.5)
        heights.append(bottom)
    top = max(heights, default=1.0)
    for x in missing:
        style.say_instead_of_bar(axes, x, "out of memory")
    style.name_ticks(axes, [bar["title"] for bar in panel["bars"]])
    axes.set_ylim(0, 1.15 * top)
    axes.set_xlim(-0.6, len(panel["bars"]) - 0.4)
    axes.set_ylabel("epoch, relative" if "over" in panel else "ms per epoch")
    if panel.get("legend", True) and told:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=6.5)
