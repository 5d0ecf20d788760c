"""The parts of an epoch: their keys in a result, and the words for them.

A result has them in "epoch_parts", from core/runtime/epoch_parts.hpp.
"""

from dataclasses import dataclass

import colours


@dataclass(frozen=True)
class Part:
    key: str  # in "breakdown"
    words: str
    communication: bool
    in_sum: bool  # False: it ran beside the others
    place: int  # among the parts

    @property
    def title(self):
        """The words to use if nothing else says that it is communication."""
        return f"communication: {self.words}" if self.communication else self.words

    @property
    def css(self):
        """The class of its marks in drawings."""
        return f"part-{self.key}" if self.key in colours.PARTS else "part-other"


# For old results, which do not name their parts.
_FORMER = [
    {"key": "compute", "words": "computation", "communication": False, "in_sum": True},
    {"key": "internal", "words": "inside servers", "communication": True, "in_sum": True},
    {"key": "external", "words": "between servers", "communication": True, "in_sum": True},
    {"key": "synchronise", "words": "averaging gradients", "communication": True, "in_sum": True},
    {"key": "sample", "words": "sampling", "communication": False, "in_sum": True},
    {"key": "load", "words": "loading", "communication": False, "in_sum": True},
    {"key": "other", "words": "waiting", "communication": False, "in_sum": True},
    {"key": "hidden", "words": "hidden by computation", "communication": True, "in_sum": False},
]

# The meaning of the colour names in timelines.
OF_COLOUR = {"good": "compute", "yellow": "internal", "terrible": "external", "bad": "synchronise"}


def told(result):
    """All parts, in the order of the result."""
    return [Part(one["key"], one["words"], one["communication"], one["in_sum"], i)
            for i, one in enumerate(result.get("epoch_parts") or _FORMER)]


def exposed(result):
    """The parts that sum to the epoch."""
    return [part for part in told(result) if part.in_sum]


def present(parts, breakdowns):
    """The parts that took time in one of these breakdowns."""
    return [part for part in parts if any(one.get(part.key, 0) > 0 for one in breakdowns)]
