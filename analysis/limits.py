"""What limited a run: what its result says, in the words of pages and tables.

The rule is stated and applied where results are written (experiments/results/limits.hpp).
"""

from dataclasses import dataclass


@dataclass
class Limit:
    part: str  # key of a part, "communication" or "memory"
    share: float  # of the epoch
    sentence: str


def capacity(result):
    """Device memory of a rank in bytes, or None where it is unlimited or unknown."""
    return result.get("device_bytes")


def limit_of(result):
    """The Limit of a run; None where its result has none."""
    told = result.get("limited_by")
    return Limit(told["part"], told["share"], told["sentence"]) if told else None
