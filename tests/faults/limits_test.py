"""Limits of the system and odd surroundings: the usual outcome, or one line that names the limit."""

import json
import os
import resource
import shutil
import subprocess
import unittest

import commands_under_faults as under

NOT_LOADED = 127  # the system's loader had no room for the libraries


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = under.Place()

    @classmethod
    def tearDownClass(cls):
        cls.place.remove()

    def start(self, name, before=None, **surroundings):
        """Runs a command of those under faults with limits set by `before`."""
        command = next(c for c in under.COMMANDS if c.name == name)
        self.out = self.place.folder / "out"
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        words = [w.replace("IN", str(self.place.inputs)).replace("OUT", str(self.out))
                 for w in command.words]
        return subprocess.run([under.PROGRAM, *words], capture_output=True, text=True,
                              timeout=under.SECONDS, check=False, preexec_fn=before, **surroundings)

    def test_on_the_address_space_are_told(self):
        # Not of runs: oneDNN does not look at whether it got what it asks for.
        told, out = 0, self.place.folder / "large"
        for kilobytes in (55_000, 62_000, 70_000):
            with self.subTest(kilobytes=kilobytes):
                limit = 1024 * kilobytes
                done = subprocess.run(
                    [under.PROGRAM, "dataset", "generate", "communities", "--vertices", "400000",
                     "--edges", "400000", "--out", str(out)],  # needs some 90 MB
                    capture_output=True, text=True, timeout=under.SECONDS, check=False,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
                self.assertIn(done.returncode, (1, NOT_LOADED), done.stderr)
                self.assertFalse(out.exists())
                if done.returncode == 1:
                    self.assertIn("orrery: error: the system grants no more", done.stderr)
                    told += 1
        self.assertGreater(told, 0, "one of the limits must have been met")

    def test_on_open_files_are_told(self):
        done = self.start("run", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)))

        self.assertEqual(done.returncode, 1)
        self.assertIn("Too many open files", done.stderr)

    def test_on_the_size_of_files_are_told_and_leave_nothing_half(self):
        done = self.start("partition", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)))

        self.assertEqual(done.returncode, 1)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_on_the_stack_are_no_reason_to_end(self):
        soft = 256 * 1024
        done = self.start("run", lambda: resource.setrlimit(resource.RLIMIT_STACK, (soft, soft)))

        self.assertEqual(done.returncode, 0, done.stderr)

    def test_no_home_no_temporary_folder_no_environment(self):
        for environment in ({}, {"TMPDIR": "/nowhere", "PATH": "/nowhere"}):
            with self.subTest(environment=environment):
                done = self.start("run", env=environment)

                self.assertEqual(done.returncode, 0, done.stderr)

    def test_closed_descriptors_lose_no_result(self):
        def close_all():
            for descriptor in (0, 1, 2):
                os.close(descriptor)

        self.start("run", close_all)

        self.assertIn("loss", json.loads((self.out / "made" / "result.json").read_text()))
