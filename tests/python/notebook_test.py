"""The notebook of the manual runs from its first cell to its last."""

import os
import tempfile
import unittest

_SOURCES, _BUILD = os.environ["ORRERY_SOURCES"], os.environ["ORRERY_BUILD"]
os.environ["PYTHONPATH"] = os.pathsep.join([_SOURCES + "/python", _BUILD + "/python"])

import nbclient
import nbformat


def texts(cell):
    """The output of a cell as text: printed, returned and displayed."""
    said = []
    for output in cell.get("outputs", []):
        said.append(output.get("text", "") or output.get("data", {}).get("text/plain", ""))
    return "\n".join(said)


class Notebook(unittest.TestCase):
    def test_TheTourRuns(self):
        tour = nbformat.read(_SOURCES + "/examples/python/tour.ipynb", 4)
        self.assertEqual(len(tour.cells), 10)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TMPDIR"] = folder
            nbclient.NotebookClient(tour, timeout=120, kernel_name="python3",
                                    resources={"metadata": {"path": folder}}).execute()

        ran = texts(tour.cells[4])
        self.assertRegex(ran, r"epoch 60/60")  # progress was shown
        self.assertRegex(ran, r"\d+\.\d% ± ")
        pictures = [output for cell in tour.cells for output in cell.get("outputs", [])
                    if "image/png" in output.get("data", {})]
        self.assertEqual(len(pictures), 2)
        self.assertIn("layers.1.weight", texts(tour.cells[9]))


if __name__ == "__main__":
    unittest.main()
