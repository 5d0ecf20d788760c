"""Files that appear at once or not at all, and are read as a whole."""

import errno
import os


def read(file):
    """The text of a file. A pipe or a device, which may have no end, is an OSError."""
    if file.exists() and not file.is_file():
        raise OSError(errno.EINVAL, "expected a regular file, found a folder, pipe or device", str(file))
    return file.read_text(encoding="utf-8")


def write(file, text):
    """Replaces the file; a pipe or a terminal is written to directly."""
    write_bytes(file, text.encode("utf-8"))


def write_bytes(file, content):
    if file.exists() and not file.is_file():
        file.write_bytes(content)
        return
    file = file.resolve()
    part = file.with_name(file.name + ".part")
    try:
        part.unlink(missing_ok=True)  # of a killed process; a link that lies there is not followed
        with part.open("xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
