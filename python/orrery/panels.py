"""Pictures: of results, and the panels of the papers' figures, on matplotlib's axes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _orrery import ConfigError, DataError

from .results import Results
from .runs import RunFailed, analysis, program

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas


_MADE = {"sim": "simulated", "model": "modelled"}  # by backend; others measure
NAME_WIDTH = 32  # letters in a line of a name


def _axes(axes: Any, height: float = 4.8) -> Any:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", figsize=(6.4, height))[1]


def _made(runs: "pandas.DataFrame") -> list[str]:
    """Whether the seconds of each run were measured."""
    return [_MADE.get(backend, "measured") for backend in runs["backend"]]


def _told(made: list[str], words: str) -> str:
    """"simulated seconds": the name of an axis with times of these runs."""
    return f"{made[0]} {words}" if set(made) - {"measured"} and len(set(made)) == 1 else words


def _words(path: str, value: Any) -> Any:
    if path == "backend":
        return _MADE.get(value, value)
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else json.dumps(value)


def _names(runs: "pandas.DataFrame", settings: list[str]) -> list[str]:
    """The runs in few words: "full_graph, 2 ranks"."""
    short = analysis("setting_words").short
    names = [short((path, _words(path, run[path])) for path in settings
                   if run[path] is not None and run[path] == run[path])  # NaN: a run without the key
             for run in runs.to_dict("records")]
    return [name or Path(folder).name for name, folder in zip(names, runs["folder"])]


def _legend_above(axes: Any, columns: int) -> None:
    axes.legend(frameon=False, fontsize="small", ncols=columns, loc="lower right", bbox_to_anchor=(1, 1))


def curves(found: Results, y: str = "loss", axes: Any = None) -> "matplotlib.axes.Axes":
    """A line for each run: a column of `found.epochs` (loss, val_accuracy, test_accuracy, seconds)
    over the epochs. Runs are named by `found.settings`; with several runs that differ in their seed alone, one line is
    their mean, and the band beside it one standard deviation. The legend stands above the axes.

    Raises DataError if no run has the column.
    """
    frame = found.epochs
    if frame.empty or y not in frame or frame[y].isna().all():
        raise DataError(f"curves: no run has {y!r} by epoch")
    axes = _axes(axes)
    others = [path for path in found.settings if path != "seed"]
    seeds = "seed" in found.settings
    names = (_names(found.runs, others) if others or not seeds
             else [f"mean of {len(found.runs)} seeds"] * len(found.runs))
    by_folder = dict(zip(found.runs["folder"], names))
    frame = frame[frame[y].notna()]  # simulations have seconds alone
    for i, (name, group) in enumerate(frame.groupby(frame["folder"].map(by_folder), sort=False)):
        by_epoch = group.groupby("epoch")[y]
        mean, deviation = by_epoch.mean(), by_epoch.std()
        line, = axes.plot(mean.index, mean, label=name, **analysis("colours").line(i))
        if group["folder"].nunique() > 1:
            axes.fill_between(mean.index, mean - deviation, mean + deviation, alpha=0.2,
                              color=line.get_color(), linewidth=0)
    axes.set_xlabel("epoch")
    axes.set_ylabel(_told(_made(found.runs), {"seconds": "seconds per epoch"}.get(y, y.replace("_", " "))))
    _legend_above(axes, 2)
    return axes


def breakdown(found: Results, axes: Any = None) -> "matplotlib.axes.Axes":
    """A bar for each run, from above: seconds of its median epoch by part, in the order and colours of report pages.
    The parts of a bar add up to the epoch; communication that computation hides is in none of them
    (`breakdown.hidden` of `found.runs`). A line with caps is the 90 % interval of a simulated epoch.

    Raises DataError if no run has one.
    """
    import pandas
    from matplotlib.ticker import EngFormatter, MaxNLocator

    frame, made = found.runs, _made(found.runs)
    kinds = [kinds for kinds in frame.get("epoch_parts", []) if isinstance(kinds, list)]
    parts = analysis("epoch_parts").exposed({"epoch_parts": kinds[0] if kinds else None})
    seconds = frame.reindex(columns=[f"breakdown.{part.key}" for part in parts])
    seconds = seconds.apply(pandas.to_numeric, errors="coerce")
    if seconds.isna().all(axis=None):
        raise DataError("breakdown: no run has one")
    names = [textwrap.fill(name, NAME_WIDTH) for name in _names(frame, found.settings)]
    lines = 1 + max(name.count("\n") for name in names)
    axes = _axes(axes, 1.8 + (0.2 + 0.2 * lines) * len(frame))
    colours, rows = analysis("colours"), range(len(frame))
    below = pandas.Series(0.0, frame.index)
    for part, column in zip(parts, seconds):
        values = seconds[column].fillna(0.0)
        if values.any():
            axes.barh(rows, values, 0.7, left=below, label=part.title, **colours.fill(colours.part(part.key)))
            below = below + values
    ends = frame.reindex(columns=["interval.low_seconds", "interval.high_seconds"]).to_numpy(float)
    if (found_ends := ends[:, 0] == ends[:, 0]).any():
        middle, half = ends[found_ends].mean(axis=1), ends[found_ends] @ [-0.5, 0.5]
        axes.errorbar(middle, [row for row in rows if found_ends[row]], xerr=half, fmt="none", capsize=2, elinewidth=1,
                      ecolor=colours.INK.light, label="90 % interval")
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.set_xlabel(_told(made, "time of an epoch"))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    _legend_above(axes, 2)
    return axes


def timeline(found: Results, folder: Any = None, axes: Any = None) -> "matplotlib.axes.Axes":
    """The operations of a run (default: the only one), a row for each rank and lane, over seconds."""
    frame, runs = found.timeline(folder), found.runs
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
    axes.set_xlabel(_told(_made(runs if folder is None else runs[runs["folder"] == str(folder)]), "seconds"))
    _legend_above(axes, 4)
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
        kind = analysis("figures." + panels[panel]["kind"])
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
    experiments = analysis("figure_runs").Experiments(analysis("figure_file").load(name), folder, program())
    experiments.read_all()
    return PaperFigure(name, told, experiments, analysis("figure_rows").make_rows(experiments))
