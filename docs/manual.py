"""./orrery docs [DIR]: the manual as a site (default: site/), with search and the pages of the Python API.

Every docs/*.md is a page, in the order of their titles behind README.md; what they link to of the sources is a
page, too. A link that leads nowhere, or a page that no other one links to, is an error.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!`)\]\((?!https?:|mailto:|#)([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)

# The parts of the package, as its API page shows them.
MODULES = {
    "Partitions, samples and products of arrays": "kernels",
    "Runs": "runs",
    "Results": "results",
    "Data in": "data",
    "Models out": "checkpoint",
    "Pictures": "panels",
}

LANGUAGES = {".py": "python", ".hpp": "cpp", ".cpp": "cpp", ".json": "json", ".pyi": "python", ".sh": "bash"}


class SiteError(Exception):
    """An error, told in one line."""


def pages():
    """{source file: file name on the site} for each page of the manual."""
    found = {ROOT / "README.md": "index.md"}
    found |= {file: file.name for file in sorted((ROOT / "docs").glob("*.md"))}
    for name in ("CONTRIBUTING.md", "SECURITY.md"):
        found[ROOT / name] = name
    return found


def title_of(text, otherwise):
    heading = re.search(r"^# +(.+)$", text, re.M)
    return re.sub(r"[`*]", "", heading[1]).strip() if heading else otherwise


def links_of(text):
    """The links of a page, without those in code."""
    return LINK.findall(FENCE.sub("", text))


def require_no_orphans(texts):
    """Every page is linked from another one."""
    linked = {(file.parent / target.split("#")[0]).resolve()
              for file, text in texts.items() for target in links_of(text)}
    orphans = [file.relative_to(ROOT) for file in texts
               if file not in linked and file.name not in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    if orphans:
        raise SiteError("no page links to " + ", ".join(map(str, orphans)) + ": name it where a reader looks for it")


def source_page(target):
    """The name of the page that shows a file or a folder of the sources."""
    return f"source/{target.relative_to(ROOT).as_posix()}.md"


def write_source(target, folder):
    page = folder / source_page(target)
    page.parent.mkdir(parents=True, exist_ok=True)
    shown = f"---\nsearch:\n  exclude: true\n---\n# {target.relative_to(ROOT)}\n\n"
    if target.is_dir():
        shown += "\n".join(f"- `{file.relative_to(target)}`" for file in sorted(target.rglob("*")) if file.is_file())
    elif target.suffix in (".svg", ".png"):
        shutil.copy(target, page.parent / target.name)
        shown += f"![{target.name}]({target.name})"
    else:
        shown += f"``````{LANGUAGES.get(target.suffix, '')}\n{target.read_text(encoding='utf-8')}\n``````"
    page.write_text(shown + "\n", encoding="utf-8")


def on_site(file, name, text, all_pages, folder):
    """The text of a page with its links as they are on the site."""
    def link(match):
        target, _, anchor = match[1].partition("#")
        there = (file.parent / target).resolve()
        if not there.exists() or ROOT not in there.parents and there != ROOT:
            raise SiteError(f"{file.relative_to(ROOT)}: links to {match[1]}, which is not there")
        if there in all_pages:
            made = all_pages[there]
        elif there.suffix in (".svg", ".png"):
            shutil.copy(there, folder / there.name)
            made = there.name
        else:
            write_source(there, folder)
            made = source_page(there)
        return "](" + made + (f"#{anchor}" if anchor else "") + ")"

    pieces, end = [], 0
    for fence in FENCE.finditer(text):
        pieces += [LINK.sub(link, text[end:fence.start()]), fence[0]]
        end = fence.end()
    pieces.append(LINK.sub(link, text[end:]))
    (folder / name).write_text("".join(pieces), encoding="utf-8")


def api_page():
    text = "# The Python package\n\nWhat `import orrery` gives; [how to use it](python.md).\n"
    for title, module in MODULES.items():
        if (ROOT / "python/orrery" / f"{module}.py").exists():
            text += f"\n## {title}\n\n::: orrery.{module}\n"
    return text


def settings(nav, docs, out):
    """mkdocs.yml, which is JSON here: YAML takes it."""
    import json

    return json.dumps({
        "site_name": "Orrery",
        "docs_dir": str(docs),
        "site_dir": str(out),
        "use_directory_urls": False,
        "theme": {"name": "material", "font": False, "features": ["navigation.top", "content.code.copy",
                                                                   "search.highlight"]},
        "plugins": ["search", "offline", {"mkdocstrings": {"handlers": {"python": {
            "paths": [str(ROOT / "python")],
            "options": {"docstring_style": None, "show_root_heading": False, "show_root_toc_entry": False,
                        "heading_level": 3, "show_source": False, "members_order": "source",
                        "separate_signature": True, "filters": ["!^_"]}}}}}],
        "markdown_extensions": ["admonition", "tables", "pymdownx.superfences", {"toc": {"permalink": True}}],
        "validation": {"omitted_files": "warn", "absolute_links": "warn", "unrecognized_links": "warn",
                       "anchors": "warn", "not_found": "warn"},
        "not_in_nav": "/source/",
        "nav": nav,
    }, indent=1)


def build(out):
    all_pages = pages()
    texts = {file: file.read_text(encoding="utf-8") for file in all_pages}
    require_no_orphans(texts)
    with tempfile.TemporaryDirectory(prefix="orrery-site-") as scratch:
        docs = Path(scratch) / "docs"
        docs.mkdir()
        for file, name in all_pages.items():
            on_site(file, name, texts[file], all_pages, docs)
        (docs / "api.md").write_text(api_page(), encoding="utf-8")
        manual = sorted((title_of(texts[file], file.stem), name) for file, name in all_pages.items()
                        if file.parent.name == "docs")
        nav = ([{"Orrery": "index.md"}] + [{title: name} for title, name in manual]
               + [{"Python API": "api.md"}, {"Building Orrery": "CONTRIBUTING.md"},
                  {"What Orrery trusts": "SECURITY.md"}])
        config = Path(scratch) / "mkdocs.yml"
        config.write_text(settings(nav, docs, Path(scratch) / "site"), encoding="utf-8")
        made = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", config],
                              capture_output=True, text=True, check=False,
                              env=os.environ | {"DISABLE_MKDOCS_2_WARNING": "true", "NO_MKDOCS_2_WARNING": "true"})
        if made.returncode:
            said = [line for line in (made.stdout + made.stderr).splitlines() if "WARNING" in line or "ERROR" in line]
            raise SiteError("\n".join(said) or made.stdout + made.stderr)
        if out.exists():
            if not (out / "sitemap.xml").exists():
                raise SiteError(f"{out}: exists already, and is no site that this script wrote")
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(scratch) / "site", out)


def main():
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site").absolute()
    try:
        build(out)
    except SiteError as error:
        print(f"orrery docs: error: {error}", file=sys.stderr)
        return 1
    print(f"the manual is in {out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
