"""Carrying plans out, as change sets of their own, and finishing what a crash cut off."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from desktop_agent.core.changes import (
    ChangedFile,
    ChangeSet,
    Choice,
    FileState,
    UndoError,
    UndoPlan,
    UndoReport,
)
from desktop_agent.file_history import disk, names
from desktop_agent.file_history.index import Index
from desktop_agent.file_history.packs import Packs
from desktop_agent.file_history.plan import Detail, Item, is_folder, kind_of, missing_folders
from desktop_agent.file_history.recording import Recording, new_id, read_set
from desktop_agent.file_history.restore import Restore, Step
from desktop_agent.file_history.schema import transaction
from desktop_agent.file_history.values import PathChange

_CHANGED = "The files changed since this was listed. Look at the list once more."
_NEW_FOLDER = FileState("folder", 0o755)


class _Unfinished(msgspec.Struct, frozen=True):
    """What is known of an undo before it is carried out; paths are as they are shown."""

    kept: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    # Folders that are removed if they are empty: nobody is told if they are not.
    quiet: tuple[str, ...] = ()
    # Of renamed files the path at which they come back, and the one before the undo.
    moved: tuple[tuple[bytes, bytes], ...] = ()


class _Work(msgspec.Struct):
    """What is to be done: the changes in order, the sets each takes back, what is told."""

    changes: dict[bytes, PathChange] = {}
    taken: dict[bytes, tuple[int, ...]] = {}
    left: dict[bytes, tuple[int, ...]] = {}
    kept: list[str] = []
    merged: list[str] = []
    lost: list[str] = []
    quiet: list[str] = []

    def leave(self, item: Item, told: list[str]) -> None:
        """Leave a path as it is, and say so."""
        self.left[item.path] = tuple(row.seq for row in item.rows)
        told.append(item.text)


class Undoing:
    """Carries plans out."""

    def __init__(
        self, connection: sqlite3.Connection, packs: Packs, recording: Recording, index: Index
    ) -> None:
        self._connection = connection
        self._packs = packs
        self._recording = recording
        self._index = index
        # What was done by undos that could not be saved yet.
        self._done: dict[int, set[bytes]] = {}

    def undo(
        self, detail: Detail, choices: Mapping[str, Choice], meta: ChangeSet, now: float
    ) -> UndoReport:
        """Do what a plan says; raises UndoError when nothing was done.

        What applies a result (`meta.result`) is a change of its agent's, and no undo.
        """
        if detail.plan.blocked:
            raise UndoError(detail.plan.blocked)
        work = _Work()
        for item in detail.items:
            self._choose(item, choices.get(item.text), work)
        if not work.changes:
            return UndoReport(kept=tuple(work.kept), lost=tuple(work.lost))
        self._add_folders(detail, work)
        made = msgspec.structs.replace(meta, id=meta.id or new_id(), kind="tool")
        if not meta.result:
            made = msgspec.structs.replace(made, kind="undo", undoes=detail.plan.sets)
        seq, token = self._begin(made, detail, work, now)
        return self._carry_out(seq, token, is_after_crash=False)

    def recover(self) -> tuple[UndoReport, ...]:
        """Finish every undo that was cut off."""
        self.save()
        return tuple(
            self._carry_out(seq, token, is_after_crash=True)
            for seq, token in self._begun()
            if seq not in self._done
        )

    def save(self) -> None:
        """Save what could not be saved of undos: none is done again over what was done since."""
        for seq, _ in self._begun():
            if seq in self._done:
                self._finish(seq, self._steps(seq), self._done[seq])

    def _begun(self) -> list[tuple[int, str]]:
        return self._connection.execute("SELECT seq, token FROM restore ORDER BY seq").fetchall()

    def reports(self, set_id: str) -> tuple[UndoReport, ...]:
        """Return what an undo that is recorded did, as far as its set says; nothing without one."""
        found = self._connection.execute(
            "SELECT body, session FROM change_set WHERE id = ?", (set_id,)
        )
        return tuple(
            UndoReport(set_id, made.files, session_id=session, made=made)
            for made, session in ((read_set(body), session) for body, session in found)
        )

    # -- what is to be done

    def _choose(self, item: Item, choice: Choice | None, work: _Work) -> None:
        match item.prospect:
            case "already":
                if item.is_left:
                    work.quiet.append(item.text)
                    self._add(item, item.target, work)
                else:
                    work.left[item.path] = tuple(row.seq for row in item.rows)
            case "lost":
                work.leave(item, work.lost)
            case "restore" if choice in {None, "restore", "merge"}:
                if is_folder(item) and item.target.kind == "absent":
                    work.quiet.append(item.text)
                self._add(item, item.target, work)
            case "conflict" if choice == "restore":
                self._add(item, item.target, work)
            case "conflict" if choice == "merge" and item.merged is not None:
                merged = self._packs.add(item.merged.content)
                size = len(item.merged.content)
                self._add(item, FileState("file", item.merged.mode, size, merged), work)
                work.merged.append(item.text)
            case _:
                work.leave(item, work.kept)

    def _add(self, item: Item, target: FileState, work: _Work) -> None:
        self._hold(item)
        now = msgspec.structs.replace(item.now, is_held=True)
        work.changes[item.path] = PathChange(item.path, now, target)
        work.taken[item.path] = tuple(row.seq for row in item.rows)

    def _hold(self, item: Item) -> None:
        """Keep what is there, so that this can be undone as well."""
        digest = item.now.digest
        try:
            if item.now.kind == "file":
                with disk.opened(item.path) as descriptor:
                    digest = self._packs.add_file(descriptor, os.fstat(descriptor).st_size)
            elif item.now.kind == "link":
                digest = self._packs.add(disk.read_link(item.path))
        except OSError:
            raise UndoError(_CHANGED) from None
        if digest != item.now.digest:
            raise UndoError(_CHANGED)

    def _add_folders(self, detail: Detail, work: _Work) -> None:
        wanted = [item for item in detail.items if item.path in work.changes]
        for path in missing_folders(wanted, detail.root):
            work.changes[path] = PathChange(path, disk.ABSENT, _NEW_FOLDER)
            work.quiet.append(names.shown(path, detail.root))

    # -- doing it

    def _begin(self, made: ChangeSet, detail: Detail, work: _Work, now: float) -> tuple[int, str]:
        """Write down what is going to be done."""
        token = os.urandom(8).hex()
        moved = _within(detail.moved.items(), work.changes)
        report = _Unfinished(
            tuple(work.kept),
            tuple(work.merged),
            tuple(work.lost),
            tuple(work.quiet),
            tuple(moved.items()),
        )
        changes = list(work.changes.values())
        described, lines = self._recording.described(made, detail.root, changes, moved)
        with self._packs.saving():
            folder = self._recording.folder(detail.root, now)
            session = detail.plan.scope.session_id
            seq = self._recording.insert(described, session, folder, changes, lines)
            undone = ((1, work.taken), (0, work.left)) if made.kind == "undo" else ()
            for is_taken, paths in undone:
                self._connection.executemany(
                    "INSERT INTO undone VALUES (?, ?, ?, ?)",
                    ((seq, path, target, is_taken) for path in paths for target in paths[path]),
                )
            self._connection.execute(
                "INSERT INTO restore VALUES (?, ?, ?)", (seq, token, msgspec.json.encode(report))
            )
        return seq, token

    def _carry_out(self, seq: int, token: str, *, is_after_crash: bool) -> UndoReport:
        steps = self._steps(seq)
        restore = Restore(steps, token, self._packs.read)
        if is_after_crash:
            restore.clean()
        self._done[seq] = restore.run()
        report = self._finish(seq, steps, self._done[seq])
        return msgspec.structs.replace(report, problem=restore.problem)

    def _steps(self, seq: int) -> list[Step]:
        return [
            Step(path, _state(found[:4]), _state(found[4:]))
            for path, *found in self._connection.execute(
                "SELECT path, before_kind, before_mode, before_size, before_hash,"
                " after_kind, after_mode, after_size, after_hash FROM change WHERE seq = ?",
                (seq,),
            )
        ]

    def _finish(self, seq: int, steps: Sequence[Step], done: set[bytes]) -> UndoReport:
        """Let the set say what was done, and forget that it was being done."""
        body, session, root, raw = self._connection.execute(
            "SELECT s.body, s.session, f.root, r.report FROM change_set s"
            " JOIN restore r USING (seq) JOIN folder f ON f.id = s.folder WHERE s.seq = ?",
            (seq,),
        ).fetchone()
        known = msgspec.json.decode(raw, type=_Unfinished)
        failed = [step.path for step in steps if step.path not in done]
        changes = [PathChange(s.path, s.expected, s.target) for s in steps if s.path in done]
        described = read_set(body)
        moved = _within(known.moved, done)
        if failed:
            described, _ = self._recording.described(described, root, changes, moved)
        with contextlib.suppress(UndoError):  # then `save` does it
            with transaction(self._connection):
                self._drop(seq, failed)
                if changes:
                    self._recording.update(seq, described)
                    self._index.follow(done)
                    self._connection.execute("DELETE FROM restore WHERE seq = ?", (seq,))
                else:
                    self._connection.execute("DELETE FROM change_set WHERE seq = ?", (seq,))
            del self._done[seq]
        gone = frozenset(moved.values())
        shown = [change for change in changes if change.path not in gone]
        report = _report(described if changes else None, known, root, shown, failed)
        return msgspec.structs.replace(report, session_id=session)

    def _drop(self, seq: int, failed: Iterable[bytes]) -> None:
        for path in failed:
            self._connection.execute("DELETE FROM change WHERE seq = ? AND path = ?", (seq, path))
            self._connection.execute(
                "UPDATE undone SET is_taken = 0 WHERE seq = ? AND path = ?", (seq, path)
            )


def require_same(shown: UndoPlan, now: UndoPlan) -> None:
    """Raise UndoError unless a plan would still do what was shown."""
    if _outline(shown) != _outline(now):
        raise UndoError(_CHANGED)


def _outline(plan: UndoPlan) -> list[tuple[str, str, str, str, bool]]:
    return sorted((f.path, f.was, f.prospect, f.kind, f.can_merge) for f in plan.files)


def _report(
    made: ChangeSet | None,
    known: _Unfinished,
    root: bytes,
    changes: Sequence[PathChange],
    failed: Iterable[bytes],
) -> UndoReport:
    quiet, merged = set(known.quiet), set(known.merged)
    not_done = {names.shown(path, root) for path in failed}
    listed = {file.path: file for file in made.files} if made is not None else {}
    restored: list[ChangedFile] = []
    for change in changes:
        text = names.shown(change.path, root)
        if text not in merged and (text in listed or not _is_about_folder(change)):
            kind = kind_of(change.before, change.after)
            restored.append(listed.get(text) or ChangedFile(text, kind))
    return UndoReport(
        set_id=made.id if made is not None else "",
        made=made,
        restored=tuple(restored),
        kept=tuple(sorted({*known.kept, *(not_done - quiet)})),
        merged=tuple(sorted(merged - not_done)),
        lost=known.lost,
    )


def _within(moved: Iterable[tuple[bytes, bytes]], changed: Container[bytes]) -> dict[bytes, bytes]:
    """Return the renamed files of which both paths are changed."""
    return {path: was for path, was in moved if path in changed and was in changed}


def _is_about_folder(change: PathChange) -> bool:
    return {change.before.kind, change.after.kind} <= {"folder", "absent"}


def _state(found: Sequence[object]) -> FileState:
    kind, mode, size, digest = found
    return FileState(kind, mode, size, bytes(digest).hex())  # pyright: ignore[reportArgumentType]
