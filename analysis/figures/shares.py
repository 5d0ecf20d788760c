"""How an epoch divides, a stacked bar per run.

Panel keys: title, x_name; bars: [{"of", "at"?, "title", "rows"? [a label for each group]}]; and
either groups: [{"title", "kinds": [...]}] (busy seconds of computation by operation; what is left
is "waiting and the rest"), or parts: true (exposed parts of the breakdown). A range that the paper
gives for a group stands beside the bar, from the group's foot.
"""

import colours
import epoch_parts
from figures import style


def _shares(run, panel):
    """(title, Colour, share of the epoch) of the run."""
    epoch = run.result["epoch_seconds"]
    if panel.get("parts"):
        seconds = run.result["breakdown"]
        return [(part.title, colours.part(part.key), seconds[part.key] / epoch)
                for part in epoch_parts.exposed(run.result)]
    kinds = run.result["compute_by_kind"]
    shares = [(g["title"], _colour_of(g, panel), sum(kinds.get(k, 0) for k in g["kinds"]) / epoch)
              for g in panel["groups"]]
    rest = max(0.0, 1 - sum(share for *_, share in shares))
    return shares + [("waiting and the rest", colours.part("other"), rest)]


def _colour_of(group, panel):
    """The colour of its kind of operation, if that has one; otherwise the next colour of series."""
    if group["kinds"][0] in colours.COMPUTATION:
        return colours.computation(group["kinds"][0])
    others = [g for g in panel["groups"] if g["kinds"][0] not in colours.COMPUTATION]
    return colours.SERIES[3 + others.index(group)]


def draw(axes, panel, experiments, rows):
    papers = {row["label"]: row["paper"] for row in rows}
    told, spans = set(), False
    for x, bar in enumerate(panel["bars"]):
        run = experiments.pick(bar["of"], bar.get("at", {}))
        if run.out_of_memory:
            style.say_instead_of_bar(axes, x, "out of memory")
            continue
        bottom, labels = 0.0, iter(bar.get("rows", []))
        for title, colour, share in _shares(run, panel):
            paper = papers.get(next(labels, None))
            if isinstance(paper, list):
                beside = x + 0.39 + 0.07 * (bottom > 0)
                style.mark_paper(axes, beside, [bottom + end for end in paper], colour.light)
                spans = True
            if share <= 0.0005:
                continue
            axes.bar(x, 100 * share, 0.7, bottom=bottom, label=None if title in told else title,
                     **colours.fill(colour))
            told.add(title)
            bottom += 100 * share
    style.name_ticks(axes, [bar["title"] for bar in panel["bars"]])
    axes.set_xlabel(panel["x_name"])
    axes.set_ylabel("share of the epoch in %")
    axes.set_ylim(0, 112 if spans else 103)
    handle = style.paper_handle("the paper's range for a\npart, from its foot", span=True)
    style.legend(axes, handle if spans else None, **style.outside(axes))
