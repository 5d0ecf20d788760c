"""Numbers of inferences that stand beside those of papers (see measures.py)."""

from statistics import mean

from figure_file import FigureError


def stage_seconds(experiments, spec):
    """Seconds of one stage, such as "layer 1", of the inference at `at`, or the sum over several,
    such as "features, layer 1"."""
    result = experiments.pick(spec["of"], spec.get("at", {})).result
    stages = spec["stage"].split(", ")
    for stage in stages:
        if result.get(stage) is None:
            raise FigureError(f"{spec['of']} has no stage {stage} with a time")
    return sum(result[stage] for stage in stages)


def percent_of_stages(experiments, spec):
    """The seconds of the stages "part" in percent of these and of the stages "rest"; of lists, the mean over pairs."""
    shares = []
    for part, rest in zip(_list(spec["part"]), _list(spec["rest"]), strict=True):
        seconds = stage_seconds(experiments, part)
        shares.append(100 * seconds / (seconds + stage_seconds(experiments, rest)))
    return mean(shares)


def _rows_received(experiments, spec):
    """(rows of other parts that all ranks receive for a product with the graph, the result): "columns" float32 for
    each, and four bytes of the number that asks for it, make up what the stage receives."""
    result = experiments.pick(spec["of"], spec.get("at", {})).result
    stage = next((one for one in result["stages"] if one["name"] == spec["stage"]), None)
    if stage is None or stage["received_bytes"] is None:
        raise FigureError(f"{spec['of']} has no stage {spec['stage']} with bytes")
    return stage["received_bytes"] / (4 * spec["columns"] + 4), result


def asked_rows_percent(experiments, spec):
    """Rows of other parts that a part gets, in percent of all vertices, in the mean of the parts."""
    rows, result = _rows_received(experiments, spec)
    return 100 * rows / result["ranks"] / result["vertices"]


def entries_per_row(experiments, spec):
    """Entries of the graph in columns of other parts over the rows that are received for them, where entries fall on
    all parts alike: how many times as many rows would travel if each entry asked for its own."""
    rows, result = _rows_received(experiments, spec)
    return result["neighbours"][0] * (1 - 1 / result["rows"]) / rows


def entries_per_row_rise(experiments, spec):
    """Whether entries_per_row() grows along "each": [{"of", "at", "columns"}]."""
    found = [entries_per_row(experiments, spec | one) for one in spec["each"]]
    return all(a < b for a, b in zip(found, found[1:]))


def _at(spec, cell):
    return spec | {"at": spec.get("at", {}) | cell}


def _list(one_or_more):
    return one_or_more if isinstance(one_or_more, list) else [one_or_more]


def _ratios(experiments, spec):
    return [stage_seconds(experiments, _at(of, cell)) / stage_seconds(experiments, _at(over, cell))
            for of, over in zip(_list(spec["of"]), _list(spec["over"]), strict=True)
            for cell in spec["each"]]


def mean_stage_ratio(experiments, spec):
    """The mean, over the cells of "each", of a stage's seconds "of" one run "over" another's. "of" and
    "over" may be lists of runs: the mean over all pairs."""
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
    """Whether a stage takes as long "of" one run as "over" another, to one in a thousand or to spec["within"]."""
    return all(abs(ratio - 1) <= spec.get("within", 1e-3) for ratio in _ratios(experiments, spec))


INFERENCE_MEASURES = {f.__name__: f for f in (
    stage_seconds, mean_stage_ratio, rises, falls, alike, asked_rows_percent,
    percent_of_stages, entries_per_row, entries_per_row_rise)}
