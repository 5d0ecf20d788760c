"""Long work is named while it lasts."""

import io
import os
import pty
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "analysis"))

from ticking import Ticking  # noqa: E402


def all_that_comes_from(master):
    """The output to a terminal that is closed by now; one read returns only a piece of it."""
    pieces = []
    try:
        while piece := os.read(master, 10000):
            pieces.append(piece)
    except OSError:  # Linux: the other end is closed
        pass
    os.close(master)
    return b"".join(pieces).decode()


class OfWhatTakesLong(unittest.TestCase):
    def test_a_terminal_has_one_line_that_counts(self):
        try:
            master, slave = pty.openpty()
        except OSError:
            self.skipTest("no terminal can be opened here")
        with os.fdopen(slave, "w") as to:
            with Ticking("fig: a (1 of 2)", to, pauses=(0.02, 9)):
                time.sleep(0.1)
        text = all_that_comes_from(master)

        self.assertGreaterEqual(text.count("\r\x1b[Kfig: a (1 of 2), 0 s"), 3)
        self.assertEqual(text.count("\n"), 1)  # at its end

    def test_a_file_has_a_line_now_and_then(self):
        to = io.StringIO()
        with Ticking("fig: a (1 of 2)", to, pauses=(9, 0.02)):
            time.sleep(0.1)

        lines = to.getvalue().splitlines()
        self.assertEqual(lines[0], "fig: a (1 of 2)")
        self.assertGreaterEqual(lines.count("fig: a (1 of 2): 0 s"), 2)

    def test_an_error_ends_the_line(self):
        to = io.StringIO()
        with self.assertRaises(ValueError):
            with Ticking("x", to, pauses=(9, 0.01)):
                raise ValueError
        ended = to.getvalue()
        time.sleep(0.05)
        self.assertEqual(to.getvalue(), ended)


if __name__ == "__main__":
    unittest.main()
