"""The picture of `orrery partition --compare all --svg`: a bar for the cut of every method."""

import sys

import drawing
import svg

WIDTH, MARGIN, LEFT, LONGEST, TOP, ROW = 720, 20, 120, 480, 74, 28  # pixels
NOTE = ["Replication factor: vertices held with complete neighbourhoods / vertices, best first.",
        "Dashed: 1, nothing is held twice. Red: SPRING, all others blue."]


def draw(compared):
    """The SVG of the output of `orrery partition --compare all --json`."""
    rows = sorted(compared["rows"], key=lambda row: row["replication_factor"])
    longest = max([1.0] + [row["replication_factor"] for row in rows])
    title = f"{compared['name']} in {compared['parts']} part{'s' if compared['parts'] != 1 else ''}"
    bottom = TOP + ROW * len(rows)
    one = LEFT + LONGEST / longest
    parts = [svg.label(MARGIN, 30, title, 16, bold=True, width=WIDTH - 2 * MARGIN),
             svg.label(one, TOP - 12, "1", 13, "middle")]
    for i, row in enumerate(rows):
        y, length = TOP + ROW * i, LONGEST * row["replication_factor"] / longest
        parts += [
            svg.label(LEFT - 8, y + 13, row["method"], 13, "end", width=LEFT - 8),
            svg.tag("rect", x=LEFT, y=y, width=length, height=18,
                    fill="#c8553d" if row["method"] == "spring" else "#3b6fb6"),
            svg.label(LEFT + length + 6, y + 13, f"{row['replication_factor']:.3f}", 13)]
    parts.append(svg.tag("line", x1=one, y1=TOP - 8, x2=one, y2=bottom, stroke="#222",
                         stroke_dasharray="4 3"))
    parts += [svg.label(MARGIN, bottom + 24 + 18 * i, words, 13) for i, words in enumerate(NOTE)]
    return svg.document(WIDTH, bottom + 24 + 18 * len(NOTE), parts, title)


if __name__ == "__main__":
    sys.exit(drawing.main(draw))
