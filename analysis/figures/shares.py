"""How an epoch divides, a stacked bar per run.

Panel keys: title; bars: [{"of", "at"?, "title"}]; and either groups: [{"title", "kinds": [...]}]
(busy seconds of computation by operation; what is left is "waiting and the rest"), or parts: true
(exposed parts of the breakdown).
"""

import epoch_parts
from figures import style


def _shares(run, panel):
    """(title, share of the epoch) of the run."""
    epoch = run.result["epoch_seconds"]
    if panel.get("parts"):
        seconds = run.result["breakdown"]
        return [(part.key, seconds[part.key] / epoch) for part in epoch_parts.exposed(run.result)]
    kinds = run.result["compute_by_kind"]
    shares = [
        (g["title"], sum(kinds.get(k, 0) for k in g["kinds"]) / epoch) for g in panel["groups"]
    ]
    return shares + [("waiting and the rest", max(0.0, 1 - sum(share for _, share in shares)))]


def draw(axes, panel, experiments, rows):
    told = set()
    for x, bar in enumerate(panel["bars"]):
        run = experiments.pick(bar["of"], bar.get("at", {}))
        if run.out_of_memory:
            style.say_instead_of_bar(axes, x, "out of memory")
            continue
        bottom = 0.0
        for i, (title, share) in enumerate(_shares(run, panel)):
            if share <= 0:
                continue
            axes.bar(x, 100 * share, 0.7, bottom=bottom, color=style.SHARES[i % len(style.SHARES)],
                     label=None if title in told else title)
            told.add(title)
            bottom += 100 * share
    axes.set_xticks(range(len(panel["bars"])), [bar["title"] for bar in panel["bars"]])
    axes.set_ylabel("% of the epoch")
    axes.set_ylim(0, 100)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)
