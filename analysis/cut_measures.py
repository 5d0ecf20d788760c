"""Numbers of cuts that stand beside those of papers (see measures.py)."""

from statistics import mean


def dotted(result, key):
    """result["a"]["b"] for "a.b"."""
    for word in key.split("."):
        result = result[word]
    return result


def _factor(experiments, run, graph, method, parts):
    at = {"graph": graph, "method": method, "parts": parts}
    return experiments.pick(run, at).result["replication_factor"]


def _factors(experiments, spec):
    """(the method's cut, those of its rivals) for every combination of graph and parts. The
    method's run is spec["method_of"] where it is another than the rivals'."""
    own = spec.get("method_of", spec["of"])
    return [
        (_factor(experiments, own, g, spec["method"], k),
         [_factor(experiments, spec["of"], g, rival, k) for rival in spec["rivals"]])
        for g, k in _combinations(experiments, spec)
    ]


def _combinations(experiments, spec):
    """(graph, parts) of the run, for one graph if spec has it, from spec["least_parts"] on."""
    cuts = experiments.figure.told["runs"][spec["of"]]["cuts"]
    graphs = [spec["graph"]] if "graph" in spec else cuts["graph"]
    return [(g, k) for g in graphs for k in cuts["parts"] if k >= spec.get("least_parts", 1)]


def cut_value(experiments, spec):
    """A number of a cut's result by its key, less another where spec["minus"] names it."""
    result = experiments.pick(spec["of"], spec["at"]).result
    less = dotted(result, spec["minus"]) if "minus" in spec else 0
    return dotted(result, spec["key"]) - less


def lowest_percent(experiments, spec):
    """Combinations of graph and parts in which a method's replication factor is below that of every
    rival, in percent."""
    return 100 * mean(own < min(rivals) for own, rivals in _factors(experiments, spec))


def gains(experiments, spec):
    """Mean replication factor of the rivals over that of the method, less 1, in percent."""
    return [100 * (mean(rivals) / own - 1) for own, rivals in _factors(experiments, spec)]


def mean_gain_percent(experiments, spec):
    return mean(gains(experiments, spec))


def largest_gain_percent(experiments, spec):
    return max(gains(experiments, spec))


CUT_MEASURES = {f.__name__: f for f in (
    cut_value, lowest_percent, mean_gain_percent, largest_gain_percent)}
