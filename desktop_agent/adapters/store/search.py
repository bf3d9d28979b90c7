"""Finding sessions by the words of their titles and messages."""

from __future__ import annotations

import re
import sqlite3

from desktop_agent.core.ids import SessionId

_WORD = re.compile(r"\w+")
_SIGN = re.compile(r"[^\w\s]")
_MAX_WORDS = 16

# bm25 is smaller for better matches; a session counts by its best message.
_BY_WORDS = """
SELECT session.id FROM words
JOIN event ON event.number = words.rowid
JOIN session ON session.key = event.session
WHERE words MATCH ?
GROUP BY session.key ORDER BY MIN(words.rank), session.updated_at DESC LIMIT ?
"""
_BY_PATTERN = """
SELECT session.id FROM words
JOIN event ON event.number = words.rowid
JOIN session ON session.key = event.session
WHERE words.text LIKE ? ESCAPE '\\'
GROUP BY session.key ORDER BY session.updated_at DESC LIMIT ?
"""


def has_full_text(connection: sqlite3.Connection) -> bool:
    """Whether `words` is a full-text index, not the plain table of a build without one."""
    row = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'words'").fetchone()
    return row is not None and "fts5" in row[0]


def search(
    connection: sqlite3.Connection, text: str, limit: int, *, has_fts: bool
) -> tuple[SessionId, ...]:
    """Return the sessions found: by title first, then by messages, best first."""
    if not text.strip():
        return ()
    found = dict.fromkeys(_by_title(connection, text))
    if len(found) < limit:
        found.update(dict.fromkeys(_by_message(connection, text, limit, has_fts=has_fts)))
    return tuple(found)[:limit]


def _by_title(connection: sqlite3.Connection, text: str) -> list[SessionId]:
    # In Python: SQLite's LIKE knows the case of ASCII letters only.
    words = text.casefold().split()
    rows = connection.execute("SELECT id, title FROM session ORDER BY updated_at DESC")
    return [
        SessionId(session_id)
        for session_id, title in rows
        if all(word in title.casefold() for word in words)
    ]


def _by_message(
    connection: sqlite3.Connection, text: str, limit: int, *, has_fts: bool
) -> list[SessionId]:
    # The index knows no signs, so `c++` would find every word with a c.
    ways = [_by_words, _by_pattern] if has_fts else [_by_pattern]
    if _SIGN.search(text):
        ways.reverse()
    for way in ways:
        found = way(connection, text, limit)
        if found:
            return found
    return []


def _by_words(connection: sqlite3.Connection, text: str, limit: int) -> list[SessionId]:
    words = _WORD.findall(text)[:_MAX_WORDS]
    if not words:
        return []
    # Quoted, so that no word is read as an operator; the last may be unfinished.
    query = " ".join(f'"{word}"' for word in words) + "*"
    return [SessionId(row[0]) for row in connection.execute(_BY_WORDS, (query, limit))]


def _by_pattern(connection: sqlite3.Connection, text: str, limit: int) -> list[SessionId]:
    """Find signs, and parts of what the index holds as one word: scripts without spaces."""
    escaped = re.sub(r"([\\%_])", r"\\\1", text.strip())
    rows = connection.execute(_BY_PATTERN, (f"%{escaped}%", limit))
    return [SessionId(row[0]) for row in rows]


def forget(connection: sqlite3.Connection, session_id: SessionId, *, has_fts: bool) -> None:
    """Take a session's words out of the index, for good."""
    connection.execute(
        "DELETE FROM words WHERE rowid IN (SELECT number FROM event"
        " JOIN session ON session.key = event.session WHERE session.id = ?)",
        (session_id,),
    )
    if has_fts:
        # A deleted word stays in the index's file, marked as deleted, until it is merged.
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
