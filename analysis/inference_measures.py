"""Numbers of inferences that stand beside those of papers (see measures.py)."""

from statistics import mean

from figure_file import FigureError


def stage_seconds(experiments, spec):
    """Seconds of one stage, such as "layer 1", of the inference at `at`; for several, "features, layer 1", their
    sum."""
    result = experiments.pick(spec["of"], spec.get("at", {})).result
    sum_of_all = 0
    for stage in spec["stage"].split(", "):
        if result.get(stage) is None:
            raise FigureError(f"{spec['of']} has no stage {stage} with a time")
        sum_of_all += result[stage]
    return sum_of_all


def _at(spec, cell):
    return spec | {"at": spec.get("at", {}) | cell}


def _ratios(experiments, spec):
    return [stage_seconds(experiments, _at(spec["of"], cell)) /
            stage_seconds(experiments, _at(spec["over"], cell)) for cell in spec["each"]]


def mean_stage_ratio(experiments, spec):
    """The mean, over the cells of "each", of a stage's seconds "of" one run "over" another's."""
    return mean(_ratios(experiments, spec))


def rises(experiments, spec):
    """Whether a stage's seconds "of" over "over" (of "of" alone, without one) grow from each cell of
    "each" to the next."""
    if "over" in spec:
        found = _ratios(experiments, spec)
    else:
        found = [stage_seconds(experiments, _at(spec["of"], cell)) for cell in spec["each"]]
    return all(a < b for a, b in zip(found, found[1:]))


def falls(experiments, spec):
    """Like rises, but the seconds fall."""
    return rises(experiments, spec | {"each": spec["each"][::-1]})


def alike(experiments, spec):
    """Whether a stage takes as long "of" one run as "over" another, to one in a thousand."""
    return all(abs(ratio - 1) <= 1e-3 for ratio in _ratios(experiments, spec))


INFERENCE_MEASURES = {f.__name__: f for f in (
    stage_seconds, mean_stage_ratio, rises, falls, alike)}
