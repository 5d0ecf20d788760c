"""The limits of a run from its result, in the words of pages and tables.

The rule is stated and applied where results are written (experiments/results/limits.hpp).
"""

import statistics
from dataclasses import dataclass

import epoch_parts


@dataclass
class Limit:
    part: str  # key of a part, "communication" or "memory"
    share: float  # of the epoch
    sentence: str


def capacity(result):
    """Device memory of a rank in bytes; None if it is unlimited or unknown."""
    return result.get("device_bytes")


def limit_of(result):
    """The Limit of a run; None if its result has none."""
    told = result.get("limited_by")
    return Limit(told["part"], told["share"], told["sentence"]) if told else None


def _shares(result):
    """{words: share of the epoch}; communication as a whole."""
    shares = {}
    seconds = result["breakdown"]  # of an old result, perhaps without a part
    whole = sum(seconds.get(part.key, 0) for part in epoch_parts.exposed(result))
    for part in epoch_parts.exposed(result):
        words = "exposed communication" if part.communication else part.words
        share = seconds.get(part.key, 0) / whole if whole else 0.0
        shares[words] = shares.get(words, 0.0) + share
    return shares


def limit_of_alike(results):
    """One sentence for runs that differ in their seed alone: the part whose share of the epoch has
    the largest median, with the range of that share. None if no run has a breakdown."""
    shares = [_shares(result) for result in results if result.get("breakdown")]
    if not shares:
        return None
    median = lambda words: statistics.median(one[words] for one in shares)
    largest = max(shares[0], key=median)
    of = [one[largest] for one in shares]
    return (f"{largest}, {100 * median(largest):.0f} % of the epoch "
            f"(median of {len(of)} runs; {100 * min(of):.0f} to {100 * max(of):.0f} %)")


def cores_note(run):
    """A warning if ranks shared cores; otherwise nothing."""
    cores = run.result.get("provenance", {}).get("cores")
    computes_here = not run.simulated and str(run.result.get("kernels", "")).startswith(
        ("cpu", "reference"))
    if not computes_here or run.result.get("machines", 1) > 1 or not cores:
        return ""
    if cores >= run.result["ranks"]:
        return ""
    s = "s" if cores > 1 else ""
    return (f"{cores} core{s} for {run.result['ranks']} ranks. They took turns, and a rank that had no "
            "core was waiting, or its operations and exchanges took longer than they need. For times "
            f"that say more, start at most {cores} rank{s} (cluster.ranks) or use several machines.")
