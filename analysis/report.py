"""orrery report DIR: one self-contained HTML page of a result folder."""

import argparse
import json
import os
import sys
from pathlib import Path

import advice_page
import limits
import page
import result_folder
import run_page
import run_table
import sweep_page
import whole_file


def make_page(found):
    """The page of a Run, a Sweep or an Advice."""
    if isinstance(found, advice_page.Advice):
        return page.page(found.name, advice_page.content(found))
    if isinstance(found, result_folder.Sweep):
        return page.page(found.name, sweep_page.content(found))
    name, label = found.result["name"], found.result.get("label", "")
    return page.page(f"{name}: {label}" if label else name, run_page.run_content(found))


def arguments():
    parser = argparse.ArgumentParser(prog="orrery report")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--tex", type=Path)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def runs_of(found):
    return found.runs if isinstance(found, result_folder.Sweep) else [found]


def write_tables(found, asked):
    """Writes --csv and --tex."""
    for file, made in ((asked.csv, run_table.as_csv), (asked.tex, run_table.as_tex)):
        if not file:
            continue
        if isinstance(found, advice_page.Advice):
            raise result_folder.ResultError(f"{file}: tables are of runs and sweeps, and {asked.folder} holds advice")
        whole_file.write(file, made(runs_of(found)))
        print(f"Table: {file.resolve()}", file=sys.stderr)


def tell(found, out, as_json):
    """Prints what limited each run, or which plans lead, and where the page is."""
    if isinstance(found, advice_page.Advice):
        advice_page.tell(found, out, as_json)
        return
    runs = runs_of(found)
    told = [limits.limit_of(run.result) for run in runs]
    if as_json:
        lines = [{"label": run.label, "interrupted": bool(run.interrupted),
                  "limited_by": limit and limit.part, "share": limit and limit.share,
                  "sentence": limit and limit.sentence} for run, limit in zip(runs, told)]
        print(json.dumps({"schema_version": 1, "report": out, "runs": lines}))
        return
    for run, limit in zip(runs, told):
        if run.interrupted:
            print(f"{run.label}: INTERRUPTED {run.interrupted}")
        if limit:
            print(f"{run.label}: limited by {limit.sentence}")
    print(f"Report: {out}")


def unexpected(folder):
    """One line about files whose values have the right kinds and do not belong together."""
    return (f"{folder}: holds files that no run of this version can have written so; run the experiment "
            "again, with another --out")


def main():
    asked = arguments()
    folder = asked.folder
    try:
        folder = result_folder.find(asked.folder)
        if folder != asked.folder:
            print(f"{asked.folder}: the latest is {folder}", file=sys.stderr)
        found = (advice_page.Advice(folder) if advice_page.is_advice(folder)
                 else result_folder.read(folder))
        out = asked.out or folder / "report.html"
        write_tables(found, asked)
        whole_file.write(out, make_page(found))
        tell(found, str(out.resolve()), asked.json)
        sys.stdout.flush()
    except (result_folder.ResultError, OSError, ArithmeticError, AttributeError, LookupError,
            RecursionError, TypeError, ValueError) as error:
        known = isinstance(error, (result_folder.ResultError, OSError))
        print(f"orrery: error: {error if known else unexpected(folder)}", file=sys.stderr)
        # Python would try again to print the rest at the end, and fail with a status of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
