"""The sections of a report about one run."""

import json
from html import escape

import charts
import epoch_parts
import lanes
import limits
import page
import trace
import units

MOST_RANKS = 8  # in the timeline; of more the first ones and the slowest are shown
MOST_BARS = 32  # ranks in the breakdown
MOST_LINKS = 16


def how_it_was_made(run):
    """"measured" or "simulated" in one plain sentence, as (word, sentence)."""
    result = run.result
    if not run.simulated:
        where = result.get("provenance", {})
        return "measured", (
            f"{result['ranks']} rank{'s' if result['ranks'] > 1 else ''} as {result['backend']} on "
            f"{where.get('cpu', 'an unnamed CPU')} with {where.get('cores', '?')} cores"
        )
    told = result.get("simulation", {})
    if result["backend"] == "model":
        return "modelled", "closed formulas of a paper; nothing ran"
    profile = f"device profile {told.get('profile', '?')} ({told.get('profile_origin', '?')})"
    text = f"replayed on {told.get('cluster', 'a described cluster')}, {profile}; nothing ran there"
    if told.get("scale"):
        text += f"; fitted factors {json.dumps(told['scale'])}"
    return "simulated", text


def header(run):
    word, sentence = how_it_was_made(run)
    cls = "how" if word == "measured" else "how simulated"
    limit = limits.limit_of(run.result)
    told = []
    if run.interrupted:
        told.append(page.warning("interrupted", f"{run.interrupted}; every number below is of those"))
    told.append(f'<p><span class="{cls}">{word}</span>{escape(sentence)}</p>')
    if limit:
        told.append(f'<p class="limit"><b>What limited this run:</b> {escape(limit.sentence)}</p>')
    return "\n".join(told)


def headline(run):
    result = run.result
    moved = result.get("bytes") or {}
    entries = [(units.seconds(result.get("epoch_seconds")), "one epoch")]
    if result.get("peak_bytes"):
        entries.append((units.bytes_(max(result["peak_bytes"])), "peak memory of a rank"))
    entries.append((units.bytes_(moved.get("internal", 0)), "received per epoch inside servers"))
    entries.append((units.bytes_(moved.get("external", 0)), "received per epoch between servers"))
    for key, name in [("test_accuracy", "test accuracy"), ("val_accuracy", "validation accuracy")]:
        if result.get(key) is not None:
            entries.append((units.percent(result[key]), name))
    if result.get("loss") is not None:
        entries.append((units.plain(result["loss"]), "training loss"))
    data = result.get("dataset", {})
    if data:
        entries.append((f"{data['vertices']:,}", f"vertices of {data['name']}"))
        entries.append((f"{data['edges']:,}", "edges"))
    simulation = result.get("simulation", {})
    if simulation.get("messages_per_second"):
        speed = f"{simulation['messages_per_second']:,.0f}"
        entries.append((speed, "messages simulated a second"))
    return page.facts(entries)


def breakdown(run):
    result = run.result
    ranks = result.get("breakdown_of_rank") or [result["breakdown"]]
    rows = [
        (f"rank {i}", seconds, f"hidden {units.seconds(seconds.get('hidden', 0))}")
        for i, seconds in enumerate(ranks)
    ]
    caption = (
        "Exposed seconds of the median epoch; they sum to it. Communication counts where no "
        "computation of the rank hides it; what was hidden stands behind the bar."
    )
    if len(rows) > MOST_BARS:
        rows = rows[:MOST_BARS]
        caption += f" The first {MOST_BARS} of {len(ranks)} ranks."
    present = epoch_parts.present(epoch_parts.exposed(result), [seconds for _, seconds, _ in rows])
    entries = [(part.css, part.title) for part in present]
    drawn = charts.stacked_bars(rows, present, "parts of the epoch by rank")
    content = [charts.legend(entries), drawn]
    kinds = sorted((result.get("compute_by_kind") or {}).items(), key=lambda item: -item[1])
    if kinds:
        content.append("<h3>Computation by operation, slowest rank</h3>")
        bars = [(kind, s, lanes.KINDS.get(kind, "k-other"), "") for kind, s in kinds if s > 0]
        content.append(charts.bars(bars, "computation by operation", units.seconds))
    return page.section("Where the epoch went", page.paragraph(caption), *content)


def shown_ranks(run, ranks):
    """The first ranks and the slowest one, and whether some are left out."""
    if len(ranks) <= MOST_RANKS:
        return ranks, ""
    totals = [
        sum(seconds.get(part.key, 0) for part in epoch_parts.exposed(run.result))
        for seconds in run.result.get("breakdown_of_rank") or []
    ]
    slowest = totals.index(max(totals)) if len(totals) == len(ranks) else ranks[-1]
    first = [r for r in ranks if r != slowest][: MOST_RANKS - 1]
    return sorted(first + [slowest]), (
        f" The first {MOST_RANKS - 1} of {len(ranks)} ranks and the slowest one, rank {slowest}."
    )


def timeline_sections(run):
    """The timeline of the last kept epoch, and memory over all kept ones."""
    if not run.timeline:
        return []
    epochs, ranks = trace.extent(run.timeline)
    if not epochs:
        return []
    chosen, note = shown_ranks(run, ranks)
    read = trace.read_epoch(run.timeline, epochs[-1], chosen)
    if not read:
        return []
    caption = f"Epoch {epochs[-1]}, without its evaluation.{note} timeline.json opens in Perfetto."
    if not run.simulated and run.result["ranks"] > 1:
        caption += " Each rank's clock starts when the rank does."
    exposed = epoch_parts.exposed(run.result)
    drawn = lanes.timeline(read, exposed, "operations of each rank and lane over one epoch")
    legend = charts.legend(lanes.legend(exposed))
    out = [page.section("Timeline", page.paragraph(caption), legend, drawn)]
    if memory := [t for t in read if t.memory]:
        out.append(memory_over_time(memory))
    return out


def memory_over_time(timelines):
    end = max(max(t.end for t in timelines), max(at for t in timelines for at, _ in t.memory))
    series = [(page.curve_class(i), f"rank {t.rank}", t.memory) for i, t in enumerate(timelines)]
    caption = "Device bytes in use from the start to the end of the epoch above, as the host asks."
    return page.section(
        "Memory over time",
        page.paragraph(caption),
        charts.legend([(cls, name) for cls, name, _ in series]),
        charts.steps(series, "device bytes over time", end),
    )


def memory(run):
    result = run.result
    peaks = result.get("peak_bytes") or []
    if not peaks:
        return ""
    device = limits.capacity(result)
    content = []
    if classes := sorted((result.get("peak_by_class") or {}).items(), key=lambda item: -item[1]):
        total = sum(size for _, size in classes)
        rows = [
            (name, size, "blue", f"{units.bytes_(size)}, {units.percent(size / total)}")
            for name, size in classes
            if size > 0
        ]
        content += ["<h3>By class of tensor, at the peak of the rank with the largest</h3>",
                    charts.bars(rows, "memory by class", units.bytes_)]
    share = lambda size: f", {units.percent(size / device)}" if device else ""
    rows = [
        (f"rank {i}", size, "k-gemm", units.bytes_(size) + share(size))
        for i, size in enumerate(peaks[:MOST_BARS])
    ]
    caption = f"Largest number of bytes held at once: {units.bytes_(max(peaks))}"
    caption += f" of {units.bytes_(device)}." if device else " (the device has no limit)."
    if len(peaks) > MOST_BARS:
        caption += f" The first {MOST_BARS} of {len(peaks)} ranks."
    return page.section("Memory", page.paragraph(caption),
                        charts.bars(rows, "peak memory by rank", units.bytes_), *content)


def volumes(run):
    result = run.result
    moved = result.get("bytes") or {}
    rows = [["inside servers", units.bytes_(moved.get("internal", 0))],
            ["between servers", units.bytes_(moved.get("external", 0))]]
    caption = "Logical bytes per epoch, received, summed over ranks."
    content = [page.paragraph(caption), page.table(["link class", "received per epoch"], rows)]
    links = sorted(result.get("links") or [], key=lambda one: -(one.get("utilisation") or 0))
    if links:
        content += link_content(links)
    elif run.simulated is False:
        words = "A measured run does not know its links; a simulated one does."
        content.append(page.paragraph(words))
    if algorithms := (result.get("simulation") or {}).get("algorithms"):
        content += ["<h3>Collectives</h3>", algorithm_table(algorithms)]
    return page.section("Volumes and links", *content)


def by_type(links):
    """Links of one type together: (type, links, bytes, mean and largest utilisation)."""
    types = {}
    for link in links:
        types.setdefault(link["type"], []).append(link)
    return [
        [name, str(len(group)), units.bytes_(sum(one["bytes"] for one in group)),
         units.percent(sum(one["utilisation"] for one in group) / len(group)),
         units.percent(max(one["utilisation"] for one in group))]
        for name, group in types.items()
    ]


def link_content(links):
    out = ["<h3>By type of link</h3>",
           page.table(["type", "links", "bytes per epoch", "mean utilisation", "largest"],
                      by_type(links))]
    shown = links[:MOST_LINKS]
    carried = lambda one: f"{units.bytes_(one['bytes'])} at {units.rate(one['bytes_per_second'])}"
    bars = [
        (one["name"], one["utilisation"], "red" if one["utilisation"] > 0.8 else "blue",
         f"{units.percent(one['utilisation'])}, {carried(one)}")
        for one in shown
    ]
    few = len(links) > len(shown)
    title = f"The busiest {len(shown)} of {len(links)} links" if few else "Every link"
    caption = "Utilisation: the share of the epoch that a link would need at its full rate."
    out += [f"<h3>{title}</h3>", page.paragraph(caption),
            charts.bars(bars, "utilisation by link", units.percent, most=1.0, left=280)]
    return out


def algorithm_table(algorithms):
    """Which algorithm carried which collective, as the simulation chose."""
    rows = [
        [one["collective"], one["algorithm"], str(one["ranks"]),
         " to ".join(dict.fromkeys(units.bytes_(size) for size in one["bytes"])), str(one["calls"])]
        for one in algorithms
    ]
    return page.table(["collective", "algorithm", "ranks", "operand", "calls of the run"], rows)


def learning(run):
    lines = [("loss", "loss"), ("train_accuracy", "train"), ("val_accuracy", "validation"),
             ("test_accuracy", "test")]
    series = [
        (page.curve_class(i), name,
         [(e["epoch"], e[key]) for e in run.epochs if e.get(key) is not None])
        for i, (key, name) in enumerate(lines)
    ]
    loss = [one for one in series[:1] if len(one[2]) > 1]
    scores = [one for one in series[1:] if len(one[2]) > 1]
    content = []
    if loss:
        content += ["<h3>Training loss</h3>",
                    charts.curves(loss, "training loss by epoch", "epoch", units.plain)]
    if scores:
        content += ["<h3>Accuracy</h3>", charts.legend([(cls, name) for cls, name, _ in scores]),
                    charts.curves(scores, "accuracy by epoch", "epoch",
                                  lambda v: units.percent(v, 0), (0, 1))]
    return page.section("Learning", *content) if content else ""


def details(run):
    made = run.result.get("provenance", {})
    rows = [[key, str(value)] for key, value in made.items()]
    rows += [["seed", str(run.config.get("seed", "?"))]]
    config = f"<pre>{escape(json.dumps(run.config, indent=2))}</pre>"
    full = f"<pre>{escape(json.dumps(run.result, indent=2))}</pre>"
    return page.section("How to repeat it", page.table(["what", "value"], rows),
                        page.folded("resolved experiment file", config),
                        page.folded("result.json", full))


def run_body(run):
    if short := run.out_of_memory:
        text = (f"{short['tensor']} asked for {units.bytes_(short['asked'])} of a device of "
                f"{units.bytes_(short['capacity'])}.")
        told = page.section("Out of memory", page.paragraph(text))
        return "\n".join([header(run), told, details(run)])
    sections = [header(run), headline(run), breakdown(run), *timeline_sections(run), volumes(run),
                memory(run), learning(run), details(run)]
    return "\n".join(one for one in sections if one)
