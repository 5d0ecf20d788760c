"""Where everything stands in the drawing of a cluster: servers side by side, the network above.

All lengths are pixels. If a cluster has many devices, the first server is drawn whole, and consecutive other servers on
the same switches are one box.
"""

from collections import Counter
from dataclasses import dataclass

PITCH, BOX_WIDTH, BOX_HEIGHT = 96, 76, 34  # of nodes
ROW = 100  # between rows of a server and of the network
MARGIN, GAP, TOP = 40, 24, 78  # beside everything, between servers, above the network
GROUP_WIDTH, GROUP_HEIGHT = 150, 92
DEVICES_DRAWN, SERVERS_DRAWN = 16, 8  # the largest cluster that is drawn whole


@dataclass
class Frame:
    """A server that is drawn whole."""
    server: int
    left: float
    width: float
    bottom: float


@dataclass
class Group:
    """Servers `first` to `last` in one box; `uplinks` are those of the first."""
    first: int
    last: int
    devices: int
    x: float
    y: float
    uplinks: dict


def spread(wishes, gap):
    """The wished places, moved apart to at least `gap` in their order, and centred around their mean."""
    order = sorted(range(len(wishes)), key=wishes.__getitem__)
    x = list(wishes)
    for before, after in zip(order, order[1:]):
        x[after] = max(x[after], x[before] + gap)
    shift = (sum(x) - sum(wishes)) / max(1, len(x))
    return [value - shift for value in x]


def mean(values, otherwise):
    return sum(values) / len(values) if values else otherwise


class Layout:
    """at: the centre of every node that is drawn; frames and groups: the servers."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.kind = {node["name"]: node["kind"] for node in cluster["nodes"]}
        self.server = {node["name"]: node["server"] for node in cluster["nodes"]}
        self.neighbours = {name: [] for name in self.kind}
        for link in cluster["links"]:
            self.neighbours[link["from"]].append(link["to"])
            self.neighbours[link["to"]].append(link["from"])
        self.at, self.frames, self.groups = {}, [], []
        self.level = self._network_levels()
        levels = max(self.level.values(), default=-1) + 1
        self.top = TOP + ROW * levels  # of the servers
        self.right, self.bottom = MARGIN - GAP, self.top
        small = len(cluster["devices"]) <= DEVICES_DRAWN and cluster["servers"] <= SERVERS_DRAWN
        whole = cluster["servers"] if small else 1
        for server in range(whole):
            self._place_server(server)
        self._place_groups(whole)
        self._place_network()

    def sag(self, link):
        """How far the arc of a link between two nodes of one row leaves it at its control points.
        Below devices it grows with the distance."""
        steps = abs(self.at[link["from"]][0] - self.at[link["to"]][0]) / PITCH
        return BOX_HEIGHT / 2 + 22 + (17 * steps if self.kind[link["from"]] == "device" else 0)

    def _network_levels(self):
        """The level of each network switch: level 0 is linked to servers."""
        outside = [name for name, server in self.server.items() if server is None]
        level = {name: 0 for name in outside
                 if any(self.server[other] is not None for other in self.neighbours[name])}
        reached = list(level)
        for name in reached:
            for other in self.neighbours[name]:
                if self.server[other] is None and other not in level:
                    level[other] = level[name] + 1
                    reached.append(other)
        return level

    def _nodes_of(self, server, kind):
        return [name for name in self.kind
                if self.server[name] == server and self.kind[name] == kind]

    def _place_row(self, row, y, middle):
        """Each node as near as may be to its neighbours in the server that stand already."""
        wishes = [mean([self.at[other][0] for other in self.neighbours[name]
                        if other in self.at and self.server[other] == self.server[name]], middle)
                  for name in row]
        for name, x in zip(row, spread(wishes, BOX_WIDTH + 8)):
            self.at[name] = (x, y)

    def _place_server(self, server):
        """Rows from above: NICs, hosts, switches towards them, devices, switches of devices."""
        devices, hosts, nics = (self._nodes_of(server, k) for k in ("device", "host", "nic"))
        switches = self._nodes_of(server, "switch")
        inner = self._towards_hosts(switches)
        fabric = [name for name in switches if name not in inner]
        widest = max(len(devices), len(nics), len(hosts), 2)
        left, width = self.right + GAP, widest * PITCH + 24
        middle = left + width / 2

        nic_y = self.top + 62
        host_y = nic_y + (0.8 * ROW if nics else 0)
        inner_y = host_y + (0.8 * ROW if hosts else 0)
        device_y = inner_y + (0.8 * ROW if inner else 0)
        fabric_y = device_y + 1.5 * ROW  # clears the boxes of the devices between
        first = middle - (len(devices) - 1) * PITCH / 2
        for i, name in enumerate(devices):
            self.at[name] = (first + i * PITCH, device_y)
        self._place_row(inner, inner_y, middle)
        self._place_row(hosts, host_y, middle)
        self._place_row(nics, nic_y, middle)
        self._place_row(fabric, fabric_y, middle)
        bottom = (fabric_y if fabric else device_y + self._depth_of_arcs(server)) + 52
        self.frames.append(Frame(server, left, width, bottom))
        self.right, self.bottom = left + width, max(self.bottom, bottom)

    def _towards_hosts(self, switches):
        """Those of a server that are linked to its hosts and NICs, by themselves or over one another: in one
        row their links pass behind no device."""
        found = [name for name in switches
                 if any(self.kind[other] in ("host", "nic") for other in self.neighbours[name])]
        for name in found:
            found += [other for other in self.neighbours[name] if other in switches and other not in found]
        return [name for name in switches if name in found]

    def _depth_of_arcs(self, server):
        """How far the arcs between the devices of a server hang below them."""
        arcs = [link for link in self.cluster["links"] if self.server[link["from"]] == server
                and self.kind[link["from"]] == self.kind[link["to"]] == "device"]
        return max((0.75 * self.sag(link) for link in arcs), default=0)  # 3/4 of a cubic's controls

    def _uplinks(self):
        """For every server, the network switches that it is linked to, each with its links."""
        found = [{} for _ in range(self.cluster["servers"])]
        for link in self.cluster["links"]:
            for inside, outside in ((link["from"], link["to"]), (link["to"], link["from"])):
                if self.server[inside] is not None and self.server[outside] is None:
                    found[self.server[inside]].setdefault(outside, []).append(link)
        return found

    def _place_groups(self, first):
        """Runs of further servers on the same switches, a box each."""
        uplinks = self._uplinks()
        devices = Counter(device["server"] for device in self.cluster["devices"])
        while first < self.cluster["servers"]:
            last = first
            while (last + 1 < self.cluster["servers"]
                   and uplinks[last + 1].keys() == uplinks[first].keys()):
                last += 1
            x, y = self.right + GAP + GROUP_WIDTH / 2, self.top + GROUP_HEIGHT / 2
            self.groups.append(Group(first, last, devices[first], x, y, uplinks[first]))
            self.right += GAP + GROUP_WIDTH
            self.bottom = max(self.bottom, y + GROUP_HEIGHT / 2)
            first = last + 1

    def _place_network(self):
        """Switches above the nodes that are linked to them."""
        for level in sorted(set(self.level.values())):
            row = [name for name in self.level if self.level[name] == level]
            wishes = [mean(self._below(name), self.right / 2) for name in row]
            for name, x in zip(row, spread(wishes, BOX_WIDTH + 30)):
                self.at[name] = (x, self.top - ROW * (level + 0.55))

    def _below(self, switch):
        """The places of the servers and switches below a network switch."""
        servers = {self.server[other] for other in self.neighbours[switch]}
        return ([frame.left + frame.width / 2 for frame in self.frames if frame.server in servers]
                + [group.x for group in self.groups if group.first in servers]
                + [self.at[other][0] for other in self.neighbours[switch]
                   if self.level.get(other) == self.level[switch] - 1])
