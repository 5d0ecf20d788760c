"""Rules for our pages, so that everybody can read them: those of WCAG 2.2 that a page's source can show, and ours about
charts. broken_rules() says each breach in a line."""

import re
from html.parser import HTMLParser

import colours

VOID = {"meta", "br", "hr", "img", "link", "input"}
HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]


class Node:
    def __init__(self, tag, told, parent):
        self.tag, self.told, self.parent, self.children, self.own = tag, told, parent, [], ""

    def all(self, *tags):
        """Nodes below with one of these tags, in the order of the page."""
        for child in self.children:
            if not tags or child.tag in tags:
                yield child
            yield from child.all(*tags)

    def up(self):
        node = self.parent
        while node:
            yield node
            node = node.parent

    def inside(self, tag):
        return any(node.tag == tag for node in self.up())

    @property
    def text(self):
        return (self.own + " ".join(child.text for child in self.children)).strip()

    @property
    def classes(self):
        return (self.told.get("class") or "").split()


class Tree(HTMLParser):
    """The page as Nodes; raises where tags do not close each other."""

    def __init__(self, source):
        super().__init__()
        self.root = self.here = Node("", {}, None)
        self.feed(source)
        self.close()
        assert self.here is self.root, f"<{self.here.tag}> is left open"

    def handle_starttag(self, tag, attributes):
        node = Node(tag, dict(attributes), self.here)
        self.here.children.append(node)
        if tag not in VOID:
            self.here = node

    def handle_startendtag(self, tag, attributes):
        self.here.children.append(Node(tag, dict(attributes), self.here))

    def handle_endtag(self, tag):
        assert self.here.tag == tag, f"</{tag}> closes <{self.here.tag}>"
        self.here = self.here.parent

    def handle_data(self, data):
        self.here.own += data


def _structure(root):
    for tag in ("h1", "main", "title"):
        found = [node for node in root.all(tag) if not node.inside("svg")]
        if len(found) != 1 or not found[0].text:
            yield f"{len(found)} <{tag}>, expected one with words"
    if not next(root.all("html")).told.get("lang"):
        yield "<html> does not say its language"
    if next(root.all("script"), None):
        yield "a script"
    level = 0
    for heading in root.all(*HEADINGS):
        now = HEADINGS.index(heading.tag) + 1
        if now > level + 1:
            yield f"<{heading.tag}> \"{heading.text}\" follows <h{level}>"
        if not heading.text:
            yield f"an empty <{heading.tag}>"
        level = now
    ids = [node.told["id"] for node in root.all() if node.told.get("id")]
    for twice in {one for one in ids if ids.count(one) > 1}:
        yield f"two elements are called {twice}"
    for link in root.all("a"):
        if not link.text:
            yield "a link without words"
        if link.told.get("href", "").lstrip("#") not in ids:
            yield f"a link to {link.told.get('href')}, which is not there"
    sections = [node for node in next(root.all("main")).children if node.told.get("id")]
    listed = {link.told["href"][1:] for nav in root.all("nav") for link in nav.all("a")}
    if len(sections) > 1 and (missing := {node.told["id"] for node in sections} - listed):
        yield f"the list of contents lacks {sorted(missing)}"


def _tables(root):
    for table in root.all("table"):
        caption = next(table.all("caption"), None)
        if not caption or not caption.text:
            yield "a table without a caption"
        for cell in table.all("th"):
            if cell.told.get("scope") not in ("col", "row"):
                yield f"the heading \"{cell.text}\" of a table has no scope"
        widths = {len(list(row.all("th", "td"))) for row in table.all("tr")}
        if len(widths) > 1:
            yield f"the table \"{caption.text}\" has rows of {sorted(widths)} cells"
        for row in table.all("tr"):
            if row.inside("tbody") and row.children[0].tag != "th":
                yield f"a row of \"{caption.text}\" has no name"
    for node in root.all("pre", "div"):
        if (node.tag == "pre" or "wide" in node.classes) and not (
                node.told.get("tabindex") == "0" and node.told.get("aria-label")):
            yield f"<{node.tag}> scrolls, but not with the keyboard"


def _is_data(node):
    """Whether the mark is a value, and not part of a legend or of a pattern."""
    return not node.inside("pattern") and not any("legend" in one.classes for one in node.up())


def _drawings(root):
    for figure in root.all("figure"):
        caption = next(figure.all("figcaption"), None)
        if not caption or not caption.text:
            yield "a figure without a caption"
        if not next(figure.all("table"), None):
            yield f"the figure \"{caption.text[:40]}\" has no table of its numbers"
    for drawing in root.all("svg"):
        if drawing.told.get("aria-hidden") != "true" and not any(
                node.told.get("aria-hidden") == "true" for node in drawing.up()):
            yield "a drawing that is neither named nor hidden"
        if drawing.told.get("viewbox") and next(drawing.all("text"), None):
            yield "words in a drawing that is scaled"
    for node in root.all():
        if node.told.get("role") == "img":
            if not node.told.get("aria-label"):
                yield "a drawing without a name"
            if not node.inside("figure"):
                yield f"the drawing \"{node.told.get('aria-label')}\" is in no figure"


def _legends(root):
    """Every class of marks that a chart mixes with others stands in the legend beside it, and no other class does."""
    for chart in [*root.all("figure"), *root.all("section")]:
        if chart.tag == "section" and (next(chart.all("figure"), None) or next(
                chart.all("section"), None)):
            continue
        legends = [node for node in chart.all("p") if "legend" in node.classes]
        shown = {" ".join(mark.classes) for legend in legends
                 for mark in legend.all("rect", "line")}
        drawn = {" ".join(mark.classes) for mark in chart.all("rect", "polyline") if _is_data(mark)}
        if len(drawn) > 1 and (missing := drawn - shown):
            hardly = [mark for mark in chart.all("rect") if " ".join(mark.classes) in missing
                      and float(mark.told["width"].rstrip("%")) > 0.11]
            if hardly or any(mark.startswith("line") for mark in missing):
                yield f"no legend for {sorted(missing)}"
        if extra := shown - drawn:
            yield f"a legend for {sorted(extra)}, which does not occur"


def _values(style, dark):
    """{name: "#rrggbb"} of one of the two colour schemes."""
    root, dim = re.findall(r":root\{(.*?)\}", style)[:2]
    return dict(re.findall(r"--([\w-]+):(#[0-9a-fA-F]{6})", dim if dark else root))


def _contrast(root):
    style = next(root.all("style")).text
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", style)
    fills = {}
    for selector, body in rules:
        if found := re.search(r"(?:fill|stroke):(?:var\(--([\w-]+)\)|url\(#hatch-([\w-]+)\))", body):
            for one in selector.split(","):
                fills[one.strip().removeprefix("circle")] = found[1] or found[2]
    used = {" ".join(mark.classes) for mark in root.all("rect", "polyline", "circle")
            if not mark.inside("pattern")}
    for dark in (False, True):
        value, scheme = _values(style, dark), "dark" if dark else "light"
        for cls in used:
            name = fills.get("." + cls.replace(" ", "."))
            if name is None:
                yield f"marks of class \"{cls}\" have no colour"
            elif (ratio := colours.contrast(value[name], value["back"])) < 3:
                yield f"{cls} stands out {ratio:.2f}:1 in {scheme}, expected 3:1"
        for selector, body in rules:
            ink = re.search(r"(?:^|;)\s*color:var\(--([\w-]+)\)", body)
            if "svg text" in selector:
                ink = re.search(r"fill:var\(--([\w-]+)\)", body)
            if not ink:
                continue
            paper = re.search(r"background:var\(--([\w-]+)\)", body)
            for under in [paper[1]] if paper else ["back", "panel"]:
                ratio = colours.contrast(value[ink[1]], value[under])
                if ratio < 4.5:
                    yield f"{selector.strip()}: words stand out {ratio:.2f}:1 in {scheme}"


def _sizes(root):
    style = next(root.all("style")).text
    for size, unit in re.findall(r"font(?:-size)?:(?:\d+ )?([\d.]+)(px|rem)", style):
        pixels = float(size) * (16 if unit == "rem" else 1)
        if pixels < 12:
            yield f"letters of {pixels:g} pixels"


def broken_rules(source):
    """All breaches of a page's source, each in a line; none of a good page."""
    root = Tree(source).root
    checks = (_structure, _tables, _drawings, _legends, _contrast, _sizes)
    return [breach for check in checks for breach in check(root)]
