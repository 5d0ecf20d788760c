"""Tables and paragraphs of orrery figure fit the terminal that they are printed on."""

import contextlib
import fcntl
import io
import os
import pty
import struct
import termios
import threading
import unittest

import figure
import figure_file
import text_table

TABLE = [["cell", "paper", "ours", "role"],
         ["a cell whose name is longer than what is left", "12 to 14", "out of memory", "informed"],
         ["short", "3", "3.14", "aside"]]


def on_terminal(columns, print_it):
    """The lines on a terminal of this many columns."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        raise unittest.SkipTest("no terminal can be opened here") from error
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    got = io.BytesIO()

    def read():
        with contextlib.suppress(OSError):
            while some := os.read(ours, 4096):
                got.write(some)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w") as terminal, contextlib.redirect_stdout(terminal):
        print_it()
    reader.join()
    os.close(ours)
    return got.getvalue().decode().replace("\r\n", "\n").splitlines()


def in_a_pipe(print_it):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_it()
    return out.getvalue().splitlines()


def a_figure():
    """A shipped figure, and messages that making it might give."""
    shipped = figure_file.load("mg-gcn/table3")
    rows = [{"label": row["label"], "paper": row["paper"], "ours": 1.5, "unit": row["unit"],
             "error": 0.123, "role": shipped.role_of(row), "verdict": "differs"}
            for row in shipped.told["rows"] if isinstance(row["paper"], (int, float))]
    counted = {"cells": 0, "ranges": 0}
    return shipped, {"rows": rows, "counted": counted, "remarks": shipped.told["notes"],
                     "picture": "p.png", "csv": "p.csv", "runs_csv": "p-runs.csv"}


class TextTables(unittest.TestCase):
    def test_are_as_wide_as_they_are_where_nothing_is_asked(self):
        text = text_table.aligned(TABLE)

        self.assertEqual(text.splitlines()[3], "short" + " " * 49 + "3" + " " * 11 + "3.14     aside")

    def test_break_names_before_columns_go_below(self):
        lines = text_table.aligned(TABLE, 64).splitlines()

        self.assertEqual(lines[0], "cell" + " " * 30 + "paper" + " " * 11 + "ours      role")
        self.assertEqual([line[:27].strip() for line in lines[2:4]],
                         ["a cell whose name is longer", "than what is left"])

    def test_lose_no_cell_on_any_width(self):
        for room in range(40, 100):
            lines = text_table.aligned(TABLE, room).splitlines()
            words = " ".join(" ".join(lines).split())
            with self.subTest(room):
                self.assertLessEqual(max(map(len, lines)), room)
                for row in TABLE:
                    for cell in row[1:]:
                        self.assertIn(cell, words)

    def test_have_a_name_beside_each_row_of_those_below(self):
        below = text_table.aligned(TABLE, 45).split("\n\n")

        self.assertEqual([block.splitlines()[-1].split()[0] for block in below],
                         ["short"] * len(below))
        self.assertGreater(len(below), 1)

    def test_of_names_alone_have_their_rows(self):
        self.assertEqual(text_table.aligned([["name"], ["a"]], 20).splitlines(),
                         ["name", "----", "a"])
        self.assertEqual(text_table.aligned([["", "b"], ["", "1"]], 40).splitlines()[-1].split(), ["1"])


class PrintedFigures(unittest.TestCase):
    def test_fit_the_terminal(self):
        shipped, told = a_figure()
        for columns in (60, 80, 120):
            lines = on_terminal(columns, lambda: figure.print_figure(shipped, told))
            with self.subTest(columns):
                self.assertLessEqual(max(map(len, lines)), columns)
                self.assertTrue(any(line.startswith("The paper says: ") for line in lines))

    def test_are_listed_within_the_terminal(self):
        for columns in (60, 80):
            lines = on_terminal(columns, lambda: figure.print_list(figure.listing()))
            with self.subTest(columns):
                self.assertLessEqual(max(map(len, lines)), columns)
                self.assertIn("cost", " ".join(lines))

    def test_have_whole_tables_in_a_pipe_and_paragraphs_that_read_well(self):
        shipped, told = a_figure()

        lines = in_a_pipe(lambda: figure.print_figure(shipped, told))
        listed = in_a_pipe(lambda: figure.print_list(figure.listing()))

        self.assertTrue(listed[0].endswith("cost"), listed[0])
        paragraphs = [line for line in lines if line.startswith(("  * ", "    "))]
        self.assertLessEqual(max(map(len, paragraphs)), 92)
        self.assertGreater(max(map(len, paragraphs)), 80)


if __name__ == "__main__":
    unittest.main()
