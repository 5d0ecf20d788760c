"""The folder of matplotlib's settings while a figure is drawn."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def own():
    """A temporary folder for matplotlib, removed at the end together with those of killed processes. Folders of other
    users, or of a process with the same number, stay."""
    front = "orrery-matplotlib-"
    for left in Path(tempfile.gettempdir()).glob(front + "*"):
        maker = left.name[len(front):].split("-")[0]
        if maker.isdigit() and not Path("/proc", maker).exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=f"{front}{os.getpid()}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
