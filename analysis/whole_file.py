"""Files that appear at once or not at all, and are read as a whole."""

import errno
import fcntl
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
    with _locked(part) as out:
        try:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
            os.replace(part, file)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _locked(part):
    """Makes the file, which is locked as long as it is open (as core/base/whole_file.cpp does). The one of
    another process is waited for; one that a killed process has left is removed, and a link not followed."""
    while True:
        try:
            out = part.open("xb")
        except FileExistsError:
            try:
                there = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except FileNotFoundError:
                continue
            except OSError:
                part.unlink(missing_ok=True)
                continue
            try:
                _lock(there)
                if _is_at(there, part):
                    part.unlink(missing_ok=True)
            finally:
                os.close(there)
            continue
        _lock(out.fileno())
        if _is_at(out.fileno(), part):
            return out
        out.close()  # another took it for one that was left, before it was locked


def _lock(descriptor):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        pass  # this file system has no locks


def _is_at(descriptor, file):
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(file))
    except FileNotFoundError:
        return False
