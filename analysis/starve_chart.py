"""The picture of `orrery starve --svg`: what each stage takes of a batch, and how long the trainer waits for it."""

import re
import sys
import textwrap
from dataclasses import dataclass

import colours
import drawing
import svg
import units

WIDTH, MARGIN, LEFT, LONGEST, TOP = 760, 20, 110, 400, 142  # pixels
BAR, WAIT, ROW, LINE, GAP = 18, 10, 56, 18, 6
NUMBERS = LEFT + LONGEST + 16
AT_WORK, LIMIT, WAITING = (colours.SERIES[i].light for i in (0, 1, 5))
INK, SOFT_INK, GRID = colours.INK.light, colours.SOFT_INK.light, "#d5dae0"
HATCH = svg.tag("pattern", svg.tag("path", d="M-2 6L2 10M0 0L8 8M6-2L10 2", stroke=WAITING, stroke_width=2),
                id="waiting", width=8, height=8, patternUnits="userSpaceOnUse")
MEANING = ("The trainer waits for a stage while it does nothing and this is the last stage before it that works. "
           "In the row of train no stage works: other ranks or the host are late.")


@dataclass(frozen=True)
class Row:
    """A stage, in seconds of a batch."""

    name: str
    ahead: int | None  # batches; train has none
    busy: float
    waited: float
    share: float  # of the time, in which the trainer waits
    limits: bool
    forecast: float | None  # what busy was simulated as

    @property
    def numbers(self):
        """Lines: the first about the bar of its work, the second about that of the waiting."""
        verb = "idle" if self.name == "train" else "trainer waits"
        lines = [units.seconds(self.busy) + (": it limits" if self.limits else ""),
                 f"{verb} {units.seconds(self.waited)} ({units.percent(self.share)})"]
        return lines + ([f"forecast {units.seconds(self.forecast)}"] if self.forecast is not None else [])


def rows_of(told):
    now, forecast = told["now"], told["forecast"]
    return [Row(name, now["pipeline"].get(name), one["busy_seconds"], one["waited_seconds"],
                one["waited_seconds"] / (now["batch_seconds"] or 1), name == now["limits"],
                forecast["stages"][name]["busy_seconds"] if forecast else None)
            for name, one in now["stages"].items()]


def draw(told):
    """The SVG of the output of `orrery starve --json`."""
    rows, batch = rows_of(told), told["now"]["batch_seconds"]
    longest = max(batch, *(max(row.busy, row.waited, row.forecast or 0) for row in rows)) or 1
    x_of = lambda seconds: LEFT + LONGEST * seconds / longest
    bottom = TOP + ROW * len(rows)
    title = f"{told['name']}: stages of a batch, {'measured' if told['measured'] else 'simulated'}"
    parts = [svg.tag("defs", HATCH), *head(told, title), *legend(bool(told["forecast"])),
             *axis(svg.nice_steps(longest), x_of, bottom)]
    for i, row in enumerate(rows):
        parts += stage(row, TOP + ROW * i, x_of)
    words, end = paragraphs([*enough(told), MEANING], bottom + 72)
    return svg.document(WIDTH, end, [*parts, *batch_line(batch, x_of, bottom), *words], title)


def head(told, title):
    now = told["now"]
    waits = f"The trainer waits {units.percent(now['waiting_share'])} of an epoch for batches; {now['limits']} limits"
    batches = "1 batch" if told["batches"] == 1 else f"{told['batches']:,} batches"
    work = f"1 rank, {batches}" if told["ranks"] == 1 else f"{told['ranks']} ranks, {batches} on each"
    run = f"{work} in an epoch of {units.seconds(now['epoch_seconds'])}"
    return [svg.label(MARGIN, 28, title, 16, bold=True, width=WIDTH - 2 * MARGIN),
            svg.label(MARGIN, 50, waits, 13), svg.label(MARGIN, 68, run, 13)]


def box(x, y, width, height, fill):
    outline = WAITING if fill == "url(#waiting)" else None
    return svg.tag("rect", x=float(x), y=float(y), width=float(width), height=float(height), fill=fill, stroke=outline)


def mark(x, y, height):
    """A forecast."""
    return svg.tag("line", x1=float(x), y1=y - 3, x2=float(x), y2=y + height + 3, stroke=INK, stroke_width=3)


def legend(forecast):
    parts, x, y = [], MARGIN, 84
    entries = [("at work", AT_WORK), ("at work, and it limits", LIMIT), ("the trainer waits", "url(#waiting)")]
    for words, fill in entries + ([("forecast of the work", None)] if forecast else []):
        parts += [box(x, y, 14, 12, fill) if fill else mark(x + 7, y, 12), svg.label(x + 20, y + 11, words, 12)]
        x += 20 + svg.width_of(words, 12) + 16
    return parts


def axis(steps, x_of, bottom):
    parts = [svg.label(LEFT + LONGEST / 2, bottom + 42, "time of a batch: mean over ranks and counted epochs", 12,
                       "middle")]
    for step in steps:
        x = x_of(step)
        parts += [svg.tag("line", x1=x, y1=TOP - 6, x2=x, y2=bottom, stroke=GRID),
                  svg.label(x, bottom + 18, units.seconds(step), 12, "middle")]
    return parts


def stage(row, y, x_of):
    soft = lambda content: svg.tag("g", content, fill=SOFT_INK)
    first, *others = row.numbers
    parts = [svg.label(LEFT - 10, y + 14, row.name, 14, "end", bold=row.limits),
             box(LEFT, y, x_of(row.busy) - LEFT, BAR, LIMIT if row.limits else AT_WORK),
             svg.label(NUMBERS, y + 13, first, 13, bold=row.limits)]
    if row.ahead is not None:
        parts.append(soft(svg.label(LEFT - 10, y + 30, f"{row.ahead} ahead", 12, "end")))
    if row.waited > 0:
        parts.append(box(LEFT, y + BAR + 4, x_of(row.waited) - LEFT, WAIT, "url(#waiting)"))
    if row.forecast is not None:
        parts.append(mark(x_of(row.forecast), y, BAR))
    return parts + [soft(svg.label(NUMBERS, y + 29 + 15 * i, line, 12)) for i, line in enumerate(others)]


def batch_line(batch, x_of, bottom):
    """Stages work at the same time, so none takes longer than the batch."""
    x = x_of(batch)
    return [svg.tag("line", x1=x, y1=TOP - 10, x2=x, y2=bottom, stroke=INK, stroke_dasharray="4 3"),
            svg.label(x, TOP - 16, f"a batch: {units.seconds(batch)}", 12, "middle")]


def enough(told):
    """Sentences: which cores, capacities and caches would be enough."""
    yield cores(told["cores"])
    if told["not_replayed"]:
        yield f"Nothing else was tried: {told['not_replayed']}."
    for name, tried, which, words in [("capacities", "capacities", "enough_capacity", capacities),
                                      ("cache", "caches", "enough_cache", cache)]:
        if told[tried] and told[which] is not None:
            best = told[tried][told[which]]
            yield f"Enough {name}, simulated: {words(best)}. {epoch(best, told)}."
    if (told["other_work"] or {}).get("note"):
        yield f"Note: {told['other_work']['note']}."


def cores(told):
    there = f"; it has {told['there']}" if told["there"] else ""
    return (f"Cores of a server: the stages before training keep {told['busy']:.1f} busy; trainers that never wait "
            f"need {told['needed']:.1f}{there}.")


def capacities(fed):
    return ", ".join(f"{name} {count}" for name, count in fed["pipeline"].items()) + " ahead"


def cache(fed):
    kept = fed["cache"]
    return f"{kept['policy']}, {units.bytes_(kept['bytes'])} on each rank" if kept["bytes"] else "none"


def epoch(fed, told):
    before = told["forecast"] or told["now"]
    takes, took = units.seconds(fed["epoch_seconds"]), units.seconds(before["epoch_seconds"])
    settings = "the forecast of the present settings" if told["forecast"] else "the present settings"
    return f"An epoch takes {takes}, with {settings} {took}"


def paragraphs(texts, y):
    """The labels of texts below each other, and where they end."""
    parts = []
    for text in texts:
        for line in wrapped(text):
            parts.append(svg.label(MARGIN, y, line, 13))
            y += LINE
        y += GAP
    return parts, y


def wrapped(text):
    """Lines, none of which ends between a number and its unit."""
    held = re.sub(r"(?<=\d) (?=\S)", "\xa0", text)
    lines = textwrap.wrap(held, int((WIDTH - 2 * MARGIN) / svg.width_of("x", 13)))
    return [line.replace("\xa0", " ") for line in lines]


if __name__ == "__main__":
    sys.exit(drawing.main(draw))
