"""One process uses the history's folder at a time."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from desktop_agent.core.changes import UndoError

# The process of an app that was killed ends when it finds its pipe closed.
_PATIENCE_S = 10.0
_PAUSE_S = 0.05

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(path: Path, *, is_patient: bool = True) -> int:
    """Lock the file, made if need be, until the descriptor is closed or the process ends.

    Who `is_patient` waits for the end of a process that is about to end.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    give_up_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            _lock(descriptor)
            return descriptor
        except OSError:
            if not is_patient or time.monotonic() > give_up_at:
                os.close(descriptor)
                raise UndoError("The file history is in use by another copy of the app.") from None
        time.sleep(_PAUSE_S)
