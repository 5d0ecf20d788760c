"""Commands of Orrery that a script starts: they end with it, also when it is killed."""

import os


def environment():
    """That of the command: it asks the system for SIGTERM when this process ends."""
    return os.environ | {"ORRERY_ENDS_WITH": str(os.getpid())}
