"""How the number beside the paper's is taken from results. Each measure is a function of the
experiments and the row's "ours"; it returns a number, a bool, or None for out of memory."""

from math import exp, log
from statistics import mean as mean_of, stdev

import figure_runs
import intervals
import timeline_file
from cell_measures import CELL_MEASURES
from cut_measures import CUT_MEASURES
from figure_breakdowns import BREAKDOWN_MEASURES
from figure_file import FigureError
from figure_runs import value_at
from figure_sharing import SHARING_MEASURES
from figure_validations import VALIDATION_MEASURES
from inference_measures import INFERENCE_MEASURES

IN_UNITS = {"s": 1.0, "ms": 1e-3, "MB": 1e6, "MiB": 2**20, "GiB": 2**30}


def _run(experiments, spec):
    return experiments.pick(spec["of"], spec.get("at", {}))


def epoch_seconds(experiments, spec):
    """Times spec["times"] (1), where an epoch of the paper has so many of ours. spec["on"]: as a real run was simulated
    on this cluster of its simulate_on."""
    result = _run(experiments, spec).result
    if "on" in spec:
        clusters = result.get("simulated_on") or {}
        if spec["on"] not in clusters:
            known = ", ".join(clusters) or "none"
            raise FigureError(f"{spec['of']} was not simulated on {spec['on']}; known: {known}")
        result = clusters[spec["on"]]
    seconds = result.get("epoch_seconds")
    return None if seconds is None else seconds * spec.get("times", 1)


def kind_percent(experiments, spec):
    """Busy seconds of these kinds of operations in percent of the epoch (slowest rank)."""
    run = _run(experiments, spec)
    if run.out_of_memory:
        return None
    kinds = run.result["compute_by_kind"]
    return 100 * sum(kinds.get(kind, 0) for kind in spec["kinds"]) / run.result["epoch_seconds"]


def part_percent(experiments, spec):
    """Exposed parts of the breakdown in percent of the epoch (slowest rank)."""
    run = _run(experiments, spec)
    if run.out_of_memory:
        return None
    parts = run.result["breakdown"]
    return 100 * sum(parts[part] for part in spec["parts"]) / run.result["epoch_seconds"]


def part_seconds(experiments, spec):
    """Exposed seconds of these parts of the breakdown."""
    run = _run(experiments, spec)
    return None if run.out_of_memory else sum(run.result["breakdown"][p] for p in spec["parts"])


def product_spans(run, stage, layer):
    """The timelines of all ranks with only the spans of one distributed product A·H: sparse
    products and the communication of that stage and layer, in the last kept epoch."""
    epochs, ranks = timeline_file.extent(run.timeline)
    timelines = timeline_file.read_epoch(run.timeline, epochs[-1], ranks)
    for timeline in timelines:
        timeline.spans = [
            s for s in timeline.spans
            if s.stage == stage and s.layer == layer and (s.kind == "spmm" or s.charge != "compute")
        ]
    return [timeline for timeline in timelines if timeline.spans]


def product_seconds(experiments, spec):
    """From the first start to the last end, over all ranks, of one distributed product."""
    run = _run(experiments, spec)
    timelines = product_spans(run, spec["stage"], spec["layer"])
    return max(t.end for t in timelines) - min(t.begin for t in timelines)


def covered(intervals):
    """Length of the union of (begin, end)."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def communication_seconds(experiments, spec):
    """Time in which communication of one distributed product is under way, on the rank with most
    of it."""
    run = _run(experiments, spec)
    return max(
        covered((s.begin, s.end) for s in t.spans if s.charge != "compute")
        for t in product_spans(run, spec["stage"], spec["layer"])
    )


def fits(experiments, spec):
    return _run(experiments, spec).out_of_memory is None


def ratio(experiments, spec):
    top, bottom = value_of(experiments, spec["of"]), value_of(experiments, spec["over"])
    return top / bottom if top is not None and bottom else None


def paper_number(experiments, spec):
    """What the paper says in the row with the label spec["row"], in that row's unit."""
    return next(row["paper"] for row in experiments.figure.told["rows"] if row["label"] == spec["row"])


def total(experiments, spec):
    """The sum of several measures; None if one of them is none."""
    values = [value_of(experiments, one) for one in spec["of"]]
    return None if None in values else sum(values)


def largest(experiments, spec):
    """The largest of several measures; None if one of them is none."""
    values = [value_of(experiments, one) for one in spec["of"]]
    return None if None in values else max(values)


def percent_below(experiments, spec):
    """How far spec["of"] lies below spec["over"], in percent of it: the part of an epoch that is saved if something
    costs nothing."""
    share = ratio(experiments, spec)
    return None if share is None else 100 * (1 - share)


def result_number(experiments, spec):
    """A number of the result by its keys, "peak_by_class.tape", divided by spec["unit"]; the largest of a list."""
    run = _run(experiments, spec)
    if run.out_of_memory:
        return None
    number = figure_runs.dotted(run.result, spec["key"])
    number = max(number) if isinstance(number, list) else number
    return None if number is None else number / spec.get("unit", 1)


def setting(experiments, spec):
    """A number of the resolved experiment, such as one that was fitted to the memory."""
    run = _run(experiments, spec)
    return None if run.out_of_memory else value_at(run, spec["key"])


def break_even(experiments, spec):
    """The value of a swept key at which spec["of"] takes as long as spec["over"], both at
    spec["at"], between its neighbours on logarithmic scales; times spec["times"]; None if one is always faster.
    spec["end"]: "low" or "high", where it is if the ratio of the two is as much as its 90 % interval below or above
    what was simulated."""
    key, before = spec["key"], None
    shift = {"low": -1, "high": 1}.get(spec.get("end"), 0)
    for value in sorted({value_at(run, key) for run in experiments.results[spec["of"]]}):
        here = spec.get("at", {}) | {key: value}
        results = [experiments.pick(spec[name], here).result for name in ("of", "over")]
        one, other = (result["epoch_seconds"] for result in results)
        if one is None or other is None:
            continue
        gain = log(other / one) + shift * (intervals.half_width_of_ratio(*results) or 0)
        if before is not None and (before[1] > 0) != (gain > 0):
            last, least = before
            return spec.get("times", 1) * exp(
                log(last) + (log(value) - log(last)) * least / (least - gain))
        before = value, gain
    return None


def plan_fits(experiments, spec):
    """Whether every rank has room for the run at `at`, by its plan; nothing runs."""
    return experiments.plan(spec["of"], spec.get("at", {}))["fits"]


def plan_number(experiments, spec):
    """A number of the plan at `at` by its keys, "batches.in_flight.host_bytes.bound", times spec["times"] (1) and divided
    by spec["unit"] (1). Nothing runs."""
    number = figure_runs.dotted(experiments.plan(spec["of"], spec.get("at", {})), spec["key"])
    return None if number is None else number * spec.get("times", 1) / spec.get("unit", 1)


def starving(experiments, spec):
    """A number that `orrery starve` tells of the run at `at`, by its keys, such as "now.waiting_share", times
    spec["times"] (1)."""
    number = figure_runs.dotted(experiments.starve(spec["of"], spec.get("at", {}), spec["epochs"]), spec["key"])
    return None if number is None else number * spec.get("times", 1)


def exceeds(experiments, spec):
    """Whether a measure is larger than another, or than a number; None if one of them is none."""
    value, limit = value_of(experiments, spec["of"]), spec["over"]
    limit = value_of(experiments, limit) if isinstance(limit, dict) else limit
    return None if value is None or limit is None else value > limit


def _fullest_rank(experiments, spec):
    """Of the plan at `at`: the rank that needs most device memory."""
    return max(experiments.plan(spec["of"], spec.get("at", {}))["ranks"], key=lambda rank: rank["peak_bytes"])


def _of_classes(rank, classes):
    return sum(rank["by_tensor_class"].get(name, 0) for name in classes)


def plan_memory(experiments, spec):
    """Device memory of the rank that needs most, by its plan: of these classes of tensors at its peak, or of all;
    divided by spec["unit"]. Nothing runs."""
    rank = _fullest_rank(experiments, spec)
    found = _of_classes(rank, spec["classes"]) if "classes" in spec else rank["peak_bytes"]
    return found / spec.get("unit", 1)


def plan_factor(experiments, spec):
    """The factor on these classes of tensors with which the fullest rank of the plan would fill a device of
    spec["capacity"] bytes, if all others stay."""
    rank = _fullest_rank(experiments, spec)
    these = _of_classes(rank, spec["classes"])
    return (spec["capacity"] - (rank["peak_bytes"] - these)) / these


def received_in_layer(experiments, spec):
    """Bytes that all ranks receive in an epoch because of one hidden layer, forward and backward,
    with the sum of its gradients: those of the plan at `at` with spec["layers"] layers less those
    with one layer fewer."""
    def received(layers):
        plan = experiments.plan(spec["of"], spec.get("at", {}) | {"model.layers": layers})
        return sum(sum(rank["bytes"].values()) / rank["epochs"] for rank in plan["ranks"])

    return received(spec["layers"]) - received(spec["layers"] - 1)


def rows_that_pass_by(experiments, spec):
    """A closed form: the bytes that all ranks receive if the rows of all vertices travel to every rank but their owner,
    spec["times"] times."""
    return spec["times"] * (spec["ranks"] - 1) * spec["vertices"] * 4 * spec["columns"]


def granndis_break_even(experiments, spec):
    """The external rate per GPU, in GB/s, below which Eq. 7 of GraNNDis lets preloading win:
    C / B > (g - 1) / D. C, the vertices that a GPU computes in a second in a layer, and D, the mean
    degree, are those of the run; g = per_layer * L as printed, or min(per_layer^L, Ns * Ng)."""
    run = _run(experiments, spec)
    vertices, edges = (run.result["dataset"][key] for key in ("vertices", "edges"))
    layers, width = value_at(run, "model.layers"), value_at(run, "model.hidden")
    gpus = len(run.result["peak_bytes"])
    compute = vertices * layers / (gpus * run.result["breakdown"]["compute"])
    growth = spec["per_layer"] * layers
    if spec["growth"] == "exponential":
        growth = min(spec["per_layer"] ** layers, gpus)
    return compute * (edges / vertices) / (growth - 1) * 4 * width / 1e9


def largest_that_fits(experiments, spec):
    """The largest multiple of spec["multiple"] for a key with which every rank of the run fits,
    found by halving over plans; nothing runs."""
    step = spec["multiple"]
    low, high = spec["least"] // step, spec["most"] // step

    def fit(i):
        return experiments.plan(spec["of"], spec.get("at", {}) | {spec["key"]: i * step})["fits"]

    if not fit(low):
        raise FigureError(f"{spec['of']}: {spec['key']}={low * step} does not fit")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fit(middle) else (low, middle)
    return low * step


def speedup(experiments, name, at, base, base_of=None):
    """The factor by which it is faster than the base cell, of the run `base_of` if there is one; None if either did not
    fit."""
    own, one = experiments.pick(name, at).result, experiments.pick(base_of or name, base).result
    if own["epoch_seconds"] is None or one["epoch_seconds"] is None:
        return None
    return one["epoch_seconds"] / own["epoch_seconds"]


def first_above(experiments, spec):
    """The least value of a swept key, divided by spec["unit_of_key"], from which on the speedup of
    `at` over `base` stays above spec["above"]; None where it never does."""
    values = sorted({value_at(run, spec["key"]) for run in experiments.results[spec["of"]]})
    first = None
    for value in reversed(values):
        here = {spec["key"]: value}
        reached = speedup(experiments, spec["of"], here | spec["at"], here | spec["base"])
        if reached is None or reached <= spec["above"]:
            break
        first = value
    return None if first is None else first / spec.get("unit_of_key", 1)


def numbers(experiments, spec):
    """{value of the key spec["by"]: number spec["value"] of the result} of the runs at `at`, in
    units of 1/spec["times"].   Errors: FigureError where there is none"""
    if spec["measure"] == "paired_difference":
        one, other = numbers(experiments, spec["of"]), numbers(experiments, spec["less"])
        return {key: one[key] - other[key] for key in one if key in other}
    at, key = spec.get("at", {}), spec["by"]
    found = {}
    for run in experiments.results[spec["of"]]:
        if all(value_at(run, k) == v for k, v in at.items()):
            if (number := run.result.get(spec["value"])) is not None:
                found[value_at(run, key)] = number * spec.get("times", 1)
    if not found:
        raise FigureError(f"{spec['of']} has no run with {at} that tells {spec['value']}")
    return found


def learned(experiments, spec):
    """{epoch, from 0: [number spec["value"] that it tells, of each value of the key spec["by"]]} of
    the runs at `at`, in units of 1/spec["times"], for the epochs that all of them tell it of.
    Errors: FigureError where there is none"""
    at, told = spec.get("at", {}), []
    for run in experiments.results[spec["of"]]:
        if all(value_at(run, k) == v for k, v in at.items()):
            told.append({line["epoch"]: line[spec["value"]] * spec.get("times", 1)
                         for line in run.epochs if line.get(spec["value"]) is not None})
    epochs = sorted(set.intersection(*map(set, told))) if told else []
    if not epochs:
        raise FigureError(f"{spec['of']} has no run with {at} whose epochs tell {spec['value']}")
    return {epoch: [run[epoch] for run in told] for epoch in epochs}


def epochs_to(experiments, spec):
    """Epochs until the mean of learned() comes to spec["level"], a number or a measure of one; None
    where it never does."""
    level = spec["level"]
    level = value_of(experiments, level) if isinstance(level, dict) else level
    for epoch, values in learned(experiments, spec).items():
        if mean_of(values) >= level:
            return epoch + 1
    return None


def seconds_to(experiments, spec):
    """Time to accuracy: the epochs of epochs_to() of real runs, times an epoch of the run spec["seconds_of"], which may
    be a simulation of the same file, or of this run with "on", a cluster that it was simulated on."""
    epochs = epochs_to(experiments, spec)
    each = epoch_seconds(experiments, spec["seconds_of"])
    return None if epochs is None or each is None else epochs * each


def best_mean(experiments, spec):
    """The highest mean of learned(), less spec["less"] (0)."""
    return max(mean_of(v) for v in learned(experiments, spec).values()) - spec.get("less", 0)


def mean(experiments, spec):
    """The mean of a number of the results over the values of a key, such as seeds."""
    return mean_of(numbers(experiments, spec).values())


def paired_difference(experiments, spec):
    """The mean of spec["of"] less spec["less"], each a mean, over the values that both have."""
    return mean_of(numbers(experiments, spec).values())


def within(experiments, spec):
    """Whether another measure is no further from zero than spec["limit"] and, of a mean, so many
    of its standard errors more as spec["standard_errors"] says."""
    limit = spec["limit"]
    if times := spec.get("standard_errors"):
        found = list(numbers(experiments, spec["of"]).values())
        limit += times * stdev(found) / len(found) ** 0.5
    return abs(value_of(experiments, spec["of"])) <= limit


def deviation(experiments, spec):
    """The sample standard deviation behind a mean; None for other measures."""
    if spec["measure"] not in ("mean", "paired_difference"):
        return None
    found = list(numbers(experiments, spec).values())
    return stdev(found) if len(found) > 1 else None


MEASURES = {f.__name__: f for f in (
    epoch_seconds, kind_percent, part_percent, part_seconds, product_seconds,
    communication_seconds, fits, ratio, paper_number, total, largest, percent_below, result_number, setting, break_even,
    plan_fits, plan_number, plan_memory, plan_factor, starving, exceeds, received_in_layer, rows_that_pass_by, granndis_break_even, largest_that_fits,
    first_above, mean, paired_difference, within, epochs_to, seconds_to, best_mean)} | (
        CUT_MEASURES | INFERENCE_MEASURES | SHARING_MEASURES | BREAKDOWN_MEASURES | CELL_MEASURES | VALIDATION_MEASURES)


def nothing_means(spec):
    """The words to print if value_of() is None; those of a ratio are those of its parts."""
    never = ("break_even", "first_above", "epochs_to", "seconds_to")
    parts = [spec[key] for key in ("of", "over") if isinstance(spec.get(key), dict)]
    return "never" if spec["measure"] in never or "never" in map(nothing_means, parts) else "out of memory"


def value_of(experiments, spec):
    """Errors: FigureError for an unknown measure."""
    if spec["measure"] not in MEASURES:
        known = ", ".join(sorted(MEASURES))
        raise FigureError(f"unknown measure {spec['measure']}; known: {known}")
    value = MEASURES[spec["measure"]](experiments, spec)
    in_unit = spec.get("in")
    return value / IN_UNITS[in_unit] if in_unit and value is not None else value
