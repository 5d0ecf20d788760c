"""Files that appear whole, and temporary folders that go."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import folders
import whole_file


class WholeFiles(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)

    def tearDown(self):
        self.place.cleanup()

    def test_a_pipe_or_a_device_is_not_read(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "result.json"
            os.mkfifo(pipe)  # nobody writes into it
            for odd in (pipe, Path("/dev/zero"), Path(folder)):
                with self.assertRaisesRegex(OSError, "expected a regular file"):
                    whole_file.read(odd)
            said = subprocess.run([sys.executable, "-B", folders.SOURCES / "analysis/report.py", folder],
                                  capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(said.returncode, 1)
        self.assertIn("result.json: cannot be read: expected a regular file", said.stderr)

    def test_replace_what_is_there_and_leave_nothing_beside(self):
        whole_file.write(self.folder / "a", "old")
        whole_file.write(self.folder / "a", "new")

        self.assertEqual((self.folder / "a").read_text(), "new")
        self.assertEqual(os.listdir(self.folder), ["a"])

    def test_are_not_written_through_a_link_that_lies_in_the_way(self):
        (self.folder / "precious").write_text("content")
        (self.folder / "a.part").symlink_to("precious")

        whole_file.write(self.folder / "a", "new")

        self.assertEqual((self.folder / "precious").read_text(), "content")
        self.assertEqual((self.folder / "a").read_text(), "new")

    def test_of_two_processes_are_always_those_of_one(self):
        """Each writes again and again, and finds a whole file each time."""
        program = ("import sys; sys.path.insert(0, sys.argv[1]); import whole_file; from pathlib import Path\n"
                   "file = Path(sys.argv[2]) / 'a'\n"
                   "for i in range(20):\n"
                   "    whole_file.write(file, sys.argv[3] * 300000)\n"
                   "    text = file.read_text()\n"
                   "    assert len(text) == 300000 and len(set(text)) == 1\n")
        writers = [subprocess.Popen([sys.executable, "-B", "-c", program, folders.SOURCES / "analysis",
                                     self.folder, letter]) for letter in "xy"]
        self.assertEqual([writer.wait(timeout=120) for writer in writers], [0, 0])
        self.assertEqual(os.listdir(self.folder), ["a"])

    def test_stay_as_they_are_when_the_disk_fails(self):
        whole_file.write(self.folder / "a", "old")

        with mock.patch("os.fsync", side_effect=OSError(5, "broken")):
            self.assertRaises(OSError, whole_file.write, self.folder / "a", "new")

        self.assertEqual((self.folder / "a").read_text(), "old")
        self.assertEqual(os.listdir(self.folder), ["a"])


class ConfigFolders(unittest.TestCase):
    def test_go_with_their_process_or_with_the_next_one(self):
        with tempfile.TemporaryDirectory() as place:
            killed = subprocess.Popen(["true"])
            killed.wait()
            for name in (f"orrery-matplotlib-{killed.pid}-abc", f"orrery-matplotlib-{os.getpid()}-abc",
                         "orrery-matplotlib-mine"):
                (Path(place) / name).mkdir()
            words = "from figures import config_folder; import os; assert os.path.isdir(config_folder.own())"
            subprocess.run([sys.executable, "-c", words], check=True,
                           cwd=folders.SOURCES / "analysis",
                           env={**os.environ, "TMPDIR": place, "PYTHONDONTWRITEBYTECODE": "1"})

            self.assertEqual(sorted(os.listdir(place)),
                             sorted([f"orrery-matplotlib-{os.getpid()}-abc", "orrery-matplotlib-mine"]))
