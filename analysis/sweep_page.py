"""The page of a sweep: its combinations side by side, and each by itself."""

import json
import statistics
from html import escape

import charts
import colours
import epoch_parts
import intervals
import limits
import page
import run_page
import simulations
import units
from result_folder import score_of

FEW = 4  # runs whose sections are open from the start
# Keys of "cluster" that say how many ranks there are.
COUNTS = ["ranks", "gpus", "servers", "ranks_per_server", "gpus_per_server"]


def to_know_first(sweep):
    """Differences of the sweep from what was requested or expected, above all numbers."""
    told = [page.warning("interrupted", f"{run.label}, {run.interrupted}; its numbers are those of the finished epochs")
            for run in sweep.runs if run.interrupted]
    if sweep.missing:
        of = f"{sweep.missing} of {sweep.missing + len(sweep.runs)} combinations were not run"
        told.append(page.warning("incomplete", f"{of}: {sweep.failure}") if sweep.failure
                    else page.warning("interrupted", of))
    told += [page.said("Fewer cores than ranks", note) for note in
             dict.fromkeys(filter(None, map(limits.cores_note, sweep.runs)))]
    if disturbed := [run for run in sweep.runs if run.disturbed]:
        told.append(page.said(
            "Other programs were at work",
            f"beside {len(disturbed)} of {len(sweep.runs)} combinations, which are marked "
            f"{simulations.DISTURBED}: their times are longer than on an idle machine. "
            f"Of {disturbed[0].label}: {disturbed[0].disturbed}."))
    if not sweep.ended:
        told.append(page.warning("incomplete", "the sweep was killed or goes on: these are the "
                                               "combinations that are done"))
    return "\n".join(told)


def overview(sweep):
    """All combinations: their epochs as bars, and a table with links to their sections."""
    rows, bars, names = [], [], sweep.short_names()
    for i, run in enumerate(sweep.runs):
        result = run.result
        link = ("html", f'<a href="#run{i}">{escape(names[i])}</a>')
        limit = limits.limit_of(result)
        epoch = "out of memory" if run.out_of_memory else intervals.beside(result)
        epoch += f" {simulations.DISTURBED}" if run.disturbed else ""
        moved = result.get("bytes") or {}
        rows.append([
            link, run_page.how_it_was_made(run)[0], epoch,
            units.bytes_(moved.get("internal", 0) + moved.get("external", 0) if moved else None),
            units.bytes_(max(result.get("peak_bytes") or [0]) or None),
            units.percent(result.get("test_accuracy")), limit.sentence if limit else "-",
        ])
        if run.interrupted:
            epoch += " (interrupted)"
        seconds = result.get("breakdown") or {}
        bars.append((names[i], {} if run.out_of_memory else seconds, epoch))
    present = epoch_parts.present(epoch_parts.exposed(sweep.runs[0].result),
                                  [seconds for _, seconds, _ in bars])
    meaning = intervals.legend([run.result for run in sweep.runs])
    drawn = page.figure(
        "The median epoch of each combination on its slowest rank, in parts" + (f". {meaning}." if meaning else ""),
        charts.legend_of_parts(present, bars),
        charts.stacked_bars(bars, present, "parts of the epoch by combination"),
        page.table("All combinations", [sweep.swept_key() or "combination", "how", "median epoch", "moved per epoch",
                                        "peak per rank", f"test {score_of(sweep.runs)}", "what limited it"],
                   rows, words={1, 6}))
    return page.section("All combinations", drawn, cannot_tell(sweep, names))


def cannot_tell(sweep, names):
    """The combinations that may be no slower than the fastest simulated one, as the terminal says it."""
    told = [(name, run.result) for name, run in zip(names, sweep.runs) if intervals.half_width(run.result) is not None]
    if not told:
        return None
    first, best = min(told, key=lambda one: one[1]["epoch_seconds"])
    of = lambda verdict: ", ".join(name for name, one in told
                                   if one is not best and intervals.verdict(one, best) == verdict)
    words = []
    if near := of("as_fast"):
        words.append(f"As fast as {first}, within {units.percent(intervals.MARGIN, 0)}: {near}")
    if near := of("cannot_tell"):
        words.append(f"The intervals do not tell {first} from {near}")
    return page.paragraph(". ".join(words) + ".") if words else None


def alike(sweep):
    """Groups of runs that differ in their seed alone: [(settings, runs)]."""
    groups = {}
    for run in sweep.runs:
        if not run.out_of_memory and "seed" in dict(run.settings):
            groups.setdefault(run.settings_but("seed"), []).append(run)
    return [(settings, runs) for settings, runs in groups.items() if len(runs) > 1]


def spread(values, unit, digits):
    """"81.5 ± 0.4 %": mean and sample standard deviation."""
    return (f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f} {unit}"
            if len(values) > 1 else "-")


def over_seeds(sweep):
    """Means and deviations of runs that differ in their seed alone, as the terminal tells them."""
    rows, score = [], score_of(sweep.runs)
    for settings, runs in alike(sweep):
        of = lambda key: [100 * r.result[key] for r in runs if r.result.get(key) is not None]
        epochs = [r.result["epoch_seconds"] for r in runs]
        rows.append([settings or "all runs", str(len(runs)), spread(of("test_accuracy"), "%", 1),
                     spread(of("val_accuracy"), "%", 1),
                     f"{units.seconds(statistics.median(epochs))} ({units.seconds(min(epochs))} to "
                     f"{units.seconds(max(epochs))})",
                     limits.limit_of_alike([r.result for r in runs]) or "-"])
    if not rows:
        return None
    return page.section("Over seeds", page.table(
        f"Runs that differ in their seed alone: mean ± sample standard deviation of the {score}, median (least to most) of "
        "epochs, and the part that limited them",
        ["settings", "runs", f"test {score}", f"validation {score}", "epoch", "limited by"], rows,
        words={4, 5}))


def _but_for_ranks(run):
    """A run without its seed and its number of ranks: (words for the swept keys, the rest of its cluster)."""
    rest = {key: value for key, value in (run.config.get("cluster") or {}).items()
            if key not in COUNTS}
    words = run.settings_but("seed", *(f"cluster.{key}" for key in COUNTS))
    if "cluster" in dict(run.settings):  # swept as a whole
        told = rest["file"] if list(rest) == ["file"] else json.dumps(rest)
        words = ", ".join(filter(None, [run.settings_but("seed", "cluster"), told]))
    return words, json.dumps(rest, sort_keys=True)


def _scaling(sweep):
    """Runs that differ in their number of ranks alone: [(settings, {ranks: seconds})], with the median over seeds."""
    groups = {}
    for run in sweep.runs:
        seconds = run.result.get("epoch_seconds")
        if seconds:
            times = groups.setdefault(_but_for_ranks(run), {})
            times.setdefault(run.result["ranks"], []).append(seconds)
    medians = [(name, {ranks: statistics.median(of) for ranks, of in sorted(times.items())})
               for (name, _), times in groups.items()]
    return [(settings, times) for settings, times in medians if len(times) > 1]


def scaling(sweep):
    """Speed-up and efficiency over ranks, against the fewest ranks that ran."""
    groups = _scaling(sweep)
    if not groups:
        return None
    series, rows = [], []
    for settings, times in groups:
        base = min(times)
        line = [(ranks, base * times[base] / seconds) for ranks, seconds in times.items()]
        series.append((settings or sweep.name, line))
        for ranks, speed_up in line:
            rows.append([str(ranks), units.seconds(times[ranks]), f"{speed_up / base:.2f}",
                         units.percent(speed_up / ranks, 0), *([settings] if len(groups) > 1 else [])])
    most = max(ranks for _, times in groups for ranks in times)
    least = min(ranks for _, times in groups for ranks in times)
    drawn = series[:len(colours.SERIES)]  # the most that can be told apart
    marks = [f"series-{i}" for i in range(len(drawn))]
    lines = [(mark, line) for mark, (_, line) in zip(marks, drawn)]
    ideal = [("ideal", [(least, least), (most, most)])]
    legend = [(f"line {mark}", name) for mark, (name, _) in zip(marks, drawn)]
    top = max([most] + [y for _, line in series for _, y in line])
    base = "one rank" if least == 1 else f"{least} ranks, which count as {least}"
    if any(min(times) != least for _, times in groups):
        base = "the fewest ranks of each line, which count as so many"
    caption = f"Speed-up of the median epoch over {base}; the ideal is the number of ranks."
    if len(drawn) < len(series):
        caption += f" The first {len(drawn)} of {len(series)} settings."
    plot = charts.plot(lines + ideal, "speed-up by number of ranks",
                        ("ranks", lambda v: f"{v:g}", lambda v: f"{v:g} ×"),
                        (0, most), (0, top), dots=marks)
    table = charts.numbers("speed-up over the fewest ranks of the same settings; efficiency is the "
                           "share of the ideal speed-up",
                           ["ranks", "epoch", "speed-up", "efficiency"]
                           + (["settings"] if len(groups) > 1 else []), rows, words={4} & {len(rows[0]) - 1})
    return page.section("Speed-up over ranks", page.figure(
        caption, charts.legend([*legend, ("line ideal", "ideal")]), plot, table))


def runs(sweep):
    """A section for each combination. If runs differ in their seed alone, the first has a timeline and curves for
    all."""
    later = [run for _, group in alike(sweep) for run in group[1:]]
    out = []
    for i, run in enumerate(sweep.runs):
        content = run_page.run_content(run, in_sweep=True, whole=not any(run is one for one in later))
        out.append(page.Section(run.label, content, anchor=f"run{i}", folded=len(sweep.runs) > FEW))
    return out


def content(sweep):
    """Markup and sections of the whole page."""
    return [to_know_first(sweep), over_seeds(sweep), scaling(sweep), overview(sweep),
            simulations.section(sweep.runs, sweep.short_names()), *runs(sweep)]
