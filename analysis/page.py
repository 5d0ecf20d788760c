"""One HTML page that needs no other file and no network."""

from html import escape

STYLE = """
:root{--back:#fff;--ink:#1c2430;--soft:#5b6675;--line:#dfe4ea;--panel:#f6f8fa;
--blue:#3b78c2;--amber:#e0a52e;--red:#d1495b;--violet:#8a5fb0;--green:#4fa36a;
--sage:#7bb8a4;--grey:#c3cad3;--spmm:#2f6db5;--gemm:#2a9d8f;--kother:#8fb3d9;--good:#2f6db5}
@media (prefers-color-scheme:dark){:root{--back:#14181f;--ink:#e6eaf0;--soft:#9aa6b5;
--line:#2e3642;--panel:#1c222b;--blue:#5b97e0;--amber:#e8b548;--red:#e8697a;
--violet:#ab86cf;--green:#68bd84;--sage:#8fcab7;--grey:#4a5462;--spmm:#5b97e0;
--gemm:#45b8a9;--kother:#3f5f86;--good:#5b97e0}}
body{background:var(--back);color:var(--ink);font:15px/1.5 system-ui,"DejaVu Sans",sans-serif;
max-width:1000px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .4rem;
border-bottom:1px solid var(--line);padding-bottom:.2rem}
.how{display:inline-block;border-radius:3px;padding:0 .5rem;margin-right:.5rem;font-weight:600;
color:var(--back);background:var(--good)}.how.simulated{background:var(--violet)}
.limit{background:var(--panel);border-left:4px solid var(--red);padding:.6rem .9rem;
margin:1rem 0}.warning{border:2px solid var(--red);padding:.6rem .9rem;margin:1rem 0}
.warning b{text-transform:uppercase}p.sub,.note{color:var(--soft)}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:.6rem}
.facts div{background:var(--panel);border-radius:4px;padding:.5rem .7rem}
.facts b{display:block;font-size:1.15rem}.facts span{color:var(--soft);font-size:.85rem}
table{border-collapse:collapse;font-size:.88rem;width:100%}
th,td{padding:.25rem .5rem;border-bottom:1px solid var(--line);text-align:right}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:600}
.wide{overflow-x:auto}pre{background:var(--panel);padding:.7rem;overflow-x:auto;font-size:.8rem}
svg{max-width:100%;height:auto;display:block}svg text{fill:var(--ink);font-size:11px}
svg text.axis,svg text.note,svg text.lane{fill:var(--soft)}
.grid{stroke:var(--line);stroke-width:1}.line{fill:none;stroke-width:1.6}
.legend span{display:inline-block;margin-right:1rem;font-size:.85rem;color:var(--soft)}
.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.35em;border-radius:2px}
a{color:var(--blue)}summary{cursor:pointer;color:var(--soft)}
td:not(:last-child){white-space:nowrap}
rect:hover{opacity:.7}
"""

_FILLS = {"k-spmm": "spmm", "k-gemm": "gemm", "k-other": "kother", "blue": "blue", "red": "red"}
_PARTS = ["blue", "amber", "red", "violet", "green", "sage", "grey"]  # of an epoch, by their place
_LINES = ["spmm", "red", "gemm", "violet", "amber", "green", "kother", "grey"]


def _palette():
    fills = _FILLS | {f"p{i}": colour for i, colour in enumerate(_PARTS)}
    rules = [f".{cls}{{fill:var(--{c});background:var(--{c})}}" for cls, c in fills.items()]
    rules += [f".c{i}{{stroke:var(--{c});background:var(--{c})}}" for i, c in enumerate(_LINES)]
    return "\n".join(rules)


def curve_class(i):
    return f"c{i % len(_LINES)}"


def table(header, rows):
    """Cells are text, or ("html", markup) where they hold a link."""
    cell = lambda c: c[1] if isinstance(c, tuple) else escape(str(c))
    head = "".join(f"<th>{escape(h)}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{cell(c)}</td>" for c in row) + "</tr>" for row in rows)
    inner = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table>{inner}</table></div>'


def facts(entries):
    """entries: (value, name): the headline numbers."""
    tiles = "".join(f"<div><b>{escape(v)}</b><span>{escape(n)}</span></div>" for v, n in entries)
    return f'<div class="facts">{tiles}</div>'


def folded(title, content):
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def section(title, *content, anchor=None):
    mark = f' id="{anchor}"' if anchor else ""
    return f"<h2{mark}>{escape(title)}</h2>\n" + "\n".join(content)


def paragraph(text, cls="sub"):
    return f'<p class="{cls}">{escape(text)}</p>'


def warning(word, text):
    """What a reader has to know before any number."""
    return f'<p class="warning"><b>{escape(word)}</b> {escape(text)}</p>'


def page(title, body):
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        '</title><meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}{_palette()}</style></head>\n<body>\n{body}\n</body></html>\n"
    )
