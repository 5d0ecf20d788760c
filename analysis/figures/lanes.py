"""One distributed product on every GPU: computation above, communication below, stages numbered.

Panel keys: title, of, at, stage, layer; scale? (panels with the same word have the same axis);
paper? (a row whose paper's milliseconds are marked); legend? (false: another panel has it).
"""

import colours
import measures
from figures import style

COMPUTE = colours.computation("spmm")


def _bars(axes, y, spans, origin, colour, label):
    for i, span in enumerate(spans):
        begin, length = 1e3 * (span.begin - origin), 1e3 * span.seconds
        axes.broken_barh([(begin, length)], (y, 0.4), facecolors=colour.light, hatch=colour.hatch,
                         edgecolors="white", linewidth=0.4, label=None if i else label)
        axes.text(begin + length / 2, y + 0.19, str(i), ha="center", va="center",
                  fontsize=style.TINY, color="white", clip_on=True,
                  bbox={"facecolor": colour.light, "edgecolor": "none", "pad": 0.4})


def communication_of(spans):
    """The words and the Colour of the part of the epoch that these spans belong to."""
    charges = {span.charge for span in spans}
    between = "external" in charges
    words = "communication between servers" if between else "communication inside the server"
    return words, colours.part("external" if between else "internal")


def draw(axes, panel, experiments, rows):
    run = experiments.pick(panel["of"], panel.get("at", {}))
    timelines = measures.product_spans(run, panel["stage"], panel["layer"])
    origin = min(t.begin for t in timelines)
    for place, t in enumerate(timelines):
        y = -t.rank
        apart = [s for s in t.spans if s.charge != "compute"]
        words, colour = communication_of(apart)
        _bars(axes, y + 0.02, [s for s in t.spans if s.charge == "compute"], origin, COMPUTE,
              None if place else "sparse product (SpMM)")
        _bars(axes, y - 0.42, apart, origin, colour, None if place else words)
    ends = [(1e3 * (max(t.end for t in timelines) - origin), "ours", style.OURS.light, "-")]
    if "paper" in panel:
        paper = next(row["paper"] for row in rows if row["label"] == panel["paper"])
        ends.append((paper, "the paper", style.INK, "--"))
    ends.sort()
    near = len(ends) == 2 and ends[1][0] - ends[0][0] < 0.25 * ends[1][0]
    for place, (end, whose, colour, dashes) in enumerate(ends):
        axes.axvline(end, color=colour, linewidth=0.9, linestyle=dashes)
        to_the_left = near and place == 0
        axes.annotate(f"{whose}: {end:.1f} ms", (end, 1), xycoords=("data", "axes fraction"),
                      xytext=(-2 if to_the_left else 2, -1), textcoords="offset points",
                      va="top", ha="right" if to_the_left else "left", fontsize=style.TINY,
                      color=colour)
    axes.set_yticks([-t.rank for t in timelines], [f"GPU {t.rank}" for t in timelines])
    axes.set_ylim(-timelines[-1].rank - 0.55, 0.95)
    axes.set_xlabel("time in ms (in the bars: stages of the product)")
    axes.set_xlim(0, 1.18 * max(end for end, *_ in ends))
    if panel.get("legend", True):
        style.legend(axes, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.1,
                     columnspacing=1.0, handlelength=1.2)
