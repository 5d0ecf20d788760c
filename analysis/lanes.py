"""The timeline of one epoch, drawn: a row per rank and lane."""

import svg
import units
from charts import LEFT, RIGHT, WIDTH

LANE = 16
KINDS = {"spmm": "k-spmm", "gemm": "k-gemm"}  # computation that has a colour of its own
COMPUTATION = [("k-spmm", "sparse products"), ("k-gemm", "dense products"),
               ("k-other", "other computation")]


def legend(parts):
    return COMPUTATION + [(part.css, part.title) for part in parts if part.communication]


def merged(spans, width_seconds, parts):
    """Neighbours of one colour with gaps and lengths below what can be seen become one mark:
    (begin, end, class, spans)."""
    communication = {part.key: part.css for part in parts if part.communication}
    marks = []
    for span in spans:
        cls = communication.get(span.charge) or KINDS.get(span.kind, "k-other")
        last = marks[-1] if marks else None
        if (last and last[2] == cls and span.begin - last[1] < width_seconds
                and span.end - span.begin < 4 * width_seconds):
            marks[-1] = (last[0], max(last[1], span.end), cls, last[3] + [span])
        else:
            marks.append((span.begin, span.end, cls, [span]))
    return marks


def _hint(rank, lane, spans, origin):
    first = spans[0]
    if len(spans) > 1:
        kinds = ", ".join(sorted({span.kind for span in spans}))
        return f"rank {rank} {lane}: {len(spans)} operations ({kinds})"
    where = first.stage + (f" layer {first.layer}" if first.layer >= 0 else "")
    text = f"rank {rank} {lane}: {first.kind}, {where}, {units.seconds(first.seconds)}"
    text += f" from {units.seconds(first.begin - origin)}"
    return text + (f", {units.bytes_(first.bytes)}" if first.bytes else "")


def timeline(ranks, parts, label):
    """Lanes of these ranks over one epoch, in the colours of its parts. Each rank's clock
    starts with its first operation where ranks are real; the ranks share one origin, the
    earliest."""
    origin, end = min(r.begin for r in ranks), max(r.end for r in ranks)
    scale = (WIDTH - LEFT - RIGHT) / max(end - origin, 1e-12)
    axis, rows, y = [], [], 4
    for r in ranks:
        top = y
        for lane in sorted({span.lane for span in r.spans}):
            name = r.lanes.get(lane, str(lane))
            rows.append(svg.text(LEFT - 8, y + 11, name, "lane", "end"))
            spans = [span for span in r.spans if span.lane == lane]
            for begin, until, cls, group in merged(spans, 0.5 / scale, parts):
                rows.append(svg.rect(LEFT + (begin - origin) * scale, y,
                                     max((until - begin) * scale, 0.4), LANE - 3, cls,
                                     _hint(r.rank, name, group, origin)))
            y += LANE
        rows.append(svg.text(4, top + 11, f"rank {r.rank}", "name"))
        y += 6
    for at in svg.nice_steps(end - origin, 8):
        x = LEFT + at * scale
        axis.append(svg.line(x, 0, x, y))
        axis.append(svg.text(x, y + 14, units.seconds(at), "axis", "middle"))
    return svg.picture(WIDTH, y + 22, axis + rows, label)
