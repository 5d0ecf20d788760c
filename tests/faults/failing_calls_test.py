"""Calls of the system and allocations that fail one at a time: a command ends with an error, or with its whole
outcome."""

import errno
import os
import unittest

import commands_under_faults as under
from kinds import ERRORS

# Calls of a command that are tried in each test: spread over all, so that tests stay short. All of them
# are tried by tests/faults/run.
TRIED = 6


class FailingCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = under.Place()

    @classmethod
    def tearDownClass(cls):
        cls.place.remove()

    def fail_some(self, command, call, error, tried=TRIED, calls=1):
        """Fails calls of a kind, spread over all calls of the command; returns the number of commands that ended in an
        error."""
        number = self.place.count(command, call)
        step = max(1, number // tried)
        errors = 0
        for at in range(1 + (number - 1) % step // 2, number + 1, step):
            with self.subTest(command=command.name, call=call, at=at, error=error):
                errors += self.place.fail(command, call, at, error, calls=calls) == "error"
        return errors

    def some_of_all(self, call, error, tried=TRIED, least=1):
        errors = sum(self.fail_some(command, call, error, tried) for command in under.COMMANDS)
        self.assertGreaterEqual(errors, least, "calls must have failed")

    def test_a_full_disk_is_told_and_leaves_nothing_half(self):
        self.some_of_all("write", errno.ENOSPC, tried=4, least=8)

    def test_short_and_interrupted_writes_lose_nothing(self):
        run = under.COMMANDS[5]
        self.assertEqual(run.name, "run")
        self.assertEqual(self.fail_some(run, "write", "short", tried=9), 0)

    def test_a_flush_that_fails_promises_nothing(self):
        self.some_of_all("fsync", errno.EIO, tried=3, least=8)

    def test_a_rename_that_fails_promises_nothing(self):
        self.some_of_all("rename", errno.EIO, tried=3, least=6)

    def test_a_close_that_fails_promises_nothing(self):
        self.some_of_all("close", errno.EIO, tried=4, least=4)

    def test_files_that_do_not_open_are_told(self):
        self.some_of_all("open", errno.EMFILE, tried=4, least=8)

    def test_files_that_cannot_be_looked_at_are_told(self):
        self.some_of_all("stat", errno.EIO, tried=3, least=6)

    def test_folders_that_cannot_be_made_are_told(self):
        self.some_of_all("mkdir", errno.ENOSPC, tried=2, least=4)

    def test_files_that_cannot_be_mapped_are_told(self):
        # Not those of runs: what oneDNN maps for the code that it makes, it does not look at.
        convert, partition = under.COMMANDS[1:3]
        self.assertGreaterEqual(self.fail_some(convert, "mmap", errno.ENOMEM), 4)
        self.assertGreaterEqual(self.fail_some(partition, "mmap", errno.ENOMEM), 2)

    def test_threads_that_are_not_granted_are_told(self):
        for command in under.COMMANDS[5:7]:
            self.fail_some(command, "thread", errno.EAGAIN, tried=8)

    def test_memory_that_ends_is_told(self):
        for command in under.COMMANDS:
            self.assertGreaterEqual(self.fail_some(command, "new", errno.ENOMEM), TRIED - 1)

    def test_memory_that_ends_is_told_by_every_backend_and_reader(self):
        for command in under.BACKENDS + under.READERS:
            tried = 2 if command.meant == "orrery-mpi" else 3  # jobs take seconds to start and to end
            self.assertGreaterEqual(self.fail_some(command, "new", errno.ENOMEM, tried), tried - 1)

    def test_memory_that_ends_for_good_is_told(self):
        run = under.COMMANDS[5]
        self.fail_some(run, "new", errno.ENOMEM, calls=10**9)
