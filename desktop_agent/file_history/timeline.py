"""What happened to paths, set by set, and which of it is taken back at present."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from desktop_agent.core.changes import FileKind, FileState, UndoScope

# The kinds of sets that agents made; `outside` is the person or another program.
BY_AGENTS = frozenset({"tool", "command"})
_COLUMNS = """
s.seq, s.id, s.session, s.agent, s.message, s.call, s.kind, f.root, c.path,
c.before_kind, c.before_mode, c.before_size, c.before_hash, c.before_held,
c.after_kind, c.after_mode, c.after_size, c.after_hash, c.after_held, c.added, c.removed
"""
_FROM = "FROM change c JOIN change_set s ON s.seq = c.seq JOIN folder f ON f.id = s.folder"


@dataclass(frozen=True, slots=True)
class Row:
    """One path in one change set.

    `targets` are the sets that an undo took back here. `is_active` tells that it is not taken back.
    """

    seq: int
    set_id: str
    session: str
    agent: str
    message: str
    call: str
    kind: str
    root: bytes
    path: bytes
    before: FileState
    after: FileState
    added: int
    removed: int
    targets: tuple[int, ...] = ()
    is_active: bool = True


class Timeline:
    """Reads the changes of sets and paths."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of_session(self, session: str) -> dict[bytes, list[Row]]:
        """Return all that any session did to the paths that this one changed, oldest first."""
        return self._of_paths(f"SELECT DISTINCT c.path {_FROM} WHERE s.session = ?", (session,))

    def of_scope(self, scope: UndoScope) -> dict[bytes, list[Row]]:
        """Return all that any session did to the paths of the scope, oldest first."""
        where, values = _condition(scope)
        return self._of_paths(f"SELECT DISTINCT c.path {_FROM} WHERE {where}", values)

    def first_of_message(self, scope: UndoScope) -> int | None:
        """Return the number of the first set of the message to which a scope goes back."""
        found = self._connection.execute(
            "SELECT min(seq) FROM change_set WHERE session = ? AND message = ?",
            (scope.session_id, scope.to_message),
        ).fetchone()[0]
        return None if found is None else int(found)

    def left(self, session: str) -> list[tuple[int, bytes, int]]:
        """Return what undos left as it was: number of the undo, path, number of the set."""
        return self._connection.execute(
            "SELECT u.seq, u.path, u.target FROM undone u JOIN change_set s ON s.seq = u.target"
            " WHERE s.session = ? AND u.is_taken = 0",
            (session,),
        ).fetchall()

    def _of_paths(self, select: str, values: tuple[Any, ...]) -> dict[bytes, list[Row]]:
        targets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
        for seq, path, target in self._connection.execute(
            f"SELECT seq, path, target FROM undone WHERE is_taken = 1 AND path IN ({select})",
            values,
        ):
            targets[seq, path].append(target)
        rows: dict[bytes, list[Row]] = defaultdict(list)
        for found in self._connection.execute(
            f"SELECT {_COLUMNS} {_FROM} WHERE c.path IN ({select}) ORDER BY c.path, c.seq", values
        ):
            row = _row(found)
            rows[row.path].append(replace(row, targets=tuple(targets[row.seq, row.path])))
        return {path: _with_activity(of_path) for path, of_path in rows.items()}


def selected(
    rows: Mapping[bytes, list[Row]], scope: UndoScope, first: int | None
) -> Iterator[tuple[bytes, list[Row]]]:
    """Yield for each path what of it the scope takes back, oldest first, where there is any."""
    for path, of_path in rows.items():
        chosen = _since(of_path, scope, first) if scope.to_message else _active(of_path, scope)
        if chosen:
            yield path, chosen


def in_scope(row: Row, scope: UndoScope) -> bool:
    """Whether a change belongs to the scope, taken back or not."""
    if row.session != scope.session_id:
        return False
    if scope.set_id:
        return row.set_id == scope.set_id
    if row.kind not in BY_AGENTS:
        return False
    if scope.message_id:
        return row.message == scope.message_id
    if scope.call_id:
        return row.call == scope.call_id
    return not scope.agent_id or row.agent == scope.agent_id


def stretches(rows: Iterable[Row]) -> list[tuple[FileState, FileState]]:
    """Return the states before and after each stretch without a foreign change in between.

    A stretch that came back to where it began is left out.
    """
    found: list[tuple[FileState, FileState]] = []
    for row in rows:
        if found and is_equal(found[-1][1], row.before):
            found[-1] = (found[-1][0], row.after)
        else:
            found.append((row.before, row.after))
    return [(before, after) for before, after in found if not is_equal(before, after)]


def is_equal(one: FileState, two: FileState) -> bool:
    """Whether two recorded states are the same, whether their contents are held or not."""
    return (one.kind, one.mode, one.size, one.digest) == (two.kind, two.mode, two.size, two.digest)


def _active(rows: list[Row], scope: UndoScope) -> list[Row]:
    return [row for row in rows if row.is_active and in_scope(row, scope)]


def _since(rows: list[Row], scope: UndoScope, first: int | None) -> list[Row]:
    """Return everything of the session from a set on, without undos that cancel out within."""
    if first is None:
        return []
    ours = [row for row in rows if row.seq >= first and row.session == scope.session_id]
    dropped: set[int] = set()
    for row in ours:
        if row.is_active and row.targets and min(row.targets) >= first:
            dropped |= {row.seq, *row.targets}
    return [row for row in ours if row.seq not in dropped]


def _with_activity(rows: list[Row]) -> list[Row]:
    undone: set[int] = set()
    for row in reversed(rows):
        if row.seq not in undone:
            undone.update(row.targets)
    return [replace(row, is_active=False) if row.seq in undone else row for row in rows]


def _condition(scope: UndoScope) -> tuple[str, tuple[Any, ...]]:
    for column, value in (
        ("message", scope.message_id),
        ("call", scope.call_id),
        ("agent", scope.agent_id),
        ("id", scope.set_id),
    ):
        if value:
            return f"s.session = ? AND s.{column} = ?", (scope.session_id, value)
    return "s.session = ?", (scope.session_id,)


def _row(found: tuple[Any, ...]) -> Row:
    seq, set_id, session, agent, message, call, kind, root, path, *states, added, removed = found
    before, after = _state(*states[:5]), _state(*states[5:])
    return Row(
        seq, set_id, session, agent, message, call, kind, root, path, before, after, added, removed
    )


def _state(kind: FileKind, mode: int, size: int, digest: bytes, is_held: int) -> FileState:
    return FileState(kind, mode, size, digest.hex(), bool(is_held))
