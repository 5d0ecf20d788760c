"""The picture of `orrery caches --svg`: the share of requested rows that a cache has, over its size."""

import math
import sys

import colours
import drawing
import svg
import units

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 70, 150, 64, 82  # pixels
NAME = 16  # pixels from a name to the next
# Dashes of a policy; those that keep what was needed last are dashed.
DASHES = {"degree": None, "presampled": None, "vip": None, "lru": "7 4", "clock": "2 3"}
STYLES = {name: (colour.light, dashes)
          for (name, dashes), colour in zip(DASHES.items(), colours.SERIES)}
MOST = (colours.SOFT_INK.light, "1 4")


def draw(told):
    """The SVG of the output of `orrery caches --json`."""
    asked = told["requested_rows"] or 1
    sizes = [size["bytes_per_rank"] for size in told["sizes"]]
    shares = [size["share"] for size in told["sizes"]]
    lines = [(policy["policy"], policy["hits"], *STYLES[policy["policy"]])
             for policy in told["policies"]]
    lines.append(("most possible", [size["most_hits"] for size in told["sizes"]], *MOST))
    least, most = math.log(shares[0]), math.log(shares[-1])
    x_of = lambda share: LEFT + (WIDTH - LEFT - RIGHT) * (
        (math.log(share) - least) / (most - least) if most > least else 0.5)
    y_of = lambda hits: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * hits / asked

    title = f"{told['name']}: rows of other ranks that a cache has"
    parts = [svg.label(20, 28, title, 16, bold=True, width=WIDTH - 40),
             svg.label(20, 48, f"{told['ranks']} ranks; {told['requested_rows']:,} rows asked for in "
                       f"{told['epochs']} epoch{'s' if told['epochs'] > 1 else ''}", 13,
                       width=WIDTH - 40)]
    for i in range(6):
        y = y_of(asked * i / 5)
        parts += [svg.tag("line", x1=LEFT, y1=y, x2=WIDTH - RIGHT, y2=y, stroke="#d5dae0"),
                  svg.label(LEFT - 8, y + 4, f"{20 * i} %", 12, "end")]
    taken = -math.inf  # the end of the last number: others keep away from it
    for share, size in zip(shares, sizes):
        words, x = units.bytes_(size), x_of(share)
        half = svg.width_of(words, 12) / 2
        if x - half < taken + 6:
            continue
        taken = x + half
        parts += [svg.tag("line", x1=x, y1=HEIGHT - BOTTOM, x2=x, y2=HEIGHT - BOTTOM + 5, stroke="#222"),
                  svg.label(x, HEIGHT - BOTTOM + 20, f"{100 * share:g} %", 12, "middle"),
                  svg.label(x, HEIGHT - BOTTOM + 36, words, 12, "middle")]
    parts.append(svg.label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 18,
                           "kept on each rank: share of the rows that one owns, and bytes", 12, "middle"))
    for name, hits, colour, dashes in lines:
        points = " ".join(f"{x_of(share):.1f},{y_of(value):.1f}" for share, value in zip(shares, hits))
        parts.append(svg.tag("polyline", points=points, fill="none", stroke=colour, stroke_width=2,
                             stroke_dasharray=dashes))
        parts += [svg.tag("circle", cx=x_of(share), cy=y_of(value), r=2.5, fill=colour)
                  for share, value in zip(shares, hits)]
    parts += named_ends([(y_of(hits[-1]), name, colour) for name, hits, colour, _ in lines])
    return svg.document(WIDTH, HEIGHT, parts, title)


def named_ends(ends):
    """Names right of the lines' ends, moved apart where they would overlap, and none below the axis."""
    ends, places = sorted(ends), []
    for y, _, _ in ends:
        places.append(max([y] + [place + NAME for place in places[-1:]]))
    for i in reversed(range(len(places))):
        places[i] = min(places[i], HEIGHT - BOTTOM - NAME * (len(places) - 1 - i))
    parts = []
    for place, (y, name, colour) in zip(places, ends):
        parts += [svg.tag("line", x1=WIDTH - RIGHT + 4, y1=y, x2=WIDTH - RIGHT + 18, y2=place,
                          stroke=colour),
                  svg.tag("g", svg.label(WIDTH - RIGHT + 22, place + 4, name, 13), fill=colour)]
    return parts


if __name__ == "__main__":
    sys.exit(drawing.main(draw))
