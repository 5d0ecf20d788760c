"""The result folder of a run or a sweep, as plain data."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import checked_json
import plain_text
import setting_words
from checked_json import Each, ResultError, anything, count, flag, number, text

_SENTENCE = {"part": text, "share": number, "sentence": text}
# What pages and figures read of result.json; more may be there.
_ANY_RESULT = {
    "name": text, "label?": text, "backend": text, "strategy?": text, "ranks": count, "epochs?": count,
    "interrupted?": flag, "out_dir?": text, "kernels?": text, "machines?": count, "loss?": number,
    "test_accuracy?": number, "val_accuracy?": number, "device_bytes?": number, "limited_by?": _SENTENCE,
    "provenance?": {"cores?": count, "cpu?": text}, "other_work?": {"note?": text},
    "model?": {"cluster?": text},
    "dataset?": {"name": text, "vertices": count, "edges": count, "fingerprint?": text, "notes?": [text]},
}
_LINK = {"name": text, "type": text, "bytes": number, "utilisation": number, "bytes_per_second": number}
_INTERVAL = {"share": number, "half_width": number, "measured?": flag, "causes": Each(number)}
_THAT_FITTED = {
    "epoch_seconds": number, "breakdown": Each(number), "breakdown_of_rank?": [Each(number)],
    "epoch_parts?": [{"key": text, "words": text, "communication": flag, "in_sum": flag}],
    "compute_by_kind?": Each(number), "bytes?": {"internal?": number, "external?": number},
    "peak_bytes?": [number], "peak_by_class?": Each(number),
    "set_up?": {"seconds": number, "partition_seconds": number, "structure_seconds": number, "device_seconds": number},
    "interval?": _INTERVAL,
    "simulation?": {
        "cluster?": text, "profile?": text, "profile_origin?": text, "scale?": Each(number),
        "messages_per_second?": number, "sensitivity?": {"low_seconds": number, "high_seconds": number},
        "algorithms?": [{"collective": text, "algorithm": text, "ranks": count, "bytes": [number],
                         "calls": count}]},
    "simulated_on?": Each({"epoch_seconds?": number, "error?": number, "limited_by?": {"sentence?": text},
                           "not_simulated?": text, "disturbed?": text}),
}
_THAT_DID_NOT = {"out_of_memory": {"tensor": text, "asked": number, "capacity": number}}
_CONFIG = {"train?": {"epochs?": count}, "cluster?": {"file?": text}, "seed?": anything}
_EPOCH = {"epoch": count, "loss?": number, "train_accuracy?": number, "val_accuracy?": number,
          "test_accuracy?": number, "seconds?": number}
_SWEEP = {"name": text, "sweep": [{"out_dir?": text}], "missing?": count, "failure?": text}


@dataclass
class Run:
    """One run. `folder` is None for a combination of a sweep that left nothing (out of memory)."""

    result: dict
    config: dict = field(default_factory=dict)
    epochs: list = field(default_factory=list)  # lines of epochs.jsonl
    folder: Path | None = None

    @property
    def label(self):
        return self.result.get("label") or self.result.get("strategy") or self.result["name"]

    @property
    def simulated(self):
        return self.result.get("backend") in ("sim", "model")

    @property
    def score(self):
        """What its accuracies are: of link prediction the AUC stands where they do."""
        predicts_links = any(isinstance(told.get("links"), dict) for told in (self.config, self.result))
        return "AUC" if predicts_links else "accuracy"

    @property
    def interrupted(self):
        """"after 12 of 100 epochs" if training was interrupted, else nothing."""
        if not self.result.get("interrupted"):
            return ""
        asked = (self.config.get("train") or {}).get("epochs")
        of = f" of {asked}" if asked else ""
        return f"after {self.result['epochs']}{of} epochs"

    @property
    def disturbed(self):
        """What other programs did while it was measured, and nothing where they left it alone."""
        return (self.result.get("other_work") or {}).get("note") or ""

    @property
    def cluster(self):
        """The name of the cluster that it was simulated or modelled on; None if it is not known, or of a real
        run. What did not fit into memory has only the one that it asked for."""
        told = self.result.get("simulation") or self.result.get("model") or {}
        asked = (self.config.get("cluster") or {}).get("file") if self.simulated else None
        return told.get("cluster") or (asked and Path(asked).stem)

    @property
    def out_of_memory(self):
        """{"tensor", "asked", "capacity"} of a tensor that did not fit, or None."""
        return self.result.get("out_of_memory")

    @property
    def settings(self):
        """[(key, value)] of the swept keys, from the label: "seed=1, cluster.ranks=2"."""
        return setting_words.pairs(self.result.get("label"))

    def settings_but(self, *keys):
        """The label without these keys and those below them."""
        kept = [(key, value) for key, value in self.settings
                if not any(key == one or key.startswith(one + ".") for one in keys)]
        return ", ".join(f"{key}={value}" for key, value in kept)

    def simulation_on(self, cluster):
        """What the result of its simulation on this cluster (simulate_on) has of "breakdown" and "interval"."""
        name = "simulated-on-" + re.sub(r"[^A-Za-z0-9.=_-]+", "_", cluster)
        file = self.folder / name / "result.json" if self.folder else None
        if not file or not file.exists():
            return {}
        return _read(file, {"breakdown?": Each(number), "interval?": _INTERVAL})

    @property
    def timeline(self):
        file = self.folder / "timeline.json" if self.folder else None
        return file if file and file.is_file() else None


def score_of(runs):
    """The word for the accuracies of several runs; what did not fit into memory has none."""
    return " or ".join(sorted({run.score for run in [run for run in runs if not run.out_of_memory] or runs}, reverse=True))


@dataclass
class Sweep:
    name: str
    folder: Path
    runs: list
    missing: int = 0  # combinations that were not run
    failure: str | None = None  # the reason; None: the sweep was interrupted
    ended: bool = True  # False: it was killed, or goes on

    def swept_key(self):
        """The one key that all runs differ in, or None."""
        keys = {tuple(key for key, _ in run.settings) for run in self.runs}
        return next(iter(keys))[0] if len(keys) == 1 and len(next(iter(keys))) == 1 else None

    def short_names(self):
        """Names of the runs. If they differ in one key: its word ("spmm_1d"), or the end of the key with its number
        ("ranks=4"). Otherwise their labels."""
        key = self.swept_key()
        if not key:
            return [run.label for run in self.runs]
        values = [run.settings[0][1] for run in self.runs]
        plain = all(re.match(r"[A-Za-z]", value) and value not in ("true", "false") for value in values)
        return values if plain else [f"{key.rsplit('.', 1)[-1]}={value}" for value in values]


def _read(file, shape):
    return plain_text.in_one_line(checked_json.read(file, shape))


def _check_result(told, place, key=""):
    checked_json.check(told, _ANY_RESULT, place, key)
    checked_json.check(told, _THAT_DID_NOT if told.get("out_of_memory") else _THAT_FITTED, place, key)
    if isinstance(told.get("links"), list):  # a real run's are those that were predicted
        checked_json.check(told["links"], [_LINK], place, f"{key}/links" if key else "links")
    peaks = told.get("peak_bytes")
    if peaks and len(peaks) != told["ranks"]:
        key = f"{key}/ranks" if key else "ranks"
        raise ResultError(f"{place}: key {key}: expected {len(peaks)}, one for each of peak_bytes, "
                          f"found {told['ranks']}")


def read_run(folder):
    """The run of a folder that holds a result.json."""
    config, file = folder / "config.json", folder / "result.json"
    result = _read(file, {})
    if "stages" in result:
        raise ResultError(f"{folder}: holds an inference, which has no page: orrery infer prints all of it; "
                          f"if it began with a training, that is in {folder / 'training'}")
    _check_result(result, file)
    return Run(
        result=result,
        config=_read(config, _CONFIG) if config.exists() else {},
        epochs=plain_text.in_one_line(checked_json.read_lines(folder / "epochs.jsonl", _EPOCH)),
        folder=folder,
    )


def _run_of_sweep(sweep_folder, result, key):
    """A combination from sweep.json, with its own folder if that is there: beside sweep.json, wherever the whole folder
    was moved."""
    name = Path(result["out_dir"]).name if result.get("out_dir") else ""
    own = sweep_folder / name
    if name and (own / "result.json").exists():
        return read_run(own)
    _check_result(result, sweep_folder / "sweep.json", key)
    return Run(result=result)


_STAMP = r"-(\d{8}-\d{6})(?:-(\d+))?"  # added to a run's name: date, time, number


def find(asked):
    """The folder itself, or the latest one of that name: results/quickstart is the last of
    results/quickstart-DATE-TIME."""
    asked = Path(asked)
    if asked.is_dir() or not asked.parent.is_dir():
        return asked
    stamps = {sub: re.fullmatch(re.escape(asked.name) + _STAMP, sub.name)
              for sub in asked.parent.iterdir() if sub.is_dir()}
    dated = [(stamp[1], int(stamp[2] or 1), sub) for sub, stamp in stamps.items() if stamp]
    finished = [one for one in dated if _holds_a_result(one[2])]
    return max(finished or dated, default=(None, None, asked))[2]


def _holds_a_result(folder):
    return any((folder / name).exists() for name in ("result.json", "sweep.json")) or any(
        (sub / "result.json").exists() for sub in folder.iterdir())


def read(folder):
    """A Run or a Sweep. A sweep that was killed has no sweep.json yet: its finished runs count."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultError(f"{folder}: is no folder, and no folder {folder.name}-DATE-TIME is beside "
                          "it; give the folder that a run named in its last lines")
    summary = folder / "sweep.json"
    if summary.exists():
        told = _read(summary, _SWEEP)
        runs = [_run_of_sweep(folder, one, f"sweep/{i}") for i, one in enumerate(told["sweep"])]
        return Sweep(told["name"], folder, runs, told.get("missing") or 0, told.get("failure"))
    if (folder / "result.json").exists():
        return read_run(folder)
    own = sorted(sub for sub in folder.iterdir() if (sub / "result.json").exists())
    if not own:
        raise ResultError(
            f"{folder}: holds no result.json and no sweep.json; give the folder of a finished run"
        )
    runs = [read_run(sub) for sub in own]
    return Sweep(runs[0].result["name"], folder, runs, ended=False)
