#!/usr/bin/env python3
"""Writes docs/keys.md, and the tables of keys in other pages, from the schemas. --check: are they current?"""

import json
import re
import sys
from pathlib import Path
from textwrap import wrap

DOCS = Path(__file__).resolve().parent
CONFIG = DOCS.parent / "experiments" / "config"
HEAD = """# Keys

Made from the JSON Schemas by `docs/keys.py`: change those, not this page. Every file has times in seconds and
sizes in bytes.
Every JSON object that a command prints or writes says its `schema_version`: 2 in the
`meta.json` of a folder of parts, 1 in all others. Experiment files have none.
"""
WRITTEN = {"result": "`result.json`, `orrery run --json`", "plan": "`orrery plan --json`",
           "validation": "`validate.json`, `orrery validate --json`", "figure": "`figure.json`, `orrery figure --json`",
           "inference": "`result.json` and `--json` of `orrery infer`",
           "inference_plan": "`orrery infer --plan --json`",
           "prediction": "`scores.json`, `orrery predict --json`",
           "advice": "`orrery advise --json`",
           "caches": "`orrery caches --json`",
           "breakdown": "`orrery breakdown --json`",
           "starve": "`orrery starve --json`",
           "trace": "`trace.json`, `orrery trace --json`"}


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def kind(schema):
    """The allowed values: the choices, or the types and the range."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    types = schema.get("type", "any")
    words = " or ".join(types) if isinstance(types, list) else types
    for key, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<")):
        if key in schema:
            words += f" {sign} {schema[key]:,}" if isinstance(schema[key], int) else f" {sign} {schema[key]}"
    return words


def rows(schema, path=""):
    for key, value in schema.get("properties", {}).items():
        here = f"{path}.{key}" if path else key
        yield here, value
        yield from rows(value, here)
        if isinstance(value.get("items"), dict):
            yield from rows(value["items"], f"{here}[]")


def goes_with(schema):
    """The sibling keys that a key requires or excludes."""
    words = []
    for other, values in schema.get("x-when", {}).items():
        words.append(f"with `{other}`" if values is True else f"with `{other}` " + ", ".join(f"`{v}`" for v in values))
    if without := schema.get("x-without"):
        names = without if isinstance(without, list) else [without]
        words.append("without " + ", ".join(f"`{name}`" for name in names))
    return "; ".join(words)


def experiment():
    schema = json.loads((CONFIG / "schema.json").read_text())
    lines = ["## Experiment files", "", "| key | values | default | meaning |", "|---|---|---|---|"]
    for path, value in rows(schema):
        default = f"`{json.dumps(value['default'])}`" if "default" in value else ""
        meaning = "; ".join(filter(None, (value.get("description", ""), goes_with(value))))
        lines.append(f"| `{path}` | {cell(kind(value))} | {cell(default)} | {cell(meaning)} |")
    return lines


def written(name, where):
    schema = json.loads((CONFIG / "schemas" / f"{name}.json").read_text())
    lines = [f"## {where}", "", *wrap(schema["description"], 108), "", "| key | type | unit | meaning |", "|---|---|---|---|"]
    for path, value in rows(schema):
        lines.append(f"| `{path}` | {cell(kind(value))} | {value.get('x-unit', '')} | {cell(value.get('description', ''))} |")
    return lines


def page():
    lines = HEAD.splitlines() + [""] + experiment()
    for name, where in WRITTEN.items():
        lines += [""] + written(name, where)
    return "\n".join(lines) + "\n"


def summary(paths):
    """The table of some keys of an experiment file, for the page that explains them."""
    of = dict(rows(json.loads((CONFIG / "schema.json").read_text())))
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for path in paths:
        default = f"`{json.dumps(of[path]['default'])}`" if "default" in of[path] else ""
        lines.append(f"| `{path}` | {cell(default)} | {cell(of[path]['description'])} |")
    return "\n".join(lines) + "\n"


def with_summaries(text):
    """A page with its tables made anew: each follows a comment `keys of model: KEY KEY ...`, up to a blank line."""
    return re.sub(r"(?m)^(<!-- keys of (\w+): ([^>]*) -->\n\n)(?:\|.*\n)*",
                  lambda at: at[1] + summary(f"{at[2]}.{key}" for key in at[3].split()), text)


def pages():
    """The generated text of each page that has some."""
    made = {DOCS / "keys.md": page()}
    for path in sorted(DOCS.glob("*.md")):
        if "<!-- keys of " in path.read_text():
            made[path] = with_summaries(path.read_text())
    return made


def main():
    old = {path: text for path, text in pages().items() if path.read_text() != text}
    if sys.argv[1:] == ["--check"]:
        for path in old:
            print(f"docs/{path.name} does not match the schemas: run python3 docs/keys.py", file=sys.stderr)
        return 1 if old else 0
    for path, text in old.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
