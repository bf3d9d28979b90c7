"""What a test does to a store behind its back, as a bad disk or a crash would."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.store import schema
from desktop_agent.adapters.store.store import SqliteStore


def connection_of(store: SqliteStore) -> sqlite3.Connection:
    """Return the connection itself, to spoil what is in the file or to count what is written."""
    return store._connection


def abandon(store: SqliteStore) -> None:
    """Leave a store as a killed process does: nothing is tidied up, the lock is free."""
    store._connection.close()
    store._lock.release(is_clean=False)
    store._is_closed = True


def write_as_version(version: int, path: Path, of: Path, tables: Sequence[str]) -> None:
    """Write what `of` holds in these tables as an older version did: with the columns it had."""
    with pytest.MonkeyPatch.context() as older:
        # What that version was: its scripts, and none of the later ones.
        older.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
        older.setattr(schema, "SCHEMA_VERSION", version)
        connection, _ = schema.open_database(path, check=False)
    with closing(connection):
        connection.execute("ATTACH ? AS now", (str(of),))
        for table in tables:
            names = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
            columns = ", ".join(f'"{name}"' for name in ("rowid", *names))
            connection.execute(
                f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}"
            )
