"""Pictures: of results, and the panels of the papers' figures, on matplotlib's axes."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _orrery import ConfigError, DataError, Error

from .results import Results
from .runs import RunFailed, program, shipped_root

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _label(group: Any, settings: list[str]) -> str:
    first = group.iloc[0]
    return ", ".join(f"{path}={first[path]}" for path in settings) or Path(first["folder"]).name


def curves(found: Results, y: str = "loss", axes: Any = None) -> "matplotlib.axes.Axes":
    """A line for each run: a column of `found.epochs` (loss, val_accuracy, test_accuracy, seconds)
    over the epochs. Runs are named by the settings in which they differ; with several runs that differ
    in their seed alone, one line is their mean, and the band beside it one standard deviation.

    Raises DataError if no run has the column.
    """
    frame = found.epochs
    if frame.empty or y not in frame or frame[y].isna().all():
        raise DataError(f"curves: no run has {y!r} by epoch")
    axes = _axes(axes)
    others = [path for path in found.settings if path != "seed"]
    groups = frame.groupby(others or ["folder"] if "seed" not in found.settings else others or (lambda _: 0),
                           sort=False, dropna=False)
    for _, group in groups:
        by_epoch = group.groupby("epoch")[y]
        mean, deviation = by_epoch.mean(), by_epoch.std()
        line, = axes.plot(mean.index, mean, label=_label(group, others) if others or "seed" not in
                          found.settings else f"mean of {group['folder'].nunique()} seeds")
        if group["folder"].nunique() > 1:
            axes.fill_between(mean.index, mean - deviation, mean + deviation, alpha=0.2,
                              color=line.get_color(), linewidth=0)
    axes.set_xlabel("epoch")
    axes.set_ylabel({"seconds": "seconds per epoch"}.get(y, y.replace("_", " ")))
    axes.legend(frameon=False)
    return axes


def breakdown(found: Results, axes: Any = None) -> "matplotlib.axes.Axes":
    """A bar for each run: seconds of its mean epoch by part (compute, internal, external, ...)."""
    frame = found.runs
    parts = [c for c in frame if c.startswith("breakdown.") and c.count(".") == 1
             and frame[c].map(lambda x: isinstance(x, (int, float))).all()]
    if not parts:
        raise DataError("breakdown: no run has one")
    axes = _axes(axes)
    names = [_label(frame.iloc[[i]], found.settings) for i in range(len(frame))]
    below = [0.0] * len(frame)
    for part in parts:
        values = frame[part].fillna(0).astype(float).tolist()
        axes.bar(range(len(frame)), values, bottom=below, label=part.removeprefix("breakdown."))
        below = [a + b for a, b in zip(below, values)]
    axes.set_xticks(range(len(frame)), names, rotation=20, ha="right")
    axes.set_ylabel("seconds of an epoch")
    axes.legend(frameon=False)
    return axes


def timeline(found: Results, folder: Any = None, axes: Any = None) -> "matplotlib.axes.Axes":
    """The operations of a run (default: the only one), a row for each rank and lane, over seconds."""
    frame = found.timeline(folder)
    axes = _axes(axes)
    rows = sorted({(rank, lane) for rank, lane in zip(frame["rank"], frame["lane"])})
    kinds = list(dict.fromkeys(frame["name"]))
    for k, kind in enumerate(kinds):
        for r, (rank, lane) in enumerate(rows):
            mine = frame[(frame["rank"] == rank) & (frame["lane"] == lane) & (frame["name"] == kind)]
            if len(mine):
                axes.broken_barh(list(zip(mine["begin_seconds"], mine["seconds"])), (r - 0.4, 0.8),
                                 color=f"C{k % 10}", label=kind if not axes.get_legend_handles_labels()[1].count(kind)
                                 else None)
    axes.set_yticks(range(len(rows)), [f"rank {rank} {lane}" for rank, lane in rows])
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.legend(frameon=False, fontsize="small", ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    return axes


@dataclass
class PaperFigure:
    """A figure of a paper, with our numbers beside the paper's."""

    name: str
    told: dict[str, Any]  #: what `orrery figure --json` says: title, rows, what was counted
    _experiments: Any
    _rows: Any

    @property
    def panels(self) -> list[str]:
        """The titles of its panels."""
        return [panel["title"] for panel in self._experiments.figure.told["panels"]]

    @property
    def rows(self) -> "pandas.DataFrame":
        """A row for each cell: the paper's number, ours, how far they are apart."""
        import pandas

        return pandas.DataFrame(self.told["rows"])

    def draw(self, panel: int = 0, axes: Any = None) -> "matplotlib.axes.Axes":
        """One panel, as the picture of `orrery figure` has it. Raises ConfigError: no such panel."""
        panels = self._experiments.figure.told["panels"]
        if not 0 <= panel < len(panels):
            raise ConfigError(f"panel: {self.name} has {len(panels)}, found {panel}")
        kind = importlib.import_module("figures." + panels[panel]["kind"])
        axes = _axes(axes)
        kind.draw(axes, panels[panel], self._experiments, self._rows)
        axes.set_title(panels[panel]["title"])
        return axes


def paper_figures() -> list[str]:
    """The names that figure() takes."""
    said = subprocess.run([program(), "figure", "--list", "--json"], capture_output=True, text=True, check=False)
    if said.returncode:
        raise RunFailed(said.stderr.strip().splitlines()[-1], said.returncode)
    return [one["name"] for one in json.loads(said.stdout.splitlines()[-1])["figures"]]


def figure(name: str, out: Any = None, *, redraw: bool = False) -> PaperFigure:
    """Makes a figure of a paper (paper_figures() lists them): its runs and simulations, into `out`
    (default: results/figures/NAME). `redraw`: from existing runs. Raises RunFailed."""
    folder = Path(os.fspath(out) if out is not None else Path("results/figures") / name)
    words = [program(), "figure", name, "--out", str(folder), "--json"] + (["--redraw"] if redraw else [])
    environment = os.environ | {"ORRERY_PYTHON": sys.executable}
    made = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if made.returncode:
        said = (made.stderr.strip() or made.stdout.strip()).splitlines()
        raise RunFailed(said[-1] if said else "orrery figure said nothing", made.returncode)
    told = json.loads(made.stdout.splitlines()[-1])
    analysis = str(shipped_root() / "analysis")
    if not (Path(analysis) / "figure_file.py").exists():
        raise Error(f"{analysis}: the panels of figures are not there")
    if analysis not in sys.path:
        sys.path.append(analysis)
    import figure_file
    import figure_rows
    from figure_runs import Experiments

    experiments = Experiments(figure_file.load(name), folder, program())
    experiments.read_all()
    return PaperFigure(name, told, experiments, figure_rows.make_rows(experiments))
