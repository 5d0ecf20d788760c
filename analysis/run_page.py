"""The sections of a report about one run."""

import json
import shlex
from html import escape

import charts
import epoch_parts
import intervals
import lanes
import limits
import links
import page
import sensitivity
import simulations
import time_to_accuracy
import units

MOST_BARS = 32  # ranks in the breakdown


def how_it_was_made(run):
    """"measured" or "simulated" in one plain sentence, as (word, sentence)."""
    result = run.result
    if not run.simulated:
        where = result.get("provenance", {})
        return "measured", (
            f"{result['ranks']} rank{'s' if result['ranks'] > 1 else ''} as {result['backend']} on "
            f"{where.get('cpu', 'an unnamed CPU')} with {where.get('cores', '?')} cores"
        )
    told, cluster = result.get("simulation") or {}, run.cluster or "a described cluster"
    if run.out_of_memory:
        return "simulated", f"on {cluster}, where it does not fit into memory; nothing ran there"
    if result["backend"] == "model":
        return "modelled", f"closed formulas of a paper for {cluster}; nothing ran"
    origin = f" ({told['profile_origin']})" if told.get("profile_origin") else ""
    profile = f", device profile {told['profile']}{origin}" if told.get("profile") else ""
    text = f"replayed on {cluster}{profile}; nothing ran there"
    if told.get("scale"):
        text += f"; fitted factors {json.dumps(told['scale'])}"
    return "simulated", text


def header(run, in_sweep):
    """Warnings before any number, and the answer that most readers look for."""
    word, sentence = how_it_was_made(run)
    cls = "how" if word == "measured" else "how simulated"
    limit = limits.limit_of(run.result)
    told = []
    if run.interrupted:
        told.append(page.warning("interrupted", f"{run.interrupted}; every number below is of those"))
    told.append(f'<p><span class="{cls}">{word}</span>{escape(sentence)}</p>')
    if limit:
        told.append(page.said("What limited this run", limit.sentence))
    if not in_sweep and (note := limits.cores_note(run)):
        told.append(page.said("Fewer cores than ranks", note))
    if run.disturbed:
        told.append(page.said("Other programs were at work",
                              f"{run.disturbed}. Times here are longer than on an idle machine."))
    return "\n".join(told)


def headline(run):
    result = run.result
    moved = result.get("bytes") or {}
    meaning = intervals.legend([result])
    entries = [(intervals.beside(result), f"median epoch ({meaning})" if meaning else "median epoch")]
    if set_up := result.get("set_up"):
        entries.append((units.seconds(set_up["seconds"]), "set-up before the first epoch"))
    if result.get("peak_bytes"):
        entries.append((units.bytes_(max(result["peak_bytes"])), "peak memory of a rank"))
    if moved:
        entries.append((units.bytes_(moved.get("internal", 0)), "received per epoch inside servers"))
        entries.append((units.bytes_(moved.get("external", 0)), "received per epoch between servers"))
    for key, name in [("test_accuracy", f"test {run.score}"), ("val_accuracy", f"validation {run.score}")]:
        if result.get(key) is not None:
            entries.append((units.percent(result[key]), name))
    if result.get("loss") is not None:
        entries.append((units.plain(result["loss"]), "training loss"))
    data = result.get("dataset", {})
    if data:
        entries.append((f"{data['vertices']:,}", f"vertices (data set {data['name']})"))
        entries.append((f"{data['edges']:,}", "edges"))
    simulation = result.get("simulation", {})
    if simulation.get("messages_per_second"):
        speed = f"{simulation['messages_per_second']:,.0f}"
        entries.append((speed, "messages simulated per second"))
    return page.facts(entries)


def parts_table(caption, names, rows, parts):
    """The numbers of stacked bars: a column per part. rows: (name, {key: seconds}, ...)."""
    present = epoch_parts.present(parts, [seconds for _, seconds, *_ in rows])
    body = [[name, units.seconds(sum(seconds.get(p.key, 0) for p in parts if p.in_sum))]
            + [units.seconds(seconds.get(p.key, 0)) for p in present] for name, seconds, *_ in rows]
    return charts.numbers(caption, [names, "epoch"] + [p.title for p in present], body)


def breakdown(run):
    result = run.result
    ranks = result.get("breakdown_of_rank") or [result["breakdown"]]
    hidden = lambda seconds: f"+ {units.seconds(seconds['hidden'])} hidden" if seconds.get(
        "hidden") else ""
    shown, note = lanes.shown_ranks(run, list(range(len(ranks))), MOST_BARS)
    rows = [(f"rank {i}", ranks[i], hidden(ranks[i])) for i in shown]
    caption = "The median epoch of every rank: the parts of a bar add up to the epoch. "
    if any(beside for *_, beside in rows):
        caption += ("Communication counts only while the rank computes nothing; the rest of it was "
                    "hidden behind computation and stands beside the bar.")
    else:
        caption += "Communication counts only while the rank computes nothing."
    caption += note
    present = epoch_parts.present(epoch_parts.exposed(result), [seconds for _, seconds, _ in rows])
    content = [page.figure(
        caption, charts.legend_of_parts(present, rows),
        charts.stacked_bars(rows, present, "parts of the median epoch by rank"),
        parts_table("seconds of each part of the median epoch", "rank", rows,
                    epoch_parts.told(result)))]
    kinds = sorted((result.get("compute_by_kind") or {}).items(), key=lambda item: -item[1])
    whole = sum(s for _, s in kinds) or 1
    bars = [(kind, s, lanes.KINDS.get(kind, "computing"), units.seconds(s), units.percent(s / whole))
            for kind, s in kinds if s > 0]
    if bars:
        occur = {cls for _, _, cls, *_ in bars}
        marks = [(cls, words) for cls, words in lanes.COMPUTATION.items() if cls in occur]
        content.append(page.section("Computation by operation", charts.legend(marks), charts.bars(
            "Busy time of the slowest rank in the median epoch, by operation",
            ["operation", "busy", "", "of computation"], bars)))
    if ends := sensitivity.ends(result):
        content.append(page.paragraph(
            f"The simulated epoch is {units.seconds(ends['low_seconds'])} with all efficiencies of the device profile "
            f"at their highest, and {units.seconds(ends['high_seconds'])} with all at their lowest "
            f"({sensitivity.KEY})."))
    if set_up := result.get("set_up"):
        content.append(page.paragraph(
            f"Before the first epoch, and in none of them: {units.seconds(set_up['partition_seconds'])} to cut "
            f"the graph into parts, {units.seconds(set_up['structure_seconds'])} to cut subgraphs and halos out "
            f"of it, {units.seconds(set_up['device_seconds'])} to put them with features and weights onto the "
            "devices."))
    return page.section("Where the epoch went", *content)


def memory(run):
    result = run.result
    peaks = result.get("peak_bytes") or []
    if not peaks:
        return None
    device = limits.capacity(result)
    near = device and device <= lanes.CAPACITY_IN_SIGHT * max(peaks)
    most = f"Most that each rank held at once; the largest is {units.bytes_(max(peaks))}"
    most += f" of a capacity of {units.bytes_(device)}" if device else " (no capacity was set)"
    most += ", a whole bar." if near else "."
    shown, note = lanes.first_and(list(range(len(peaks))), peaks.index(max(peaks)),
                                  "that with the largest peak", MOST_BARS)
    most += note
    shares = lambda size: [units.percent(size / device)] if device else []
    rows = [(f"rank {i}", peaks[i], "memory", units.bytes_(peaks[i]), *shares(peaks[i])) for i in shown]
    header = ["rank", "peak", ""] + (["of capacity"] if device else [])
    content = [charts.bars(most, header, rows, most=device if near else None)]
    if classes := sorted((result.get("peak_by_class") or {}).items(), key=lambda item: -item[1]):
        total = sum(size for _, size in classes)
        rows = [(name, size, "memory", units.bytes_(size), units.percent(size / total))
                for name, size in classes if size > 0]
        content.append(page.section("By class of tensor", charts.bars(
            "What the rank with the largest peak held at that moment",
            ["class", "bytes", "", "of the peak"], rows)))
    return page.section("Memory", *content)


def learning(run):
    lines = [("loss", "loss"), ("train_accuracy", "training"), ("val_accuracy", "validation"),
             ("test_accuracy", "test")]
    series = {name: [(e["epoch"], e[key]) for e in run.epochs if e.get(key) is not None]
              for key, name in lines}
    series = {name: points for name, points in series.items() if len(points) > 1}
    content = []
    if loss := series.get("loss"):
        most, least = max(y for _, y in loss), min(0, min(y for _, y in loss))
        content.append(_curves("Training loss by epoch", {"loss": loss}, units.plain, (least, most)))
    if scores := {name: points for name, points in series.items() if name != "loss"}:
        caption = ("AUC by epoch, of each split of the links" if run.score == "AUC" else
                   "Accuracy by epoch, of each split of the vertices")
        content.append(_curves(caption, scores, units.percent, (0, 1)))
    return page.section("Learning", *content)


def _curves(caption, series, unit, y_range):
    """Lines over epochs with a table of some of them."""
    epochs = sorted({x for points in series.values() for x, _ in points})
    marks = {name: f"series-{i}" for i, name in enumerate(series)}
    axis_unit = (lambda v: units.percent(v, 0)) if unit is units.percent else unit
    drawn = charts.plot([(marks[name], charts.thinned(points)) for name, points in series.items()],
                        caption, ("epoch", lambda v: f"{v:.0f}", axis_unit),
                        (epochs[0], epochs[-1]), y_range)
    at = {name: dict(points) for name, points in series.items()}
    rows = [[str(epoch), *(unit(at[name].get(epoch)) for name in series)]
            for epoch in charts.thinned(epochs, 12)]
    legend = charts.legend([(f"line {marks[name]}", name) for name in series])
    return page.figure(caption, legend if len(series) > 1 else "", drawn,
                       charts.numbers(caption, ["epoch", *series], rows))


def command_of(run):
    """The command that repeats the run from its resolved file."""
    if not run.folder:
        return ""
    words = ["./orrery", "run", str(run.folder / "config.json")]
    if run.result["backend"] in ("mpi", "nccl"):
        words = ["mpirun", "-n", str(run.result["ranks"]), *words]
    return shlex.join(words)


def details(run):
    result, made = run.result, run.result.get("provenance", {})
    rows = [[key, str(value)] for key, value in made.items()]
    rows.append(["seed", str(run.config.get("seed", "?"))])
    data = result.get("dataset", {})
    if data.get("fingerprint"):
        rows.append(["fingerprint of the data (edges, labels, split)", data["fingerprint"]])
    rows += [["data", note] for note in data.get("notes") or []]
    content = [page.table("What the run was made with", ["what", "value"], rows, words={1})]
    if command := command_of(run):
        content = [page.paragraph("This command repeats the run, with every setting as it was "
                                  "resolved:"), page.command(command), *content]
    for title, told in [("resolved experiment file", run.config), ("result.json", result)]:
        content.append(page.folded(title, page.preformatted(title, json.dumps(told, indent=2))))
    return page.section("How to repeat it", *content)


def run_content(run, in_sweep=False, whole=True):
    """Markup and sections about the run; `in_sweep`: without facts about all runs, which the page of a sweep has;
    `whole`: with its timeline and curves."""
    if short := run.out_of_memory:
        text = (f"{short['tensor']} asked for {units.bytes_(short['asked'])} of a device of "
                f"{units.bytes_(short['capacity'])}.")
        return [header(run, in_sweep), page.section("Out of memory", page.paragraph(text)), details(run)]
    sections = [header(run, in_sweep), headline(run), breakdown(run)]
    if not in_sweep:
        sections.append(simulations.section([run]))
    if whole:
        sections += lanes.sections(run)
    sections += [links.section(run), memory(run)]
    if whole:
        sections += [learning(run), time_to_accuracy.section(run)]
    else:
        sections.append(page.paragraph("Its timeline and curves are left out here, because it differs "
                                       "from the first run in its seed alone."))
    return [one for one in [*sections, details(run)] if one]
