"""Help is wrapped to the terminal, up to 100 columns. Only commands to copy, and words that cannot be broken, are wider."""

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
import unittest

COMMANDS = ["", "run", "infer", "predict", "advise", "starve", "partition", "dataset get", "dataset sharing", "figure"]


def help_of(command, columns):
    try:
        ours, theirs = pty.openpty()
    except OSError as error:  # a container without /dev/pts
        raise unittest.SkipTest(f"no terminal can be made here: {error}") from error
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    program = subprocess.Popen([os.environ["ORRERY_PROGRAM"], *command.split(), "--help"], stdin=subprocess.DEVNULL,
                               stdout=theirs)
    os.close(theirs)
    got = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while some := os.read(ours, 65536):
            got += some
    os.close(ours)
    program.wait()
    return got.decode().replace("\r\n", "\n").split("\n")


class Help(unittest.TestCase):
    def check(self, columns, wanted):
        for command in COMMANDS:
            lines = help_of(command, columns)
            entries = [lines[0], *(line for line in lines if line.startswith("  ") and "orrery " not in line)]
            self.assertGreater(len(entries), 3, command)
            self.assertEqual([line for line in entries if len(line) > wanted and len(line.split()) > 2], [], command)

    def test_fits_a_terminal_of_80_columns(self):
        self.check(80, 80)

    def test_has_lines_of_at_most_100_columns_on_a_wide_terminal(self):
        self.check(200, 100)
        self.assertGreater(max(map(len, help_of("run", 200))), 90)


if __name__ == "__main__":
    unittest.main()
