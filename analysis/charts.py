"""The drawings of a report, as inline SVG."""

import svg
import units

WIDTH = 960
LEFT = 150  # room for names
RIGHT = 20
ROW = 22


def legend(entries):
    """entries: (class, name)."""
    marks = "".join(f'<span><i class="{cls}"></i>{name}</span>' for cls, name in entries)
    return f'<p class="legend">{marks}</p>'


def shortened(name, letters=24):
    return name if len(name) <= letters else name[: letters - 1] + "…"


def _axis(parts, most, y_from, y_to, unit, left=LEFT):
    scale = (WIDTH - left - RIGHT) / most
    for at in svg.nice_steps(most):
        x = left + at * scale
        parts.append(svg.line(x, y_from, x, y_to))
        parts.append(svg.text(x, y_to + 14, unit(at), "axis", "middle"))


def stacked_bars(rows, parts, label, unit=units.seconds, left=LEFT):
    """Horizontal bars. rows: (name, {key of a part: value}, note)."""
    most = max((sum(values.values()) for _, values, _ in rows), default=0) or 1
    scale = (WIDTH - left - RIGHT - 130) / most
    bottom = len(rows) * ROW + 6
    drawn = []
    whole = most * (WIDTH - left - RIGHT) / (WIDTH - left - RIGHT - 130)
    _axis(drawn, whole, 0, bottom, unit, left)
    for i, (name, values, note) in enumerate(rows):
        y, x = i * ROW + 4, left
        drawn.append(svg.text(left - 8, y + 12, shortened(name), "name", "end"))
        for part in parts:
            value = values.get(part.key, 0)
            if value <= 0:
                continue
            hint = f"{name}: {part.title} {unit(value)}"
            drawn.append(svg.rect(x, y, value * scale, ROW - 8, part.css, hint))
            x += value * scale
        drawn.append(svg.text(x + 6, y + 12, note, "note"))
    return svg.picture(WIDTH, bottom + 22, drawn, label)


def bars(rows, label, unit, most=None, left=LEFT):
    """Horizontal bars of one value. rows: (name, value, class, note)."""
    most = most or max((value for _, value, _, _ in rows), default=0) or 1
    scale = (WIDTH - left - RIGHT - 190) / most
    parts = []
    for i, (name, value, cls, note) in enumerate(rows):
        y = i * ROW + 4
        parts.append(svg.text(left - 8, y + 12, shortened(name, left // 7), "name", "end"))
        hint = f"{name}: {unit(value)}"
        parts.append(svg.rect(left, y, max(value * scale, 0.5), ROW - 8, cls, hint))
        parts.append(svg.text(left + value * scale + 6, y + 12, note or unit(value), "note"))
    return svg.picture(WIDTH, len(rows) * ROW + 8, parts, label)


def _frame(parts, x_most, y_least, y_most, x_unit, y_unit, height):
    """Axes of a plot; gives the two scales."""
    y_steps = svg.byte_steps if y_unit is units.bytes_ else svg.nice_steps
    left, top, bottom = 80, 8, height - 34
    x_of = lambda v: left + v / x_most * (WIDTH - left - RIGHT)
    y_of = lambda v: bottom - (v - y_least) / (y_most - y_least) * (bottom - top)
    for at in y_steps(y_most - y_least):
        y = y_of(y_least + at)
        parts.append(svg.line(left, y, WIDTH - RIGHT, y))
        parts.append(svg.text(left - 8, y + 4, y_unit(y_least + at), "axis", "end"))
    for at in svg.nice_steps(x_most, 8):
        parts.append(svg.text(x_of(at), bottom + 16, x_unit(at), "axis", "middle"))
    return x_of, y_of


def curves(series, label, x_name, y_unit, y_range=None, height=220):
    """series: (class, name, [(x, y)]); y_range: (least, most) or from the data."""
    points = [point for _, _, line in series for point in line]
    least, most = y_range or (min(0, min(y for _, y in points)), max(y for _, y in points))
    parts = []
    x_most = max(max(x for x, _ in points), 1)
    x_of, y_of = _frame(parts, x_most, least, most if most > least else least + 1,
                        lambda v: f"{v:g}", y_unit, height)
    for cls, _, line in series:
        parts.append(svg.polyline([(x_of(x), y_of(y)) for x, y in line], f"line {cls}"))
    parts.append(svg.text(WIDTH - RIGHT, height - 4, x_name, "axis", "end"))
    return svg.picture(WIDTH, height, parts, label)


def steps(series, label, x_most, height=200):
    """Memory over time: each value holds until the next. series: (class, name, [(x, y)])."""
    most = max(y for _, _, line in series for _, y in line) or 1
    parts = []
    x_of, y_of = _frame(parts, x_most, 0, most * 1.05, units.seconds, units.bytes_, height)
    for cls, name, line in series:
        points = []
        for (x, y), (following, _) in zip(line, line[1:] + [(x_most, 0)]):
            points += [(x_of(x), y_of(y)), (x_of(max(x, following)), y_of(y))]
        parts.append(svg.polyline(points, f"line {cls}"))
    return svg.picture(WIDTH, height, parts, label)
