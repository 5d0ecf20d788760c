"""The runs of a folder as a table for spreadsheets (CSV) or for a paper (LaTeX)."""

import csv
import io
import statistics

import epoch_parts
import intervals
import units
from result_folder import score_of
from run_page import how_it_was_made

# The name of a column, and what it holds of a run. Seconds and bytes, as everywhere in files.
_COLUMNS = {
    "name": lambda run: run.result["name"],
    "backend": lambda run: run.result["backend"],
    "strategy": lambda run: run.result.get("strategy"),
    "ranks": lambda run: run.result["ranks"],
    "servers": lambda run: run.result.get("servers"),
    "cluster": lambda run: run.cluster,
    "out_of_memory": lambda run: (run.result.get("out_of_memory") or {}).get("tensor"),
    "interrupted": lambda run: bool(run.result.get("interrupted")),
    "epochs": lambda run: run.result.get("epochs"),
    "epoch_seconds": lambda run: run.result.get("epoch_seconds"),
    "epoch_seconds_low": lambda run: (run.result.get("interval") or {}).get("low_seconds"),
    "epoch_seconds_high": lambda run: (run.result.get("interval") or {}).get("high_seconds"),
    "mean_epoch_seconds": lambda run: run.result.get("mean_epoch_seconds") if not run.out_of_memory else None,
}
_AFTER_PARTS = {
    "internal_bytes": lambda run: (run.result.get("bytes") or {}).get("internal"),
    "external_bytes": lambda run: (run.result.get("bytes") or {}).get("external"),
    "peak_bytes": lambda run: max(run.result.get("peak_bytes") or [0]) or None,
    "loss": lambda run: run.result.get("loss"),
    "val_accuracy": lambda run: run.result.get("val_accuracy"),
    "test_accuracy": lambda run: run.result.get("test_accuracy"),
    "limited_by": lambda run: (run.result.get("limited_by") or {}).get("part"),
    "revision": lambda run: (run.result.get("provenance") or {}).get("revision"),
    "date": lambda run: (run.result.get("provenance") or {}).get("date"),
}


def _swept(runs):
    """The swept keys, in the order in which they are met."""
    return list(dict.fromkeys(key for run in runs for key, _ in run.settings))


def _spread(run):
    """The quartiles of the seconds of an epoch after the first, which is slower, of a run of at least three."""
    seconds = [line["seconds"] for line in run.epochs[1:] if line.get("seconds") is not None]
    if len(seconds) < 2:
        return {}
    first, _, third = statistics.quantiles(seconds, n=4, method="inclusive")
    return {"epoch_seconds_q1": first, "epoch_seconds_q3": third}


def as_csv(runs):
    """A line for each run: swept keys, then numbers in seconds and bytes. What a run does not have is empty.
    `epoch_seconds` is the median of the epochs, q1 and q3 their quartiles without the first epoch; low and high are the
    ends of a simulation's interval."""
    parts = list(dict.fromkeys(part.key for run in runs for part in epoch_parts.told(run.result)))
    swept, lines = _swept(runs), []
    for run in runs:
        breakdown = run.result.get("breakdown") or {}
        lines.append({**dict(run.settings),
                      **{name: of(run) for name, of in _COLUMNS.items()}, **_spread(run),
                      **{f"{key}_seconds": breakdown.get(key) for key in parts},
                      **{name: of(run) for name, of in _AFTER_PARTS.items()}})
    names = [*swept, *(name for name in _COLUMNS if name not in swept), "epoch_seconds_q1", "epoch_seconds_q3",
             *(f"{key}_seconds" for key in parts), *_AFTER_PARTS]
    text = io.StringIO()
    out = csv.DictWriter(text, names, lineterminator="\n")
    out.writeheader()
    out.writerows(lines)
    return text.getvalue()


_ESCAPES = {"\\": r"\textbackslash{}", "µ": r"\textmu{}", "±": r"$\pm$", "~": r"\textasciitilde{}",
            "^": r"\textasciicircum{}"} | {c: "\\" + c for c in "&%$#_{}"}


def _tex(text):
    return "".join(_ESCAPES.get(c, c) for c in str(text))


def _exposed(result, wanted):
    """The seconds of the exposed parts of an epoch that are wanted; nothing of a run that did not fit."""
    told = result.get("breakdown")
    return units.seconds(sum(told.get(part.key, 0) for part in epoch_parts.exposed(result) if wanted(part)) if told else None)


def as_tex(runs):
    """A table for LaTeX's package booktabs, with a line for each run; comments say what its columns are."""
    swept = _swept(runs)
    header = [*(key.removesuffix(".type").rsplit(".", 1)[-1] for key in swept or ["strategy"]), "median epoch",
              "computation", "communication", "moved", "memory", f"test {score_of(runs)}"]
    lines, mixed = [], len({run.simulated for run in runs}) > 1
    for run in runs:
        result, settings = run.result, dict(run.settings)
        moved = result.get("bytes") or {}
        lines.append([*(settings.get(key, "-") for key in swept or []), *([] if swept else [run.label]),
                      "out of memory" if run.out_of_memory else intervals.beside(result)
                      + (" (interrupted)" if run.interrupted else "")
                      + (" (simulated)" if mixed and run.simulated else ""),
                      _exposed(result, lambda part: part.key == "compute"),
                      _exposed(result, lambda part: part.communication),
                      units.bytes_(sum(moved.values())) if moved else "-",
                      units.bytes_(max(result.get("peak_bytes") or [0]) or None),
                      units.percent(result.get("test_accuracy"))])
    results = [run.result for run in runs]
    notes = [*dict.fromkeys(" ".join(how_it_was_made(run)) for run in runs), intervals.legend(results),
             "communication: what computation does not hide, with waiting for late ranks; moved: bytes in an epoch over "
             "all ranks; memory: of the largest rank",
             f"Orrery {(results[0].get('provenance') or {}).get('revision', '')}"]
    numbers = 6  # columns behind the settings
    text = [*(f"% {note}" for note in notes if note), r"\begin{tabular}{" + "l" * (len(header) - numbers) + "r" * numbers + "}",
            r"\toprule", " & ".join(map(_tex, header)) + r" \\", r"\midrule",
            *(" & ".join(map(_tex, line)) + r" \\" for line in lines), r"\bottomrule", r"\end{tabular}"]
    return "\n".join(text) + "\n"
