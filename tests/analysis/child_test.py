"""What a script starts ends with it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import folders

SCRIPT = "import subprocess, sys, child; subprocess.run(sys.argv[1:], env=child.environment())"


class Children(unittest.TestCase):
    def test_of_a_script_that_is_killed_end(self):
        with tempfile.TemporaryDirectory() as folder:
            file, out = Path(folder) / "e.json", Path(folder) / "out"
            file.write_text(json.dumps(folders.EXPERIMENT | {"train": {"epochs": 1000000}}))
            environment = os.environ | {"PYTHONPATH": str(folders.SOURCES / "analysis")}
            script = subprocess.Popen(
                [sys.executable, "-B", "-c", SCRIPT, folders.PROGRAM, "run", file, "--out", out, "--quiet"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            self.until(lambda: (out / "epochs.jsonl").exists())
            started, = Path(f"/proc/{script.pid}/task/{script.pid}/children").read_text().split()
            script.kill()
            script.wait()
            try:
                self.until(lambda: not self.lives(started))
            finally:
                if self.lives(started):
                    os.kill(int(started), signal.SIGKILL)

    @staticmethod
    def lives(process):
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def until(self, holds):
        for _ in range(200):
            if holds():
                return
            time.sleep(0.05)
        self.fail("nothing happened in ten seconds")
