"""orrery figure NAME | --list | --all: the runs, picture, tables and CSV of figures of papers."""

import argparse
import json
import re
import signal
import sys
import textwrap
from datetime import datetime, timezone
from pathlib import Path

import figure_counting
import figure_file
import figure_gallery
import figure_rows
import limits
import terminal
import text_table
import whole_file
from figure_file import FigureError
from figure_runs import Experiments
from result_folder import ResultError

KINDS = {"spmm": "SpMM", "gemm": "GeMM"}  # what papers call them


def listing():
    return [figure_file.load(name) for name in figure_file.names()]


def list_json(found):
    keys = ("title", "source", "cost_seconds", "reached")
    rows = [{"name": f.name} | {key: f.told[key] for key in keys} for f in found]
    return {"schema_version": 1, "figures": rows}


def fill(text, **indents):
    """Prints a paragraph."""
    print(textwrap.fill(text, terminal.paragraph(sys.stdout), **indents))


def print_list(found):
    rows = [*map(figure_gallery.list_row, found), figure_gallery.sums_row(found)]
    table = [figure_gallery.LIST_HEADER, *rows]
    print(text_table.aligned(table, terminal.room(sys.stdout)))
    for line in figure_gallery.LIST_LEGEND:
        fill(line, subsequent_indent="  ")


def _in_words(text):
    """Replaces kinds of operations by the papers' words."""
    return re.sub(r"\b(spmm|gemm)\b", lambda kind: KINDS[kind[0]], text)


def remarks(experiments):
    """Notes beside the table."""
    lines = []
    for constant in experiments.figure.told["constants"]:
        lines.append(f"{constant['role']}: {constant['is']}, set by {constant['by']}")
    for name, factors in experiments.factors.items():
        how = "fitted" if "fit" in experiments.figure.told["runs"][name] else "taken over"
        for kind, factor in factors.items():
            kind = _in_words(kind)
            lines.append(f"{name}: {kind} takes {factor:.3f} times what the profile says ({how})")
    for cell in experiments.figure.told.get("explain", []):
        limit = limits.limit_of(experiments.pick(cell["of"], cell["at"]).result)
        lines.append(f"{cell['title']}: limited by {_in_words(limit.sentence)}")
    for name, data in experiments.stand_ins.items():
        lines.append(f"{name}: {data} was not found, a generated graph stands in for it")
    return lines + experiments.figure.told["notes"]


def make_figure(figure, out, program, redraw, look=None):
    """Runs (or reads) everything and writes the pictures, the tables and figure.json. `look` is
    {"width": inches, "font_size": points} of the pictures."""
    experiments = Experiments(figure, out, program)
    experiments.read_all() if redraw else experiments.run_all()
    rows = figure_rows.make_rows(experiments)
    base = out / figure.name.replace("/", "-")
    files = {"picture": f"{base}.png", "svg": f"{base}.svg", "pdf": f"{base}.pdf",
             "csv": f"{base}.csv", "runs_csv": f"{base}-runs.csv"}
    from figures import draw  # matplotlib takes a while, and --list needs none

    draw.draw(experiments, rows, files, **(look or {}))
    whole_file.write(Path(files["csv"]), figure_rows.as_csv(rows))
    whole_file.write(Path(files["runs_csv"]), figure_rows.results_csv(experiments))
    absolute = {key: str(Path(file).resolve()) for key, file in files.items()}
    told = {"schema_version": 1, "name": figure.name, "rows": rows,
            "counted": figure_counting.count(rows),
            "factors": experiments.factors, "stand_ins": experiments.stand_ins,
            "remarks": remarks(experiments)} | absolute
    whole_file.write(out / "figure.json", json.dumps(told, indent=2) + "\n")
    return told


def record(figure, told):
    """Writes the figure's errors into its figure.json, for --list."""
    file = figure.folder / "figure.json"
    reached = figure_counting.recorded(told["counted"])
    reached["date"] = datetime.now(timezone.utc).date().isoformat()
    if "words" in figure.told["reached"]:
        reached["words"] = figure.told["reached"]["words"]
    text, found = re.subn(r'"reached": \{[^}]*\}', lambda _: f'"reached": {json.dumps(reached)}',
                          file.read_text())
    if found != 1:
        raise FigureError(f"{file}: has no single entry \"reached\" that could be replaced")
    whole_file.write(file, text)


def print_figure(figure, told):
    fill(f"{figure.told['title']} [{figure.told['source']}]")
    fill(figure.says())
    print("\n" + figure_rows.as_text(told["rows"], terminal.room(sys.stdout)) + "\n")
    for line in figure_counting.headline(told["counted"]):
        fill(line, subsequent_indent="  ")
    for line in told["remarks"]:
        fill(f"  * {line}", subsequent_indent="    ")
    print(f"\nPicture: {told['picture']} (and .svg, .pdf)\nTable:   {told['csv']}\n"
          f"Runs:    {told['runs_csv']}")


def look_of(asked):
    given = {"width": asked.width, "font_size": asked.font_size}
    return {key: value for key, value in given.items() if value is not None}


def make_one(asked):
    figure = figure_file.load(asked.name.strip("/"))
    out = asked.out or Path("results/figures") / figure.name
    told = make_figure(figure, out, asked.program, asked.redraw, look_of(asked))
    if asked.record:
        record(figure, told)
    print(json.dumps(told)) if asked.json else print_figure(figure, told)


def make_all(asked):
    """Every figure below --out; the page is written again after each. Figures that were made before are not run
    again."""
    found, out = listing(), asked.out or Path("results/figures")
    made, failed = {}, {}
    for figure in found:
        folder = out / figure.name
        known = (folder / "figure.json").exists()
        if asked.redraw and not known:
            continue
        try:
            made[figure.name] = make_figure(figure, folder, asked.program, known, look_of(asked))
            if asked.record:
                record(figure, made[figure.name])
        except (FigureError, ResultError) as error:
            failed[figure.name] = str(error)
            print(f"orrery: error: {figure.name}: {error}", file=sys.stderr)
        page = figure_gallery.write(out, found, made, failed)
    if not made and not failed:
        raise FigureError(f"{out}: holds no figure to draw; make it without --redraw")
    told = {"page": str(page.resolve()), "made": sorted(made), "failed": failed}
    print(json.dumps(told) if asked.json else f"Page: {page}")
    return 1 if failed else 0


def arguments():
    parser = argparse.ArgumentParser(prog="orrery figure")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--width", type=float)
    parser.add_argument("--font-size", type=float)
    for flag in ("--list", "--all", "--json", "--redraw", "--record"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def main():
    asked = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    try:
        if asked.list:
            print(json.dumps(list_json(listing()))) if asked.json else print_list(listing())
        elif asked.all:
            return make_all(asked)
        else:
            make_one(asked)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one line, even if it occurs several times
        print("orrery: interrupted", file=sys.stderr)
        return 130
    except FigureError as error:
        print(f"orrery: error: {error}", file=sys.stderr)
        return 2 if str(error).startswith("there is no figure") else 1
    except (ResultError, OSError) as error:
        print(f"orrery: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
