"""Pieces of SVG as text. Colours are CSS classes of the page, which follow light and dark."""

import math
import re
from html import escape


def tag(name, content="", **attributes):
    """<name a="b">content</name>; `cls` is written as class, underscores as hyphens."""
    words = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        key = "class" if key == "cls" else key.replace("_", "-")
        if isinstance(value, float):
            value = f"{value:.2f}".rstrip("0").rstrip(".")
        words.append(f'{key}="{escape(str(value))}"')
    head = " ".join(words)
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def across(x, width, y, height, cls, hint=""):
    """A rectangle; x and width are shares of the width of the drawing."""
    title = f"<title>{escape(hint)}</title>" if hint else ""
    return tag("rect", title, x=percent(x), y=float(y), width=percent(width), height=float(height),
               cls=cls)


def percent(share):
    return f"{100 * share:.3f}".rstrip("0").rstrip(".") + "%"


def across_line(x, height, cls="grid"):
    """A line from top to bottom at a share of the width."""
    return tag("line", x1=percent(x), y1=0, x2=percent(x), y2=height, cls=cls)


def level_line(y, cls="grid"):
    """A line from left to right."""
    return tag("line", x1=0, y1=float(y), x2="100%", y2=float(y), cls=cls)


def across_text(x, y, content, cls="", anchor="start"):
    return tag("text", escape(str(content)), x=percent(x), y=float(y), cls=cls or None,
               text_anchor=anchor if anchor != "start" else None)


def across_point(x, y, cls):
    return tag("circle", cx=percent(x), cy=float(y), r=4, cls=cls)


def text(x, y, content, cls="", anchor="start"):
    return tag("text", escape(str(content)), x=float(x), y=float(y), cls=cls or None,
               text_anchor=anchor if anchor != "start" else None)


def polyline(points, cls):
    return tag("polyline", points=" ".join(f"{x:.2f},{y:.2f}" for x, y in points), cls=cls)


def width_of(content, size):
    """About how wide the words are; no letters are measured."""
    return 0.62 * size * len(content)


def label(x, y, content, size, anchor="start", bold=False, width=None):
    """Words in a drawing of their own, cut with an ellipsis if they are wider than `width`; the mouse then shows all of
    them."""
    shown, hint = content, ""
    if width is not None and width_of(content, size) > width:
        shown = content[: max(1, int(width / width_of("x", size)) - 1)] + "…"
        hint = tag("title", escape(content))
    return tag("text", hint + escape(shown), x=float(x), y=float(y), font_size=size,
               text_anchor=anchor if anchor != "start" else None,
               font_weight="bold" if bold else None)


def document(width, height, parts, title):
    """A drawing that is a file of its own, on white."""
    background = tag("rect", width="100%", height="100%", fill="white")
    whole = tag("svg", "\n".join([tag("title", escape(title)), background, *parts]) + "\n",
                xmlns="http://www.w3.org/2000/svg", width=f"{width:.0f}", height=f"{height:.0f}",
                viewBox=f"0 0 {width:.0f} {height:.0f}", fill="#222",
                font_family="Helvetica, Arial, sans-serif")
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", whole) + "\n"


def nice_steps(most, wanted=5):
    """About this many round positions from 0 up to `most`."""
    if most <= 0:
        return [0.0]
    magnitude = 10.0 ** math.floor(math.log10(most))
    step = next(
        m * magnitude for m in (0.1, 0.2, 0.5, 1, 2, 5, 10) if most / (m * magnitude) <= wanted
    )
    return [i * step for i in range(int(most / step + 1e-9) + 1)]


def byte_steps(most, wanted=5):
    """The same, in round numbers of KiB, MiB, ..."""
    unit = 1024.0 ** max(0, math.floor(math.log(most, 1024))) if most > 0 else 1.0
    return [at * unit for at in nice_steps(most / unit, wanted)]
