"""Whether two simulated epochs can be told apart: experiments/predict/interval.hpp for figures."""

from math import sqrt

REPEATS = 0.01  # no two epochs are told apart that differ by less
DEVIATIONS = 1.6449  # of a normal distribution: the middle nine tenths lie within so many


def half_width(result):
    """The relative half width of the interval of a result's epoch; None if it has none."""
    interval = result.get("interval")
    return interval["half_width"] if interval else None


def half_width_of_ratio(one, other):
    """The relative interval of one epoch over the other: errors that both have cancel out. None as above."""
    if not one.get("interval") or not other.get("interval"):
        return None
    a, b = one["interval"]["causes"], other["interval"]["causes"]
    return DEVIATIONS * sqrt(sum((a.get(cause, 0) - b.get(cause, 0)) ** 2 for cause in a.keys() | b.keys()))
