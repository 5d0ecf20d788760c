"""Runs the experiments of a figure, fits the factors it asks for, and keeps the results at hand."""

import json
import math
import os
import subprocess
from pathlib import Path

import child
import figure_breakdowns
import figure_cuts
import figure_inferences
import figure_sharing
import figure_validations
import result_folder
import whole_file
from checked_json import Each, number, text
from figure_file import FigureError, made
from ticking import Ticking

FIT_STEPS = 4
FIT_TOLERANCE = 1e-3


def dotted(config, key):
    """config["a"]["b"] for "a.b"; None if it is not there."""
    for word in key.split("."):
        config = config.get(word) if isinstance(config, dict) else None
    return config


def _setting(key, value):
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


def has_data_set(name):
    folders = [f for f in os.environ.get("ORRERY_DATA", "").split(":") if f] + ["data"]
    return any((Path(folder) / name).exists() for folder in folders)


class Experiments:
    """The results of a figure's runs, each made by a command of `program`."""

    def __init__(self, figure, out, program):
        self.figure, self.out, self.program = figure, Path(out), program
        self.factors = {}  # run: {kind: factor}
        self.stand_ins = {}  # run: data set that was not there
        self.plans = {}  # words of a command: its output
        self.results = {}  # run: list of Run

    # --- running

    def run_all(self):
        runs = self.figure.told["runs"]
        for i, name in enumerate(runs):
            with Ticking(f"{self.figure.name}: {name} ({i + 1} of {len(runs)})"):
                self._run(name)
        self._write("factors.json", self.factors)
        self._write("stand_ins.json", self.stand_ins)
        self.read_all()

    def _run(self, name):
        run = self.figure.told["runs"][name]
        if run.get("plan"):
            self._file(name)  # or FigureError: what is missing
            return None
        if "cuts" in run:
            return figure_cuts.make(self.program, run, self.out / "runs" / name)
        if "sharing" in run:
            return figure_sharing.make(self.program, run, self.out / "runs" / name)
        if "validate" in run:
            return figure_validations.make(self.program, run, self.figure.folder, self.out / "runs" / name)
        if "breakdown" in run:
            return figure_breakdowns.make(self.program, self._file(name), run, self.out / "runs" / name)
        if "infer" in run:
            return figure_inferences.make(self.program, self._file(name), run,
                                          self.out / "runs" / name)
        settings = dict(run.get("set", {}))
        if factor := self._factor(name, settings):
            self.factors[name] = factor
            settings["simulation.scale"] = factor
        if self.figure.told.get("sensitivity") and self._is_simulated(name, settings):
            settings.setdefault("simulation.sensitivity", True)
        self._start(name, settings, self.out / "runs" / name)

    def _file(self, name):
        run = self.figure.told["runs"][name]
        if "data" in run and not has_data_set(run["data"]):
            if "otherwise" not in run:
                raise FigureError(f"{name}: the data set {run['data']} is not in ORRERY_DATA")
            self.stand_ins[name] = run["data"]
            return self.figure.folder / run["otherwise"]
        return self.figure.folder / run["file"]

    def _is_simulated(self, name, settings):
        backend = json.loads(self._file(name).read_text()).get("backend")
        return settings.get("backend", backend) == "sim"

    def _start(self, name, settings, folder, anew=False):
        """Every combination of the file with these settings; the results in `folder`, in which a sweep of the same
        settings goes on unless `anew`."""
        resumes = self.figure.told["runs"][name].get("sweep", False) and not anew
        words = [self.program, "sweep" if resumes else "run", str(self._file(name))]
        words += ["--out", str(folder), "--json"] + ([] if resumes else ["--force"])
        for key, value in settings.items():
            words += ["--set", _setting(key, value)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=child.environment())
        if done.returncode != 0 or not folder.exists():
            raise FigureError(f"{name}: {last_line(done.stderr)}")

    def plan(self, name, settings):
        """The output of `orrery plan` for one combination of a run."""
        return self._told("plan", name, settings, [])

    def starve(self, name, settings, epochs):
        """The output of `orrery starve`, with the present settings alone, for one combination of a run."""
        return self._told("starve", name, settings, ["--now", "--epochs", str(epochs)])

    def _told(self, command, name, settings, options):
        """The JSON that a command prints of one combination of a run; the same command is called once."""
        words = [self.program, command, str(self._file(name)), "--json", *options]
        merged = dict(self.figure.told["runs"][name].get("set", {})) | settings
        for key, value in merged.items():
            words += ["--set", _setting(key, value)]
        if (key := " ".join(words)) in self.plans:
            return self.plans[key]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=child.environment())
        if done.returncode != 0 or not done.stdout.strip():
            raise FigureError(f"{command} of {name}: {last_line(done.stderr)}")
        self.plans[key] = json.loads(done.stdout.strip().splitlines()[-1])
        return self.plans[key]

    # --- fitting

    def _factor(self, name, settings):
        run = self.figure.told["runs"][name]
        if "fit" in run:
            return self._fit(name, run["fit"], settings)
        if "scale_of" in run:
            fitted = [self.factors[other] for other in run["scale_of"]]
            kinds = fitted[0].keys()
            return {k: math.prod(f[k] for f in fitted) ** (1 / len(fitted)) for k in kinds}
        return None

    def _fit(self, name, fit, settings):
        """The factor on one kind of operation with which the cell takes the paper's seconds. The
        rest of the cell's time stays as the profile has it; a few steps are needed, because the host's work need not
        shift alike."""
        target = next(r["paper"] for r in self.figure.told["rows"] if r["label"] == fit["row"])
        kind, factor = fit["kind"], 1.0
        for _ in range(FIT_STEPS):
            folder = self.out / "fit" / name
            tried = {"simulation.scale": {kind: factor}}
            self._start(name, settings | fit["at"] | tried, folder, anew=True)
            cell = only_run(folder).result
            seconds, busy = cell["epoch_seconds"], cell["compute_by_kind"].get(kind, 0)
            if abs(seconds - target) <= FIT_TOLERANCE * target:
                break
            wanted = busy + target - seconds
            if busy <= 0 or wanted <= 0:
                raise FigureError(
                    f"{name}: no factor on {kind} gives {target} s; without it the cell takes "
                    f"{seconds - busy:.4g} s")
            factor *= wanted / busy
        return {kind: factor}

    # --- reading

    def _write(self, file, value):
        self.out.mkdir(parents=True, exist_ok=True)
        whole_file.write(self.out / file, json.dumps(value, indent=2) + "\n")

    def read_all(self):
        """Takes the results from the folder; also those of an earlier start."""
        for name, run in self.figure.told["runs"].items():
            if run.get("plan"):
                self.results[name] = []
                continue
            if "cuts" in run:
                self.results[name] = figure_cuts.read(run, self.out / "runs" / name)
                continue
            if "sharing" in run:
                self.results[name] = figure_sharing.read(run, self.out / "runs" / name)
                continue
            if "validate" in run:
                self.results[name] = figure_validations.read(run, self.figure.folder, self.out / "runs" / name)
                continue
            if "breakdown" in run:
                self.results[name] = figure_breakdowns.read(self._file(name), run, self.out / "runs" / name)
                continue
            if "infer" in run:
                self.results[name] = figure_inferences.read(run, self.out / "runs" / name)
                continue
            found = result_folder.read(self.out / "runs" / name)
            self.results[name] = found.runs if isinstance(found, result_folder.Sweep) else [found]
        self.factors = made(self.out / "factors.json", Each(Each(number)))
        self.stand_ins = made(self.out / "stand_ins.json", Each(text))

    def pick(self, name, at):
        """The run whose resolved experiment has these values.   Errors: FigureError if none"""
        for run in self.results[name]:
            if all(value_at(run, key) == value for key, value in at.items()):
                return run
        raise FigureError(f"{name} has no run with {at}")


def value_at(run, key):
    """A key of the run's experiment, or of its label if it left no resolved file."""
    if run.config:
        return dotted(run.config, key)
    for part in run.result.get("label", "").split(", "):
        name, _, value = part.partition("=")
        if name == key:
            try:
                return json.loads(value)
            except ValueError:
                return value
    return None


def only_run(folder):
    found = result_folder.read(folder)
    return found.runs[0] if isinstance(found, result_folder.Sweep) else found


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("orrery: error: ") if lines else "ended without a word"
