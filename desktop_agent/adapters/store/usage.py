"""What requests used, summed as they are recorded: a row for each session, model and day.

A day is one of this computer's calendar, as it was when the request ended. A row outlives its
session, without its name: what is erased was paid for all the same.
"""

from __future__ import annotations

import math
import sqlite3
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
_SUMS = ("requests", "uncounted", "unpriced", "input", "output", "cached", "cost")
_ADD = (
    f"INSERT INTO usage (session, day, model, {', '.join(_SUMS)}) VALUES ({', '.join('?' * 10)})"
    " ON CONFLICT (session, day, model) DO UPDATE SET "
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
)
# TOTAL never overflows, as SUM of whole numbers does.
_TOTALS = ", ".join(f"TOTAL({name})" for name in _SUMS)
_STORED = """
SELECT event.session, event.at, event.body, event.crc FROM session
JOIN event ON event.session = session.key AND event.kind IN ('StepEnded', 'SideCallEnded')
"""
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


def count_stored(connection: sqlite3.Connection) -> None:
    """Add all requests that were recorded before they were counted here."""
    found: dict[tuple[int, str, str], _Sums] = {}
    for session, at, body, crc in connection.execute(_STORED):
        event = decode(body, crc)
        if isinstance(event, StepEnded | SideCallEnded):
            key = (session, _day(at), event.model[:_LONGEST_MODEL])
            sums = _sums(event.usage)
            before = found.get(key)
            found[key] = _added(before, sums) if before is not None else sums
    connection.executemany(_ADD, ((*key, *sums) for key, sums in found.items()))


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was counted."""
    return connection.execute("SELECT 1 FROM usage LIMIT 1").fetchone() is None


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
