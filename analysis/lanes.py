"""The lanes and the memory of each rank over one epoch."""

import charts
import epoch_parts
import limits
import page
import svg
import timeline_file
import units

LANE = 16  # pixels
MOST_RANKS = 8  # of a timeline; if there are more, the first ones and the slowest are shown
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


def epochs_of(ranks, aligned):
    """{rank: (begin, end)} of the epoch. Ranks with one clock share it; the clock of a real rank starts when
    the rank does, so that only times since its own beginning mean something."""
    if not aligned:
        return {r.rank: (r.begin, r.end) for r in ranks}
    return dict.fromkeys((r.rank for r in ranks), (min(r.begin for r in ranks), max(r.end for r in ranks)))


def timeline(ranks, parts, label, aligned=True):
    """(drawing, classes that occur) of these ranks over one epoch, in the colours of its parts."""
    epochs = epochs_of(ranks, aligned)
    longest = max(end - begin for begin, end in epochs.values())
    whole = max(longest, 1e-12)
    ticks = svg.nice_steps(longest, 5)
    drawn, classes = [], set()
    for r in ranks:
        origin = epochs[r.rank][0]
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


def busy_table(ranks, took=None):
    """The numbers of a timeline. took: the seconds of the epoch, or None for those between its first
    operation and its last, where ranks have one clock."""
    epoch, rows = took or max(r.end for r in ranks) - min(r.begin for r in ranks), []
    for r in ranks:
        for name, spans in _by_lane(r):
            busy = sum(span.seconds for span in spans)
            rows.append([f"rank {r.rank}, {name}", str(len(spans)), units.seconds(busy),
                         units.percent(busy / epoch) if epoch else "-"])
    return charts.numbers("operations and busy time of each lane",
                          ["rank and lane", "operations", "busy", "of the epoch"], rows)


def first_and(ranks, chosen, words, most):
    """The first ranks and a chosen one, and what a caption says of those that are left out."""
    if len(ranks) <= most:
        return ranks, ""
    first = [rank for rank in ranks if rank != chosen][:most - 1]
    note = f" The first {most - 1} of {len(ranks)} ranks and {words}, rank {chosen}."
    return sorted([*first, chosen]), note


def shown_ranks(run, ranks, most=MOST_RANKS):
    """The first ranks and the slowest one, and whether some are left out."""
    totals = [
        sum(seconds.get(part.key, 0) for part in epoch_parts.exposed(run.result))
        for seconds in run.result.get("breakdown_of_rank") or []
    ]
    slowest = totals.index(max(totals)) if len(totals) == len(ranks) else ranks[-1]
    return first_and(ranks, slowest if slowest in ranks else ranks[-1], "the slowest one", most)


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
    aligned = run.simulated or run.result["ranks"] == 1
    if not aligned:
        caption += (" The clocks of ranks are not aligned: each rank is drawn from its own first "
                    "operation, and which of two began first is not known.")
        took = took or max(r.end - r.begin for r in read)
    exposed = epoch_parts.exposed(run.result)
    drawn, classes = timeline(read, exposed, f"operations of each rank and lane over epoch {epoch}", aligned)
    advice = page.paragraph("timeline.json in the result folder has every operation; open it in "
                            "Perfetto (ui.perfetto.dev).")
    out = [page.section("Timeline", page.figure(caption, legend(classes, exposed), drawn,
                                                busy_table(read, None if aligned else took)), advice)]
    if memory := [t for t in read if t.memory]:
        out.append(memory_over_time(run, memory, aligned))
    return out


def _windows(timelines, aligned):
    """{rank: (begin, end)} of the drawing: the epoch, if memory changes in it; else all up to its end,
    because tensors that are allocated once are allocated before the first epoch."""
    epochs = epochs_of(timelines, aligned)
    changes = any(epochs[t.rank][0] < at <= epochs[t.rank][1] for t in timelines for at, _ in t.memory)
    return {rank: (begin if changes else 0.0, end) for rank, (begin, end) in epochs.items()}


def _within(one, begin, end):
    """(seconds since `begin`, bytes), from the value that holds at the beginning."""
    before = [size for at, size in one.memory if at <= begin]
    inside = [(at - begin, size) for at, size in one.memory if begin < at <= end]
    return [(0.0, before[-1] if before else 0)] + inside


def memory_over_time(run, timelines, aligned=True):
    windows = _windows(timelines, aligned)
    longest = max(end - begin for begin, end in windows.values())
    held = {t.rank: _within(t, *windows[t.rank]) for t in timelines}
    peak = lambda rank: max(size for _, size in held[rank])
    most, least = max(held, key=peak), min(held, key=peak)
    shown = [most] if peak(most) == peak(least) else [most, least]
    of_epoch = any(begin for begin, _ in windows.values())
    since, when = (("the epoch began", "during the epoch above") if of_epoch else
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
    lines = [(mark, charts.thinned(charts.steps(held[rank], windows[rank][1] - windows[rank][0]), 2000))
             for mark, rank in zip(marks, shown)]
    drawn = charts.plot(lines, "device memory over time",
                        (f"time since {since}", units.seconds, units.bytes_),
                        (0, longest), (0, 1.05 * top), references)
    rows = [[f"rank {rank}", units.bytes_(line[0][1]), units.bytes_(peak(rank)),
             units.bytes_(line[-1][1])] for rank, line in held.items()]
    return page.section("Memory over time", page.figure(
        caption, charts.legend([(f"line {m}", f"rank {r}") for m, r in zip(marks, shown)]), drawn,
        charts.numbers("device memory over that time", ["rank", "at its start", "most", "at its end"],
                       rows)))
