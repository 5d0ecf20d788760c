"""Files that appear at once or not at all, and are read as a whole."""

import errno
import fcntl
import os
import time

_PAUSE, _PATIENCE = 0.02, 3000  # seconds, and pauses


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
    for _ in range(_PATIENCE):
        try:
            out = part.open("xb")
        except FileExistsError:
            try:
                there = _open_for_lock(part)
            except FileNotFoundError:
                continue
            except OSError:
                part.unlink(missing_ok=True)
                continue
            try:
                _lock(there, part)
                if _is_at(there, part):
                    part.unlink(missing_ok=True)
            finally:
                os.close(there)
            continue
        _lock(out.fileno(), part)
        if _is_at(out.fileno(), part):
            return out
        out.close()  # another took it for one that was left, before it was locked
    raise OSError(errno.EBUSY, "other processes make and remove it again and again", str(part))


def _open_for_lock(part):
    """File systems over a network want to write for a lock."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(part, os.O_RDWR | flags)
    except PermissionError:
        return os.open(part, os.O_RDONLY | flags)


def _lock(descriptor, part):
    for _ in range(_PATIENCE):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:
            return None  # this file system has no locks
    raise OSError(errno.EBUSY, "another process has been writing it for a minute; is it stopped?", str(part))


def _is_at(descriptor, file):
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(file))
    except FileNotFoundError:
        return False
