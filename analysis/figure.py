"""orrery figure NAME | --list: the runs, picture, table and CSV of a paper's figure."""

import argparse
import json
import re
import signal
import sys
from datetime import datetime, timezone
from pathlib import Path

import figure_file
import figure_rows
import limits
import units
from figure_file import FigureError
from figure_runs import Experiments
from result_folder import ResultError


def listing():
    return [figure_file.load(name) for name in figure_file.names()]


def print_list(found):
    for figure in found:
        told = figure.told
        error = told["reached"]["mean_abs_error"]
        came = "not compared by number" if error is None else f"mean error {units.percent(error)}"
        if date := told["reached"].get("date"):
            came += f" ({date})"
        if words := told["reached"].get("words"):
            came += f"; {words}"
        print(f"{figure.name}\n  {told['title']} [{told['source']}]")
        print(f"  costs {told['cost']}; {came}")


def list_json(found):
    keys = ("title", "source", "cost", "reached")
    return {"figures": [{"name": f.name} | {key: f.told[key] for key in keys} for f in found]}


def remarks(experiments):
    """What a reader has to know beside the table."""
    lines = []
    for name, factors in experiments.factors.items():
        how = "fitted" if "fit" in experiments.figure.told["runs"][name] else "taken over"
        for kind, factor in factors.items():
            lines.append(f"{name}: {kind} takes {factor:.3f} times what the profile says ({how})")
    for cell in experiments.figure.told.get("explain", []):
        limit = limits.limit_of(experiments.pick(cell["of"], cell["at"]).result)
        lines.append(f"{cell['title']}: limited by {limit.sentence}")
    for name, data in experiments.stand_ins.items():
        lines.append(f"{name}: {data} was not found, a generated graph stands in for it")
    return lines + experiments.figure.told["notes"]


def make_figure(figure, out, program, redraw):
    """Runs (or reads) everything and writes the picture, the tables and figure.json."""
    experiments = Experiments(figure, out, program)
    experiments.read_all() if redraw else experiments.run_all()
    rows = figure_rows.make_rows(experiments)
    base = out / figure.name.replace("/", "-")
    files = {"picture": f"{base}.png", "svg": f"{base}.svg", "csv": f"{base}.csv",
             "runs_csv": f"{base}-runs.csv"}
    from figures import draw  # matplotlib takes a while, and --list needs none

    draw.draw(experiments, rows, files)
    Path(files["csv"]).write_text(figure_rows.as_csv(rows))
    Path(files["runs_csv"]).write_text(figure_rows.results_csv(experiments))
    absolute = {key: str(Path(file).resolve()) for key, file in files.items()}
    told = {"name": figure.name, "rows": rows, "mean_abs_error": figure_rows.mean_abs_error(rows),
            "factors": experiments.factors, "stand_ins": experiments.stand_ins} | absolute
    (out / "figure.json").write_text(json.dumps(told, indent=2) + "\n")
    return told, remarks(experiments)


def record(figure, told):
    """Keeps how close the figure came in its figure.json, for --list."""
    file = figure.folder / "figure.json"
    error = told["mean_abs_error"]
    reached = figure.told["reached"] | {
        "mean_abs_error": None if error is None else round(error, 4),
        "date": datetime.now(timezone.utc).date().isoformat()}
    text, found = re.subn(r'"reached": \{[^}]*\}', lambda _: f'"reached": {json.dumps(reached)}',
                          file.read_text())
    if found != 1:
        raise FigureError(f"{file}: holds no reached on a line of its own")
    file.write_text(text)


def print_figure(figure, told, notes):
    print(f"{figure.told['title']} [{figure.told['source']}]\n{figure.told['shows']}\n")
    print(figure_rows.as_text(told["rows"]))
    error = told["mean_abs_error"]
    if error is not None:
        print(f"\nmean error of what was predicted: {units.percent(error)}")
    for line in notes:
        print(f"  * {line}")
    print(f"\nPicture: {told['picture']}\nTable:   {told['csv']}\nRuns:    {told['runs_csv']}")


def arguments():
    parser = argparse.ArgumentParser(prog="orrery figure")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", type=Path)
    for flag in ("--list", "--json", "--redraw", "--record"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def main():
    asked = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    try:
        if asked.list:
            found = listing()
            print(json.dumps(list_json(found))) if asked.json else print_list(found)
            return 0
        figure = figure_file.load(asked.name.strip("/"))
        out = asked.out or Path("results/figures") / figure.name
        told, notes = make_figure(figure, out, asked.program, asked.redraw)
        if asked.record:
            record(figure, told)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one line, however often
        print("orrery: interrupted", file=sys.stderr)
        return 130
    except FigureError as error:
        print(f"orrery: error: {error}", file=sys.stderr)
        return 2 if str(error).startswith("there is no figure") else 1
    except (ResultError, OSError) as error:
        print(f"orrery: error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(told)) if asked.json else print_figure(figure, told, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
