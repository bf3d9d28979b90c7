"""What agents changed in files: kept, listed, taken back."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from desktop_agent.core.changes import (
    ChangeSet,
    Choice,
    FarFile,
    JudgedResult,
    SessionChanges,
    UndoPlan,
    UndoReport,
    UndoScope,
    UndoUsage,
)
from desktop_agent.core.ids import SessionId
from desktop_agent.file_history.bounds import Bounds
from desktop_agent.file_history.index import Index
from desktop_agent.file_history.lock import lock
from desktop_agent.file_history.merge import Merger
from desktop_agent.file_history.packs import Packs
from desktop_agent.file_history.plan import Planner
from desktop_agent.file_history.reading import Reading
from desktop_agent.file_history.recording import Recording, new_id
from desktop_agent.file_history.results.judging import Judge
from desktop_agent.file_history.results.keeping import change_of
from desktop_agent.file_history.schema import open_database, readable_errors, transaction
from desktop_agent.file_history.timeline import Timeline
from desktop_agent.file_history.undoing import Undoing, require_same
from desktop_agent.file_history.values import Entry, HistoryFull, Limits, PathChange

__all__ = ["Entry", "History", "HistoryFull", "Limits", "PathChange"]


class History:
    """The history of all folders, in one folder of the app's own.

    It is used by one thread, and its folder by one process at a time. Its methods raise UndoError,
    in words for a person.
    """

    def __init__(
        self, folder: Path, limits: Limits | None = None, *, is_patient: bool = True
    ) -> None:
        self._limits = limits = limits or Limits()
        self._stopped = ""
        with readable_errors():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            self._lock = lock(folder / "lock", is_patient=is_patient)
        try:
            self._connection = connection = open_database(folder)
            with readable_errors():
                self._packs = packs = Packs(folder, connection, limits)
                merger = Merger(_empty_folder(folder / "merging"), self._content)
        except BaseException:
            os.close(self._lock)
            raise
        line = Timeline(connection)
        self._index = Index(connection)
        self._recording = Recording(connection, packs)
        self._bounds = Bounds(folder, connection, packs, limits)
        packs.require_room = self._bounds.require_room
        self._reading = Reading(connection, packs, line, self._index)
        self._planner = Planner(line, packs, merger, limits)
        self._judge = Judge(self._planner, merger, self._content)
        self._undoing = Undoing(connection, packs, self._recording, self._index)

    def close(self) -> None:
        """Write what is held and let go of the files."""
        try:
            with readable_errors():
                self._undoing.save()
            with self._packs.saving():
                pass
        finally:
            self._packs.close()
            self._connection.close()
            os.close(self._lock)

    # -- capture

    def hold(self, content: bytes) -> str:
        """Keep these bytes and return their hex SHA-256; raises HistoryFull.

        They are on disk for certain with the next `record` or `save_index`.
        """
        with self._holding():
            return self._packs.add(content)

    def hold_file(self, fd: int, size: int) -> str:
        """Keep the bytes of an open file, which has this size, without having it in memory.

        Raises HistoryFull, and UndoError when the file changes while it is read.
        """
        with self._holding():
            return self._packs.add_file(fd, size)

    def has(self, digest: str) -> bool:
        """Whether these bytes are kept still."""
        with readable_errors():
            return self._packs.find(digest) is not None

    def clone_file(self, fd: int) -> str:
        """Keep the bytes of a large open file as `hold_file` does, where the disk can share them.

        Raises HistoryFull, and UndoError where it can't.
        """
        with self._holding():
            return self._packs.clone_file(fd)

    def index(self, root: bytes) -> dict[bytes, Entry]:
        """Return what was in a folder at the last look, by path relative to it.

        An undo brings it up to date for what it writes: ask again after one.
        """
        with readable_errors():
            return self._index.load(root)

    def save_index(
        self,
        root: bytes,
        changed: Mapping[bytes, Entry],
        removed: Iterable[bytes],
        *,
        is_whole: bool = True,
    ) -> None:
        """Save what a look found to be different from `index`.

        Until it `is_whole`, `index` returns nothing of it: what is not in it would seem to be new.
        """
        with self._packs.saving():
            folder = self._recording.folder(root, self._limits.clock())
            self._index.save(folder, changed, removed, is_whole=is_whole)
        self._collect_if_due()

    def record(
        self,
        change_set: ChangeSet,
        session_id: SessionId,
        root: str,
        changes: Sequence[PathChange],
        unheld: Sequence[str] = (),
    ) -> ChangeSet:
        """Record a change set and return it with its files, counts and an id if it had none."""
        path = os.fsencode(root)
        with readable_errors():
            checked = self._recording.checked(changes)
            named = msgspec.structs.replace(
                change_set, id=change_set.id or new_id(), unheld=tuple(unheld)
            )
            described, lines = self._recording.described(named, path, checked)
        with self._packs.saving():
            folder = self._recording.folder(path, self._limits.clock())
            self._recording.insert(described, session_id, folder, checked, lines)
        self._collect_if_due()
        return described

    # -- reading

    def changes(self, session_id: SessionId, root: str) -> SessionChanges:
        """Return all that a session changed; paths are relative to `root`."""
        with readable_errors():
            return self._reading.changes(session_id, os.fsencode(root), self._stopped)

    def contents(
        self, scope: UndoScope, *, is_since: bool = False
    ) -> tuple[bytes | None, bytes | None]:
        """Return what was at `scope.path` before the first change of the scope and after the last.

        With `is_since` what was after the last one, and what is there now. None stands for nothing
        there, or a folder. Raises UndoError where it was not kept.
        """
        with readable_errors():
            return self._reading.contents(scope, is_since=is_since)

    # -- undo

    def plan(self, scope: UndoScope) -> UndoPlan:
        """Return what `undo` would do now. A scope with the id of an undo is its redo.

        `to_message` has to be a message of which there are change sets: the first one at or after
        the message that is meant.
        """
        with readable_errors():
            return self._planner.plan(scope).plan

    def undo(
        self,
        scope: UndoScope,
        choices: Mapping[str, Choice],
        meta: ChangeSet,
        plan: UndoPlan | None = None,
    ) -> UndoReport:
        """Take a scope back, conflicts by choice (by path; `keep` where there is none).

        `meta` has the agent, the message and the times of the change set that this makes. Raises
        UndoError when it would not do any more what `plan` says.
        """
        with readable_errors():
            self._undoing.recover()  # what could not be saved of one before
            detail = self._planner.plan(scope)
            if plan is not None:
                require_same(plan, detail.plan)
            return self._undoing.undo(detail, choices, meta, self._limits.clock())

    def recover(self) -> tuple[UndoReport, ...]:
        """Finish what was cut off by a crash: at the start, before anything else."""
        with readable_errors():
            return self._undoing.recover()

    def reports(self, set_id: str) -> tuple[UndoReport, ...]:
        """Return what the undo of this id did; nothing if there is none."""
        with readable_errors():
            return self._undoing.reports(set_id)

    # -- results

    def keep_result(
        self, meta: ChangeSet, session_id: SessionId, root: str, files: Iterable[FarFile]
    ) -> ChangeSet:
        """Keep what an agent changed in a copy elsewhere, to be applied here.

        It takes the place of what that agent had changed there before and nobody has applied.
        """
        path = os.fsencode(root)
        with readable_errors():
            changes = [change_of(file, path, self.hold) for file in _by_path(files)]
        made = self.record(meta, session_id, root, changes)
        older = [one for one in self.changes(session_id, root).waiting if one.id != made.id]
        with transaction(self._connection):
            self._connection.executemany(
                "DELETE FROM change_set WHERE id = ?",
                ((one.id,) for one in older if one.agent_id == made.agent_id),
            )
        return made

    def judged_results(self, session_id: SessionId, root: str) -> tuple[JudgedResult, ...]:
        """Return which results can be applied now, in the order in which they came."""
        waiting = self.changes(session_id, root).waiting
        with readable_errors():
            return tuple(self._judge.judged(session_id, waiting))

    def plan_result(self, scope: UndoScope) -> UndoPlan:
        """Return what applying a result would do now; `scope.set_id` is its id."""
        with readable_errors():
            return self._planner.plan_result(scope).plan

    def apply_result(
        self,
        scope: UndoScope,
        choices: Mapping[str, Choice],
        meta: ChangeSet,
        plan: UndoPlan | None = None,
    ) -> UndoReport:
        """Apply a result as `undo` takes a scope back: it is the redo of what was never done."""
        with readable_errors():
            self._undoing.recover()
            detail = self._planner.plan_result(scope)
            if plan is not None:
                require_same(plan, detail.plan)
            named = msgspec.structs.replace(meta, result=scope.set_id)
            return self._undoing.undo(detail, choices, named, self._limits.clock())

    # -- bounds

    def usage(self) -> tuple[UndoUsage, ...]:
        """Return what each folder takes, the largest first."""
        with readable_errors():
            return self._bounds.usage()

    def empty(self, folder: str = "") -> None:
        """Forget all that is kept for a folder, or for all of them."""
        with readable_errors():
            self._bounds.empty(os.fsencode(folder) if folder else None)

    def forget_session(self, session_id: SessionId) -> None:
        """Forget what a session changed."""
        with transaction(self._connection):
            self._connection.execute("DELETE FROM change_set WHERE session = ?", (session_id,))
        self.collect(self._limits.clock())

    def collect(self, now: float) -> None:
        """Delete what is over the limits, the oldest first; `now` in seconds since 1970."""
        with readable_errors():
            self._bounds.collect(now)

    # -- within

    @contextlib.contextmanager
    def _holding(self) -> Generator[None]:
        """Remember why nothing can be kept, until something is again."""
        try:
            with readable_errors():
                yield
        except HistoryFull as error:
            self._stopped = str(error)
            raise
        self._stopped = ""

    def _collect_if_due(self) -> None:
        if self._bounds.is_due():
            self.collect(self._limits.clock())

    def _content(self, digest: str) -> bytes:
        return b"".join(self._packs.read(digest))


def _by_path(files: Iterable[FarFile]) -> list[FarFile]:
    return sorted(files, key=lambda file: file.path)


def _empty_folder(path: Path) -> Path:
    """Make a folder, without what a killed process left in it."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(exist_ok=True, mode=0o700)
    return path
