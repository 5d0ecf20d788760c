"""Limits of the system and odd surroundings: the usual outcome, or one line that names the limit."""

import json
import os
import resource
import shutil
import subprocess
import time
import unittest

import commands_under_faults as under

NOT_LOADED = 127  # the system's loader had no room for the libraries
# Root has no limit on processes, and writes where nobody may. This user has no name, and no other processes.
OTHER_USER = 64_999 if os.geteuid() == 0 else None
JUMPING_CLOCK = os.environ["ORRERY_BUILD"] + "/tests/faults/libjumping_clock.so"
HOUR = 3600
# Mounts a folder once more over itself, read-only, for the command that follows and nobody else.
READ_ONLY = ("unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$1" && mount -o '
             'remount,bind,ro "$1" && shift && exec "$@"', "sh")


def may_mount(folder):
    try:
        done = subprocess.run([*READ_ONLY, str(folder), "true"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def named(name):
    """A command of those under faults."""
    return next(c for c in under.COMMANDS if c.name == name)


def negative_seconds(told, name=""):
    """The numbers called seconds that are less than none, by name."""
    if isinstance(told, dict):
        return [n for key, value in told.items() for n in negative_seconds(value, key)]
    if isinstance(told, list):
        return [n for value in told for n in negative_seconds(value, name)]
    return [name] if "seconds" in name and isinstance(told, (int, float)) and told < 0 else []


class Surroundings(unittest.TestCase):
    """Commands of those under faults, as whatever user and wherever."""

    @classmethod
    def setUpClass(cls):
        cls.place = under.Place()

    @classmethod
    def tearDownClass(cls):
        cls.place.remove()

    def start(self, command, front=(), owner=None, **surroundings):
        """Runs the command in a fresh folder, `made` in it being its output."""
        self.out = self.place.folder / "out"
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        command.prepare(self.out)
        if owner is not None:
            os.chown(self.out, owner, owner)
        return self.start_again(command, front=front, **surroundings)

    def start_again(self, command, *more, front=(), **surroundings):
        """Runs it in the folder as it is, with more options."""
        words = [w.replace("IN", str(self.place.inputs)).replace("OUT", str(self.out))
                 for w in command.words]
        return subprocess.run([*front, *command.front, *words, *more], capture_output=True,
                              text=True, timeout=under.SECONDS, check=False, **surroundings)

    def require_whole_or_told(self, command, done):
        """"done" with the undisturbed outcome, or "error" with a line and nothing half."""
        if done.returncode == 0:
            self.assertEqual(command.state(self.out, done.stdout), self.place.undisturbed(command))
            return "done"
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("orrery: error: ", done.stderr)
        command.check_failed(self.out, self.place.inputs, self.place.undisturbed(command))
        return "error"

    def other_user(self):
        """What makes a process another user's, where this one is root."""
        if OTHER_USER is None:
            return {}
        self.place.folder.chmod(0o755)
        can = subprocess.run(["test", "-x", under.PROGRAM], user=OTHER_USER, check=False)
        if can.returncode != 0:
            self.skipTest(f"other users cannot start {under.PROGRAM}")
        return {"user": OTHER_USER, "group": OTHER_USER, "extra_groups": []}


class Processes(Surroundings):
    """ulimit -u counts the threads of a user, too."""

    def outcomes(self, name, limits):
        command = named(name)
        self.place.undisturbed(command)
        found = []
        for limit in limits if OTHER_USER else (1,):  # which others of the user's exceed already
            with self.subTest(command=name, limit=limit):
                found.append(self.outcome(command, limit))
        return found

    def outcome(self, command, limit):
        done = self.start(
            command, owner=OTHER_USER, **self.other_user(),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit)))
        return self.require_whole_or_told(command, done)

    def test_of_a_run_that_are_not_granted_are_told(self):
        self.assertIn("error", self.outcomes("run", (1, 3, 6, 12)))

    def test_of_a_generated_set_that_are_not_granted_are_told(self):
        self.assertIn("error", self.outcomes("generate", (1, 3, 6)))

    def test_of_a_simulation_that_are_not_granted_are_told(self):
        self.assertIn("error", self.outcomes("simulate", (1, 2, 3, 4, 6)))


class ReadOnlyFolders(Surroundings):
    # They make what was not there; convert --force is to replace a folder that is not its own.
    MAKES = [c for c in under.COMMANDS if c.name not in ("convert", "plan")]

    def require_refused(self, command, done, reason):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("orrery: error: ", done.stderr)
        self.assertIn(reason, done.stderr)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_of_somebody_else_are_told(self):
        user = self.other_user()
        for command in self.MAKES:
            with self.subTest(command=command.name):
                close = None if user else lambda: self.out.chmod(0o555)
                done = self.start(command, preexec_fn=close, **user)

                self.require_refused(command, done, "Permission denied")

    def test_that_are_mounted_so_are_told(self):
        if not may_mount(self.place.folder):
            self.skipTest("this system mounts no folder again, read-only (unshare --mount)")
        for command in self.MAKES:
            with self.subTest(command=command.name):
                done = self.start(command, front=(*READ_ONLY, str(self.place.folder / "out")))

                self.require_refused(command, done, "Read-only file system")

    def test_with_inputs_are_no_reason_to_end(self):
        if not may_mount(self.place.folder):
            self.skipTest("this system mounts no folder again, read-only (unshare --mount)")
        for command in under.COMMANDS:
            with self.subTest(command=command.name):
                done = self.start(command, front=(*READ_ONLY, str(self.place.inputs)))

                self.assertEqual(self.require_whole_or_told(command, done), "done", done.stderr)


class ClockThatJumps(Surroundings):
    """Somebody sets the time of day while commands run: they end as always, with no negative times."""

    # (Seconds, from which reading on; 0: with each reading forth and back.) A run reads the time of day
    # once in each process, a figure some ten times.
    JUMPS = [(HOUR, 0), (-HOUR, 0)]

    def jumping(self, seconds, at):
        return {**os.environ, "LD_PRELOAD": JUMPING_CLOCK, "CLOCK_JUMP": str(seconds),
                "CLOCK_JUMPS_AT": str(at)}

    def require_undisturbed(self, command, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.require_whole_or_told(command, done), "done")
        for file in self.out.rglob("result.json"):
            self.assertEqual(negative_seconds(json.loads(file.read_text())), [])

    def test_changes_no_outcome(self):
        for command in under.COMMANDS:
            for seconds, at in self.JUMPS:
                with self.subTest(command=command.name, seconds=seconds):
                    self.require_undisturbed(
                        command, self.start(command, env=self.jumping(seconds, at)))

    def test_changes_nothing_between_a_start_and_the_next(self):
        for name, more in (("run", ("--resume",)), ("sweep", ()), ("infer", ("--resume",))):
            command = named(name)
            for seconds in (HOUR, -HOUR):
                with self.subTest(command=name, seconds=seconds):
                    self.start(command)
                    for file in self.out.rglob("*"):
                        os.utime(file, (time.time() - seconds, time.time() - seconds))

                    done = self.start_again(command, *more, env=self.jumping(seconds, 1))

                    self.require_undisturbed(command, done)

    def test_changes_nothing_over_mpi(self):
        jobs = [c for c in under.BACKENDS if c.name == "mpi-2"]
        if not jobs:
            self.skipTest("orrery-mpi was not built, or mpirun is missing")
        self.require_undisturbed(jobs[0], self.start(jobs[0], env=self.jumping(-HOUR, 0)))

    def test_is_read_by_runs_so_that_it_jumps_in_them(self):
        run = named("run")
        count = self.place.folder / "readings"

        self.start(run, env={**self.jumping(HOUR, 0), "CLOCK_COUNT": str(count)})

        self.assertGreaterEqual(max(map(int, count.read_text().split())), 1)


class Limits(Surroundings):
    def start(self, name, before=None, **surroundings):
        """Runs a command with limits set by `before`."""
        return super().start(named(name), preexec_fn=before, **surroundings)

    def test_on_the_address_space_are_told(self):
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

    def test_on_the_address_space_of_a_run_are_told(self):
        # Wherever memory ends: within oneDNN, too, which does not look at whether it got some for its code.
        outcomes = []
        for kilobytes in range(220_000, 520_000, 20_000):
            limit = 1024 * kilobytes
            with self.subTest(kilobytes=kilobytes):
                done = self.start("run",
                                  lambda n=limit: resource.setrlimit(resource.RLIMIT_AS, (n, n)))
                if done.returncode != NOT_LOADED:
                    outcomes.append(self.require_whole_or_told(named("run"), done))
        self.assertIn("error", outcomes)

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

    def test_on_a_stack_that_is_too_small_are_told(self):
        small = 64 * 1024
        done = self.start("run", lambda: resource.setrlimit(resource.RLIMIT_STACK, (small, small)))

        self.assertEqual(done.returncode, 1)
        self.assertIn("expected a stack of at least 128 KiB, found 64 (ulimit -s)", done.stderr)

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
