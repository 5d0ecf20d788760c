"""What limited a run, by a stated rule from its result.

The rule
  1. Of the exposed parts of the epoch on its slowest rank the largest limits the run. The three
     kinds of communication count as one part for that choice.
  2. Compute: the kind of operation with most busy seconds is named. Communication: its kinds, and
     the busiest link, where a simulation knows links. Other: the rank neither computed nor
     received; it waited for its host or for other ranks.
  3. Worth saying beside it: ranks that compute unequally (most over mean above 1.1), and memory
     above 0.9 of the device.
"""

from dataclasses import dataclass

import units

PARTS = ["compute", "internal", "external", "synchronise", "sample", "load", "other"]
COMMUNICATION = ["internal", "external", "synchronise"]
WORDS = {
    "compute": "computation",
    "internal": "inside servers",
    "external": "between servers",
    "synchronise": "averaging gradients",
    "sample": "sampling",
    "load": "loading",
    "other": "waiting (for the host, hand-overs or other ranks)",
}
NEAR_CAPACITY = 0.9
UNEQUAL = 1.1


@dataclass
class Limit:
    part: str  # compute, communication, sample, load, other, memory
    share: float  # of the epoch
    sentence: str


def _largest(values):
    return max(values.items(), key=lambda item: item[1])


def busiest_link(result):
    """The link with the highest utilisation, or None where links are not known."""
    links = [link for link in result.get("links") or [] if link.get("utilisation") is not None]
    return max(links, key=lambda link: link["utilisation"], default=None)


def _compute_detail(result):
    kinds = result.get("compute_by_kind") or {}
    if not kinds:
        return ""
    kind, seconds = _largest(kinds)
    total = sum(kinds.values())
    return f"; {kind} is {units.percent(seconds / total, 0)} of it" if total > 0 else ""


def _communication_detail(result, total):
    parts = result["breakdown"]
    shares = [
        f"{WORDS[part]} {units.percent(parts[part] / total, 0)}"
        for part in COMMUNICATION
        if parts.get(part, 0) > 0
    ]
    text = f" ({', '.join(shares)})"
    link = busiest_link(result)
    if link:
        text += f"; busiest link {link['name']} at {units.percent(link['utilisation'], 0)}"
    return text


def imbalance(result):
    """Most compute seconds of a rank over the mean of all, or None."""
    computing = [rank["compute"] for rank in result.get("breakdown_of_rank") or []]
    mean = sum(computing) / len(computing) if computing else 0
    return max(computing) / mean if mean > 0 else None


def capacity(result):
    """Device memory of a rank in bytes, or None where it is unlimited or unknown."""
    return result.get("device_bytes")


def _beside(result):
    notes = []
    unequal = imbalance(result)
    if unequal and unequal > UNEQUAL:
        notes.append(f"the busiest rank computes {unequal:.2f} times the mean")
    device, peaks = capacity(result), result.get("peak_bytes") or []
    if device and peaks and max(peaks) > NEAR_CAPACITY * device:
        notes.append(f"memory is {units.percent(max(peaks) / device, 0)} full")
    return "".join(f"; {note}" for note in notes)


def limit_of(result):
    """The Limit of a run; None where its result has no breakdown."""
    short = result.get("out_of_memory")
    if short:
        return Limit("memory", 1.0, f"device memory: no room for {short['tensor']}")
    parts = result.get("breakdown") or {}
    total = sum(parts.get(part, 0) for part in PARTS)
    if total <= 0:
        return None
    grouped = {part: parts.get(part, 0) for part in PARTS if part not in COMMUNICATION}
    grouped["communication"] = sum(parts.get(part, 0) for part in COMMUNICATION)
    part, value = _largest(grouped)
    share = value / total
    if part == "communication":
        sentence = f"exposed communication, {units.percent(share, 0)} of the epoch"
        sentence += _communication_detail(result, total)
    else:
        sentence = f"{WORDS[part]}, {units.percent(share, 0)} of the epoch"
        sentence += _compute_detail(result) if part == "compute" else ""
    return Limit(part, share, sentence + _beside(result))
