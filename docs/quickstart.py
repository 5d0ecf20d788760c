#!/usr/bin/env python3
"""Draws docs/quickstart.svg, the output of the quickstart. Run it on an idle machine, in the top folder.

  docs/quickstart.py          runs the quickstart on a terminal of 112 columns, and draws that
  docs/quickstart.py FILE     draws what a file holds

A run beside other work is not drawn: its error says little of the simulation, and is marked (*)."""

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent
COMMAND = ["./orrery", "run", "configs/quickstart.json"]
COLUMNS = 112
WIDE, HIGH, MARGIN = 7.83, 18, 16  # pixels of a letter, of a line, around all
PAPER, TEXT, PROMPT, HEADER, RULE = "#10151c", "#d7dee8", "#8bd48b", "#ffd479", "#5b6b7d"
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" \
role="img" aria-label="Output of the quickstart: two strategies with epoch time, its parts, bytes moved, memory and \
accuracy, and the same simulated on this machine and on a DGX-A100">
<rect width="{width}" height="{height}" rx="8" fill="{paper}"/>
<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13" fill="{text}" xml:space="preserve">"""


def printed():
    """The quickstart's standard output on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    run = subprocess.Popen(COMMAND, cwd=DOCS.parent, stdin=subprocess.DEVNULL, stdout=theirs)
    os.close(theirs)
    got = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while some := os.read(ours, 65536):
            got += some
    if code := run.wait():
        sys.exit(f"{' '.join(COMMAND)} ended with exit code {code}")
    return got.decode().replace("\r\n", "\n")


def colours(lines):
    """The command, headers of tables and the rules under them stand out."""
    for here, below in zip(lines, [*lines[1:], ""]):
        is_rule = lambda line: line and not line.strip("-")
        yield (PROMPT if here.startswith("$") else RULE if is_rule(here)
               else HEADER if is_rule(below) else TEXT)


def picture(text):
    """The SVG of the command and its output."""
    lines = [f"$ {' '.join(COMMAND)}", *text.rstrip().split("\n")]
    told = []
    for row, (line, colour) in enumerate(zip(lines, colours(lines))):
        if not line:
            continue
        fill = "" if colour == TEXT else f' fill="{colour}"'
        words = escape(line, quote=False).replace(" ", "&#160;")
        told.append(f'<text x="{MARGIN}" y="{MARGIN + 14 + HIGH * row}"{fill} '
                    f'textLength="{WIDE * len(line):.1f}" lengthAdjust="spacingAndGlyphs">{words}</text>')
    width = round(2 * MARGIN + WIDE * max(map(len, lines)))
    head = HEAD.format(width=width, height=2 * MARGIN + HIGH * len(lines), paper=PAPER, text=TEXT)
    return "\n".join([head, *told, "</g>", "</svg>"]) + "\n"


def main():
    text = Path(sys.argv[1]).read_text() if sys.argv[1:] else printed()
    if "(*)" in text:
        sys.exit("other programs were at work, so an error is marked (*): nothing is drawn. Stop them, remove "
                 "configs/{clusters,devices}/this-machine.json if the machine was calibrated beside them, and "
                 "start this again")
    (DOCS / "quickstart.svg").write_text(picture(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
