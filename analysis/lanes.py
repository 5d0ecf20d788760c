"""The lanes and the memory of each rank over one epoch."""

import charts
import epoch_parts
import limits
import page
import svg
import timeline_file
import units

LANE = 16  # pixels
MOST_RANKS = 8  # if there are more, the first ones and the slowest are shown
FINEST = 1 / 1600  # of the epoch: shorter marks cannot be told apart
KINDS = {"spmm": "sparse", "gemm": "dense"}  # computation that has a colour of its own
COMPUTATION = {"sparse": "sparse products", "dense": "dense products",
               "computing": "other computation"}
CAPACITY_IN_SIGHT = 3  # times the peak; a larger capacity would press the curve flat


def _class_of(span, parts):
    for part in parts:
        if part.key == span.charge and part.key != "compute":
            return part.css
    return KINDS.get(span.kind, "computing")


def merged(spans, finest, parts):
    """Neighbours of one colour with gaps and lengths below what can be seen (`finest`, in seconds)
    become one mark: (begin, end, class, spans)."""
    marks = []
    for span in spans:
        cls = _class_of(span, parts)
        last = marks[-1] if marks else None
        if (last and last[2] == cls and span.begin - last[1] < finest
                and span.end - span.begin < 4 * finest):
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


def _by_lane(one):
    return [(one.lanes.get(lane, str(lane)), [span for span in one.spans if span.lane == lane])
            for lane in sorted({span.lane for span in one.spans})]


def timeline(ranks, parts, label):
    """(drawing, classes that occur) of these ranks over one epoch, in the colours of its parts.
    Each rank's clock starts with its first operation where ranks are real; the ranks share one
    origin, the earliest."""
    origin, end = min(r.begin for r in ranks), max(r.end for r in ranks)
    whole = max(end - origin, 1e-12)
    ticks = svg.nice_steps(end - origin, 5)
    drawn, classes = [], set()
    for r in ranks:
        drawn.append(f'<div class="rank">rank {r.rank}</div>')
        for name, spans in _by_lane(r):
            marks = charts.grid(ticks, whole, LANE + 2)
            for begin, until, cls, group in merged(spans, FINEST * whole, parts):
                classes.add(cls)
                width = max((until - begin) / whole, FINEST)
                marks.append(svg.across((begin - origin) / whole, width, 1, LANE, cls,
                                        _hint(r.rank, name, group, origin)))
            drawn.append(charts.row(name, charts.track(marks, LANE + 2), cls="bar lane"))
    drawn.append(charts.row("", charts.axis(ticks, whole, units.seconds), cls="bar lane"))
    return charts.described(label, "\n".join(drawn)), classes


def legend(classes, parts):
    """The legend of the classes that occur."""
    named = COMPUTATION | {part.css: part.title for part in parts if part.key != "compute"}
    return charts.legend([(cls, words) for cls, words in named.items() if cls in classes])


def busy_table(ranks):
    """The numbers of a timeline."""
    epoch = max(r.end for r in ranks) - min(r.begin for r in ranks)
    rows = []
    for r in ranks:
        for name, spans in _by_lane(r):
            busy = sum(span.seconds for span in spans)
            rows.append([f"rank {r.rank}, {name}", str(len(spans)), units.seconds(busy),
                         units.percent(busy / epoch) if epoch else "-"])
    return charts.numbers("operations and busy time of each lane",
                          ["rank and lane", "operations", "busy", "of the epoch"], rows)


def shown_ranks(run, ranks):
    """The first ranks and the slowest one, and whether some are left out."""
    if len(ranks) <= MOST_RANKS:
        return ranks, ""
    totals = [
        sum(seconds.get(part.key, 0) for part in epoch_parts.exposed(run.result))
        for seconds in run.result.get("breakdown_of_rank") or []
    ]
    slowest = totals.index(max(totals)) if len(totals) == len(ranks) else ranks[-1]
    if slowest not in ranks:
        slowest = ranks[-1]
    first = [r for r in ranks if r != slowest][: MOST_RANKS - 1]
    return sorted(first + [slowest]), (
        f" The first {MOST_RANKS - 1} of {len(ranks)} ranks and the slowest one, rank {slowest}."
    )


def typical(run, kept):
    """The kept epoch whose seconds are closest to the median, and these seconds (None: not known)."""
    seconds = {e["epoch"]: e["seconds"] for e in run.epochs
               if e["epoch"] in kept and e.get("seconds") is not None}
    median = run.result.get("epoch_seconds")
    if not seconds or median is None:
        return kept[-1], None
    chosen = min(seconds, key=lambda epoch: abs(seconds[epoch] - median))
    return chosen, seconds[chosen]


def sections(run):
    """The timeline of one kept epoch, and memory over it."""
    kept, ranks = timeline_file.extent(run.timeline) if run.timeline else ([], [])
    if not kept:
        return []
    epoch, took = typical(run, kept)
    chosen, note = shown_ranks(run, ranks)
    read = timeline_file.read_epoch(run.timeline, epoch, chosen)
    if not read:
        return []
    caption = f"Epoch {epoch} (the first is 0), without its evaluation"
    if took is not None:
        median = run.result["epoch_seconds"]
        caption += f"; it took {units.seconds(took)}, the median epoch {units.seconds(median)}"
    caption += f".{note}"
    if not run.simulated and run.result["ranks"] > 1:
        caption += " The clocks of ranks are not aligned: each starts when its rank does."
    exposed = epoch_parts.exposed(run.result)
    drawn, classes = timeline(read, exposed, f"operations of each rank and lane over epoch {epoch}")
    advice = page.paragraph("timeline.json in the result folder has every operation; open it in "
                            "Perfetto (ui.perfetto.dev).")
    out = [page.section("Timeline", page.figure(caption, legend(classes, exposed), drawn,
                                                busy_table(read)), advice)]
    if memory := [t for t in read if t.memory]:
        out.append(memory_over_time(run, memory))
    return out


def _window(timelines):
    """Begin and end of the drawing: the epoch, if memory changes in it; else all up to its end, because tensors that
    are allocated once are allocated before the first epoch."""
    begin, end = min(t.begin for t in timelines), max(t.end for t in timelines)
    changes = any(begin < at <= end for t in timelines for at, _ in t.memory)
    return (begin if changes else 0.0), end


def _within(one, begin, end):
    """(seconds since `begin`, bytes), from the value that holds at the beginning."""
    before = [size for at, size in one.memory if at <= begin]
    inside = [(at - begin, size) for at, size in one.memory if begin < at <= end]
    return [(0.0, before[-1] if before else 0)] + inside


def memory_over_time(run, timelines):
    begin, end = _window(timelines)
    held = {t.rank: _within(t, begin, end) for t in timelines}
    peak = lambda rank: max(size for _, size in held[rank])
    most, least = max(held, key=peak), min(held, key=peak)
    shown = [most] if peak(most) == peak(least) else [most, least]
    since, when = (("the epoch began", "during the epoch above") if begin else
                   ("the run began", "from the start of the run to the end of the epoch above"))
    caption = f"Device memory in use {when}, of "
    if len(shown) == 2:
        caption += f"the rank with the largest peak ({most}) and the one with the smallest ({least})."
    else:
        caption += f"rank {most}" + ("; all ranks have the same peak." if len(held) > 1 else ".")
    top, references = max(peak(most), 1), []
    if capacity := limits.capacity(run.result):
        if capacity <= CAPACITY_IN_SIGHT * top:
            top = max(top, capacity)
            references = [(capacity, f"capacity {units.bytes_(capacity)}")]
        else:
            share = units.percent(peak(most) / capacity)
            caption += f" The peak is {share} of the capacity, {units.bytes_(capacity)}."
    marks = [f"series-{i}" for i in range(len(shown))]
    lines = [(mark, charts.thinned(charts.steps(held[rank], end - begin), 2000))
             for mark, rank in zip(marks, shown)]
    drawn = charts.plot(lines, "device memory over time",
                        (f"time since {since}", units.seconds, units.bytes_),
                        (0, end - begin), (0, 1.05 * top), references)
    rows = [[f"rank {rank}", units.bytes_(line[0][1]), units.bytes_(peak(rank)),
             units.bytes_(line[-1][1])] for rank, line in held.items()]
    return page.section("Memory over time", page.figure(
        caption, charts.legend([(f"line {m}", f"rank {r}") for m, r in zip(marks, shown)]), drawn,
        charts.numbers("device memory over that time", ["rank", "at its start", "most", "at its end"],
                       rows)))
