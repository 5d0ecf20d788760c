"""Epochs side by side as stacked parts, a bar per run.

Panel keys: title; bars: [{"of", "at"?, "title"}]; over? {"of", "at"?}:
the run whose epoch is 1, else milliseconds; x_name?; legend? (false: another panel has it). A line
with caps is the band of the profile's efficiencies (sensitivity.py).

Where the paper has a speed-up between two bars, a mark says how high the faster one would be with it;
where several are over the same faster bar, how high the slower ones would be. Where it has the share of
communication between servers ("part_percent"), a span of that share stands beside that part.
"""

import colours
import epoch_parts
import sensitivity
from figures import style


def seconds_of(experiments, bar):
    """[(part, seconds)]; None if the run did not fit."""
    run = experiments.pick(bar["of"], bar.get("at", {}))
    if run.out_of_memory:
        return None
    seconds = run.result["breakdown"]
    return [(part, seconds[part.key]) for part in epoch_parts.exposed(run.result)]


def _is(spec, bar):
    return spec["of"] == bar["of"] and spec.get("at", {}) == bar.get("at", {})


def papers_factor(figure, bar, rows):
    """The factors on this bar's height that give the paper's speed-up, two for a range; None if the paper has none."""
    papers = [(told["ours"], row) for told, row in zip(figure.told["rows"], rows)
              if told["ours"]["measure"] == "ratio" and row["paper"] and row["ours"]]
    for spec, row in papers:
        rivals = sum(other["over"] == spec["over"] for other, _ in papers)
        ends = row["paper"] if isinstance(row["paper"], list) else [row["paper"]]
        if rivals == 1 and _is(spec["over"], bar):
            found = sorted(row["ours"] / end for end in ends)
        elif rivals > 1 and _is(spec["of"], bar):
            found = sorted(end / row["ours"] for end in ends)
        else:
            continue
        return found if len(found) > 1 else found[0]
    return None


def papers_share(figure, bar, rows):
    """The paper's share of communication between servers of this bar, or None."""
    for told, row in zip(figure.told["rows"], rows):
        spec = told["ours"]
        if (spec["measure"] == "part_percent" and spec["parts"] == ["external"] and row["paper"]
                and _is(spec, bar)):
            return row["paper"] / 100
    return None


def band_of(experiments, panel, bar):
    """The heights of a bar at both ends of the profile's efficiencies; None without them."""
    if not sensitivity.ends(experiments.pick(bar["of"], bar.get("at", {})).result):
        return None
    heights = []
    for one in sensitivity.both(experiments):
        unit = 1e-3
        if "over" in panel:
            unit = one.pick(panel["over"]["of"], panel["over"].get("at", {})).result["epoch_seconds"]
        heights.append(one.pick(bar["of"], bar.get("at", {})).result["epoch_seconds"] / unit)
    return [min(heights), max(heights)]


def _handles(figure, rows):
    """Entries of the legend for the paper's marks in any panel of the figure."""
    bars = [bar for panel in figure.told["panels"] for bar in panel.get("bars", [])]
    factors = [f for bar in bars if (f := papers_factor(figure, bar, rows)) is not None]
    handles = []
    if factors:
        span = isinstance(factors[0], list)
        handles.append(style.paper_handle("with the paper's speed-up", span))
    if any(papers_share(figure, bar, rows) for bar in bars):
        handles.append(style.paper_handle("the paper's share between servers", span=True))
    return handles


def draw(axes, panel, experiments, rows):
    unit = 1e-3
    if "over" in panel:
        over = experiments.pick(panel["over"]["of"], panel["over"].get("at", {}))
        unit = over.result["epoch_seconds"]
    told, heights, missing, marks, tops = set(), {}, [], {}, []
    for x, bar in enumerate(panel["bars"]):
        stack = seconds_of(experiments, bar)
        if stack is None:
            missing.append(x)
            continue
        bottom = end = 0.0
        for part, seconds in stack:
            height = seconds / unit
            if height <= 0.002 * (bottom + height):
                continue
            axes.bar(x, height, 0.7, bottom=bottom, label=None if part.key in told else part.title,
                     **colours.fill(colours.part(part.key)))
            told.add(part.key)
            bottom += height
            if part.key == "external":
                end = bottom
        heights[x] = bottom
        if (band := band_of(experiments, panel, bar)) is not None:
            style.mark_band(axes, x - 0.3, band)
            tops.append(band[1])
        if (share := papers_share(experiments.figure, bar, rows)) is not None:
            span = [end - share * bottom, end]
            style.mark_paper(axes, x + 0.4, span, colours.part("external").light)
        factor = papers_factor(experiments.figure, bar, rows)
        if isinstance(factor, list):
            marks[x] = [f * bottom for f in factor]
            style.mark_paper(axes, x + 0.4, marks[x])
        elif factor is not None:
            marks[x] = factor * bottom
            style.mark_paper(axes, x, marks[x])
    top = max([*heights.values(), *tops, *(max(m) if isinstance(m, list) else m for m in marks.values())],
              default=1.0)
    for x, height in heights.items():
        mark = marks.get(x)
        covered = isinstance(mark, float) and height - 0.02 * top < mark < height + 0.08 * top
        axes.annotate(f"{height:.0f}" if height >= 100 else f"{height:.3g}",
                      (x, max(mark, height) if covered else height),
                      xytext=(0, 4 if covered else 1), textcoords="offset points", ha="center",
                      va="bottom", fontsize=style.TINY)
    for x in missing:
        style.say_instead_of_bar(axes, x, "out of memory")
    axes.set_xlim(-0.6, len(panel["bars"]) - 0.4)
    style.name_ticks(axes, [bar["title"] for bar in panel["bars"]])
    axes.set_xlabel(panel.get("x_name", ""))
    axes.set_ylim(0, 1.15 * top)
    axes.set_ylabel("time per epoch, full graph = 1" if "over" in panel else "time per epoch in ms")
    if panel.get("legend", True) and told:
        handles = _handles(experiments.figure, rows)
        style.legend(axes, *handles, **style.outside(axes))
