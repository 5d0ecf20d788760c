"""The moved data, by links and by algorithms."""

import charts
import page
import units

MOST_LINKS = 16
FULL = 0.8  # of its rate: a link that is likely to hold a run up


def section(run):
    result = run.result
    moved = result.get("bytes") or {}
    rows = [["inside servers", units.bytes_(moved.get("internal", 0))],
            ["between servers", units.bytes_(moved.get("external", 0))]]
    content = [page.table("Bytes that all ranks together receive in an epoch: the sizes of the "
                          "operands, without what a protocol adds",
                          ["between ranks", "received per epoch"], rows)]
    links = result.get("links")
    if not isinstance(links, list):  # a real run's are those that were predicted
        links = []
    links = sorted(links, key=lambda one: -(one.get("utilisation") or 0))
    if links:
        content += _of_links(links)
    elif not run.simulated:
        content.append(page.paragraph("A measured run does not know which links its bytes took; a "
                                      "simulated one does."))
    if algorithms := (result.get("simulation") or {}).get("algorithms"):
        content.append(page.section("Collectives", _algorithm_table(algorithms)))
    return page.section("Volumes and links", *content)


def by_type(links):
    """Sums over the links of each type: (type, links, bytes, mean and largest utilisation)."""
    types = {}
    for link in links:
        types.setdefault(link["type"], []).append(link)
    return [
        [name, str(len(group)), units.bytes_(sum(one["bytes"] for one in group)),
         units.percent(sum(one["utilisation"] for one in group) / len(group)),
         units.percent(max(one["utilisation"] for one in group))]
        for name, group in types.items()
    ]


def _of_links(links):
    types = page.table("Links by type; utilisation is the share of epochs and evaluations for which a link "
                       "would be busy at its full rate",
                       ["type", "links", "bytes per epoch", "mean utilisation", "largest"],
                       by_type(links))
    shown = links[:MOST_LINKS]
    bars = [(one["name"], one["utilisation"], "full-link" if one["utilisation"] > FULL else "link",
             units.percent(one["utilisation"]), units.bytes_(one["bytes"]),
             units.rate(one["bytes_per_second"])) for one in shown]
    few = len(links) > len(shown)
    title = f"The busiest {len(shown)} of {len(links)} links" if few else "Every link"
    marks = {cls: words for cls, words in [("full-link", "utilisation above 80 %"),
                                           ("link", "up to 80 %")]
             if any(bar[2] == cls for bar in bars)}
    drawn = charts.bars(f"{title}, by utilisation (a whole bar is 100 %)",
                        ["link", "utilisation", "", "bytes per epoch", "its rate"], bars, most=1.0)
    legend = charts.legend(marks.items()) if "full-link" in marks else ""
    return [page.section("By type of link", types), page.section(title, legend, drawn)]


def _algorithm_table(algorithms):
    """Which algorithm carried which collective, as the simulation chose."""
    rows = [
        [one["collective"], one["algorithm"], str(one["ranks"]),
         " to ".join(dict.fromkeys(units.bytes_(size) for size in one["bytes"])), str(one["calls"])]
        for one in algorithms
    ]
    return page.table("Collectives and the algorithms that the simulation chose for them",
                      ["collective", "algorithm", "ranks", "operand", "calls in the run"], rows,
                      words={1})
