"""What a test does to a store behind its back, as a bad disk or a crash would."""

from __future__ import annotations

import sqlite3

from desktop_agent.adapters.store.store import SqliteStore


def connection_of(store: SqliteStore) -> sqlite3.Connection:
    """Return the connection itself, to spoil what is in the file or to count what is written."""
    return store._connection


def abandon(store: SqliteStore) -> None:
    """Leave a store as a killed process does: nothing is tidied up, the lock is free."""
    store._connection.close()
    store._lock.release(is_clean=False)
    store._is_closed = True
