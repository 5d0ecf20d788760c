"""Tables of words for people."""

import textwrap

LEAST_NAME = 24  # the least width of a name: after that, columns go below


def _block(table, widths, columns):
    """The names and some columns; names are broken into lines, and a line stands under the header."""
    lines = []
    for row in table:
        *above, last = textwrap.wrap(row[0], max(1, widths[0])) or [""]
        lines += above
        cells = [last.ljust(widths[0])] + [row[c].rjust(widths[c]) for c in columns]
        lines.append("  ".join(cells).rstrip())
        if row is table[0]:
            lines.append("-" * (widths[0] + sum(2 + widths[c] for c in columns)))
    return "\n".join(lines)


def aligned(table, room=0, name=48):
    """Columns of words, the first to the left and at most `name` wide, the others to the right. With
    `room`, lines are no longer: names are broken sooner, and columns for which there is no room stand
    below, in tables with the same names. `table` holds the header and the rows."""
    widths = [max(len(row[c]) for row in table) for c in range(len(table[0]))]
    widths[0] = min(name, widths[0])
    columns, blocks = range(1, len(widths)), []
    if not room or not columns:
        return _block(table, widths, columns)
    left = room - sum(2 + widths[c] for c in columns)
    widths[0] = min(widths[0], max(left, LEAST_NAME))
    for column in columns:
        filled = widths[0] + sum(2 + widths[c] for c in blocks[-1]) if blocks else room
        if filled + 2 + widths[column] > room:
            blocks.append([])
        blocks[-1].append(column)
    return "\n\n".join(_block(table, widths, block) for block in blocks)
