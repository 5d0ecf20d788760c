"""The modules of analysis/ can be told from those of Python: the package orrery puts the folder behind Python's own."""

import sys
import unittest

import folders


class ModuleNames(unittest.TestCase):
    def test_no_module_has_the_name_of_a_standard_one(self):
        places = (folders.SOURCES / "analysis").iterdir()
        names = {place.stem for place in places if place.suffix == ".py" or (place / "__init__.py").is_file()}
        self.assertIn("measures", names)
        self.assertEqual(names & (sys.stdlib_module_names | {"test"}), set())


if __name__ == "__main__":
    unittest.main()
