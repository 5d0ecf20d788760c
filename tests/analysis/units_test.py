"""Numbers with units: three digits, and no exponent where a unit has no larger one."""

import unittest

import units


class Numbers(unittest.TestCase):
    def test_have_three_digits_and_the_unit_that_fits(self):
        self.assertEqual(units.seconds(0.0123456), "12.3 ms")
        self.assertEqual(units.seconds(-2.5e-6), "-2.5 µs")
        self.assertEqual(units.bytes_(3 * 2**30), "3 GiB")
        self.assertEqual(units.rate(12.5e9), "12.5 GB/s")

    def test_have_no_exponent(self):
        self.assertEqual(units.seconds(999.4), "999 s")
        self.assertEqual(units.seconds(999.6), "1,000 s")
        self.assertEqual(units.seconds(12345), "12,345 s")
        self.assertEqual(units.bytes_(1010 * 2**20), "1,010 MiB")


class Columns(unittest.TestCase):
    def test_have_three_digits_where_one_has_them(self):
        self.assertEqual(units.even(["1.15 ms", "3.5 ms", "21 ms ± 6 %", "120 ms", "0 s", "-", "0.5 µs"]),
                         ["1.15 ms", "3.50 ms", "21.0 ms ± 6 %", "120 ms", "0 s", "-", "0.500 µs"])
        self.assertEqual(units.even(["9.67 MiB", "8.5 MiB", "512 B"]), ["9.67 MiB", "8.50 MiB", "512 B"])

    def test_of_round_numbers_and_of_words_stay(self):
        for cells in (["1 s", "400 ms", "2.5 s"], ["4 KiB", "512 B"], ["rank 1", "1.25"], ["1,234 s", "1 s"],
                      []):
            self.assertEqual(units.even(cells), cells)


class Spaces(unittest.TestCase):
    def test_between_number_and_unit_do_not_break(self):
        self.assertEqual(units.unbroken("51 % of 1.5 ms ± 2 µs, 3 GiB at 12 GB/s"),
                         "51\u00a0% of 1.5\u00a0ms ± 2\u00a0µs, 3\u00a0GiB at 12\u00a0GB/s")
        for words in ("2 servers", "4 s1 nodes", "3 B/w", "12 Basses", "in 20 msec"):
            self.assertEqual(units.unbroken(words), words)


if __name__ == "__main__":
    unittest.main()
