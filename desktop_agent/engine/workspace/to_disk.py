"""Making sure that a loss of power doesn't take what was written."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if sys.platform != "win32":
    import fcntl
if TYPE_CHECKING:
    import sqlite3


def to_disk(descriptor: int) -> None:
    """Flush what was written to an open file, or the names in an open folder, to the disk itself.

    Raises OSError.
    """
    # macOS alone has it: `fsync` there reaches the drive, which may keep it in a memory of its own.
    if sys.platform != "win32" and (all_the_way := getattr(fcntl, "F_FULLFSYNC", None)):
        # Some file systems, as those of a network, know only the other call.
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, all_the_way)
            return
    os.fsync(descriptor)


def commit_to_disk(connection: sqlite3.Connection) -> None:
    """Have a database's commits flushed so too; whether they are flushed is `synchronous`."""
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA checkpoint_fullfsync = ON")
