"""SQLite's failures, in words for a user."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from desktop_agent.engine.base.ports import StoreError

# What SQLite says of a damaged file may quote it, and be no text: then Python raises the last.
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
_DAMAGED = "The file of your sessions is damaged. Restart the app: it saves what it can."


@contextmanager
def readable_errors() -> Generator[None]:
    """Turn a failure of the database into a StoreError; defects of ours stay what they are."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # the wrong thread, or closed
    except UnicodeDecodeError as error:
        raise StoreError(_DAMAGED) from error
    except sqlite3.Error as error:
        raise StoreError(_error_text(error)) from error


def _error_text(error: sqlite3.Error) -> str:
    # The lowest byte is the kind; what is above it says more than a user needs, but that a full
    # disk has no room for the index of the newest pages is one of many kinds of failure there.
    code = getattr(error, "sqlite_errorcode", 0)
    match sqlite3.SQLITE_FULL if code == sqlite3.SQLITE_IOERR_SHMSIZE else code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return "The disk is full, so nothing more can be saved. Free some space, then go on."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return "The file of your sessions can't be written. Check the folder's permissions."
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return _DAMAGED
        case _:
            return f"The file of your sessions could not be used: {error}. Check the disk."
