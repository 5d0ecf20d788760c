"""figure.json describes a paper's figure: what it shows, the experiments that repeat it, and how both compare.

Keys
  title, source, shows   words: what it is, where it stands in the paper, what the paper says by it
  cost_seconds           how long it takes on two idle cores
  reached                how close it came when that was last recorded: {"date"} and what
                         figure_counting.recorded() keeps; {"words"?} for what was found beside
  runs                   name: {"file", "title"?, "set"?: {key: value}, "fit"?, "scale_of"?,
                         "data"?, "otherwise"?, "sweep"?, "plan"?}
      plan               true: never run; measures ask for the plan of its combinations
      sweep              true: what an earlier start has done is not run again (orrery sweep)
      fit                {"kind", "at": {key: value}, "row": label}: one factor on the price of a
                         kind of operation, with which the run at `at` takes what the row's paper
                         says
      scale_of           names of fitted runs whose factors' geometric mean this one takes
      data, otherwise    a data set that has to be found, and the file to run where it is not
                         A run that cuts graphs has {"cuts": {"graph": [...], "method": [...],
                         "parts": [...]}, "title"?, "set"?, "set_for"?: {graph: {key: value}},
                         "set_method"?: {method: {key: value}}, "stream"?: true} in their place:
                         orrery partition for every combination; stream: from edges.npy, not loaded
      infer              [{key: value}]: orrery infer once for each of these settings beside "set";
                         measures ask for the seconds of its stages
      weights_of         with infer: an earlier such run, which trains first; a cell takes the
                         weights of that run's cell {"seed"}, or of its only one
      scored             with infer, true: the test accuracy of each cell, a {"seed"}, on "data"
      generate           with infer: as with sharing, below; its file of edges is dataset.edge_list
      netcluster         with infer: {"rate", "storage"?, ...}: the options of a netcluster with a
                         server for each rank, on which the cells, a {"cluster.ranks"}, run over MPI
      batches            with scored: the test vertices in so many random batches, each of an
                         inference with draws of its own
      sharing            [{flag: value}]: orrery dataset sharing once for each of these, of the data
                         set "graph", or of the graph that "generate" makes: {"kind", flag: value}
      breakdown          [method]: orrery breakdown of the file, cut by each of these partitioners;
                         measures ask for the seconds of its stages
      validate           [file]: orrery validate of these files, each experiment "repeats"? (1) times; measures
                         ask for numbers of the rows, {"setting"}, and over them
  rows                   {"label", "unit", "paper", "ours": how to measure it, "role"?, "reported"?,
                         "note"?}
      paper              a number, [least, most] (a range that several cells share), true or false,
                         or null (nothing, or out of memory: "paper_says")
      unit               "x" is a ratio whose side of 1 says which of two is better
      role               "aside": shown, not counted; where the paper has a number its note says why
      reported           where the number stands in the list of reported results, for a test
  constants              what was set by numbers of the same paper: {"is": words, "by": words,
                         "role": "fitted"|"informed", "rows": [label] or "all"}
      fitted             by these very rows, which agree the better for it
      informed           by other numbers of the same paper, or with these in view
  panels                 the parts of the picture: {"kind": one of PANELS, "title", ...}; the file
                         of a kind in figures/ has its keys
  notes                  sentences on what was assumed
  own                    optional, true: a figure of this program, which no paper has; shows is then
                         what it shows, and every row an aside
  explain                optional: {"title", "of", "at"} of runs; what limited each is told
  sensitivity            optional, true: simulated runs are replayed with all efficiencies at both ends of their
                         ranges; epochs and their ratios have a band. A run whose set has
                         "simulation.sensitivity": false is replayed once and has none
"""

import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import checked_json

CONFIGS = Path(__file__).resolve().parent.parent / "configs"

_REQUIRED = {"title": str, "source": str, "shows": str, "cost_seconds": int, "reached": dict,
             "runs": dict, "rows": list, "constants": list, "panels": list, "notes": list}
_KINDS = {str: "words", int: "a whole number", dict: "an object", list: "a list"}
_ROW_REQUIRED = {"label", "unit", "paper", "ours"}
_ROW_ALLOWED = _ROW_REQUIRED | {"role", "reported", "note", "paper_says"}
_RUN_ALLOWED = {"file", "title", "set", "fit", "scale_of", "data", "otherwise", "sweep",
                "plan", "infer"}
_INFER_ALLOWED = {"file", "title", "set", "data", "otherwise", "infer", "weights_of", "scored", "batches",
                  "generate", "netcluster"}
_CUTS_ALLOWED = {"cuts", "title", "set", "set_for", "set_method", "stream"}
_BREAKDOWN_ALLOWED = {"file", "title", "set", "data", "otherwise", "breakdown"}
_SHARING_ALLOWED = {"sharing", "title", "graph", "generate"}
_VALIDATE_ALLOWED = {"validate", "title", "repeats"}
ROLES = ("fitted", "informed", "predicted", "aside")
_CONSTANT = {"is", "by", "role", "rows"}
PANELS = ("agreement", "cells", "classes", "curves", "learning", "shares", "lanes", "pairs", "regions", "scatter",
          "spread", "stacks")


class FigureError(Exception):
    """A figure that does not exist or whose file is at fault; one line for the user."""


@dataclass
class Figure:
    name: str  # mg-gcn/table3
    folder: Path
    told: dict

    def file_of(self, run):
        return self.folder / self.told["runs"][run]["file"]

    def title_of(self, run):
        return self.told["runs"][run].get("title", run)

    def says(self):
        """A sentence that says what the figure shows."""
        return f"{'This shows' if self.told.get('own') else 'The paper says'}: {self.told['shows']}"

    def role_of(self, row):
        """One of ROLES: "predicted" if no number of the paper was used for it."""
        if row.get("role") == "aside":
            return "aside"
        roles = {c["role"] for c in self.told["constants"]
                 if c["rows"] == "all" or row["label"] in c["rows"]}
        return next(role for role in ROLES if role in roles | {"predicted"})


def _complain(file, text):
    raise FigureError(f"{file}: {text}")


def _check_cuts(file, run, name):
    for key in run.keys() - _CUTS_ALLOWED:
        _complain(file, f"runs.{name}: unknown key {key}")
    for key in ("graph", "method", "parts"):
        if not isinstance(run["cuts"].get(key), list) or not run["cuts"][key]:
            _complain(file, f"runs.{name}.cuts.{key}: needs a list")


def _check_infer(file, run, name):
    for key in run.keys() - _INFER_ALLOWED:
        _complain(file, f"runs.{name}: {key} does not go with infer")
    cells = run["infer"]
    if not isinstance(cells, list) or not cells or not all(isinstance(c, dict) for c in cells):
        _complain(file, f"runs.{name}.infer: needs a list of settings")
    if run.get("scored") and not ("data" in run and all("seed" in cell for cell in cells)):
        _complain(file, f"runs.{name}.scored: needs data, and a seed in every cell")
    if "netcluster" in run and not all("cluster.ranks" in cell for cell in cells):
        _complain(file, f"runs.{name}.netcluster: needs cluster.ranks in every cell")
    if "batches" in run and not run.get("scored"):
        _complain(file, f"runs.{name}.batches: needs scored")


def _check_breakdown(file, run, name):
    for key in run.keys() - _BREAKDOWN_ALLOWED:
        _complain(file, f"runs.{name}: {key} does not go with breakdown")
    if not isinstance(run["breakdown"], list) or not run["breakdown"]:
        _complain(file, f"runs.{name}.breakdown: needs a list of partitioners")


def _check_sharing(file, run, name):
    for key in run.keys() - _SHARING_ALLOWED:
        _complain(file, f"runs.{name}: {key} does not go with sharing")
    if ("graph" in run) == ("generate" in run):
        _complain(file, f"runs.{name}: needs graph or generate, one of the two")
    cells = run["sharing"]
    if not isinstance(cells, list) or not cells or not all(isinstance(c, dict) for c in cells):
        _complain(file, f"runs.{name}.sharing: needs a list of flags with their values")


def _check_validate(file, run, name):
    for key in run.keys() - _VALIDATE_ALLOWED:
        _complain(file, f"runs.{name}: {key} does not go with validate")
    files = run["validate"]
    if not isinstance(files, list) or not files or not all(isinstance(one, str) for one in files):
        _complain(file, f"runs.{name}.validate: needs a list of files")
    for one in files:
        if not (file.parent / one).is_file():
            _complain(file, f"runs.{name}.validate: {one} is not there")
    if len({Path(one).stem for one in files}) < len(files):
        _complain(file, f"runs.{name}.validate: two files have the same name, and so would their rows")
    repeats = run.get("repeats", 1)
    if not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1:
        _complain(file, f"runs.{name}.repeats: needs a whole number of at least 1")


def _check_run(file, told, name):
    run = told["runs"][name]
    if "validate" in run:
        _check_validate(file, run, name)
        return
    if "sharing" in run:
        _check_sharing(file, run, name)
        return
    if "cuts" in run:
        _check_cuts(file, run, name)
        return
    kind = _INFER_ALLOWED if "infer" in run else _BREAKDOWN_ALLOWED if "breakdown" in run else set()
    for key in run.keys() - _RUN_ALLOWED - kind:
        _complain(file, f"runs.{name}: unknown key {key}")
    for key in ("file", "otherwise"):
        if key in run and not (file.parent / run[key]).exists():
            _complain(file, f"runs.{name}.{key}: {run[key]} is not there")
    if "file" not in run:
        _complain(file, f"runs.{name}: needs a file")
    if "infer" in run:
        _check_infer(file, run, name)
    if "breakdown" in run:
        _check_breakdown(file, run, name)
    earlier = list(told["runs"])[: list(told["runs"]).index(name)]
    if "weights_of" in run and not ("infer" in run and "infer" in told["runs"].get(run["weights_of"], {})
                                    and run["weights_of"] in earlier):
        _complain(file, f"runs.{name}.weights_of: {run['weights_of']} is no inference before it")
    for other in run.get("scale_of", []):
        if other not in earlier or "fit" not in told["runs"][other]:
            _complain(file, f"runs.{name}.scale_of: {other} is no fitted run before it")
    if "fit" in run and run["fit"]["row"] not in [row["label"] for row in told["rows"]]:
        _complain(file, f"runs.{name}.fit.row: there is no row {run['fit']['row']}")


def _names_in(spec):
    """All names of runs under "of", "over", "less", "level", "seconds_of", "method_of", "part", "rest" and "each" of a
    way to measure."""
    for key in ("of", "over", "less", "level", "seconds_of", "method_of", "part", "rest", "each"):
        inner = spec.get(key)
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, dict):
                yield from _names_in(one)
            elif isinstance(one, str) and key != "each":  # which has words for systems, too
                yield one


def _check_row(file, told, i):
    row = told["rows"][i]
    if missing := _ROW_REQUIRED - row.keys():
        _complain(file, f"rows[{i}]: needs {', '.join(sorted(missing))}")
    for key in row.keys() - _ROW_ALLOWED:
        _complain(file, f"rows[{i}]: unknown key {key}")
    if row.get("role", "aside") != "aside":
        _complain(file, f"rows[{i}].role: {row['role']}, allowed: aside; the other roles follow from constants")
    compared = row["paper"] is not None or row.get("paper_says") == "out of memory"
    if "role" in row and row["paper"] is not None and "note" not in row:
        _complain(file, f"rows[{i}]: is an aside with a number of the paper and needs a note: why")
    if "role" not in row and not compared:
        _complain(file, f"rows[{i}]: the paper says nothing there, so that it needs role aside")
    for name in _names_in(row["ours"]):
        if name not in told["runs"]:
            _complain(file, f"rows[{i}].ours: there is no run {name}")


def _check_constant(file, told, i):
    constant, labels = told["constants"][i], [row["label"] for row in told["rows"]]
    if constant.keys() != _CONSTANT:
        _complain(file, f"constants[{i}]: has {', '.join(constant)}, needs is, by, role, rows")
    if constant["role"] not in ("fitted", "informed"):
        _complain(file, f"constants[{i}].role: {constant['role']}, allowed: fitted, informed")
    for label in [] if constant["rows"] == "all" else constant["rows"]:
        if label not in labels:
            _complain(file, f"constants[{i}].rows: there is no row {label}")


def check(file, told):
    """Errors: FigureError naming the place."""
    for key, kind in _REQUIRED.items():
        if not isinstance(told.get(key), kind):
            _complain(file, f"{key}: needs {_KINDS[kind]}")
    for key in told.keys() - _REQUIRED.keys() - {"explain", "own", "sensitivity"}:
        _complain(file, f"unknown key {key}")
    if not isinstance(told.get("sensitivity", False), bool):
        _complain(file, "sensitivity: needs true or false")
    if "date" not in told["reached"]:
        _complain(file, "reached: needs a date")
    for name in told["runs"]:
        _check_run(file, told, name)
    for i in range(len(told["rows"])):
        _check_row(file, told, i)
    for i in range(len(told["constants"])):
        _check_constant(file, told, i)
    labels = [row["label"] for row in told["rows"]]
    if len(set(labels)) < len(labels):
        _complain(file, "rows: two have the same label")
    for i, panel in enumerate(told["panels"]):
        if panel.get("kind") not in PANELS:
            _complain(file, f"panels[{i}].kind: allowed are {', '.join(PANELS)}")


def made(file, shape):
    """What a start of the figure wrote into a JSON file.   Errors: FigureError"""
    try:
        return checked_json.read(file, shape)
    except checked_json.ResultError as error:
        raise FigureError(f"{error}; make the figure without --redraw") from error


def load(name, configs=CONFIGS):
    folder = configs / name
    file = folder / "figure.json"
    if not file.exists():
        known = names(configs)
        near = difflib.get_close_matches(name, known + [one.split("/")[1] for one in known], n=1)
        meant = next((one for one in known if near and one.endswith(near[0])), None)
        question = f" Did you mean {meant}?" if meant else ""
        raise FigureError(f"there is no figure {name}.{question} Known: "
                          f"{', '.join(known) or 'none'}")
    try:
        told = json.loads(file.read_text())
    except ValueError as error:
        raise FigureError(f"{file}: is no JSON ({error})") from error
    check(file, told)
    return Figure(name, folder, told)


def _by_number(name):
    """fig5 before fig10."""
    return [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", name)]


def names(configs=CONFIGS):
    found = (str(f.parent.relative_to(configs)) for f in configs.glob("*/*/figure.json"))
    return sorted(found, key=_by_number)
