"""The drawings of a report, as inline SVG.

They are as wide as the page allows: positions across are percentages, so that a narrow screen moves
marks together and leaves words and hatches as large as they are. Each has its numbers in a table.
"""

from html import escape

import page
import svg
import units

ROW = 22  # pixels
LONG = 8  # rows of a table that is shown only when asked for


def legend(entries):
    """The legend of classes. entries: (class, name); a class of lines begins with "line "."""
    marks = []
    for cls, name in entries:
        mark = (svg.tag("line", x1=0, y1=7, x2=26, y2=7, cls=cls) if cls.startswith("line ")
                else svg.tag("rect", width=26, height=14, cls=cls))
        marks.append(f'<span><svg height="14" aria-hidden="true">{mark}</svg>{escape(name)}</span>')
    return f'<p class="legend">{"".join(marks)}</p>' if marks else ""


def numbers(caption, header, rows, words=()):
    """The table that stands below a drawing; folded where it is long."""
    drawn = page.table(caption, header, rows, words)
    return page.folded(f"Numbers: {caption}", drawn) if len(rows) > LONG else drawn


def track(parts, height=ROW, hidden=True):
    """A drawing over the whole remaining width."""
    return svg.tag("svg", "".join(parts) or " ", height=height,
                   aria_hidden="true" if hidden else None)


def described(label, drawn):
    return f'<div role="img" aria-label="{escape(label)}">{drawn}</div>'


def grid(ticks, whole, height=ROW):
    return [svg.across_line(at / whole, height) for at in ticks]


def axis(ticks, whole, unit):
    """The numbers below rows that share a scale; a narrow screen shows every second one."""
    parts = []
    for i, at in enumerate(ticks):
        anchor = "start" if i == 0 else "end" if at > 0.97 * whole else "middle"
        parts.append(svg.across_text(at / whole, 14, unit(at), "many" if i % 2 else "", anchor))
    return track(parts, 18)


def row(name, drawn, note="", cls="bar"):
    told = f'<span class="note">{escape(note)}</span>' if cls == "bar" else ""
    return f'<div class="{cls}"><span class="name">{escape(name)}</span>{drawn}{told}</div>'


def legend_of_parts(parts, rows):
    """The legend of the parts that are visible in stacked bars of these rows."""
    longest = max((sum(values.values()) for _, values, _ in rows), default=0)
    return legend([(part.css, part.title) for part in parts
                   if any(values.get(part.key, 0) > longest / 1000 for _, values, _ in rows)])


def stacked_bars(rows, parts, label, unit=units.seconds):
    """Horizontal bars. rows: (name, {key of a part: value}, note)."""
    whole = max((sum(values.get(part.key, 0) for part in parts) for _, values, _ in rows),
                default=0) or 1
    ticks = svg.nice_steps(whole, 4)
    drawn = []
    for name, values, note in rows:
        marks, x = grid(ticks, whole), 0.0
        for part in parts:
            share = values.get(part.key, 0) / whole
            if share > 0:
                hint = f"{name}: {part.title} {unit(values[part.key])}"
                marks.append(svg.across(x, share, 3, ROW - 6, part.css, hint))
                x += share
        drawn.append(row(name, track(marks), note))
    drawn.append(row("", axis(ticks, whole, unit)))
    return described(label, "\n".join(drawn))


def bars(caption, header, rows, most=None):
    """A table with a bar in each row. header: (of names, of bars, of further columns...);
    rows: (name, value, class, cells...)."""
    most = most or max((value for _, value, *_ in rows), default=0) or 1
    body, evened = [], page.evened([cells for _, _, _, *cells in rows])
    for (name, value, cls, *_), cells in zip(rows, evened):
        mark = track([svg.across(0, max(value / most, 0.004), 2, 14, cls)], 18)
        told = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        body.append(f'<tr><th scope="row">{escape(name)}</th><td class="drawn">{mark}</td>{told}</tr>')
    head = "".join(f'<th scope="col"{cls}>{escape(words)}</th>'
                   for words, cls in zip(header, ["", ' class="words"'] + [""] * len(header)))
    return page.framed(caption, f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>")


def plot(series, label, axes, x_range, y_range, references=(), dots=(), height=240):
    """Lines over a frame. series: (class, [(x, y)]); `dots`: classes whose points are marked;
    axes: (words below the picture, unit of x, unit of y); references: (y, words) of level lines."""
    (x_least, x_most), (y_least, y_most), bottom = x_range, y_range, height - 44
    below, x_unit, y_unit = axes
    x_of = lambda v: (v - x_least) / (x_most - x_least or 1)
    y_of = lambda v: bottom - (v - y_least) / (y_most - y_least or 1) * (bottom - 10)
    parts = []
    y_steps = svg.byte_steps if y_unit is units.bytes_ else svg.nice_steps
    for at in y_steps(y_most - y_least):
        y = y_of(y_least + at)
        parts.append(svg.level_line(y))
        parts.append(svg.text(-8, y + 4, y_unit(y_least + at), "", "end"))
    for i, at in enumerate(svg.nice_steps(x_most - x_least, 5)):
        parts.append(svg.across_text(x_of(x_least + at), bottom + 18, x_unit(x_least + at),
                                     "many" if i % 2 else "", "middle"))
    parts.append(svg.across_text(0.5, height - 6, below, "", "middle"))
    for y, words in references:
        parts.append(svg.level_line(y_of(y), "reference"))
        parts.append(svg.across_text(1, y_of(y) - 5, words, "", "end"))
    lines = [svg.polyline([(1000 * x_of(x), y_of(y)) for x, y in points], f"line {cls}")
             for cls, points in series]
    parts.append(svg.tag("svg", "".join(lines), width="100%", height=height,
                         viewBox=f"0 0 1000 {height}", preserveAspectRatio="none"))
    for cls, points in series:
        if cls in dots:
            parts += [svg.across_point(x_of(x), y_of(y), cls) for x, y in points]
    return described(label, f'<div class="plot">{track(parts, height)}</div>')


def steps(points, end):
    """A value that holds until the next, as the points of a line up to `end`."""
    out = []
    for (x, y), (following, _) in zip(points, points[1:] + [(end, 0)]):
        out += [(x, y), (max(x, following), y)]
    return out


def thinned(points, most=400):
    """At most this many points, including the first and the last."""
    if len(points) <= most:
        return points
    step = (len(points) - 1) / (most - 1)
    return [points[round(i * step)] for i in range(most)]
