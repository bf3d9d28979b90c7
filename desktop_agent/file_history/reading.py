"""What is shown of a history: a session's sets and files, and the contents for a diff."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from desktop_agent.core.changes import (
    ChangedFile,
    ChangeSet,
    ChangeTotal,
    FileOverview,
    FileState,
    Result,
    SessionChanges,
    UndoError,
    UndoScope,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.file_history import disk, names, timeline
from desktop_agent.file_history.index import Index
from desktop_agent.file_history.packs import Packs
from desktop_agent.file_history.plan import kind_of
from desktop_agent.file_history.recording import Lines, read_set
from desktop_agent.file_history.timeline import Row, Timeline

# Shown as text: more of a file is no diff that anybody reads.
_LARGEST_SHOWN = 16 << 20


class Reading:
    """Reads what is recorded."""

    def __init__(
        self, connection: sqlite3.Connection, packs: Packs, line: Timeline, index: Index
    ) -> None:
        self._connection = connection
        self._packs = packs
        self._timeline = line
        self._index = index

    def changes(self, session_id: SessionId, root: bytes, stopped: str) -> SessionChanges:
        """Return all that a session changed."""
        rows = self._timeline.of_scope(UndoScope(session_id))
        sets = [
            (seq, read_set(body))
            for seq, body in self._connection.execute(
                "SELECT seq, body FROM change_set WHERE session = ? AND kind <> 'result'"
                " ORDER BY seq",
                (session_id,),
            )
        ]
        undone = self._undone(session_id, rows.values())
        standing = (found for seq, found in sets if seq not in undone)
        chosen = dict(timeline.selected(rows, UndoScope(session_id)))
        return SessionChanges(
            sets=tuple(found for _, found in sets),
            files=self._files(chosen, root),
            undone=tuple(found.id for seq, found in sets if seq in undone),
            stopped=stopped,
            totals=tuple(self._totals(chosen)),
            results=tuple(self._results(session_id, standing)),
        )

    def _results(self, session_id: str, standing: Iterable[ChangeSet]) -> Iterator[Result]:
        applied = {one.result: one.id for one in standing if one.result}
        for (body,) in self._connection.execute(
            "SELECT body FROM change_set WHERE session = ? AND kind = 'result' ORDER BY seq",
            (session_id,),
        ):
            made = read_set(body)
            yield Result(made, applied.get(made.id, ""))

    def contents(
        self, scope: UndoScope, *, is_since: bool = False
    ) -> tuple[bytes | None, bytes | None]:
        """Return what was at the path before the first and after the last change of the scope.

        With `is_since` what was after the last one, and what is there now.
        """
        if result := self._timeline.of_result(scope.set_id)[0]:
            return self._of_result(_at(result.values(), scope.path), is_since=is_since)
        rows = self._timeline.of_scope(scope)
        found = self._asked(rows, scope, scope.path)
        after = self._content(found[-1].after)
        if is_since:
            return after, _now(found[0].path)
        first = self._asked(rows, scope, scope.was)[0] if scope.was else found[0]
        return self._content(first.before), after

    def _of_result(self, found: list[Row], *, is_since: bool) -> tuple[bytes | None, bytes | None]:
        """Return what it began with, and what it made of it or what is there now."""
        if not found:
            raise UndoError("Nothing is known of changes to this file.")
        began = self._content(found[0].after)
        return began, _now(found[0].path) if is_since else self._content(found[0].before)

    def _asked(self, rows: dict[bytes, list[Row]], scope: UndoScope, path: str) -> list[Row]:
        found = _at(dict(timeline.selected(rows, scope)).values(), path)
        if not found:  # taken back by now: what it was is shown all the same
            ours = ([row for row in of_path if _is_asked(row, scope)] for of_path in rows.values())
            found = _at(ours, path)
        if not found:
            raise UndoError("Nothing is known of changes to this file.")
        return found

    def _content(self, state: FileState) -> bytes | None:
        if state.kind not in {"file", "link"}:
            return None
        if not state.is_held or state.size > _LARGEST_SHOWN:
            raise UndoError("What was in the file is not kept, or too large to be shown.")
        return b"".join(self._packs.read(state.digest))

    def _totals(self, chosen: dict[bytes, list[Row]]) -> Iterator[ChangeTotal]:
        """Yield what the sets of each message and of each agent come to."""
        groups: dict[tuple[str, str], dict[bytes, list[Row]]] = defaultdict(dict)
        for path, rows in chosen.items():
            for row in rows:
                for group in (("message", row.message), ("agent", row.agent)):
                    groups[group].setdefault(path, []).append(row)
        for (kind, name), paths in groups.items():
            sets = dict.fromkeys(row.set_id for rows in paths.values() for row in rows)
            if not name or len(sets) < 2:
                continue
            total = ChangeTotal(tuple(sets), *self._total(paths))
            if kind == "message":
                yield replace(total, message_id=MessageId(name))
            else:
                yield replace(total, agent_id=AgentId(name))

    def _total(self, paths: dict[bytes, list[Row]]) -> tuple[int, int, int]:
        """Return how many files differ, and the lines that were added and removed."""
        lines = Lines(self._packs)
        moved = timeline.renamed(paths)
        old = frozenset(moved.values())
        above = {parent for path in paths for parent in names.parents(path)}
        count = added = removed = 0
        for path, rows in paths.items():
            first = paths[moved[path]][0] if path in moved else rows[0]
            before, after = first.before, rows[-1].after
            if path in old or _is_no_file(before, after, is_implied=path in above):
                continue
            one = _changed(before, after, rows if path not in moved else [first, *rows], lines)
            count += 1
            added, removed = added + max(0, one.added), removed + max(0, one.removed)
        return count, added, removed

    def _files(self, chosen: dict[bytes, list[Row]], root: bytes) -> tuple[FileOverview, ...]:
        lines = Lines(self._packs)
        above = {parent for path in chosen for parent in names.parents(path)}
        moved = timeline.renamed(chosen)
        old = frozenset(moved.values())
        found: list[FileOverview] = []
        for path in sorted(chosen):
            before, after = chosen[path][0].before, chosen[path][-1].after
            if path in old or _is_no_file(before, after, is_implied=path in above):
                continue
            both = sorted([*chosen.get(moved.get(path, b""), ()), *chosen[path]], key=_seq)
            ids = tuple(dict.fromkeys(row.set_id for row in both))
            file = _changed(both[0].before, after, both if path in moved else chosen[path], lines)
            kind = kind_of(before, after)
            was = names.shown(moved[path], root) if path in moved else ""
            file = replace(file, path=names.shown(path, root), kind=kind, was=was)
            is_as = self._is_as(path, after) and (not was or self._is_gone(moved[path], path))
            found.append(FileOverview(file, ids, is_changed_since=not is_as))
        return tuple(found)

    def _is_gone(self, old: bytes, new: bytes) -> bool:
        """Whether a renamed file is no more at its old path, which may differ by case alone."""
        return old in disk.respelled((old, new)) or self._is_as(old, disk.ABSENT)

    def _is_as(self, path: bytes, state: FileState) -> bool:
        """Whether a path is in a state now; a file that is as at the last look is not read.

        Nor is one that was too large to be looked into: its size has to do.
        """
        if state.kind == "file":
            try:
                status = disk.status_of(path)
            except OSError:
                return False
            if status.st_size != state.size:
                return False
            if not state.digest or self._index.digest_of(path, status) == state.digest:
                is_file = stat.S_ISREG(status.st_mode)
                return is_file and stat.S_IMODE(status.st_mode) == state.mode
        return disk.same(disk.state_of(path, state.size), state)

    def _undone(self, session_id: SessionId, rows: Iterable[list[Row]]) -> set[int]:
        """Return the sets of which something is taken back, and nothing is still to be."""
        taken: set[int] = set()
        open_paths: dict[int, set[bytes]] = defaultdict(set)
        undos: set[int] = set()
        for row in (row for of_path in rows for row in of_path):
            if row.is_active:
                open_paths[row.seq].add(row.path)
                undos |= {row.seq} if row.targets else set()
            else:
                taken.add(row.seq)
        for undo, path, target in self._timeline.left(session_id):
            if undo in undos:
                open_paths[target].discard(path)
        return {seq for seq in taken if not open_paths[seq]}


def _changed(before: FileState, after: FileState, rows: list[Row], lines: Lines) -> ChangedFile:
    """Return how a file was changed by these rows, without its path and kind."""
    count = (rows[0].added, rows[0].removed) if len(rows) == 1 else lines.changed(before, after)
    is_held = before.is_held and (after.is_held or bool(after.digest))
    return ChangedFile("", "changed", *count, is_held)


def _is_no_file(before: FileState, after: FileState, *, is_implied: bool) -> bool:
    """Whether this is nothing to be shown: the same, or a folder of which a file is."""
    is_folder = {before.kind, after.kind} <= {"folder", "absent"}
    return timeline.is_equal(before, after) or (is_implied and is_folder)


def _seq(row: Row) -> int:
    return row.seq


def _now(path: bytes) -> bytes | None:
    """Return what is in a file now; None for nothing there."""
    try:
        with disk.opened(path) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(_LARGEST_SHOWN + 1)
    except FileNotFoundError:
        return None
    except OSError:
        raise UndoError("What is there now can't be read.") from None
    if len(content) > _LARGEST_SHOWN:
        raise UndoError("What is there now is too large to be shown.")
    return content


def _is_asked(row: Row, scope: UndoScope) -> bool:
    return row.session == scope.session_id if scope.to_message else timeline.in_scope(row, scope)


def _at(chosen: Iterable[list[Row]], path: str) -> list[Row]:
    for rows in chosen:
        if rows and names.shown(rows[0].path, rows[-1].root) == path:
            return rows
    return []
