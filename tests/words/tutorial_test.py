"""docs/tutorial.md: every block of commands runs, in order, in an empty folder, and leaves the files that the page
names."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(os.environ["ORRERY_SOURCES"])
PAGE = (SOURCES / "docs/tutorial.md").read_text()
# The program in the place of the launcher, with few epochs, and without a calibration of this machine.
LAUNCHER = """#!/usr/bin/env bash
case "$1" in
  run | sweep) set -- "$@" --set train.epochs=3 ;;&
  run) case " $* " in *quickstart*) set -- "$@" --set 'simulate_on=["dgx-a100"]' ;; esac ;;
esac
exec "{program}" "$@"
"""


def blocks():
    return re.findall(r"^```sh\n(.*?)^```", PAGE, re.S | re.M)


class Tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not Path("/usr/bin/python3").exists() or subprocess.run(
                ["/usr/bin/python3", "-c", "import numpy, matplotlib"], capture_output=True).returncode:
            raise unittest.SkipTest("/usr/bin/python3 has no numpy or matplotlib")

    def test_every_block_runs_and_leaves_what_the_page_says(self):
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            (here / "configs").symlink_to(SOURCES / "configs")
            (here / "orrery").write_text(LAUNCHER.format(program=os.environ["ORRERY_PROGRAM"]))
            (here / "orrery").chmod(0o755)
            (here / "bin").mkdir()
            (here / "bin/python3").symlink_to("/usr/bin/python3")
            environment = {**os.environ, "PATH": f"{here}/bin:{os.environ['PATH']}", "ORRERY_DATA": "",
                           "ORRERY_PYTHON": "/usr/bin/python3"}

            for number, block in enumerate(blocks(), 1):
                run = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=here, env=environment,
                                     stdin=subprocess.DEVNULL, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, f"block {number}:\n{block}\n{run.stdout}{run.stderr}")

            for left in ["results/first/strategy.type=spmm_1d/result.json", "results/mine/result.json", "partition.svg",
                         "parts/mine-4/meta.json", "results/mine-sweep/results.jsonl",
                         "results/mine-on-gpus/report.html", "results/mine-plans/report.html",
                         "results/mine-fastest/result.json", "results/figures/mg-gcn/sec5.1"]:
                self.assertTrue((here / left).exists(), left)

    def test_shows_the_seven_steps_of_the_first_hour(self):
        text = " ".join(blocks())

        for command in ["run configs/quickstart.json", "dataset info", "partition", "sweep", '"gpus": 8', "report",
                        "figure"]:
            self.assertIn(command, text)


if __name__ == "__main__":
    unittest.main()
