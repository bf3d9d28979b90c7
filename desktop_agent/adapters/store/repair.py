"""Copying what can still be read of a damaged database into a new one."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from desktop_agent.adapters.store import usage
from desktop_agent.adapters.store.errors import DAMAGE
from desktop_agent.adapters.store.rows import decode, searchable

_log = logging.getLogger(__name__)

_BATCH = 256
# No row is smaller, so a file can't hold more; ids of deleted rows are allowed for.
_BYTES_A_ROW = 8
# Of the new file: the old one is not written.
_REFUSED = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMMAP,
}
_OWN_TABLES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    " AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'words%'"
    " AND name NOT IN ('indexing', 'counting')"
)


def salvage(kept: Path, new: sqlite3.Connection) -> int:
    """Copy the readable rows of `kept` into the empty database; return how many.

    `kept` is only read. Rows whose session is lost are left out. Raises sqlite3.Error when the disk
    does not take them.
    """
    tables = [row[0] for row in new.execute(_OWN_TABLES)]
    copied = 0
    # Off, for a row may be read before the one it belongs to.
    new.execute("PRAGMA foreign_keys = OFF")
    try:
        with closing(sqlite3.connect(f"{kept.absolute().as_uri()}?mode=ro", uri=True)) as old:
            # Lets a file be read that is shorter than its header says.
            old.execute("PRAGMA writable_schema = ON")
            old.text_factory = _text
            new.execute("BEGIN IMMEDIATE")
            limit = kept.stat().st_size // _BYTES_A_ROW
            copied = sum(_copy(old, new, table, limit) for table in tables)
            _drop_orphans(new)
            _index(new)
            usage.owe_as(new, old)
            new.execute("COMMIT")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if new.in_transaction:
            new.execute("ROLLBACK")
        if getattr(error, "sqlite_errorcode", 0) in _REFUSED:
            raise
        _log.warning("nothing could be read of %s: %s", kept.name, error)
        copied = 0
    finally:
        new.execute("PRAGMA foreign_keys = ON")
    return copied


def _text(raw: bytes) -> str:
    """A title with a damaged letter must not cost its session."""
    return raw.decode("utf-8", "replace")


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, table: str, limit: int) -> int:
    try:
        known = {row[1] for row in old.execute(f"PRAGMA table_info ({table})")}
    except DAMAGE:
        return 0
    columns = [row[1] for row in new.execute(f"PRAGMA table_info ({table})") if row[1] in known]
    if not columns:
        return 0
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"
    before = new.total_changes
    for row in _rows(old, f"SELECT rowid, {names} FROM {table}", limit):
        new.execute(insert, row[1:])
    return new.total_changes - before


def _rows(old: sqlite3.Connection, select: str, limit: int) -> Iterator[tuple[object, ...]]:
    """Yield the rows in order, stepping over the ones that can't be read."""
    query = f"{select} WHERE rowid > ? ORDER BY rowid LIMIT ?"
    after, size, step = -1, _BATCH, 1
    while True:
        try:
            rows = old.execute(query, (after, size)).fetchall()
        except DAMAGE:
            if size > 1:
                size //= 4
                continue
            # Its page is lost, with neighbours of unknown number: look ever further on.
            after += step
            step *= 2
            if after > limit:
                return
            continue
        if not rows or rows[-1][0] <= after:
            return  # the end, or a damaged page that leads back to itself
        yield from rows
        after, size, step = rows[-1][0], _BATCH, 1


def _drop_orphans(new: sqlite3.Connection) -> None:
    broken = {(row[0], row[1]) for row in new.execute("PRAGMA foreign_key_check")}
    for table, rowid in broken:
        new.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))


def _index(new: sqlite3.Connection) -> None:
    rows = new.execute("SELECT number, body, crc FROM event WHERE kind = 'MessageAdded'").fetchall()
    for number, body, crc in rows:
        event = decode(body, crc)
        words = searchable(event) if event is not None else ""
        if words:
            new.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, words))
