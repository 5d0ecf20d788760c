"""Runs of a figure that infer: `orrery infer` for every cell that the run lists.

A cell is the --set options besides the run's own "set". Each leaves a result folder; one whose
resolved settings are known already is not run again. With "scored" a cell has the test accuracy, too.
"""

import json
import subprocess
from pathlib import Path

import checked_json
import child
import figure_scores
import figure_sharing
import whole_file
from checked_json import anything, count, number, text
from figure_file import FigureError, made
from result_folder import Run

NETCLUSTER = Path(__file__).resolve().parent.parent / "experiments/netcluster"
TOGETHER = ("features, layer 1", "read edges, build the distributed CSR")  # stages whose sum is asked for
_INFERENCE = {"seconds": number, "dataset": text, "vertices": count, "ranks?": count,
              "stages": [{"name": text, "seconds?": number, "received_bytes?": number}]}


def settings_of(run, cell):
    return dict(run.get("set", {})) | cell


def folder_of(folder, cell):
    """"cluster.servers=8,inference.columns=2": a folder for each cell."""
    words = ",".join(f"{key}={value}" for key, value in cell.items())
    return folder / (words.replace("/", "_") or "all")


def _start(program, run, cell):
    """The words before "infer": over MPI on a netcluster with a server for each rank where the run asks for one."""
    if "netcluster" not in run:
        return [program, "infer"]
    words = [str(NETCLUSTER), "--servers", str(cell["cluster.ranks"]), "--ranks-per-server", "1"]
    for option, rate in run["netcluster"].items():
        words += [f"--{option}", rate]
    return [*words, "--", f"{program}-mpi", "infer", "--backend", "mpi"]


def _command(start, file, settings, folder):
    words = [*start, str(file), "--out", str(folder), "--force", "--quiet", "--json"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


def inferred_for(run, cell):
    """The cells that are inferred for one: itself, or as many as "batches" with draws of their own."""
    if "batches" not in run:
        return [cell]
    return [cell | {"seed": 1000 + 100 * cell["seed"] + batch} for batch in range(run["batches"])]


def _weights(run, folder, cell):
    """The setting of the weights that "weights_of" trained with the seed of this cell, or with its only settings."""
    if "weights_of" not in run:
        return {}
    trained = folder_of(folder.parent / run["weights_of"], {"seed": cell["seed"]} if "seed" in cell else {})
    return {"inference.weights": str((trained / "training").resolve())}


def _infer(start, file, settings, out, graph=None):
    """Infers into `out`, unless it holds what these settings of this file, and of a graph that is generated, give."""
    words = _command(start, file, settings, out)
    asked = words[1:] + [file.read_text()] + ([graph] if graph else [])
    known = out.parent / (out.name + ".asked.json")
    if (out / "result.json").exists() and checked_json.read_or_none(known, [anything]) == asked:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=child.environment())
    if done.returncode != 0 or not (out / "result.json").exists():
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        last = lines[-1] if lines else "ended without a word"
        raise FigureError(f"{' '.join(words[1:])}: {last.removeprefix('orrery: error: ')}")
    known.write_text(json.dumps(asked))


def _edges(program, run, folder):
    """The setting of the file of edges that "generate" makes."""
    if "generate" not in run:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    graph = figure_sharing.graph_of(program, run, folder)
    return {"dataset.edge_list.files": str((Path(graph) / "edges.npy").resolve())}


def make(program, file, run, folder):
    """Infers the missing cells, with these settings of this file."""
    edges = _edges(program, run, folder)
    for cell in run["infer"]:
        more = edges | _weights(run, folder, cell)
        for one in inferred_for(run, cell):
            _infer(_start(program, run, one), file, settings_of(run, one) | more, folder_of(folder, one),
                   run.get("generate"))
        if run.get("scored"):
            score = figure_scores.accuracy(
                [folder_of(folder, one) for one in inferred_for(run, cell)], run["data"],
                figure_scores.test_vertices(program, file, settings_of(run, cell), folder), cell["seed"])
            whole_file.write(_score_file(folder, cell), json.dumps({"test_accuracy": score}))


def _score_file(folder, cell):
    return folder / (folder_of(folder, cell).name + ".score.json")


def _as_run(folder):
    """The result with the keys that pictures and tables read from a training, each stage by its name, all layers
    together, and the sums of stages that are asked for."""
    result = made(folder / "result.json", _INFERENCE)
    config = made(folder / "config.json", {"dataset?": {}})
    result["epoch_seconds"] = result["seconds"]
    result["dataset"] = {"name": result["dataset"], "vertices": result["vertices"]}
    for stage in result["stages"]:
        result[stage["name"]] = stage["seconds"]
    result["layers"] = sum(stage["seconds"] for stage in result["stages"]
                           if stage["name"].startswith("layer "))
    for stages in TOGETHER:
        parts = [result.get(stage) for stage in stages.split(", ")]
        result[stages] = None if None in parts else sum(parts)
    return Run(result=result, config=config, folder=folder)


def read(run, folder):
    """A Run for every cell."""
    found = []
    for cell in run["infer"]:
        one = _as_run(folder_of(folder, inferred_for(run, cell)[0]))
        if run.get("scored"):
            one.result |= made(_score_file(folder, cell), {"test_accuracy": number})
            one.config["seed"] = cell["seed"]  # batches have others
        if "generate" in run:  # edges in a file, whose origin only the figure knows
            one.config["name"] = run.get("title", "a graph")
            one.config["dataset"]["generate"] = run["generate"]["kind"]
        found.append(one)
    return found
