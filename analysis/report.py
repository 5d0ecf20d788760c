"""orrery report DIR: one self-contained HTML page of a result folder."""

import argparse
import json
import sys
from html import escape
from pathlib import Path

import charts
import epoch_parts
import limits
import page
import result_folder
import run_page
import units
import whole_file


def sweep_overview(sweep):
    """A table of all combinations and their epochs as bars, with links to their sections."""
    rows, bars = [], []
    for i, run in enumerate(sweep.runs):
        result = run.result
        link = ("html", f'<a href="#run{i}">{escape(run.label)}</a>')
        limit = limits.limit_of(result)
        epoch = "out of memory" if run.out_of_memory else units.seconds(result.get("epoch_seconds"))
        moved = result.get("bytes") or {}
        rows.append([
            link, run_page.how_it_was_made(run)[0], epoch,
            units.bytes_(moved.get("internal", 0) + moved.get("external", 0)),
            units.bytes_(max(result.get("peak_bytes") or [0])),
            units.percent(result.get("test_accuracy")), limit.sentence if limit else "-",
        ])
        if run.interrupted:
            epoch += " (interrupted)"
        seconds = result.get("breakdown") or {}
        bars.append((run.label, {} if run.out_of_memory else seconds, epoch))
    header = ["combination", "how", "epoch", "moved/epoch", "peak/rank", "test", "what limited it"]
    exposed = epoch_parts.exposed(sweep.runs[0].result)
    present = epoch_parts.present(exposed, [seconds for _, seconds, _ in bars])
    legend = charts.legend([(part.css, part.title) for part in present])
    drawn = charts.stacked_bars(bars, present, "parts of the epoch by combination", left=240)
    return page.section("All combinations", page.table(header, rows), legend, drawn)


def unfinished(sweep):
    """What of the sweep is not what was asked for, above all numbers."""
    told = [page.warning("interrupted", f"{run.label}, {run.interrupted}; its numbers are of those")
            for run in sweep.runs if run.interrupted]
    if sweep.missing:
        of = f"{sweep.missing} of {sweep.missing + len(sweep.runs)} combinations were not run"
        told.append(page.warning("incomplete", f"{of}: {sweep.failure}") if sweep.failure
                    else page.warning("interrupted", of))
    if not sweep.ended:
        told.append(page.warning("incomplete", "the sweep was killed or goes on: these are the "
                                               "combinations that are done"))
    return "\n".join(told)


def sweep_body(sweep):
    sections = [unfinished(sweep) + sweep_overview(sweep)]
    for i, run in enumerate(sweep.runs):
        sections.append(f'<h1 id="run{i}">{escape(run.label)}</h1>\n{run_page.run_body(run)}')
    return "\n<hr>\n".join(sections)


def make_page(found):
    """The page of a Run or a Sweep."""
    name = found.name if isinstance(found, result_folder.Sweep) else found.result["name"]
    body = sweep_body(found) if isinstance(found, result_folder.Sweep) else run_page.run_body(found)
    label = "" if isinstance(found, result_folder.Sweep) else found.result.get("label", "")
    title = f"{name}: {label}" if label else name
    return page.page(title, f"<h1>{escape(title)}</h1>\n{body}")


def arguments():
    parser = argparse.ArgumentParser(prog="orrery report")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main():
    asked = arguments()
    try:
        found = result_folder.read(asked.folder)
        out = asked.out or asked.folder / "report.html"
        whole_file.write(out, make_page(found))
    except (result_folder.ResultError, OSError) as error:
        print(f"orrery: error: {error}", file=sys.stderr)
        return 1
    runs = found.runs if isinstance(found, result_folder.Sweep) else [found]
    told = [limits.limit_of(run.result) for run in runs]
    out_path = str(out.resolve())
    if asked.json:
        lines = [{"label": run.label, "interrupted": bool(run.interrupted), "limited_by": limit and limit.part,
                  "share": limit and limit.share, "sentence": limit and limit.sentence}
                 for run, limit in zip(runs, told)]
        print(json.dumps({"report": out_path, "runs": lines}))
    else:
        for run, limit in zip(runs, told):
            if run.interrupted:
                print(f"{run.label}: INTERRUPTED {run.interrupted}")
            if limit:
                print(f"{run.label}: limited by {limit.sentence}")
        print(f"Report: {out_path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
