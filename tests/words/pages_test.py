"""docs/check.py finds no fault in our pages, and finds the faults of made-up ones."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(os.environ["ORRERY_SOURCES"])


def checker():
    spec = importlib.util.spec_from_file_location("check", SOURCES / "docs/check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Pages(unittest.TestCase):
    def test_have_no_fault(self):
        run = subprocess.run([sys.executable, "-B", SOURCES / "docs/check.py"], capture_output=True, text=True)

        self.assertEqual(run.stdout + run.stderr, "")
        self.assertEqual(run.returncode, 0)


class Check(unittest.TestCase):
    def test_finds_lines_that_are_too_long_but_for_tables_and_single_words(self):
        long_words = "word " * 30

        found = list(checker().long_lines(f"short\n{long_words}\n| {long_words} |\n{'x' * 200}\n"))

        self.assertEqual(found, ["line 2 has 150 characters, at most 110"])

    def test_counts_words_of_sentences_without_code_tables_and_headings(self):
        text = "# A heading of five words\n\nOne two three. Four `five six` seven!\n\n| a | table |\n\n- An item.\n"

        found = [checker().words(sentence) for sentence in checker().sentences(text)]

        self.assertEqual(found, [3, 3, 2])

    def test_finds_sentences_that_are_too_long(self):
        one, twenty_five = "Word " * 46 + ".", "Short words. " + "Word " * 39 + "."

        self.assertEqual(len(list(checker().wordy(one))), 2)  # the mean and the sentence
        self.assertEqual(len(list(checker().wordy(twenty_five))), 1)  # (2 + 39) / 2 words
        self.assertEqual(list(checker().wordy("Short. " * 3 + "Short words. " * 3)), [])

    def test_finds_links_that_lead_nowhere(self):
        page = SOURCES / "docs/data.md"

        found = list(checker().dead_links(page, "[a](nowhere.md) [b](parts.md#no-such) [c](parts.md#how-many-parts)"))

        self.assertEqual(found, ["a link leads to nowhere.md, which is not there",
                                 "a link leads to parts.md#no-such, but there is no such heading"])

    def test_finds_the_first_use_of_a_word_and_whether_it_is_a_link(self):
        use = lambda text: checker().first_use(text, ["halo"])

        self.assertIsNone(use("No word. `halo`\n\n# Halo\n\n```sh\nhalo\n```\n"))
        self.assertEqual(use("Its halos are")[:], (4, 9, False))
        self.assertEqual(use("Its [halo](glossary.md#halo), a halo")[2], True)
        self.assertEqual(use("A halo, a [halo](glossary.md#halo)")[2], False)

    def test_links_the_first_use_of_every_word(self):
        check = checker()
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text("A rank has a halo. Another halo.\n")

            check.link(page)

            self.assertEqual(page.read_text(), "A [rank](glossary.md#rank) has a [halo](glossary.md#halo). Another halo.\n")


if __name__ == "__main__":
    unittest.main()
