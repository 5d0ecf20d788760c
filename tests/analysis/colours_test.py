"""The palette: every mark and every word can be told from what it stands on."""

import unittest

import colours

MARKS = [*colours.PARTS.values(), colours.SPARSE, colours.DENSE, colours.OTHER_COMPUTATION,
         colours.MEMORY, colours.LINK, *colours.SERIES, colours.OF_PAPER, colours.OURS,
         colours.FITTED]


class Palette(unittest.TestCase):
    def test_knows_contrast_as_the_standard_defines_it(self):
        self.assertAlmostEqual(colours.contrast("#000000", "#ffffff"), 21.0)
        self.assertAlmostEqual(colours.contrast("#777777", "#ffffff"), 4.48, places=2)
        self.assertEqual(colours.contrast("#123456", "#123456"), 1.0)

    def test_has_marks_that_stand_out_three_to_one_in_light_and_dark(self):
        for mark in MARKS:
            with self.subTest(mark=mark):
                self.assertGreaterEqual(colours.contrast(mark.light, colours.PAPER), 3.0)
                self.assertGreaterEqual(colours.contrast(mark.dark, colours.DARK_PAPER), 3.0)

    def test_has_ink_that_stands_out_four_and_a_half_to_one(self):
        for ink in (colours.INK, colours.SOFT_INK):
            self.assertGreaterEqual(colours.contrast(ink.light, colours.PAPER), 4.5)
            self.assertGreaterEqual(colours.contrast(ink.dark, colours.DARK_PAPER), 4.5)

    def test_tells_the_exposed_parts_of_an_epoch_apart_without_colour(self):
        exposed = [one for key, one in colours.PARTS.items() if key != "hidden"]

        self.assertEqual(len({one.hatch for one in exposed}), len(exposed))
        self.assertEqual(len({one.light for one in exposed}), len(exposed))
