"""Measures over all cells of a sweep: one combination of its keys after the other.

A measure, or a panel, names them by "cells": the run, and "keys": the swept keys. Each spec in it that asks a run
gets the cell's settings into its "at".
"""

from statistics import median

from figure_file import FigureError
from figure_runs import value_at


def _value_of(experiments, spec):
    from measures import value_of  # which has these measures, too

    return value_of(experiments, spec)


def settings_of_cells(experiments, spec):
    """[{key: value}] of the run spec["cells"], each once, with what spec["at"] asks for."""
    told = []
    for run in experiments.results[spec["cells"]]:
        here = {key: value_at(run, key) for key in spec["keys"]}
        if here not in told and all(value_at(run, k) == v for k, v in spec.get("at", {}).items()):
            told.append(here)
    if not told:
        raise FigureError(f"{spec['cells']} has no cells with {spec.get('at', {})}")
    return told


def in_cell(experiments, spec, here):
    """The number of a measure in a cell; None if something is out of memory there."""
    return _value_of(experiments, _in(spec, here))


def _in(spec, here):
    made = {key: _in(value, here) if isinstance(value, dict) and key != "at" else value
            for key, value in spec.items()}
    return made | {"at": made.get("at", {}) | here} if isinstance(made.get("of"), str) else made


def difference(experiments, spec):
    """A measure less another, times spec["times"] (1)."""
    one, other = (_value_of(experiments, spec[name]) for name in ("of", "less"))
    return None if one is None or other is None else spec.get("times", 1) * (one - other)


def equation(experiments, spec):
    """What the closed form spec["function"] gives in a run with backend model, times spec["times"] (1)."""
    result = experiments.pick(spec["of"], spec.get("at", {})).result
    for one in result.get("equations", []):
        if spec["function"] in one["functions"] and "does_not_apply_because" not in one:
            number = next(value for value in one.values() if isinstance(value, float))
            return spec.get("times", 1) * number
    raise FigureError(f"{spec['of']} has no equation {spec['function']} with {spec.get('at', {})}")


def _is_true(experiments, condition, here):
    """Of {"value": measure, "below" or "from": number}; None without a number."""
    number = in_cell(experiments, condition["value"], here)
    if number is None:
        return None
    return number < condition["below"] if "below" in condition else number >= condition["from"]


def _known(experiments, spec, conditions):
    """For each cell whether each of these conditions is true, without cells where one is unknown."""
    told = [[_is_true(experiments, one, here) for one in conditions]
            for here in settings_of_cells(experiments, spec)]
    return [answers for answers in told if None not in answers]


def cells_that_agree(experiments, spec):
    """Percent of the cells in which the two conditions spec["both"] are both true or both not."""
    told = _known(experiments, spec, spec["both"])
    return 100 * sum(one == other for one, other in told) / len(told) if told else None


def cells_with(experiments, spec):
    """Percent of the cells with all conditions spec["where"] (default: all cells) in which spec["is"] is true."""
    told = _known(experiments, spec, [spec["is"], *spec.get("where", [])])
    told = [answers[0] for answers in told if all(answers[1:])]
    return 100 * sum(told) / len(told) if told else None


def median_of_cells(experiments, spec):
    """The median of spec["of"] over the cells with all conditions spec["where"] (default: all cells)."""
    found = [in_cell(experiments, spec["of"], here) for here in settings_of_cells(experiments, spec)
             if all(_is_true(experiments, one, here) for one in spec.get("where", []))]
    found = [number for number in found if number is not None]
    return median(found) if found else None


CELL_MEASURES = {f.__name__: f for f in (
    difference, equation, cells_that_agree, cells_with, median_of_cells)}
