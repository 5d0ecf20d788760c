"""The width of printed text, as for the other commands (core/terminal)."""

import os

USUAL_COLUMNS = 80
READS_WELL = 92


def room(stream):
    """Columns of the terminal that a stream goes to; 0 for a file or a pipe, whose lines may have any length."""
    try:
        if not stream.isatty():
            return 0
        return os.get_terminal_size(stream.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):  # no file behind it, or closed
        return 0


def paragraph(stream):
    """The width of paragraphs: at most what reads well, and at most that of the terminal."""
    return min(room(stream) or READS_WELL, READS_WELL)
