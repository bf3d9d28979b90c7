"""The database of the file history: its tables, and how it is opened and written."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path

from desktop_agent.core.changes import UndoError
from desktop_agent.engine.workspace.to_disk import commit_to_disk
from desktop_agent.file_history.values import HistoryFull

_log = logging.getLogger(__name__)

VERSION = 1
NAME = "history.db"
_SUSPECT = "suspect"
_DAMAGED = (
    "The history of changes is damaged, so nothing more is kept for undo. Restart the app: it "
    "begins a new one."
)
FULL_DISK = "The disk is full, so nothing more can be kept for undo. Free some space."

# The bits of `before_held` and `after_held`; an older version takes any of them for the first.
HELD, MOVED_IN = 1, 2

# `seq` orders the sets, over all sessions. `undone` says for each path of an undo which sets it was
# about; `is_taken` is 0 where the path was left as it was. A row in `restore` is an undo that is
# being carried out, or was cut off. A row in `listing` is a folder of which not all entries are
# stored yet.
_TABLES = """
CREATE TABLE folder (id INTEGER PRIMARY KEY, root BLOB NOT NULL UNIQUE, seen REAL NOT NULL);
CREATE TABLE blob (
  hash BLOB PRIMARY KEY, pack INTEGER NOT NULL, off INTEGER NOT NULL, len INTEGER NOT NULL,
  size INTEGER NOT NULL, is_packed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX blob_pack ON blob (pack);
CREATE TABLE entry (
  folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE, path BLOB NOT NULL,
  kind TEXT NOT NULL, mode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
  ctime INTEGER NOT NULL, ino TEXT NOT NULL, hash BLOB NOT NULL, is_held INTEGER NOT NULL,
  PRIMARY KEY (folder, path)
) WITHOUT ROWID;
CREATE TABLE change_set (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE, session TEXT NOT NULL,
  agent TEXT NOT NULL, message TEXT NOT NULL, call TEXT NOT NULL, kind TEXT NOT NULL,
  ended REAL NOT NULL, body BLOB NOT NULL
);
CREATE INDEX change_set_session ON change_set (session, seq);
CREATE INDEX change_set_folder ON change_set (folder, seq);
CREATE TABLE change (
  seq INTEGER NOT NULL REFERENCES change_set ON DELETE CASCADE, path BLOB NOT NULL,
  before_kind TEXT NOT NULL, before_mode INTEGER NOT NULL, before_size INTEGER NOT NULL,
  before_hash BLOB NOT NULL, before_held INTEGER NOT NULL,
  after_kind TEXT NOT NULL, after_mode INTEGER NOT NULL, after_size INTEGER NOT NULL,
  after_hash BLOB NOT NULL, after_held INTEGER NOT NULL,
  added INTEGER NOT NULL, removed INTEGER NOT NULL,
  PRIMARY KEY (seq, path)
) WITHOUT ROWID;
CREATE INDEX change_path ON change (path, seq);
CREATE TABLE undone (
  seq INTEGER NOT NULL REFERENCES change_set ON DELETE CASCADE, path BLOB NOT NULL,
  target INTEGER NOT NULL REFERENCES change_set ON DELETE CASCADE, is_taken INTEGER NOT NULL,
  PRIMARY KEY (seq, path, target)
) WITHOUT ROWID;
CREATE INDEX undone_target ON undone (target);
CREATE INDEX undone_path ON undone (path);
CREATE TABLE restore (
  seq INTEGER PRIMARY KEY REFERENCES change_set ON DELETE CASCADE, token TEXT NOT NULL,
  report BLOB NOT NULL
)
"""

# Not there in databases of older versions, which know nothing of it and need not.
_LISTING = """
CREATE TABLE IF NOT EXISTS listing (folder INTEGER PRIMARY KEY REFERENCES folder ON DELETE CASCADE)
"""


_CHECK = "PRAGMA quick_check(1)"


class HistoryDamaged(UndoError):
    """The database can't be read any more."""


def open_database(folder: Path) -> sqlite3.Connection:
    """Open or make the database; a damaged one is renamed and a new one is begun.

    Raises UndoError.
    """
    path, suspect = folder / NAME, folder / _SUSPECT
    with readable_errors():
        try:
            connection = _open(path, is_suspect=suspect.exists())
        except sqlite3.OperationalError:
            raise  # a full disk or missing rights: no reason to begin a new file
        except sqlite3.DatabaseError as error:
            _log.error("the file history was damaged (%s); it begins anew", error)
            _set_aside(path)
            connection = _open(path)
        suspect.unlink(missing_ok=True)
        return connection


def mark_suspect(folder: Path) -> None:
    """Have the next start look through the whole database, as it was found damaged."""
    with contextlib.suppress(OSError):
        (folder / _SUSPECT).touch(0o600)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All of it or nothing; raises UndoError, HistoryFull for a full disk."""
    with readable_errors():
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def readable_errors() -> Generator[None]:
    """Turn a failure of the database or of the disk into an UndoError."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # the wrong thread, or closed: a defect of ours
    except sqlite3.Error as error:
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind == sqlite3.SQLITE_FULL:
            raise HistoryFull(FULL_DISK) from error
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise HistoryDamaged(_DAMAGED) from error
        raise UndoError(f"The file history could not be used: {error}.") from error
    except OSError as error:
        raise UndoError(f"The file history could not be used: {error.strerror}.") from error


def _open(path: Path, *, is_suspect: bool = False) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        if path.stat().st_size == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit is on disk when it returns: what is written to people's files relies on it.
        connection.execute("PRAGMA synchronous = FULL")
        commit_to_disk(connection)
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        _make_tables(connection)
        connection.execute(_LISTING)
        if is_suspect and (found := connection.execute(_CHECK).fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_tables(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise UndoError("The file history was last used by a newer version of this app.")
    if version == VERSION:
        return
    with transaction(connection):
        for statement in _TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _set_aside(path: Path) -> None:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for ending in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            old = path.with_name(path.name + ending)
            old.rename(path.with_name(f"damaged-{stamp}-{path.name}{ending}"))
