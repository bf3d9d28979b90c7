"""Change sets: recorded in one transaction, with what is said of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from desktop_agent.core.changes import ChangedFile, ChangeSet, FileState, UndoError
from desktop_agent.core.diffs.line_diff import opcodes
from desktop_agent.core.ids import SessionId
from desktop_agent.engine.workspace.text_files import decode, lines_of
from desktop_agent.file_history import names, schema
from desktop_agent.file_history.packs import Packs
from desktop_agent.file_history.plan import kind_of
from desktop_agent.file_history.values import PathChange

LISTED = 200
_LARGEST_TEXT = 1 << 20
# What is compared line by line for one set: some seconds of work at the worst.
_MOST_COMPARED = 4 << 20
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(ChangeSet)
_MARKS = ", ".join("?" * 14)


class Recording:
    """Writes change sets within transactions of the caller's."""

    def __init__(self, connection: sqlite3.Connection, packs: Packs) -> None:
        self._connection = connection
        self._packs = packs

    def folder(self, root: bytes, now: float) -> int:
        """Return the number of a folder, new if need be."""
        self._connection.execute(
            "INSERT INTO folder (root, seen) VALUES (?, ?)"
            " ON CONFLICT (root) DO UPDATE SET seen = excluded.seen",
            (root, now),
        )
        found = self._connection.execute("SELECT id FROM folder WHERE root = ?", (root,))
        return int(found.fetchone()[0])

    def checked(self, changes: Iterable[PathChange]) -> list[PathChange]:
        """Return the changes, with contents that are not kept after all marked as such."""
        return [
            PathChange(
                change.path,
                self._checked(change.path, change.before),
                self._checked(change.path, change.after),
            )
            for change in changes
        ]

    def described(
        self,
        change_set: ChangeSet,
        root: bytes,
        changes: Sequence[PathChange],
        moved: Mapping[bytes, bytes] | None = None,
    ) -> tuple[ChangeSet, list[tuple[int, int]]]:
        """Return the set with its files and counts, and the lines of each change.

        `moved` has the old paths of renamed files, if they are known.
        """
        budget, above = Lines(self._packs), _above(changes)
        lines = [budget.changed(change.before, change.after) for change in changes]
        moved = _renamed(changes) if moved is None else moved
        old = _before(changes, frozenset(moved.values()))
        counted = [
            (c, budget.changed(old[moved[c.path]], c.after) if c.path in moved else count)
            for c, count in zip(changes, lines, strict=True)
            if c.path not in old
        ]
        files = [
            ChangedFile(
                names.shown(change.path, root),
                kind_of(change.before, change.after),
                added,
                removed,
                change.before.is_held and (change.after.is_held or bool(change.after.digest)),
                names.shown(moved[change.path], root) if change.path in moved else "",
            )
            for change, (added, removed) in counted
            if not _is_implied(change, above)
        ]
        described = msgspec.structs.replace(
            change_set,
            files=tuple(files[:LISTED]),
            count=len(files),
            added=sum(max(added, 0) for _, (added, _) in counted),
            removed=sum(max(removed, 0) for _, (_, removed) in counted),
        )
        return described, lines

    def insert(
        self,
        change_set: ChangeSet,
        session_id: SessionId,
        folder: int,
        changes: Sequence[PathChange],
        lines: Sequence[tuple[int, int]],
    ) -> int:
        """Insert a set and its changes; returns its number."""
        cursor = self._connection.execute(
            "INSERT INTO change_set (id, folder, session, agent, message, call, kind, ended, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                change_set.id,
                folder,
                session_id,
                change_set.agent_id,
                change_set.message_id or "",
                change_set.call_id,
                change_set.kind,
                change_set.ended,
                _ENCODER.encode(change_set),
            ),
        )
        seq = int(cursor.lastrowid or 0)
        self._connection.executemany(
            f"INSERT INTO change VALUES ({_MARKS})",
            (
                (seq, c.path, *_columns(c.before), *_columns(c.after), added, removed)
                for c, (added, removed) in zip(changes, lines, strict=True)
            ),
        )
        return seq

    def update(self, seq: int, change_set: ChangeSet) -> None:
        """Replace what is said of a set."""
        self._connection.execute(
            "UPDATE change_set SET body = ?, ended = ? WHERE seq = ?",
            (_ENCODER.encode(change_set), change_set.ended, seq),
        )

    def _checked(self, path: bytes, state: FileState) -> FileState:
        if not state.is_held:
            return state
        is_kept = not names.is_git(path)
        if state.kind in {"file", "link"}:
            is_kept = is_kept and bool(state.digest) and self._packs.find(state.digest) is not None
        elif state.kind == "other":
            is_kept = False
        return state if is_kept else msgspec.structs.replace(state, is_held=False)


class Lines:
    """Counts the lines that changes add and remove, with a bound on the work."""

    def __init__(self, packs: Packs) -> None:
        self._packs = packs
        self._left = _MOST_COMPARED

    def changed(self, before: FileState, after: FileState) -> tuple[int, int]:
        """Return how many lines were added and removed; -1 for what is no text, or too much."""
        if "file" not in {before.kind, after.kind}:
            return 0, 0
        if before.digest == after.digest:
            return 0, 0
        old, new = self._text(before), self._text(after)
        if old is None or new is None:
            return -1, -1
        if not old or not new:
            return len(new), len(old)
        self._left -= before.size + after.size
        if self._left < 0:
            return -1, -1
        codes = [code for code in opcodes(old, new) if code[0] != "equal"]
        return sum(c[4] - c[3] for c in codes), sum(c[2] - c[1] for c in codes)

    def _text(self, state: FileState) -> list[str] | None:
        if state.kind != "file":
            return []
        if not state.is_held or state.size > _LARGEST_TEXT:
            return None
        with contextlib.suppress(UndoError):
            text = decode(b"".join(self._packs.read(state.digest)))
            return lines_of(text.text) if text is not None else None
        return None


def read_set(body: bytes) -> ChangeSet:
    """Read what was said of a set."""
    return _DECODER.decode(body)


def new_id() -> str:
    """Return an id of a change set, such as `ch_3f…`."""
    return f"ch_{os.urandom(8).hex()}"


def _renamed(changes: Sequence[PathChange]) -> dict[bytes, bytes]:
    gone = [(c.path, c.before.digest) for c in changes if _is_moved(c.before, c.after)]
    made = [(c.path, c.after.digest) for c in changes if _is_moved(c.after, c.before)]
    return names.renamed(gone, made)


def _is_moved(there: FileState, gone: FileState) -> bool:
    return there.kind == "file" and gone.kind == "absent" and there.is_held and there.size > 0


def _before(changes: Sequence[PathChange], paths: Collection[bytes]) -> dict[bytes, FileState]:
    return {change.path: change.before for change in changes if change.path in paths}


def _above(changes: Sequence[PathChange]) -> frozenset[bytes]:
    return frozenset(above for change in changes for above in names.parents(change.path))


def _is_implied(change: PathChange, above: frozenset[bytes]) -> bool:
    kinds = {change.before.kind, change.after.kind}
    is_whole = change.before.is_held and change.after.is_held
    return kinds <= {"folder", "absent"} and is_whole and change.path in above


def _columns(state: FileState) -> tuple[str, int, int, bytes, int]:
    digest = bytes.fromhex(state.digest) if state.digest else b""
    if len(digest) not in {0, hashlib.sha256().digest_size}:
        raise UndoError("A digest is not one of SHA-256.")
    held = state.is_held * schema.HELD | state.is_moved_in * schema.MOVED_IN
    return state.kind, state.mode, state.size, digest, held
