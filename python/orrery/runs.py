"""Starts the program `orrery` from Python: runs, plans, simulations and validations."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _orrery import ConfigError, Error

Config = "Mapping[str, Any] | str | os.PathLike"


class RunFailed(Error):
    """The program ended with an error, whose last line is the message; `status` is its exit status."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


def _installed() -> Path:
    """The folder where `pip install .` puts the program and its files."""
    return Path(__file__).resolve().parent / "program"


def shipped_root() -> Path:
    """The folder with configs/ and analysis/: of the source tree, or of the installed program."""
    installed = _installed() / "share" / "orrery"
    return installed if installed.is_dir() else Path(__file__).resolve().parents[2]


def analysis(module: str) -> Any:
    """A module of analysis/, of which report pages and figures are made. Raises Error if the folder is not there."""
    folder = str(shipped_root() / "analysis")
    if not (Path(folder) / "report.py").exists():
        raise Error(f"{folder}: what report pages and figures are made of is not there")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(module)


def _environment() -> dict[str, str]:
    """In which the program finds the packages of this interpreter (rich, tensorboardX, matplotlib), as in an
    environment that is activated."""
    here = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    return os.environ | {"PATH": path if path.split(os.pathsep)[0] == here else here + os.pathsep + path}


def main() -> None:
    """The command `orrery` of an installed package: replaces itself by the program."""
    path = program()
    os.execve(path, [path, *sys.argv[1:]], _environment())


def program() -> str:
    """The program that is started: $ORRERY_PROGRAM, else the one that was installed with this package,
    else the launcher of the source tree that it is in, else `orrery` of the path. Raises Error if there is none."""
    asked = os.environ.get("ORRERY_PROGRAM")
    if asked:
        if not shutil.which(asked):
            raise Error(f"ORRERY_PROGRAM: {asked} is no program")
        return asked
    installed = _installed() / "bin" / "orrery"
    if installed.is_file():
        return str(installed)
    launcher = Path(__file__).resolve().parents[2] / "orrery"
    if launcher.is_file() and os.access(launcher, os.X_OK):
        return str(launcher)
    found = shutil.which("orrery")
    if not found:
        raise Error("the program orrery is not there: install it, or set ORRERY_PROGRAM to it")
    return found


class _Shown:
    """Shows the program's messages while it runs: in a notebook the last lines, in one place that is written over;
    elsewhere every line on sys.stderr."""

    KEPT = 60

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._place: Any = None
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython else None
        self._notebook = shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"

    def tell(self, line: str) -> None:
        if not self._notebook:
            print(line, end="", file=sys.stderr, flush=True)
            return
        from IPython.display import display

        told = line.rstrip("\n")
        # "full_graph  epoch 10/60  loss ..." takes the place of the line before of the same run.
        mark = told.find("  epoch ")
        if mark > 0 and self._lines and self._lines[-1].startswith(told[:mark + 8]):
            self._lines.pop()
        self._lines = [*self._lines, told][-self.KEPT:]
        text = {"text/plain": "\n".join(self._lines)}
        if self._place is None:
            self._place = display(text, raw=True, display_id=True)
        else:
            self._place.update(text, raw=True)


def _overrides(settings: Mapping[str, Any] | None) -> list[str]:
    words = []
    for key, value in (settings or {}).items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    return words


def _stop(child: subprocess.Popen) -> None:
    """Asks the program and what it started to end, as Ctrl-C at a terminal does, and waits; a second
    interrupt kills them."""
    try:
        os.killpg(child.pid, signal.SIGINT)
        child.wait(timeout=30)
    except (KeyboardInterrupt, subprocess.TimeoutExpired, ProcessLookupError):
        pass
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _call(command: str, config: Any, options: list[str], settings: Mapping[str, Any] | None,
          quiet: bool) -> dict[str, Any]:
    """Runs a command whose last line of standard output is one JSON object."""
    if isinstance(config, Mapping):
        try:
            told = json.dumps(config, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"config: is no JSON: {error}") from error
        file = "-"
    else:
        told, file = None, os.fspath(config)
    words = [program(), command, file, "--json", *options, *_overrides(settings)]
    # A process group of its own: Ctrl-C reaches the program once, by us.
    child = subprocess.Popen(words, stdin=subprocess.PIPE if told else subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             encoding="utf-8", errors="replace", start_new_session=True,
                             env=_environment() | {"ORRERY_ENDS_WITH": str(os.getpid())})
    said: list[str] = []
    shown = _Shown()

    def pass_on() -> None:
        for line in child.stderr:
            said.append(line)
            del said[:-40]
            if not quiet:
                shown.tell(line)

    def tell() -> None:
        try:
            child.stdin.write(told)
            child.stdin.close()
        except BrokenPipeError:
            pass  # it ended without reading, and says why

    helpers = [threading.Thread(target=pass_on, daemon=True)]
    if told:
        helpers.append(threading.Thread(target=tell, daemon=True))
    last = ""
    try:
        for helper in helpers:
            helper.start()
        for line in child.stdout:
            if not quiet and last:
                print(last, end="", flush=True)
            last = line
        child.wait()
        for helper in helpers:
            helper.join(timeout=5)
    except BaseException:
        _stop(child)
        raise
    finally:
        child.stdout.close()
    return _answer(command, child.returncode, last, said)


def _answer(command: str, status: int, last: str, said: list[str]) -> dict[str, Any]:
    try:
        answer = json.loads(last) if last.startswith("{") else None
    except ValueError:
        answer = None
    if status == 0 and answer is not None:
        return answer
    told = [line.strip() for line in said if line.strip()]
    why = told[-1] if told else last.strip() or f"orrery {command} said nothing"
    if status < 0:
        why = f"orrery {command} was ended by signal {-status}: {why}"
    raise RunFailed(why, status)


def _out(out: Any, force: bool) -> list[str]:
    words = [] if out is None else ["--out", os.fspath(out)]
    return words + (["--force"] if force else [])


def run(config: Any, *, set: Mapping[str, Any] | None = None, out: Any = None, force: bool = False,
        resume: bool = False, backend: str | None = None, csv: bool = False, tensorboard: bool = False,
        quiet: bool = False) -> dict[str, Any]:
    """Trains an experiment: every combination of its sweep.

    config: the file, or a dict as in the file; `set` sets single keys: {"train.epochs": 20}.
    out: the folder for results (default: results/NAME-TIME), replaced with `force`, gone on with
        from its checkpoint with `resume`.
    csv, tensorboard: write epochs.csv, or event files for TensorBoard, into the folder.
    quiet: no progress; else what the program says goes to sys.stderr, so that a notebook shows it.

    Returns what `orrery run --json` prints (docs/keys.md). An interrupt (Ctrl-C, or a notebook's
    stop) ends the program and then raises KeyboardInterrupt. Raises RunFailed with its error.
    """
    options = _out(out, force) + (["--resume"] if resume else [])
    options += (["--csv"] if csv else []) + (["--tensorboard"] if tensorboard else [])
    if backend is not None:
        options += ["--backend", backend]
    return _call("run", config, options, set, quiet)


def simulate(config: Any, *, set: Mapping[str, Any] | None = None, out: Any = None,
             force: bool = False, quiet: bool = False) -> dict[str, Any]:
    """Replays the experiment on the cluster that it describes, instead of training it: run() with
    backend "sim"."""
    return run(config, set=set, out=out, force=force, backend="sim", quiet=quiet)


def plan(config: Any, *, set: Mapping[str, Any] | None = None, quiet: bool = True) -> dict[str, Any]:
    """Each rank's operations, bytes and memory: the output of `orrery plan --json`. Nothing runs."""
    return _call("plan", config, [], set, quiet)


def validate(config: Any, *, set: Mapping[str, Any] | None = None, out: Any = None,
             repeats: int | None = None, quiet: bool = False) -> dict[str, Any]:
    """Compares simulations and equations with measurements: the output of `orrery validate --json`.

    If errors exceed the accepted ones, the program ends with an exit status: RunFailed.
    """
    options = _out(out, False) + ([] if repeats is None else ["--repeats", str(repeats)])
    return _call("validate", config, options, set, quiet)


@dataclass
class Predictions:
    """The predictions of a kept model for every vertex of a data set."""

    logits: np.ndarray  #: float32 [vertices, classes]
    predictions: np.ndarray  #: int32 [vertices], or uint8 [vertices, classes] of several labels
    embeddings: np.ndarray  #: float32 [vertices, width]: what the last layer is given
    scores: dict[str, dict[str, Any]]  #: of train, validation and test: accuracy, macro_f1, auc
    folder: Path


def predict(run_folder: Any, *, weights: Any = None, out: Any = None, ranks: int = 1,
            set: Mapping[str, Any] | None = None, force: bool = False,
            quiet: bool = False) -> Predictions:
    """Computes the kept weights of a run for every vertex: `orrery predict`.

    run_folder: of a run with train.keep_best or train.checkpoint_every.
    weights: a checkpoint instead of best.bin, else checkpoint.bin, of the run.
    set: keys of the run's config.json that are changed, such as {"dataset.path": other data}.
    out: default: "predictions" in the run's folder. Raises RunFailed.
    """
    options = _out(out, force) + ["--ranks", str(ranks)]
    options += [] if weights is None else ["--weights", os.fspath(weights)]
    told = _call("predict", os.fspath(run_folder), options, set, quiet)
    folder = Path(told["out_dir"])
    arrays = (np.load(folder / f"{name}.npy") for name in ("logits", "predictions", "embeddings"))
    return Predictions(*arrays, told["scores"], folder)
