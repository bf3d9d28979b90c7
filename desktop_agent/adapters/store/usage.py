"""What requests used, summed as they are recorded: a row for each session, model and day.

A day is one of this computer's calendar, as it was when the request ended. A row outlives its
session, without its name: what is erased was paid for all the same. Requests that an earlier
version recorded are counted in the background, a bounded step at a time.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from datetime import date

from desktop_agent.adapters.store.rows import decode
from desktop_agent.core.events import SideCallEnded, StepEnded
from desktop_agent.core.usage import Usage, UsageLine, UsageReport

TABLES = """
CREATE TABLE usage (
    session INTEGER REFERENCES session (key) ON DELETE SET NULL,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    uncounted INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    cost REAL NOT NULL,
    UNIQUE (session, day, model)
);
CREATE INDEX usage_by_day ON usage (day);
"""
# One row: up to where the requests that were recorded before are counted, in the order of
# sessions, kinds and numbers, and the last event that is owed; 0 when none is.
_COUNTING = """
CREATE TABLE IF NOT EXISTS counting (
    session INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    until INTEGER NOT NULL
);
"""
TABLES += f"""{_COUNTING}
INSERT INTO counting
    SELECT 0, 0, 0, COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0);
"""
# A file that had the table above without the other was counted at once.
ALL_COUNTED = f"""{_COUNTING}
INSERT INTO counting SELECT 0, 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM counting);
"""
_SUMS = ("requests", "uncounted", "unpriced", "input", "output", "cached", "cost")
_ADD = (
    f"INSERT INTO usage (session, day, model, {', '.join(_SUMS)}) VALUES ({', '.join('?' * 10)})"
    " ON CONFLICT (session, day, model) DO UPDATE SET "
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
)
# TOTAL never overflows, as SUM of whole numbers does.
_TOTALS = ", ".join(f"TOTAL({name})" for name in _SUMS)
_PLACE = "SELECT session, kind, seq, until FROM counting"
_KINDS = ("StepEnded", "SideCallEnded")
_OWED = """
SELECT seq, at, body, crc FROM event WHERE session = ? AND kind = ? AND seq > ? AND number <= ?
ORDER BY seq LIMIT ?
"""
# What a step looks at: so many requests, and so many times into the index.
_ROWS, _LOOKS = 500, 50
# What a provider counts is its word alone.
_MOST_TOKENS, _MOST_COST = 1e12, 1e9
_LONGEST_MODEL = 300
_MOST_LINES = 200

_Sums = tuple[float, ...]


def count(
    connection: sqlite3.Connection, session: int, at: float, event: StepEnded | SideCallEnded
) -> None:
    """Add a request that is recorded; the caller has a transaction."""
    row = (session, _day(at), event.model[:_LONGEST_MODEL], *_sums(event.usage))
    connection.execute(_ADD, row)


def count_more(connection: sqlite3.Connection) -> bool:
    """Count a few of the requests that are owed; tell whether more are. In a transaction."""
    session, kind, seq, until = _place(connection)
    if not until:
        return False
    found, left = _Found(), _ROWS
    for _ in range(_LOOKS):
        rows = connection.execute(_OWED, (session, _KINDS[kind], seq, until, left)).fetchall()
        found.add(session, rows)
        left -= len(rows)
        if not left:
            seq = rows[-1][0]
            break
        kind, seq = kind + 1, 0
        if kind == len(_KINDS):
            kind = 0
            after = "SELECT MIN(key) FROM session WHERE key > ?"
            session = connection.execute(after, (session,)).fetchone()[0]
        if session is None:
            session, until = 0, 0
            break
    found.save(connection)
    _go_on_at(connection, (session, kind, seq, until))
    return until > 0


def count_rest(connection: sqlite3.Connection, session: int) -> None:
    """Count what is owed of a session that is about to be deleted. In a transaction."""
    now, kind, seq, until = _place(connection)
    if not until or session < now:
        return
    found = _Found()
    for number in range(kind if session == now else 0, len(_KINDS)):
        after = seq if session == now and number == kind else 0
        found.add(session, connection.execute(_OWED, (session, _KINDS[number], after, until, -1)))
    found.save(connection)


def owe_as(connection: sqlite3.Connection, old: sqlite3.Connection) -> None:
    """Owe what a damaged file did whose rows were copied; all of it, if that did not count."""
    place: tuple[int, int, int, int] | None = None
    with suppress(sqlite3.DatabaseError):
        place = old.execute(_PLACE).fetchone()
    if place is None and connection.execute("SELECT 1 FROM usage LIMIT 1").fetchone() is None:
        last = connection.execute("SELECT MAX(number) FROM event").fetchone()[0]
        place = (0, 0, 0, last or 0)
    if place is not None:
        _go_on_at(connection, place)


def _place(connection: sqlite3.Connection) -> tuple[int, int, int, int]:
    return connection.execute(_PLACE).fetchone()


def _go_on_at(connection: sqlite3.Connection, place: tuple[int, int, int, int]) -> None:
    connection.execute("UPDATE counting SET session = ?, kind = ?, seq = ?, until = ?", place)


class _Found:
    """Requests that were recorded, summed."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, str, str], _Sums] = {}

    def add(self, session: int, rows: Iterable[tuple[int, float, bytes, int]]) -> None:
        """Take in rows of a session's; a damaged one is left out."""
        for _, at, body, crc in rows:
            event = decode(body, crc)
            if isinstance(event, StepEnded | SideCallEnded):
                key = (session, _day(at), event.model[:_LONGEST_MODEL])
                sums = _sums(event.usage)
                before = self._sums.get(key)
                self._sums[key] = _added(before, sums) if before is not None else sums

    def save(self, connection: sqlite3.Connection) -> None:
        """Add them to what is counted."""
        connection.executemany(_ADD, ((*key, *sums) for key, sums in self._sums.items()))


def report(connection: sqlite3.Connection, since: str) -> UsageReport:
    """Return what was used from a day on, by month if that is empty."""
    by_day = "day" if since else "substr(day, 1, 7)"
    days = connection.execute(
        f"SELECT {by_day}, '', {_TOTALS} FROM usage WHERE day >= ? GROUP BY 1 ORDER BY 1", (since,)
    )
    models = connection.execute(
        f"SELECT model, '', {_TOTALS} FROM usage WHERE day >= ? GROUP BY 1", (since,)
    )
    sessions = connection.execute(
        "SELECT COALESCE(session.id, ''), COALESCE(session.title, ''), sums.* FROM"
        f" (SELECT session AS key, {_TOTALS} FROM usage WHERE day >= ? GROUP BY session) AS sums"
        " LEFT JOIN session ON session.key = sums.key",
        (since,),
    )
    in_order = [_line(*row) for row in days]
    return UsageReport(
        since,
        _together(in_order),
        tuple(in_order),
        _largest([_line(*row) for row in models]),
        _largest([_line(row[0], row[1], *row[3:]) for row in sessions]),
    )


def _day(at: float) -> str:
    try:
        return date.fromtimestamp(at).isoformat()
    except (TypeError, ValueError, OverflowError, OSError):  # a damaged row
        return date.min.isoformat()


def _sums(usage: Usage) -> _Sums:
    is_uncounted = None in (usage.input_tokens, usage.output_tokens)
    cost = usage.cost
    is_unpriced = cost is None or not math.isfinite(cost)
    return (
        1,
        is_uncounted,
        is_unpriced,
        _tokens(usage.input_tokens),
        _tokens(usage.output_tokens),
        _tokens(usage.cached_tokens),
        0.0 if cost is None or is_unpriced else min(max(cost, 0.0), _MOST_COST),
    )


def _tokens(number: int | None) -> int:
    return int(min(max(number or 0, 0), _MOST_TOKENS))


def _added(first: _Sums, second: _Sums) -> _Sums:
    return tuple(one + other for one, other in zip(first, second, strict=True))


def _line(key: str, title: str, *sums: float) -> UsageLine:
    return UsageLine(key, title, *map(int, sums[:-1]), cost=sums[-1])


def _together(lines: list[UsageLine]) -> UsageLine:
    return UsageLine(
        requests=sum(one.requests for one in lines),
        uncounted=sum(one.uncounted for one in lines),
        unpriced=sum(one.unpriced for one in lines),
        input_tokens=sum(one.input_tokens for one in lines),
        output_tokens=sum(one.output_tokens for one in lines),
        cached_tokens=sum(one.cached_tokens for one in lines),
        cost=math.fsum(one.cost for one in lines),
        stands_for=len(lines),
    )


def _largest(lines: list[UsageLine]) -> tuple[UsageLine, ...]:
    """Return them by cost, then tokens; so many that the rest is one line."""
    lines.sort(key=lambda one: (-one.cost, -one.tokens, one.key))
    if len(lines) <= _MOST_LINES:
        return tuple(lines)
    return (*lines[: _MOST_LINES - 1], _together(lines[_MOST_LINES - 1 :]))
