"""The origin of a picture's numbers: simulated or measured, which machine, which data."""

import re
from pathlib import Path

import intervals
import sensitivity
from figure_runs import dotted

MACHINES = {
    "dgx-1": "DGX-1 (V100)", "dgx-1-halves": "DGX-1 (V100)",
    "dgx-1-as-assumed": "DGX-1 (V100) with the links that the paper assumes",
    "dgx-a100": "DGX-A100",
    "fat-tree": "a fat tree of servers of 8 H200 (NDR InfiniBand)",
    "a6000-4x4-pcie": "4 servers of 4 A6000 (PCIe)",
    "a6000-4x4-nvlink": "4 servers of 4 A6000 (NVLink bridges)",
    "r5-16-25gbe": "AWS machines of Deal's testbed (25 Gbit/s)",
    "rtx2080ti-2x4-1gbe": "2 servers of 4 RTX 2080 Ti (1 GbE)",
    "g4dn-metal-8": "AWS g4dn.metal of 8 T4 (100 Gbit/s)",
    "xeon9242-64x2-hdr": "servers of two Xeon 9242 (HDR InfiniBand)",
    "r5dn-24xlarge-4": "4 AWS r5dn.24xlarge, CPUs (100 Gbit/s)",
}
DATA = {"arxiv": "ogbn-arxiv", "products": "ogbn-products", "papers100m": "ogbn-papers100M"}
# For data sets given by their counts.
BY_VERTICES = {169343: "ogbn-arxiv", 2449029: "ogbn-products", 232965: "reddit",
               8745542: "proteins", 5600000: "social-spammer", 111059956: "ogbn-papers100M"}


def machine_of(run):
    """The cluster of a simulated run in words, else the host's processor and cores."""
    if run.simulated or run.result.get("simulation"):
        told = run.result.get("simulation") or {}
        name = told.get("cluster") or Path(dotted(run.config, "cluster.file") or "a cluster").stem
        return MACHINES.get(name, name)
    provenance = run.result.get("provenance") or {}
    if not provenance:
        return None
    return f"{provenance['cores']} cores of {provenance['cpu']}"


def data_of(run):
    """(which part of it is real, the data set's name)."""
    dataset = run.result.get("dataset") or {}
    asked = run.config.get("dataset") or {}
    name = run.config.get("name") if "generate" in asked else None
    name = name or dataset.get("name") or asked.get("path") or run.result["name"]
    name = re.sub(r"^(mg-gcn|granndis|catgnn|deal)-((fig|sec|table)[\d.]+[a-z]?-?)?", "", name)
    name = DATA.get(name.removesuffix("-like"), name.removesuffix("-like"))
    if "statistics" in asked:
        return "by its counts", BY_VERTICES.get(asked["statistics"]["vertices"], name)
    if "generate" in asked:
        return "generated stand-in for", name
    return ("copies of" if asked.get("magnify", 1) > 1 else "", name)


def _listed(words):
    """"a, b and c" of the words, each once."""
    words = list(dict.fromkeys(word for word in words if word))
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _data(runs, own):
    """"ogbn-arxiv; by their counts reddit and proteins". What a figure of this program (`own`) generates, or gives by
    counts of its own, stands in for nothing."""
    found = {}
    for run in runs:
        kind, name = data_of(run)
        asked = run.config.get("dataset") or {}
        if own and "generate" in asked:
            kind, name = "", "generated graphs"
        elif own and "statistics" in asked and asked["statistics"]["vertices"] not in BY_VERTICES:
            name = "graphs of other sizes"
        found.setdefault(kind, []).append(name)
    words = []
    for kind, names in found.items():
        many = len(set(names)) > 1
        kind = kind.replace("its", "their").replace("stand-in", "stand-ins") if many else kind
        words.append(f"{kind} {_listed(names)}".strip())
    return "; ".join(words)


def _spread(panels, rows):
    """The meaning of error bars and bands; empty if none is drawn."""
    over = {panel["by"] for panel in panels if panel["kind"] in ("learning", "spread")}
    drawn = {label for panel in panels if panel["kind"] == "pairs"
             for column in panel["columns"] for label in column["rows"]}
    if any("deviation" in row for row in rows if row["label"] in drawn):
        over.add("seed")
    bands = any(one.get("level") or panel["kind"] == "learning" for panel in panels
                for one in panel.get("series", []))
    marks = "Error bars and bands" if bands else "Error bars"
    keys = _listed(f"{key}s" for key in sorted(over))
    return f"{marks}: standard deviation over {keys}" if over else ""


def _intervals(experiments):
    """The meaning of the bars of simulated epochs in curves (figures/curves.py); empty if none is drawn."""
    runs = {series["of"] for panel in experiments.figure.told.get("panels", [])
            if panel["kind"] == "curves" and "base" not in panel and "y" not in panel for series in panel["series"]}
    found = [run.result for name in sorted(runs) for run in experiments.results[name] if run.simulated]
    return intervals.legend(found).replace("±", "Bars")


def sentence(experiments, rows=()):
    """"Ours: simulated on DGX-1 (V100); by its counts ogbn-products" for all runs of the figure, and
    what its error bars stand for."""
    told = experiments.figure.told["runs"]
    cut = [run for name, runs in experiments.results.items() if "cuts" in told[name]
           for run in runs]
    trainers = {run["weights_of"] for run in told.values() if "weights_of" in run}  # of weights alone, unless scored
    ran = [run for name, runs in experiments.results.items()
           if not {"cuts", "sharing"} & told[name].keys() and (name not in trainers or told[name].get("scored"))
           for run in runs]
    counted = [run for run in told.values() if "sharing" in run]
    parts = []
    if cut:
        parts.append(f"graphs cut here: {_listed(dotted(run.config, 'graph') for run in cut)}")
    validated = any("validate" in run for run in told.values())
    real = "measured, and simulated from a calibration," if validated else "measured"
    for simulated, word in ((True, "simulated"), (False, real)):
        runs = [run for run in ran if run.simulated == simulated]
        if runs:
            parts.append(f"{word} on {_listed(map(machine_of, runs))}; "
                         f"{_data(runs, experiments.figure.told.get('own'))}")
    for kind, words in (("generate", "generated stand-ins for "), ("graph", "")):
        if names := [run.get("title", run.get("graph", "a graph")) for run in counted if kind in run]:
            parts.append(f"counted, not run, in {words}{_listed(names)}")
    if planned := [run for run in told.values() if run.get("plan")]:
        names = _listed(run["data"] for run in planned if "data" in run)
        parts.append(f"planned, not run; {names}" if names else "forecasts planned, not run")
    if spread := _spread(experiments.figure.told.get("panels", []), rows):
        parts.append(spread)
    if bars := _intervals(experiments):
        parts.append(bars)
    if sensitivity.asked(experiments.figure):
        parts.append("Bands: all efficiencies of the device profile at the ends of their ranges")
    return "Ours: " + ". ".join([*parts[:1], *(part[:1].upper() + part[1:] for part in parts[1:])])
