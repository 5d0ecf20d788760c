"""How two simulated epochs compare: experiments/predict/interval.hpp for figures."""

from math import log, log1p, sqrt

import units

MARGIN = 0.05  # two epochs that differ by less are as fast as each other
DEVIATIONS = 1.6449  # of a normal distribution: the middle nine tenths lie within so many


def half_width(result):
    """The relative half width of the interval of a result's epoch; None if it has none."""
    return (result.get("interval") or {}).get("half_width")


def beside(result):
    """"18.3 ms ± 6 %": the epoch of a result, or of a plan of advice, with its interval if it has one."""
    epoch, half = units.seconds(result.get("epoch_seconds")), half_width(result)
    return epoch if half is None else f"{epoch} ± {units.percent(half, 0)}"


def legend(results):
    """What the ± of these results means; nothing if none has an interval."""
    told = [one["interval"] for one in results if one.get("interval")]
    words = {True: lambda one: f"{units.percent(one['share'], 0)} of real epochs are meant to lie within",
             False: lambda _: "what the device profile is assumed to be off by; nobody measured it"}
    meanings = dict.fromkeys(words[one.get("measured", True)](one) for one in told)
    return "±: " + ", or ".join(meanings) if told else ""


def half_width_of_ratio(one, other):
    """The relative interval of one epoch over the other: errors that both have cancel out. None as above."""
    if not one.get("interval") or not other.get("interval"):
        return None
    a, b = one["interval"]["causes"], other["interval"]["causes"]
    return DEVIATIONS * sqrt(sum((a.get(cause, 0) - b.get(cause, 0)) ** 2 for cause in a.keys() | b.keys()))


def verdict(one, other):
    """"apart", "as_fast" or "cannot_tell" of two results, by the interval of their ratio. None as above."""
    half = half_width_of_ratio(one, other)
    if half is None:
        return None
    difference = abs(log(one["epoch_seconds"] / other["epoch_seconds"]))
    if difference + half <= log1p(MARGIN):
        return "as_fast"
    return "apart" if difference > half else "cannot_tell"
