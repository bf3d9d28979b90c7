"""Finding sessions by the words of their titles and messages.

Messages are looked through from the newest on, and only until there are enough: ranking would
need all that match, which takes seconds where a word is common.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import time
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

from desktop_agent.adapters.store.indexing import forget as forget_words
from desktop_agent.adapters.store.indexing import share, spaced
from desktop_agent.adapters.store.rows import decode, words_of
from desktop_agent.core.events import MessageAdded
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SearchFound, SearchHit

_WORD = re.compile(r"\w+")
_SIGN = re.compile(r"[^\w\s]")
_HALF = re.compile("[\ud800-\udfff]")
# Letters with a stroke, or without a dot: to Unicode that is no mark that could be taken off.
_LETTERS = str.maketrans("łŁøØđĐıħĦ", "lLoOdDihH")
# Models write the signs of print, people type those of the keyboard.
_TYPED = _LETTERS | str.maketrans("‘’“”\u2010\u2011", "''\"\"--")
# The same for the index, which takes them for other letters: no word has those of two alphabets.
_OTHERS = (("l", "ł"), ("o", "ø"), ("d", "đ"), ("i", "ı"), ("h", "ħ"), ("ss", "ß"))
_MOST_PLACES = 4
# Marks above and below letters. What has a lower class, or 0, makes another letter of it.
_ACCENTS = 200
_MAX_CHARACTERS = 1000
_MAX_WORDS = 16
_HITS_A_SESSION = 3
# A shorter word is found as it is: too many begin with it.
_SHORTEST_PREFIX = 3
# Rows that are looked at for a query, and for how long where the index does not help.
_CHUNK = 200
_LOOKED_AT = 4000
_SCAN_S = 0.12
_OPERATIONS = 5000
_LINE = 160
_BEFORE = 40

_COLUMNS = """
SELECT event.number, session.id, event.seq, event.agent, event.body, event.crc FROM words
JOIN event ON event.number = words.rowid
JOIN session ON session.key = event.session
"""
_NEWEST = "words.rowid < ? ORDER BY words.rowid DESC LIMIT ?"


def has_full_text(connection: sqlite3.Connection) -> bool:
    """Whether `words` is a full-text index, not the plain table of a build without one."""
    row = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'words'").fetchone()
    return row is not None and "fts5" in row[0]


def search(
    connection: sqlite3.Connection,
    text: str,
    limit: int,
    hidden: Collection[SessionId],
    *,
    has_fts: bool,
) -> SearchFound:
    """Return the sessions found by title, and up to `limit` messages; none of `hidden`.

    Beside those, which are a few of each session, as many more of the same sessions.
    """
    # A command line that is no UTF-8 has half characters, which no database holds.
    text = _HALF.sub("\ufffd", " ".join(text[:_MAX_CHARACTERS].split()))
    text = unicodedata.normalize("NFC", text)
    if not text:
        return SearchFound()
    found = _Search(connection, text, limit, frozenset(hidden))
    if has_fts:
        found.by_words()
    if not found.hits:
        found.by_pattern()
    titles = tuple(one for one in _by_title(connection, text) if one not in found.hidden)
    hits, more = tuple(found.hits), tuple(found.more)
    is_complete = found.is_complete and not more
    return SearchFound(titles[:limit], hits, is_complete, share(connection), more)


def _by_title(connection: sqlite3.Connection, text: str) -> list[SessionId]:
    # In Python: SQLite's LIKE knows the case of ASCII letters only.
    words = folded(_typed(text)).split()
    rows = connection.execute("SELECT id, title FROM session ORDER BY updated_at DESC")
    return [
        SessionId(session_id)
        for session_id, title in rows
        if _has_all(folded(_typed(unicodedata.normalize("NFC", title))), words)
    ]


def _has_all(plain: str, words: Collection[str]) -> bool:
    return all(word in plain for word in words)


class _Search:
    """One search of the messages.

    `is_complete` becomes False when it was broken off. `more` is what sessions hold beside the few
    that are in `hits`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        text: str,
        limit: int,
        hidden: frozenset[SessionId],
    ) -> None:
        self.hits: list[SearchHit] = []
        self.more: list[SearchHit] = []
        self.is_complete = True
        self.hidden = hidden
        self._connection = connection
        self._text = text
        self._limit = limit
        self._of_session: Counter[SessionId] = Counter()
        typed = folded(_typed(text))
        words = sorted(set(typed.split()), key=len, reverse=True)
        # The index knows no signs: `c++` would find every word with a c.
        self._literal = [word for word in words if _SIGN.search(word)]
        self._words = words
        marks = "|".join(map(re.escape, [typed, *words]))
        self._marks = re.compile(marks.replace("ss", "ss?"))  # a ß is one letter, and folded to one

    def by_words(self) -> None:
        """Find whole words, then with the last one unfinished if that brought few."""
        phrases = [" ".join(_WORD.findall(spaced(word))) for word in self._text.split()]
        phrases = [phrase for phrase in phrases if phrase][:_MAX_WORDS]
        if not phrases:
            return
        query = " AND ".join(map(_any_of, phrases))
        self._take(self._matching(query))
        is_prefix = len(phrases[-1]) >= _SHORTEST_PREFIX and self._text[-1].isalnum()
        if len(self.hits) < self._limit and is_prefix and self.is_complete:
            for found in (self.hits, self.more, self._of_session):
                found.clear()
            begun = [*map(_any_of, phrases[:-1]), _any_of(phrases[-1], "*")]
            self._take(self._matching(" AND ".join(begun)))

    def by_pattern(self) -> None:
        """Find signs, and parts of words, among what can be looked through in a moment."""
        self._literal = self._words
        escaped = re.sub(r"([\\%_])", r"\\\1", spaced(self._text).strip())
        pattern = f"%{'%'.join(escaped.split())}%"
        until = time.monotonic() + _SCAN_S
        self._connection.set_progress_handler(lambda: time.monotonic() > until, _OPERATIONS)
        try:
            rows = self._connection.execute(
                f"{_COLUMNS} WHERE words.text LIKE ? ESCAPE '\\' AND {_NEWEST}",
                (pattern, 1 << 62, _LOOKED_AT),
            )
            self._take(rows)
        except sqlite3.OperationalError:
            if time.monotonic() <= until:
                raise
            self.is_complete = False
        finally:
            self._connection.set_progress_handler(None, 0)

    def _matching(self, query: str) -> Iterator[tuple[Any, ...]]:
        before, seen = 1 << 62, 0
        while seen < _LOOKED_AT:
            rows = self._connection.execute(
                f"{_COLUMNS} WHERE words MATCH ? AND {_NEWEST}", (query, before, _CHUNK)
            ).fetchall()
            yield from rows
            if len(rows) < _CHUNK:
                return
            before, seen = rows[-1][0], seen + len(rows)
        self.is_complete = False

    def _take(self, rows: Iterator[tuple[Any, ...]] | sqlite3.Cursor) -> None:
        for _, session_id, seq, agent, body, crc in rows:
            is_full = self._of_session[session_id] >= _HITS_A_SESSION
            if session_id in self.hidden or (is_full and len(self.more) >= self._limit):
                continue
            hit = self._hit(session_id, seq, agent, decode(body, crc))
            if hit is None:
                continue
            if is_full:
                self.more.append(hit)
            else:
                self.hits.append(hit)
                self._of_session[session_id] += 1
            if len(self.hits) >= self._limit:
                self.is_complete = False
                return

    def _hit(self, session_id: str, seq: int, agent: str, event: object) -> SearchHit | None:
        if not isinstance(event, MessageAdded):
            return None
        text = unicodedata.normalize("NFC", words_of(event.message))
        plain = folded(text)
        typed = _typed(text)
        if not _has_all(plain if typed == text else folded(typed), self._literal):
            return None
        line, marks = _line(text, plain, self._marks)
        message_id = event.message.id
        return SearchHit(SessionId(session_id), AgentId(agent), message_id, seq, line, marks)


def _line(text: str, plain: str, words: re.Pattern[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the piece around the first word, and where words stand in it."""
    found = words.search(plain)
    at = found.start() if found else 0
    start = max(text.rfind("\n", 0, at) + 1, at - _BEFORE)
    end = text.find("\n", at)
    end = min(len(text) if end < 0 else end, start + _LINE)
    marks = tuple((m.start() - start, m.end() - start) for m in words.finditer(plain, start, end))
    return text[start:end], marks


def _any_of(phrase: str, end: str = "") -> str:
    """Return what matches a phrase, however its letters are written."""
    plain = _typed(phrase).translate(_LETTERS).lower()
    ways = dict.fromkeys((phrase, plain))
    for letter, other in _OTHERS:
        first, *pieces = plain.split(letter, _MOST_PLACES)
        for given in itertools.product((letter, other), repeat=len(pieces)):
            ways[first + "".join(map(str.__add__, given, pieces))] = None
    # Quoted, so that no word is read as an operator.
    quoted = " OR ".join(f'"{way}"{end}' for way in ways)
    return f"({quoted})"


def _typed(text: str) -> str:
    """Return the text with its ß as they are typed without."""
    return text.replace("ß", "ss").replace("ẞ", "SS")


def folded(text: str) -> str:
    """Return the text without case, accents and signs of print, each character in its place."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    letter, *marks = unicodedata.normalize("NFD", character.translate(_TYPED))
    if marks and unicodedata.combining(marks[0]) < _ACCENTS:
        letter = character
    return letter.casefold()[0]


def forget(connection: sqlite3.Connection, session_id: SessionId, *, has_fts: bool) -> None:
    """Take a session's words out of the index, for good."""
    connection.execute(
        "DELETE FROM words WHERE rowid IN (SELECT number FROM event"
        " JOIN session ON session.key = event.session WHERE session.id = ?)",
        (session_id,),
    )
    if has_fts:
        # A deleted word stays in the index's file, marked as deleted, until it is merged.
        forget_words(connection)
