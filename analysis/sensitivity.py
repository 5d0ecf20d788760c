"""What simulated epochs become with all efficiencies of the device profile at one end of their ranges
(simulation.sensitivity): the bands of figures."""

import copy

import measures

KEY = "simulation.sensitivity"
ENDS = ("low_seconds", "high_seconds")  # all efficiencies at their highest, at their lowest
OF_EPOCHS = {"epoch_seconds", "ratio", "total", "largest", "percent_below"}  # that follow from epochs alone


def asked(figure):
    return figure.told.get("sensitivity", False)


def ends(result):
    """The epoch at both ends, or None."""
    return (result.get("simulation") or {}).get("sensitivity")


class AtEnd:
    """Experiments whose epochs are those at one end. A run that has no ends keeps its epoch."""

    def __init__(self, experiments, end):
        self._inner, self._end = experiments, end
        self.results = {name: [self._of(run) for run in runs] for name, runs in experiments.results.items()}

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def _of(self, run):
        found = ends(run.result) if hasattr(run, "result") else None
        if not found:
            return run
        moved = copy.copy(run)
        moved.result = run.result | {"epoch_seconds": found[self._end]}
        return moved

    def pick(self, name, at):
        return self._of(self._inner.pick(name, at))


def both(experiments):
    """The experiments at both ends."""
    return [AtEnd(experiments, end) for end in ENDS]


def _epochs_in(spec):
    """The runs {"of", "at"?} behind a measure; None if it takes more of a result than its epoch."""
    if spec["measure"] not in OF_EPOCHS or "on" in spec:
        return None
    if spec["measure"] == "epoch_seconds":
        return [spec]
    inner = spec["of"] if isinstance(spec["of"], list) else [spec["of"]]
    found = [_epochs_in(one) for one in inner + ([spec["over"]] if "over" in spec else [])]
    return None if None in found else sum(found, [])


def band(experiments, spec):
    """[least, most] of a measure at both ends and as stated: both runs of a ratio are at the same end. None where it is
    no measure of epochs, or where a run has no ends."""
    if not asked(experiments.figure) or not (runs := _epochs_in(spec)):
        return None
    if not all(ends(experiments.pick(one["of"], one.get("at", {})).result) for one in runs):
        return None
    values = [measures.value_of(one, spec) for one in [*both(experiments), experiments]]
    return None if None in values else [min(values), max(values)]
