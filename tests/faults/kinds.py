"""Kinds of calls, each with the errors that it is made to fail with."""

import errno

NO_SPACE, BROKEN, INTERRUPTED, SHORT = errno.ENOSPC, errno.EIO, errno.EINTR, "short"
ERRORS = {
    "write": [NO_SPACE, BROKEN, INTERRUPTED, SHORT],
    "open": [BROKEN, errno.EMFILE],
    "close": [BROKEN],
    "fsync": [BROKEN],
    "rename": [BROKEN],
    "mkdir": [NO_SPACE],
    "truncate": [BROKEN],
    "mmap": [errno.ENOMEM],
    "stat": [BROKEN],
    "read": [BROKEN, INTERRUPTED, SHORT],
    "lock": [errno.ENOLCK, INTERRUPTED],
    "remove": [BROKEN],
    "pipe": [errno.EMFILE],
    "thread": [errno.EAGAIN],
    "new": [errno.ENOMEM],
}
