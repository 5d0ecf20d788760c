"""How wide text may be where it is printed, as for the other commands (core/terminal)."""

import os

USUAL_COLUMNS = 80
READS_WELL = 92


def room(stream):
    """Columns of the terminal that a stream goes to; 0 where it goes to a file or a pipe, and lines
    may be as long as they are."""
    try:
        if not stream.isatty():
            return 0
        return os.get_terminal_size(stream.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):  # no file behind it, or closed
        return 0


def paragraph(stream):
    """How wide paragraphs are printed there: at most what reads well, and no wider than the
    terminal."""
    return min(room(stream) or READS_WELL, READS_WELL)
