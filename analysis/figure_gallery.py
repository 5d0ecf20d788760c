"""All figures on one page, and the table of them."""

from html import escape
from urllib.parse import quote

import figure_counting
import figure_rows
import page
import units
import whole_file

LIST_HEADER = ["figure", "cells", "agree", "in range", "fitted", "informed", "predicted", "worst",
               "cost"]
LIST_LEGEND = [
    "cells of the paper that are compared, and how many agree (a number within "
    f"{100 * figure_counting.AGREES_WITHIN:.0f} %, a statement that is the same); in range: cells "
    "inside a range that several share, counted apart",
    "mean error where the cell itself set a constant (fitted), where other numbers of the paper "
    "did (informed), where none did (predicted); a cell that differs counts as 100 % or more",
    "worst: the largest of all errors, also of ranges; all: what a paper tells in two places "
    "counts in both; cost: about how long it takes on two idle cores",
]


def duration(seconds):
    """"30 s", "2.5 min", "1.8 h"."""
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds / 60:.2g} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def list_row(figure):
    """The figure's words under LIST_HEADER, as its runs were last recorded."""
    told = figure.told["reached"]
    shared = f"{told['inside']} of {told['ranges']}" if told["ranges"] else "-"
    counts = [str(told[key]) if told["cells"] else "-" for key in ("cells", "agree")]
    errors = [units.percent(told[key]) for key in ("fitted", "informed", "predicted", "worst")]
    return [figure.name, *counts, shared, *errors, duration(figure.told["cost_seconds"])]


def sums_row(figures):
    """The sums over all figures, under LIST_HEADER."""
    total = lambda key: sum(f.told["reached"][key] for f in figures)
    seconds = sum(f.told["cost_seconds"] for f in figures)
    return ["all", str(total("cells")), str(total("agree")),
            f"{total('inside')} of {total('ranges')}", "", "", "", "", duration(seconds)]


def _table(figures):
    rows = [[("html", f'<a href="#{_anchor(f)}">{escape(f.name)}</a>'), *list_row(f)[1:]]
            for f in figures]
    rows.append(sums_row(figures))
    return page.table("How close each figure came when it was last recorded", LIST_HEADER, rows)


def _anchor(figure):
    return figure.name.replace("/", "-").replace(".", "-")


def _picture(figure, told):
    """The picture, its files, and the table of its numbers."""
    file = quote(f"{figure.name}/{figure.name.replace('/', '-')}")
    links = ", ".join(f'<a href="{file}.{kind}">{kind.upper()}</a>'
                      for kind in ("png", "svg", "pdf", "csv"))
    words = f"{figure.told['title']}; the numbers stand in the table below"
    image = f'<img src="{file}.svg" alt="{escape(words)}" style="max-width:100%;background:#fff">'
    table = page.table(f"{figure.name}: the paper's numbers and ours", figure_rows.HEADER,
                       list(map(figure_rows.cells_of, told["rows"])))
    return page.figure(f"{figure.told['title']} ({figure.told['source']})", image,
                       f"<p>As a file: {links}</p>", table)


def _section(figure, told, failure):
    parts = [page.paragraph(figure.says())]
    if words := figure.told["reached"].get("words"):
        parts.append(page.paragraph(f"Found here on {figure.told['reached']['date']}: {words}."))
    if failure:
        parts.append(page.warning("not made", failure))
    elif not told:
        parts += [page.paragraph("Not made yet; it takes about "
                                 f"{duration(figure.told['cost_seconds'])}:"),
                  page.command(f"orrery figure {figure.name}")]
    else:
        remarks = "".join(f"<li>{escape(line)}</li>" for line in told["remarks"])
        parts += [*map(page.paragraph, figure_counting.headline(told["counted"])),
                  _picture(figure, told),
                  page.folded("What stands behind it", f"<ul>{remarks}</ul>")]
    return page.section(figure.name, *parts, anchor=_anchor(figure))


def write(out, figures, made, failed):
    """Writes out/index.html: the table as last recorded, then every figure with its picture and
    table. `made` has the outcomes of make_figure() by name, `failed` the reasons why others were not made. Returns
    the file."""
    content = [page.paragraph(f"{len(made)} of {len(figures)} figures are drawn here."),
               _table(figures), *map(page.paragraph, LIST_LEGEND)]
    content += [_section(f, made.get(f.name), failed.get(f.name)) for f in figures]
    file = out / "index.html"
    out.mkdir(parents=True, exist_ok=True)
    whole_file.write(file, page.page("Figures of papers", content))
    return file
