"""Timelines (timeline.json, Chrome trace format), one epoch of some ranks at a time."""

import json
import re
from dataclasses import dataclass, field

import colours
import epoch_parts

_EPOCH = re.compile(r'"phase":"epoch (\d+) ')
_RANK = re.compile(r'"pid":(\d+)')


@dataclass
class Span:
    """An operation. Seconds since the run began."""

    kind: str
    charge: str  # key of the part of an epoch
    lane: int
    begin: float
    end: float
    stage: str  # forward, backward, ...
    layer: int  # -1: of none
    flop: float
    bytes: float

    @property
    def seconds(self):
        return self.end - self.begin


@dataclass
class RankTimeline:
    rank: int
    spans: list = field(default_factory=list)
    memory: list = field(default_factory=list)  # (seconds, device bytes), of all kept epochs
    lanes: dict = field(default_factory=dict)  # number: name

    @property
    def begin(self):
        return min(span.begin for span in self.spans)

    @property
    def end(self):
        return max(span.end for span in self.spans)


def _events(file):
    """The events of the file, one a line as the program writes them, else the whole at once."""
    with open(file, encoding="utf-8") as lines:
        first = lines.readline()
        if first.rstrip().endswith('"traceEvents":['):
            for line in lines:
                text = line.strip().rstrip(",")
                if text.startswith('{"ph"'):
                    yield text
            return
    for event in json.loads(open(file, encoding="utf-8").read())["traceEvents"]:
        yield json.dumps(event, separators=(",", ":"))


def extent(file):
    """The epochs and the ranks that the file holds, each ascending."""
    epochs, ranks = set(), set()
    for text in _events(file):
        if rank := _RANK.search(text):
            ranks.add(int(rank[1]))
        if epoch := _EPOCH.search(text):
            epochs.add(int(epoch[1]))
    return sorted(epochs), sorted(ranks)


def _charge(event):
    """The key of the part of an epoch: the category, or the colour in older files."""
    key = event["cat"].rsplit(",", 1)[-1]
    return key if key in colours.PARTS else epoch_parts.OF_COLOUR.get(event.get("cname"), "compute")


def _span(event):
    words = event["args"]["phase"].split()  # "epoch 3 forward layer 1"
    begin = event["ts"] * 1e-6
    return Span(
        kind=event["name"],
        charge=_charge(event),
        lane=event["tid"],
        begin=begin,
        end=begin + event["dur"] * 1e-6,
        stage=words[2],
        layer=int(words[4]) if len(words) > 4 else -1,
        flop=event["args"].get("flop", 0),
        bytes=event["args"].get("bytes", 0),
    )


def read_epoch(file, epoch, ranks):
    """Those ranks' spans of one epoch (without evaluation) with their memory, by rank."""
    wanted = {rank: RankTimeline(rank) for rank in ranks}
    of_epoch = f'"phase":"epoch {epoch} '
    for text in _events(file):
        span = text.startswith('{"ph":"X"')
        if span and (of_epoch not in text or f"{of_epoch}evaluate" in text):
            continue
        if not span and not text.startswith(('{"ph":"C"', '{"ph":"M"')):
            continue  # arrows and marks
        event = json.loads(text)
        timeline = wanted.get(event.get("pid"))
        if timeline is None:
            continue
        if span:
            timeline.spans.append(_span(event))
        elif event["ph"] == "C":
            timeline.memory.append((event["ts"] * 1e-6, event["args"]["bytes"]))
        elif event["name"] == "thread_name":
            timeline.lanes[event["tid"]] = event["args"]["name"]
    for timeline in wanted.values():
        timeline.spans.sort(key=lambda span: span.begin)
    return [timeline for timeline in wanted.values() if timeline.spans]
