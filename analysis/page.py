"""One HTML page that needs no other file and no network, in light and dark, for any width."""

import re
from dataclasses import dataclass
from html import escape

import colours
import units

# Every drawn thing has a class, and each class a colour.
MARKS = {f"part-{key}": colour for key, colour in colours.PARTS.items()} | {
    "sparse": colours.SPARSE, "dense": colours.DENSE, "computing": colours.OTHER_COMPUTATION,
    "memory": colours.MEMORY, "link": colours.LINK, "full-link": colours.FULL_LINK,
} | {f"series-{i}": colour for i, colour in enumerate(colours.SERIES)}

_WORDS = {"back": colours.Colour(colours.PAPER, colours.DARK_PAPER), "ink": colours.INK,
          "soft": colours.SOFT_INK, "measured": colours.PARTS["compute"],
          "simulated": colours.PARTS["synchronise"], "alert": colours.PARTS["external"],
          "line": colours.Colour("#dfe4ea", "#2e3642"), "panel": colours.Colour("#f6f8fa", "#1c222b")}

STYLE = """
*{box-sizing:border-box}
body{background:var(--back);color:var(--ink);font:16px/1.5 system-ui,"DejaVu Sans",sans-serif;
max-width:1000px;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .6rem}
h2{font-size:1.25rem;margin:2.4rem 0 .5rem;border-bottom:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.8rem 0 .4rem}h4{font-size:1rem;margin:1.4rem 0 .4rem}
summary{cursor:pointer;padding:.3rem 0}summary h2,summary h3{display:inline;border:0}
p{margin:.4rem 0}p.sub,.note,figcaption,caption,.legend{color:var(--soft)}
.how{display:inline-block;border-radius:3px;padding:0 .5rem;margin-right:.5rem;font-weight:600;
color:var(--back);background:var(--measured)}.how.simulated{color:var(--back);background:var(--simulated)}
.said{background:var(--panel);border-left:4px solid var(--soft);padding:.6rem .9rem;margin:1rem 0}
.warning{border:2px solid var(--alert);padding:.6rem .9rem;margin:1rem 0}
.warning b{text-transform:uppercase}
nav ul{columns:14rem;padding-left:1.2rem;margin:.5rem 0}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.6rem;margin:0}
.facts div{background:var(--panel);border-radius:4px;padding:.5rem .7rem;display:flex;
flex-direction:column-reverse;justify-content:flex-end}
.facts dt{color:var(--soft);font-size:.85rem}.facts dd{margin:0;font-size:1.15rem;font-weight:600}
figure{margin:.8rem 0 1.2rem}figcaption,caption{font-size:.92rem;text-align:left;padding:.2rem 0}
caption span{display:block;position:sticky;left:0;max-width:calc(100vw - 2rem)}
table{border-collapse:collapse;font-size:.88rem;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .5rem;border-bottom:1px solid var(--line);text-align:right;
overflow-wrap:normal;white-space:nowrap}
thead th,tbody th,td.words{white-space:normal}
th{font-weight:600}thead th{color:var(--soft);vertical-align:bottom}
tbody th{font-weight:400}th:first-child,td.words,th.words{text-align:left}
tbody th{overflow-wrap:anywhere;min-width:6rem}td.long{min-width:15rem}
.wide{overflow-x:auto}pre{background:var(--panel);padding:.7rem;overflow-x:auto;font-size:.8rem}
code{background:var(--panel);padding:.1rem .3rem}
svg{display:block;width:100%;overflow:visible}svg text{fill:var(--soft);font-size:12px}
.bar{display:grid;grid-template-columns:10rem 1fr 8rem;column-gap:.6rem;font-size:.88rem;
line-height:1.4}
.bar .name{text-align:right}.bar.lane{grid-template-columns:5.5rem 1fr}
.rank{font-size:.88rem;font-weight:600;margin-top:.3rem}
.plot{padding:.3rem 1rem 0 5rem}td.drawn{width:40%;min-width:5rem;vertical-align:middle}
@media(max-width:620px){body{margin:1rem auto;padding:0 .8rem}
.bar:not(.lane){grid-template-columns:1fr auto;margin-top:.3rem}.bar:not(.lane) .name{text-align:left}
.bar:not(.lane) svg{grid-column:1/-1;grid-row:2}.bar.lane{grid-template-columns:4.6rem 1fr}
.plot{padding-left:4.4rem}th,td{padding:.25rem .35rem}.many{display:none}}
.grid{stroke:var(--line);stroke-width:1}.reference{stroke:var(--soft);stroke-width:1.5;
stroke-dasharray:2 4}.line{fill:none;stroke-width:2;vector-effect:non-scaling-stroke}
.line.ideal{stroke:var(--soft);stroke-dasharray:2 4}
.hatch{stroke:var(--back);fill:none;stroke-width:1.4;opacity:.65}
.legend span{display:inline-flex;align-items:center;margin-right:1.1rem;font-size:.88rem}
.legend svg{width:26px;margin-right:.4rem;flex:none}
.unseen{position:absolute;width:0;height:0}
a{color:var(--measured)}rect:hover{opacity:.75}
"""

LONG_WORDS = 30  # letters in a cell that takes several lines

# Hatches by name, each drawn over a plain area of 8 by 8.
_HATCHES = {"/": "M-2 2L2-2M0 8L8 0M6 10L10 6", "\\": "M-2 6L2 10M0 0L8 8M6-2L10 2",
            "x": "M0 8L8 0M0 0L8 8", "-": "M0 4H8", "|": "M4 0V8", "+": "M0 4H8M4 0V8",
            ".": "M2 2h2M6 6h2"}


def _colours():
    named = _WORDS | MARKS
    values = lambda shade: "".join(f"--{name}:{getattr(colour, shade)};"
                                   for name, colour in named.items())
    return (f":root{{color-scheme:light dark;{values('light')}}}\n"
            f"@media(prefers-color-scheme:dark){{:root{{{values('dark')}}}}}\n")


def _rules():
    rules = []
    for name, colour in MARKS.items():
        fill = f"url(#hatch-{name})" if colour.hatch else f"var(--{name})"
        rules.append(f".{name}{{fill:{fill}}}")
        if name.startswith("series"):
            dashes = f";stroke-dasharray:{' '.join(map(str, colours.DASHES[colour.hatch]))}" if colour.hatch else ""
            rules.append(f".line.{name}{{fill:none;stroke:var(--{name}){dashes}}}"
                         f"circle.{name}{{fill:var(--{name})}}")
    return "\n".join(rules)


def _hatches():
    """The patterns that the classes with a hatch are filled with."""
    patterns = [
        f'<pattern id="hatch-{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" style="fill:var(--{name})"/>'
        f'<path class="hatch" d="{_HATCHES[colour.hatch]}"/></pattern>'
        for name, colour in MARKS.items() if colour.hatch
    ]
    return f'<svg class="unseen" aria-hidden="true"><defs>{"".join(patterns)}</defs></svg>'


@dataclass
class Section:
    """A heading and what stands below it: markup, and sections of their own."""

    title: str
    content: list
    anchor: str = ""  # of links to it; "" for one made of the title
    folded: bool = False  # opened by a click

    def place(self, under):
        if self.anchor:
            return self.anchor
        words = re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")
        return f"{under}-{words}" if under else words


def section(title, *content, **told):
    """None if there is nothing to show."""
    content = [one for one in content if one]
    return Section(title, content, **told) if content else None


def _render(one, level, under=""):
    if isinstance(one, str):
        return one
    place = one.place(under)
    body = "\n".join(_render(part, level + 1, place) for part in one.content)
    head = f"<h{level}>{escape(one.title)}</h{level}>"
    if one.folded:
        return f'<details id="{place}"><summary>{head}</summary>\n{body}\n</details>'
    return f'<section id="{place}">{head}\n{body}\n</section>'


def table(caption, header, rows, words=()):
    """Cells are text, or ("html", markup) if they hold a link. The first cell of a row names it;
    `words`: the numbers of further columns that hold words."""
    cell = lambda c: c[1] if isinstance(c, tuple) else escape(str(c))
    rows = evened(rows)
    long = {i for i in words if any(len(str(row[i])) > LONG_WORDS for row in rows)}
    cls = lambda i: ' class="words long"' if i in long else ' class="words"' if i in words else ""
    head = "".join(f'<th scope="col"{cls(i)}>{escape(h)}</th>' for i, h in enumerate(header))
    body = "".join(
        f'<tr><th scope="row">{cell(row[0])}</th>'
        + "".join(f"<td{cls(i)}>{cell(c)}</td>" for i, c in enumerate(row[1:], 1)) + "</tr>"
        for row in rows)
    return framed(caption, f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>")


def evened(rows):
    """Rows whose numbers have as many digits as others of their column."""
    columns = [units.even(column) if all(isinstance(cell, str) for cell in column) else column
               for column in zip(*rows)]
    return [list(row) for row in zip(*columns)] if columns else rows


def framed(caption, inner):
    """A table that can be moved sideways if it is wider than the page, below words that stay."""
    return (f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
            f"<caption><span>{escape(caption)}</span></caption>{inner}</table></div>")


def figure(caption, *content):
    """A drawing with its legend, and the table of its numbers."""
    return (f"<figure><figcaption>{escape(caption)}</figcaption>\n" + "\n".join(content)
            + "</figure>")


def facts(entries):
    """entries: (value, name): the headline numbers."""
    tiles = "".join(f"<div><dt>{escape(n)}</dt><dd>{escape(v)}</dd></div>" for v, n in entries)
    return f'<dl class="facts">{tiles}</dl>'


def folded(title, content):
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def preformatted(label, text):
    return f'<pre tabindex="0" role="region" aria-label="{escape(label)}">{escape(text)}</pre>'


def paragraph(text, cls="sub"):
    return f'<p class="{cls}">{escape(text)}</p>'


def command(text):
    return f"<p><code>{escape(text)}</code></p>"


def said(word, text):
    """An answer or a hint that stands out."""
    return f'<p class="said"><b>{escape(word)}:</b> {escape(text)}</p>'


def warning(word, text):
    """Warnings to read before any number."""
    return f'<p class="warning"><b>{escape(word)}</b> {escape(text)}</p>'


def _contents(sections):
    links = "".join(f'<li><a href="#{one.place("")}">{escape(one.title)}</a></li>'
                    for one in sections)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


# Tags, and texts that are copied as they are.
_NOT_WORDS = re.compile(r"(<pre\b.*?</pre>|<code>.*?</code>|<[^>]*>)", re.DOTALL)


def _unbroken(body):
    """Markup whose lines break between no number and its unit."""
    pieces = _NOT_WORDS.split(body)
    pieces[::2] = map(units.unbroken, pieces[::2])
    return "".join(pieces)


def page(title, content):
    """The page of these pieces of markup and Sections; the sections make its contents list."""
    content = [one for one in content if one]
    sections = [one for one in content if isinstance(one, Section)]
    first = next((i for i, one in enumerate(content) if isinstance(one, Section)), len(content))
    pieces = content[:first] + ([_contents(sections)] if len(sections) > 1 else []) + content[first:]
    body = _unbroken("\n".join(_render(one, 2) for one in pieces))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        '</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_colours()}{STYLE}{_rules()}</style></head>\n<body>{_hatches()}\n<main>"
        f"<h1>{escape(title)}</h1>\n{body}\n</main></body></html>\n"
    )
