"""What happened to paths, set by set, and which of it is taken back at present."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from desktop_agent.core.changes import ChangeSet, FileKind, FileState, UndoScope
from desktop_agent.file_history import names, schema

# The kinds of sets that agents made; `outside` is the person or another program.
BY_AGENTS = frozenset({"tool", "command"})
_DECODER = msgspec.json.Decoder(ChangeSet)
_COLUMNS = """
s.seq, s.id, s.session, s.agent, s.message, s.call, s.kind, f.root, c.path,
c.before_kind, c.before_mode, c.before_size, c.before_hash, c.before_held,
c.after_kind, c.after_mode, c.after_size, c.after_hash, c.after_held, c.added, c.removed
"""
_EVERYTHING = "FROM change c JOIN change_set s ON s.seq = c.seq JOIN folder f ON f.id = s.folder"
# What was done in a copy elsewhere did not happen here.
_FROM = f"{_EVERYTHING} AND s.kind <> 'result'"


class Row(msgspec.Struct, frozen=True):
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

    def of_scope(self, scope: UndoScope) -> dict[bytes, list[Row]]:
        """Return what any session did to the paths of the scope, oldest first.

        It begins with the first set of the scope: what was before is as it was.
        """
        where, values = _condition(scope)
        first = self._connection.execute(
            f"SELECT min(s.seq) FROM change_set s WHERE {where}", values
        ).fetchone()[0]
        select = f"SELECT DISTINCT c.path {_FROM} WHERE {where}"
        return {} if first is None else self._of_paths(select, values, first)

    def of_result(self, set_id: str) -> tuple[dict[bytes, list[Row]], dict[bytes, list[Row]]]:
        """Return what applying a result does, and what was done here since it was begun.

        A row of it is turned round, as if it had been taken back: applying is the redo.
        """
        found = self._connection.execute(
            "SELECT seq, body FROM change_set WHERE id = ? AND kind = 'result'", (set_id,)
        ).fetchone()
        if found is None:
            return {}, {}
        seq, began = found[0], _DECODER.decode(found[1]).began
        since = self._connection.execute(
            "SELECT coalesce(max(seq), 0) FROM change_set WHERE ended < ?", (began,)
        ).fetchone()[0]
        select = f"SELECT {_COLUMNS} {_EVERYTHING} WHERE c.seq = ? ORDER BY c.path"
        rows = (_row(one, (), is_active=True) for one in self._connection.execute(select, (seq,)))
        turned = {
            row.path: [replace(row, seq=since, before=row.after, after=row.before)] for row in rows
        }
        select = "SELECT path FROM change WHERE seq = ?"
        return turned, self._of_paths(select, (seq,), since)

    def left(self, session: str) -> list[tuple[int, bytes, int]]:
        """Return what undos left as it was: number of the undo, path, number of the set."""
        return self._connection.execute(
            "SELECT u.seq, u.path, u.target FROM undone u JOIN change_set s ON s.seq = u.target"
            " WHERE s.session = ? AND u.is_taken = 0",
            (session,),
        ).fetchall()

    def moved_by_undos(self, rows: Iterable[Row]) -> dict[str, str]:
        """Return the old path of each new one of files that these undos renamed, as shown.

        What came back under its old name may have been changed under the new one.
        """
        numbers = {row.seq for row in rows if row.kind == "undo"}
        bodies = (
            self._connection.execute("SELECT body FROM change_set WHERE seq = ?", (seq,)).fetchone()
            for seq in sorted(numbers)
        )
        files = (file for (body,) in bodies for file in _DECODER.decode(body).files)
        return {file.path: file.was for file in files if file.was}

    def _of_paths(self, select: str, values: tuple[Any, ...], first: int) -> dict[bytes, list[Row]]:
        targets: dict[tuple[int, bytes], tuple[int, ...]] = {}
        for seq, path, target in self._connection.execute(
            "SELECT seq, path, target FROM undone"
            f" WHERE seq >= ? AND is_taken = 1 AND path IN ({select})",
            (first, *values),
        ):
            targets[seq, path] = (*targets.get((seq, path), ()), target)
        rows: dict[bytes, list[Row]] = defaultdict(list)
        # Newest first: an undo that was undone takes nothing back any more.
        undone: dict[bytes, set[int]] = defaultdict(set)
        for found in self._connection.execute(
            f"SELECT {_COLUMNS} {_FROM} WHERE c.seq >= ? AND c.path IN ({select})"
            " ORDER BY c.path, c.seq DESC",
            (first, *values),
        ):
            seq, path = found[0], found[8]
            is_active = seq not in undone[path]
            if is_active:
                undone[path].update(targets.get((seq, path), ()))
            rows[path].append(_row(found, targets.get((seq, path), ()), is_active=is_active))
        return {path: of_path[::-1] for path, of_path in rows.items()}


def selected(
    rows: Mapping[bytes, list[Row]], scope: UndoScope
) -> Iterator[tuple[bytes, list[Row]]]:
    """Yield for each path what of it the scope takes back, oldest first, where there is any.

    Going back to a message is about undos as well, and about what was changed from outside: what
    these left is not what was there then.
    """
    for path, of_path in rows.items():
        if scope.to_message:
            chosen = [row for row in of_path if row.session == scope.session_id]
        else:
            chosen = [row for row in of_path if row.is_active and in_scope(row, scope)]
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


def renamed(chosen: Mapping[bytes, Sequence[Row]]) -> dict[bytes, bytes]:
    """Return for each new path of a renamed file the old one, both with what happened to them.

    The file may have been changed before or after that too.
    """
    gone: list[tuple[bytes, str]] = []
    made: list[tuple[bytes, str]] = []
    for path, rows in chosen.items():
        first, last = rows[0], rows[-1]
        if first.before.kind == "file" and last.after.kind == "absent" and last.before.size:
            gone.append((path, last.before.digest))
        elif first.before.kind == "absent" and last.after.kind == "file" and first.after.size:
            made.append((path, first.after.digest))
    known = [(path, digest) for path, digest in gone if digest]
    return names.renamed(known, made)


def stretches(rows: Iterable[Row]) -> list[tuple[FileState, FileState]]:
    """Return the states before and after each stretch without a foreign change in between."""
    found: list[tuple[FileState, FileState]] = []
    for row in rows:
        if found and is_equal(found[-1][1], row.before):
            found[-1] = (found[-1][0], row.after)
        else:
            found.append((row.before, row.after))
    return found


def is_equal(one: FileState, two: FileState) -> bool:
    """Whether two recorded states are the same, whether their contents are held or not."""
    return (one.kind, one.mode, one.size, one.digest) == (two.kind, two.mode, two.size, two.digest)


def _condition(scope: UndoScope) -> tuple[str, tuple[Any, ...]]:
    for column, value in (
        ("message", scope.message_id),
        ("call", scope.call_id),
        ("agent", scope.agent_id),
        ("id", scope.set_id),
    ):
        if value:
            return f"s.session = ? AND s.{column} = ?", (scope.session_id, value)
    if scope.to_message:
        first = "SELECT min(seq) FROM change_set WHERE session = ? AND message = ?"
        session = scope.session_id
        return f"s.session = ? AND s.seq >= ({first})", (session, session, scope.to_message)
    return "s.session = ?", (scope.session_id,)


def _row(found: tuple[Any, ...], targets: tuple[int, ...], *, is_active: bool) -> Row:
    *head, added, removed = found
    states = head[9:]
    return Row(
        *head[:9],
        before=_state(*states[:5]),
        after=_state(*states[5:]),
        added=added,
        removed=removed,
        targets=targets,
        is_active=is_active,
    )


def _state(kind: FileKind, mode: int, size: int, digest: bytes, held: int) -> FileState:
    is_moved_in = bool(held & schema.MOVED_IN)
    return FileState(kind, mode, size, digest.hex(), bool(held & schema.HELD), is_moved_in)
