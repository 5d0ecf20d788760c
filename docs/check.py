#!/usr/bin/env python3
"""Checks the pages: lines, sentences, links, words of the glossary, pictures and numbers from other files.

  docs/check.py           what is wrong, one line each; exit status 1 if anything is
  docs/check.py --sentences   the mean number of words in a sentence of each page, and the longest sentence
  docs/check.py --link    links each word of the glossary where a page uses it first
  docs/check.py --count   writes the cells of figures that agree into the README"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

DOCS = Path(__file__).resolve().parent
TOP = DOCS.parent
WIDTH, MEAN, LONGEST = 110, 20, 45  # characters of a line; words of a sentence
README_LINES, README_WORDS = 120, 700
PAPERS = {"granndis": "GraNNDis", "mg-gcn": "MG-GCN", "distdglv2": "DistDGLv2", "deal": "Deal", "catgnn": "CATGNN"}


def pages():
    return [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "SECURITY.md", *sorted(DOCS.glob("*.md"))]


def blank(text, pattern):
    """`text` with spaces in the place of what matches, so that all else stays where it is."""
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S | re.M)


def without_code(text):
    return blank(blank(text, r"^```.*?^```"), r"`[^`\n]*`")


# ---- lines and sentences

def long_lines(text):
    """Lines that are too long and can be broken: rows of tables and single words cannot."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDTH and not line.startswith("|") and " " in line.strip():
            yield f"line {number} has {len(line)} characters, at most {WIDTH}"


def paragraphs(text):
    """Paragraphs and items of lists, each in one line; no code, headings, tables, pictures."""
    text = re.sub(r"^```.*?^```", "\n", text, flags=re.S | re.M)
    now = []
    for line in text.splitlines() + [""]:
        item = re.match(r"\s*([-*]|\d+\.)\s+", line)
        if item or not line.strip() or line.startswith(("|", "#", "![", "<!--")):
            if now:
                yield " ".join(now)
            now = [line[item.end():]] if item else []
        else:
            now.append(line.strip())


def sentences(text):
    for paragraph in paragraphs(text):
        plain = re.sub(r"\]\([^)]*\)", "]", paragraph)
        plain = re.sub(r"`[^`]*`", "code", plain)
        plain = re.sub(r"\b(e\.g|i\.e|et al|Fig|Eq|vs)\.", r"\1", plain)
        for sentence in re.split(r"(?<=[.!?:])[)\"]?\s+(?=[A-Z\"(\[*0-9]|code)", plain):
            if len(sentence.split()) > 1:
                yield sentence


def words(sentence):
    return len(re.findall(r"[\w'’-]+", sentence))


def wordy(text):
    counts = [(words(sentence), sentence) for sentence in sentences(text)]
    mean = sum(count for count, _ in counts) / max(1, len(counts))
    if mean > MEAN:
        yield f"a sentence has {mean:.1f} words in the mean, at most {MEAN}"
    for count, sentence in counts:
        if count > LONGEST:
            yield f"a sentence has {count} words, at most {LONGEST}: {sentence[:60]}..."


# ---- links

def anchors(page):
    """The names of a page's headings in links."""
    found = set()
    for heading in re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain.replace("`", "")).strip().replace(" ", "-"))
    return found


def dead_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists():
            yield f"a link leads to {path}, which is not there"
        elif anchor and anchor not in anchors(other):
            yield f"a link leads to {target}, but there is no such heading"


# ---- words of the glossary

def glossary():
    """{heading: forms}. A comment `<!-- as: ... -->` below a heading says in which forms it is looked for."""
    found = {}
    for entry in re.split(r"^### ", (DOCS / "glossary.md").read_text(), flags=re.M)[1:]:
        heading = entry.split("\n", 1)[0].strip()
        forms = re.search(r"<!-- as: (.*?) -->", entry)
        found[heading] = [form.strip() for form in forms[1].split(",")] if forms else [heading]
    return found


def first_use(text, forms):
    """Where a page first uses a word, and whether it is a link there: (begin, end, linked), or None."""
    seen = without_code(text)
    seen = blank(seen, r"^#[^\n]*")
    seen = blank(seen, r"^!\[[^\n]*")
    seen = blank(seen, r"(?<=\])\([^)]*\)")
    seen = blank(seen, r"^<!-- keys of [^>]*-->\n\n(?:\|[^\n]*\n)*")
    seen = blank(seen, r"<!--.*?-->")
    seen = blank(seen, r"\"[^\"\n]*\"")
    pattern = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in forms)
    found = re.search(rf"(?<![\w/.-])(?:{pattern})(?:s|es)?(?![\w/-])", seen, re.I)
    if not found:
        return None
    before, behind = seen[:found.start()], seen[found.end():]
    linked = before.rfind("[") > before.rfind("]") and re.match(r"[^\[\]]*\]", behind) is not None
    return found.start(), found.end(), linked


def unlinked(page, text):
    if page.name in ("glossary.md", "keys.md", "CONTRIBUTING.md", "SECURITY.md"):
        return
    for heading, forms in glossary().items():
        use = first_use(text, forms)
        if use and not use[2]:
            yield heading, use


def link(page):
    """Links the first use of each word; the last ones first, so that places stay valid."""
    text = page.read_text()
    to = "docs/glossary.md" if page.parent == TOP else "glossary.md"
    for heading, (begin, end, _) in sorted(unlinked(page, text), key=lambda found: -found[1][0]):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        text = f"{text[:begin]}[{text[begin:end]}]({to}#{anchor}){text[end:]}"
    page.write_text(text)


# ---- what comes from other files

def agreeing():
    """{paper: "agree of cells"}, summed over what its figures recorded."""
    counts = defaultdict(lambda: [0, 0])
    for file in sorted((TOP / "configs").glob("*/*/figure.json")):
        reached = json.loads(file.read_text()).get("reached") or {}
        counts[file.parent.parent.name][0] += reached.get("agree", 0)
        counts[file.parent.parent.name][1] += reached.get("cells", 0)
    return {name: f"{counts[paper][0]} of {counts[paper][1]}" if counts[paper][1] else "none drawn"
            for paper, name in PAPERS.items()}


def readme(count=False):
    text = (TOP / "README.md").read_text()
    if len(text.splitlines()) > README_LINES or len(text.split()) > README_WORDS:
        yield (f"has {len(text.splitlines())} lines and {len(text.split())} words, "
               f"at most {README_LINES} and {README_WORDS}")
    for name, cells in agreeing().items():
        row = re.search(rf"^\| {name} \|.*\| ([^|]*) \|$", text, re.M)
        if row and row[1] != cells:
            if count:
                text = text[:row.start(1)] + cells + text[row.end(1):]
            else:
                yield f"says of {name} that {row[1]} cells agree; figures recorded {cells}: run docs/check.py --count"
    if count:
        (TOP / "README.md").write_text(text)


def faults():
    for page in pages():
        text = page.read_text()
        said = [*long_lines(text), *wordy(text), *dead_links(page, text),
                *(f"{heading} is not linked where it is used first: "
                  f"{' '.join(text[max(0, use[0] - 20):use[1] + 20].split())} (docs/check.py --link)"
                  for heading, use in unlinked(page, text))]
        yield from (f"{page.relative_to(TOP)}: {fault}" for fault in said)
    yield from (f"README.md: {fault}" for fault in readme())
    for script in ("keys.py", "predicted.py"):
        run = subprocess.run([sys.executable, "-B", DOCS / script, "--check"], capture_output=True, text=True)
        if run.returncode:
            yield run.stderr.strip()


def main():
    asked = sys.argv[1:]
    if asked == ["--link"]:
        for page in pages():
            link(page)
    elif asked == ["--count"]:
        list(readme(count=True))
    elif asked == ["--sentences"]:
        for page in pages():
            counts = sorted((words(sentence), sentence) for sentence in sentences(page.read_text()))
            if counts:
                print(f"{sum(count for count, _ in counts) / len(counts):5.1f}  {page.relative_to(TOP)}; "
                      f"the longest has {counts[-1][0]}: {counts[-1][1][:70]}")
    elif asked:
        print(__doc__, file=sys.stderr)
        return 2
    else:
        found = list(faults())
        print("".join(f"{fault}\n" for fault in found), end="")
        return 1 if found else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
