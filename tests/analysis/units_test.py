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


if __name__ == "__main__":
    unittest.main()
