"""Opening the database of sessions: its tables, their versions, and damaged files."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import time
from pathlib import Path

from desktop_agent.adapters.files.private_file import damaged_name
from desktop_agent.adapters.store import branches, indexing, tasks, usage
from desktop_agent.adapters.store.errors import DAMAGE
from desktop_agent.adapters.store.repair import salvage
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.workspace.to_disk import commit_to_disk

_log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE session (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    updated_at REAL NOT NULL,
    info BLOB NOT NULL
);
CREATE INDEX session_by_time ON session (updated_at DESC);
CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    crc INTEGER NOT NULL,
    at REAL NOT NULL,
    UNIQUE (session, seq)
);
CREATE TABLE streaming (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    item TEXT NOT NULL,
    agent TEXT NOT NULL,
    body BLOB NOT NULL,
    crc INTEGER NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE rule (
    position INTEGER PRIMARY KEY,
    body BLOB NOT NULL
);
"""
# For the transcript of one agent among many, and for the tree without reading any transcript.
_BY_AGENT = """
CREATE INDEX event_by_agent ON event (session, agent, seq);
CREATE INDEX event_by_kind ON event (session, kind, seq);
"""
_WORDS = "CREATE VIRTUAL TABLE words USING fts5(text, tokenize='unicode61 remove_diacritics 2')"
# Some builds of SQLite come without full-text search; the same columns serve plain LIKE.
_WORDS_PLAIN = "CREATE TABLE words (rowid INTEGER PRIMARY KEY, text TEXT NOT NULL)"

# The script at index n brings a database from version n to n + 1.
MIGRATIONS: tuple[str, ...] = (
    _TABLES,
    tasks.TABLES,
    _BY_AGENT,
    tasks.BY_ID,
    branches.TABLES,
    indexing.TABLES,
    usage.TABLES,
    usage.ALL_COUNTED,
)
SCHEMA_VERSION = len(MIGRATIONS)
# Of a database's files, itself last.
_ENDINGS = ("-wal", "-shm", "")
# In pages of 4 kB.
_WORTH_SHRINKING = 1000
_BACKUPS_KEPT_S = 30 * 24 * 3600.0


class StoreTooNew(StoreError):
    """The database was written by a newer version of the app; it is left untouched."""


def open_database(path: Path, *, check: bool) -> tuple[sqlite3.Connection, Path | None]:
    """Open or make the database; a damaged one is renamed and a new one is begun.

    What can be read of the damaged one is copied. Returns the connection and, when there was
    damage, where the damaged file is kept.
    `check` looks through the whole file first, for use after the app ended abruptly.
    """
    try:
        return _open(path, check=check), None
    except sqlite3.OperationalError:
        raise  # a full disk or missing rights: no reason to begin a new file
    except DAMAGE as error:
        new, rows = _salvaged(path)
        kept = set_aside(path)
        _move(new, path)
        _log.error("the session database was damaged (%s); it is kept as %s", error, kept)
        _log.warning("%d rows of it could be saved", rows)
        return _open(path, check=False), kept


def _salvaged(path: Path) -> tuple[Path, int]:
    """Copy what can be read of a damaged database into a new one; return that and how many rows.

    Only then the new one gets its name: should the disk be full, or the app be killed, the next
    start finds the damaged one still.
    """
    new = path.with_name(f"{path.name}.half")
    _delete(new)
    try:
        with contextlib.closing(_open(new, check=False)) as connection:
            return new, salvage(path, connection)
    except BaseException:
        _delete(new)
        raise


def shrink_old(connection: sqlite3.Connection) -> None:
    """Let a file of an earlier version shrink, once more than half of it is unused.

    One that is begun today shrinks with each session that is deleted.
    """
    mode, free, pages = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("auto_vacuum", "freelist_count", "page_count")
    )
    if mode == 0 and free > max(_WORTH_SHRINKING, pages // 2):
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")


def set_aside(path: Path) -> Path:
    """Rename a damaged file, and what belongs to it, to a dated name beside it."""
    kept = damaged_name(path)
    _move(path, kept)
    return kept


def _move(path: Path, target: Path) -> None:
    for ending in _ENDINGS:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(target.with_name(target.name + ending))


def _delete(path: Path) -> None:
    for ending in _ENDINGS:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _open(path: Path, *, check: bool) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    # isolation_level None: a statement is its own transaction unless one was begun.
    connection = sqlite3.connect(path, isolation_level=None, timeout=5.0)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA busy_timeout = 5000")
        if path.stat().st_size == 0:  # only now: it would be written to a file in use too
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        commit_to_disk(connection)
        # What a user deletes is overwritten, not just unlinked.
        connection.execute("PRAGMA secure_delete = ON")
        _refuse_truncated(connection, path)
        if check:
            _quick_check(connection)
        _migrate(connection, path)
        _delete_old_backups(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_truncated(connection: sqlite3.Connection, path: Path) -> None:
    if path.with_name(f"{path.name}-wal").exists():
        return  # newest pages are still in there, so the sizes may differ
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    page_size = connection.execute("PRAGMA page_size").fetchone()[0]
    if pages * page_size > path.stat().st_size:
        raise sqlite3.DatabaseError("the file is shorter than its header says")


def _quick_check(connection: sqlite3.Connection) -> None:
    found = [row[0] for row in connection.execute("PRAGMA quick_check(1)")]
    if found != ["ok"]:
        raise sqlite3.DatabaseError(f"quick_check: {found[0]}")


def _backup_name(path: Path, version: str) -> str:
    return f"{path.stem}.version-{version}{path.suffix}"


def _delete_old_backups(path: Path) -> None:
    """Delete them after a month: sessions that were deleted since are still in there."""
    for backup in path.parent.glob(_backup_name(path, "*")):
        with contextlib.suppress(OSError):
            if backup.stat().st_mtime < time.time() - _BACKUPS_KEPT_S:
                backup.unlink()


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            "Your sessions were last used by a newer version of this app, which is needed to"
            f" open them ({path.name} has version {version}, known are up to {SCHEMA_VERSION})."
        )
    if 0 < version < SCHEMA_VERSION:
        _back_up(connection, path, version)
    connection.create_function("task_id", 1, tasks.task_id, deterministic=True)
    for number in range(version, SCHEMA_VERSION):
        _apply(connection, number)


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    target = path.with_name(_backup_name(path, str(version)))
    half = target.with_name(f"{target.name}.half")
    half.unlink(missing_ok=True)
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        # Somebody reads what is not in the file itself yet.
        connection.execute("VACUUM INTO ?", (str(half),))
    else:
        _copy(path, half)
    half.chmod(0o600)
    half.replace(target)


def _copy(path: Path, target: Path) -> None:
    try:
        shutil.copyfile(path, target)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise sqlite3.OperationalError(f"no copy of it could be made: {error}") from error


def _apply(connection: sqlite3.Connection, number: int) -> None:
    # executescript would commit first, so the script is fed statement by statement.
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in MIGRATIONS[number].split(";\n"):
            if statement.strip():
                connection.execute(statement)
        if MIGRATIONS[number] is _TABLES:
            _make_words(connection)
        connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it
            connection.execute("ROLLBACK")
        raise


def _make_words(connection: sqlite3.Connection) -> None:
    try:
        connection.execute(_WORDS)
    except sqlite3.OperationalError:
        connection.execute(_WORDS_PLAIN)
