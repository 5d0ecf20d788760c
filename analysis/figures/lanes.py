"""One distributed product on every GPU: computation blue, communication yellow, stages numbered.

Panel keys: title, of, at, stage, layer; scale? (panels with the same word have the same axis).
"""

import measures
from figures import style


def _bars(axes, y, spans, origin, colour):
    for i, span in enumerate(spans):
        begin, length = 1e3 * (span.begin - origin), 1e3 * span.seconds
        axes.broken_barh([(begin, length)], (y, 0.38), facecolors=colour, edgecolors="white",
                         linewidth=0.4)
        axes.text(begin + length / 2, y + 0.17, str(i), ha="center", va="center", fontsize=6,
                  color="white", clip_on=True)


def draw(axes, panel, experiments, rows):
    run = experiments.pick(panel["of"], panel.get("at", {}))
    timelines = measures.product_spans(run, panel["stage"], panel["layer"])
    origin = min(t.begin for t in timelines)
    for t in timelines:
        y = -t.rank
        _bars(axes, y + 0.05, [s for s in t.spans if s.charge == "compute"], origin, style.COMPUTE)
        _bars(axes, y - 0.35, [s for s in t.spans if s.charge != "compute"], origin,
              style.COMMUNICATION)
    end = 1e3 * (max(t.end for t in timelines) - origin)
    axes.axvline(end, color="#5b6675", linewidth=0.6)
    axes.text(end, 0.6, f"{end:.1f} ms", fontsize=7, ha="right")
    axes.set_yticks([-t.rank for t in timelines], [f"GPU {t.rank}" for t in timelines])
    axes.set_xlabel("ms")
    axes.set_xlim(0, end * 1.02)
