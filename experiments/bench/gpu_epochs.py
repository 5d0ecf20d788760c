#!/usr/bin/env python3
"""Times epochs of a GCN on generated graphs of Reddit's and ogbn-products' size: Orrery beside PyTorch Geometric.

Both train on the same data set folder, full-batch, without dropout, in float32. Orrery aggregates the input in every epoch
(first_layer: recompute), as PyTorch does; once more with CUDA graphs, and once with the constant input aggregated once, which
is its default. Writes one JSON object; see pyg_epoch.py for the ways of PyTorch. Peaks are what either counts of its tensors.
"""

import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {
    "reddit": {"vertices": 232965, "edges": 57307946, "features": 602, "classes": 41, "layers": 2, "hidden": 512},
    "products": {"vertices": 2449029, "edges": 61859140, "features": 100, "classes": 47, "layers": 3, "hidden": 256},
}
FORMS = {
    "same_work": {"first_layer": "recompute", "cuda_graph": False},
    "cuda_graphs": {"first_layer": "recompute", "cuda_graph": True},
    "input_aggregated_once": {"first_layer": "exact", "cuda_graph": False},
}


def last_json(command):
    """The last line of a program's standard output as JSON; its other lines go to our standard output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return {"failed": f"status {done.returncode}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def generate(orrery, size, scale, folder):
    counts = {key: size[key] for key in ("features", "classes")}
    counts |= {key: max(64, int(size[key] * scale)) for key in ("vertices", "edges")}
    flags = [flag for key, value in counts.items() for flag in (f"--{key}", str(value))]
    return last_json([orrery, "dataset", "generate", "chung-lu", *flags, "--out", str(folder), "--force", "--json"])


def time_orrery(arguments, size, form, data, scratch):
    if form["cuda_graph"] and arguments.device == "cpu":
        return {"left_out": "needs a GPU"}
    experiment = {
        "name": "epochs",
        "dataset": {"path": str(data)},
        "model": {"type": "gcn", "layers": size["layers"], "hidden": size["hidden"], "dropout": 0},
        "strategy": {"type": "full_graph", "first_layer": form["first_layer"]},
        "train": {"epochs": arguments.epochs, "eval_every": 0, "cuda_graph": form["cuda_graph"]},
        "kernels": "cuda" if arguments.device == "cuda" else "cpu",
    }
    file = scratch / "epochs.json"
    file.write_text(json.dumps(experiment))
    result = last_json([arguments.orrery, "run", str(file), "--out", str(scratch / "run"), "--force", "--quiet", "--json"])
    if "failed" in result:
        return result
    return {key: result[key] for key in ("epoch_seconds", "compute_by_kind", "kernels", "loss")} | {
        "peak_bytes": max(result["peak_bytes"])}


def compare(arguments, name, scratch, result, write):
    """Fills in the result, and writes what there is after every step: the time for all may be short."""
    size, data = SIZES[name], scratch / name
    generated = generate(arguments.orrery, size, arguments.scale, data)
    result |= {"size": size, "scale": arguments.scale, "generated": generated, "orrery": {}}
    for form, keys in FORMS.items():
        result["orrery"][form] = time_orrery(arguments, size, keys, data, scratch)
        print(name, form, result["orrery"][form], file=sys.stderr)
        write()
    result["pytorch_geometric"] = last_json([
        arguments.python, str(HERE / "pyg_epoch.py"), str(data), "--layers", str(size["layers"]), "--hidden",
        str(size["hidden"]), "--epochs", str(arguments.epochs), "--device", arguments.device])
    ours, theirs = result["orrery"]["same_work"], result["pytorch_geometric"]
    if "epoch_seconds" in ours and theirs.get("fastest_epoch_seconds"):
        result["times_as_fast"] = theirs["fastest_epoch_seconds"] / ours["epoch_seconds"]
    write()
    shutil.rmtree(data, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="the JSON file to write")
    parser.add_argument("--orrery", default=str(HERE.parents[1] / "build/experiments/orrery"), help="the program")
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch Geometric (default: this one)")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--scale", type=float, default=1, help="of vertices and edges (default: 1)")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=list(SIZES))
    arguments = parser.parse_args()
    results = {name: {} for name in arguments.sizes}

    def write():
        arguments.out.write_text(json.dumps(results, indent=2) + "\n")

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit("gpu_epochs.py: stopped"))  # and the scratch folder goes
    with tempfile.TemporaryDirectory(prefix="orrery-epochs-") as scratch:
        for name, result in results.items():
            compare(arguments, name, pathlib.Path(scratch), result, write)
    if '"failed"' in json.dumps(results):
        sys.exit(f"gpu_epochs.py: something failed: see {arguments.out}")


if __name__ == "__main__":
    main()
