"""Bringing the index of words up to date in the background, a bounded step at a time.

Two things are owed to it: texts that were indexed before scripts without spaces were (`spaced`),
and words of erased sessions, which stay in its file until its parts are merged.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from unicodedata import normalize

# One row: the last number that is done, the last one to do, and whether erased words remain.
TABLES = """
CREATE TABLE indexing (
    done INTEGER NOT NULL,
    until INTEGER NOT NULL,
    is_untidy INTEGER NOT NULL
);
INSERT INTO indexing (done, until, is_untidy)
    SELECT 0, COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0), 0;
"""

# Chinese, Japanese and Korean: what the tokenizer would take a whole clause of for one word.
_IDEOGRAPH = (
    "([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff])"
)
_ROWS = 1000
_PAGES = 64
# Of a small index so many merges are done at once.
_MERGES = 8


def spaced(text: str) -> str:
    """Return the text with each ideograph as a word of its own, so that any part is found.

    Letters are whole: macOS names files in a form of Unicode where Korean ones are in parts.
    """
    return text if text.isascii() else _ideograph().sub(r" \1 ", normalize("NFC", text))


# Compiled when such a text first comes: it takes 2 ms.
@cache
def _ideograph() -> re.Pattern[str]:
    return re.compile(_IDEOGRAPH)


def share(connection: sqlite3.Connection) -> float:
    """Return how much of all that was said is indexed as today, from 0 to 1."""
    done, until = connection.execute("SELECT done, until FROM indexing").fetchone()
    return done / until if done < until else 1.0


def step(connection: sqlite3.Connection, *, has_fts: bool) -> bool:
    """Do a few milliseconds of what is owed; tell whether more is. The caller has a transaction."""
    if not has_fts:
        return False  # plain text is searched as it is
    done, until, is_untidy = connection.execute("SELECT * FROM indexing").fetchone()
    if done < until:
        _space(connection, done, until)
        return True
    if is_untidy and not _merge(connection, _PAGES):
        connection.execute("UPDATE indexing SET is_untidy = 0")
        return False
    return bool(is_untidy)


def _space(connection: sqlite3.Connection, done: int, until: int) -> None:
    rows = connection.execute(
        "SELECT rowid, text FROM words WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?",
        (done, until, _ROWS),
    ).fetchall()
    for number, text in rows:
        if (now := spaced(text)) != text:
            connection.execute("UPDATE words SET text = ? WHERE rowid = ?", (now, number))
    last = rows[-1][0] if len(rows) == _ROWS else until
    connection.execute("UPDATE indexing SET done = ?", (last,))


def forget(connection: sqlite3.Connection) -> None:
    """Words were taken out: merge a small index at once, a large one in steps."""
    _merge(connection, -_PAGES)  # takes all parts together, which the next ones go on with
    for _ in range(_MERGES):
        if not _merge(connection, _PAGES):
            return
    connection.execute("UPDATE indexing SET is_untidy = 1")


def _merge(connection: sqlite3.Connection, pages: int) -> bool:
    """Merge parts of the index; tell whether there was something to merge."""
    before = connection.total_changes
    connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes - before >= 2
