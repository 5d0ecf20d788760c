"""The drawing of `orrery cluster show --svg`: servers, devices, switches, NICs and their links."""

import sys

import drawing
import svg
import units
from cluster_layout import (BOX_HEIGHT, BOX_WIDTH, GROUP_HEIGHT, GROUP_WIDTH, MARGIN, Layout)

LEGEND_LINE, SAMPLE, LETTER = 26, 40, 12.5  # pixels: of the legend's rows, lines and words
NARROWEST = 760  # of a whole drawing

FILLS = {"device": "#d7ecd9", "host": "#f3e3c3", "nic": "#d5e3f5", "network switch": "#e4dcf1",
         "switch": "#ececec"}
LINK_COLOURS = ["#3b6fb6", "#c8553d", "#3f8f5b", "#8a5fb0", "#b8860b", "#2a9d9d", "#9c4f77",
                "#666666"]


def counted(number, word):
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def width_of(bytes_per_second):
    """Pixels for a rate: 1.6 for 1 GB/s, a third more for twice the rate."""
    return min(max(1.6 * (bytes_per_second / 1e9) ** 0.4, 1.2), 12.0)


def box(x, y, width, height, fill, stroke="#555"):
    return svg.tag("rect", x=x - width / 2, y=y - height / 2, width=float(width),
                   height=float(height), rx=5, fill=fill, stroke=stroke)


def node_box(layout, name, rank):
    """rank: that of a device; None for other nodes."""
    x, y = layout.at[name]
    shown = name.split("/", 1)[-1]
    parts = [box(x, y, BOX_WIDTH, BOX_HEIGHT, FILLS[layout.kind[name]])]
    if rank is None:
        parts.append(svg.label(x, y + 4, shown, 12, "middle", width=BOX_WIDTH - 6))
    else:
        parts += [svg.label(x, y - 2, shown, 12, "middle", bold=True, width=BOX_WIDTH - 6),
                  svg.label(x, y + 12, f"rank {rank}", 10.5, "middle")]
    return "".join(parts)


def link_line(layout, link, colour):
    """Straight, but between two nodes of one row an arc: below devices, above others."""
    style = {"stroke": colour, "stroke_width": width_of(link["bytes_per_second"]), "fill": "none",
             "stroke_opacity": 0.85, "stroke_linejoin": "round"}
    (ax, ay), (bx, by) = layout.at[link["from"]], layout.at[link["to"]]
    inside = [layout.server[link[end]] is not None for end in ("from", "to")]
    if inside[0] != inside[1]:
        if not inside[0]:
            ax, ay, bx, by = bx, by, ax, ay
        # Upright out of its server, so that it crosses no other.
        path = f"M {ax:.1f} {ay:.1f} V {layout.top - 4:.1f} L {bx:.1f} {by:.1f}"
    elif ay != by:
        path = f"M {ax:.1f} {ay:.1f} L {bx:.1f} {by:.1f}"
    else:
        sag = layout.sag(link) * (1 if layout.kind[link["from"]] == "device" else -1)
        path = (f"M {ax:.1f} {ay:.1f} C {ax:.1f} {ay + sag:.1f} {bx:.1f} {by + sag:.1f} "
                f"{bx:.1f} {by:.1f}")
    return svg.tag("path", d=path, **style)


def group_lines(layout, group, colours):
    """A line to every switch that its servers are linked to, as wide as the links of one server."""
    for switch, links in group.uplinks.items():
        x, y = layout.at[switch]
        path = f"M {group.x:.1f} {group.y:.1f} V {layout.top - 4:.1f} L {x:.1f} {y:.1f}"
        yield svg.tag("path", d=path, stroke=colours[links[-1]["type"]], fill="none",
                      stroke_width=width_of(sum(link["bytes_per_second"] for link in links)),
                      stroke_opacity=0.85, stroke_linejoin="round")


def group_box(group):
    servers = group.last - group.first + 1
    name = f"s{group.first}" if servers == 1 else f"s{group.first} to s{group.last}"
    lines = [counted(servers, "server"), f"{counted(group.devices, 'device')} each", "wired as s0"]
    parts = [box(group.x, group.y, GROUP_WIDTH, GROUP_HEIGHT, "#fafafa", "#999"),
             svg.label(group.x, group.y - 24, name, 13, "middle", bold=True)]
    parts += [svg.label(group.x, group.y - 4 + 18 * i, words, 12, "middle")
              for i, words in enumerate(lines)]
    return "".join(parts)


def server_frame(layout, frame):
    return (svg.tag("rect", x=frame.left, y=layout.top, width=float(frame.width),
                    height=frame.bottom - layout.top, rx=10, fill="#fafafa", stroke="#999")
            + svg.label(frame.left + 12, frame.bottom - 12, f"server s{frame.server}", 14,
                        bold=True))


def link_words(links):
    """The legend's words about the links of one type."""
    link = links[0]
    most = max(one["count"] for one in links)
    words = f"{link['type']}: {units.rate(link['bytes_per_second'] / link['count'])}"
    if link["duplex"] == "shared":
        words += " shared"
    elif most > 1:
        words += f" a cable, up to {most}"
    if link["duplex"] == "full" and link["both_bytes_per_second"] < 2 * link["bytes_per_second"]:
        words += f" ({units.rate(link['both_bytes_per_second'] / link['count'])} both ways)"
    return f"{words}, {units.seconds(link['latency_seconds'])}"


def legend(by_type, colours, top, width):
    """(parts, height): a line and its words for every type, in as many columns as fit."""
    entries = {kind: link_words(links) for kind, links in by_type.items()}
    widest = SAMPLE + 30 + max((svg.width_of(w, LETTER) for w in entries.values()), default=0)
    columns = max(1, min(2, int((width - 2 * MARGIN) / widest)))
    parts = [svg.label(MARGIN, top, "Links (rate per direction unless shared, latency)", 13,
                       bold=True)]
    for i, (kind, words) in enumerate(entries.items()):
        x, y = MARGIN + i % columns * widest, top + LEGEND_LINE * (i // columns + 1)
        parts.append(svg.tag("line", x1=float(x), y1=y - 4.0, x2=float(x + SAMPLE), y2=y - 4.0,
                             stroke=colours[kind],
                             stroke_width=width_of(by_type[kind][0]["bytes_per_second"])))
        parts.append(svg.label(x + SAMPLE + 10, y, words, LETTER,
                               width=width - MARGIN - x - SAMPLE - 10))
    rows = (len(entries) + columns - 1) // columns
    parts.append(svg.label(MARGIN, top + LEGEND_LINE * (rows + 1),
                           "Width grows with the rate to the power of 0.4, up to about 150 GB/s.",
                           11.5))
    return parts, LEGEND_LINE * (rows + 1) + 24


def device_words(devices):
    """Every type of device with its number and its memory."""
    by_type = {}
    for device in devices:
        by_type.setdefault(device["type"], []).append(device)
    return "; ".join(f"{len(those)} × {kind}, {units.bytes_(those[0]['memory_bytes'])} of memory "
                     f"at {units.rate(those[0]['memory_bytes_per_second'])} each"
                     for kind, those in by_type.items())


def host_words(cluster):
    """The host of a server as the file describes it; if the machine is a device, only the cores are new."""
    words = []
    if "host_cores" in cluster:
        words.append(counted(cluster["host_cores"], "core"))
    if any(node["kind"] == "host" for node in cluster["nodes"]):
        memory = []
        if "host_memory_bytes" in cluster:
            memory.append(units.bytes_(cluster["host_memory_bytes"]))
        if "host_memory_bytes_per_second" in cluster:
            memory.append(f"at {units.rate(cluster['host_memory_bytes_per_second'])}")
        if memory:
            words.append(" ".join(memory))
    return f"; host: {', '.join(words)}" if words else ""


def draw(cluster):
    """The SVG of the output of `orrery cluster show --json`."""
    layout = Layout(cluster)
    width = max(layout.right + MARGIN, NARROWEST)
    by_type = {}
    for link in cluster["links"]:
        by_type.setdefault(link["type"], []).append(link)
    colours = {kind: LINK_COLOURS[i % len(LINK_COLOURS)] for i, kind in enumerate(by_type)}
    rank = {device["name"]: device["rank"] for device in cluster["devices"]}
    title = (f"{cluster['name']}: {counted(cluster['servers'], 'server')}, "
             f"{counted(len(cluster['devices']), 'device')}")
    room = width - 2 * MARGIN
    parts = [svg.label(MARGIN, 34, title, 19, bold=True, width=room),
             svg.label(MARGIN, 56, device_words(cluster["devices"]) + host_words(cluster), 13,
                       width=room)]
    parts += [server_frame(layout, frame) for frame in layout.frames]
    parts += [link_line(layout, link, colours[link["type"]]) for link in cluster["links"]
              if link["from"] in layout.at and link["to"] in layout.at]
    for group in layout.groups:
        parts += group_lines(layout, group, colours)
    parts += [group_box(group) for group in layout.groups]
    parts += [node_box(layout, name, rank.get(name)) for name in layout.kind if name in layout.at]
    below, height = legend(by_type, colours, layout.bottom + 46, width)
    return svg.document(width, layout.bottom + 46 + height, parts + below, title)


if __name__ == "__main__":
    sys.exit(drawing.main(draw))
