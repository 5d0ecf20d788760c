"""Makes a drawing for the program: JSON on standard input, one SVG file out."""

import json
import sys
from pathlib import Path

import whole_file


def main(draw):
    """Draws the description on standard input into the file that is the only argument."""
    file = Path(sys.argv[1])
    try:
        whole_file.write(file, draw(json.load(sys.stdin.buffer)))
    except OSError as error:
        print(f"{file}: cannot be written: {error.strerror}")  # the program reports it
        return 1
    return 0
