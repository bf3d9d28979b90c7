"""What agents changed in files: kept, listed, taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from desktop_agent.core.changes import (
    ChangeSet,
    Choice,
    SessionChanges,
    UndoPlan,
    UndoReport,
    UndoScope,
    UndoUsage,
)
from desktop_agent.core.ids import SessionId
from desktop_agent.file_history.values import Entry, HistoryFull, Limits, PathChange

__all__ = ["Entry", "History", "HistoryFull", "Limits", "PathChange"]


class History:
    """The history of all folders, in one folder of the app's own.

    It is used by one thread; several processes may use the same folder. Its methods raise
    UndoError, in words for a person.
    """

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Write what is held and let go of the files."""
        raise NotImplementedError

    # -- capture

    def hold(self, content: bytes) -> str:
        """Keep these bytes and return their hex SHA-256; raises HistoryFull.

        They are on disk for certain with the next `record` or `save_index`.
        """
        raise NotImplementedError

    def hold_file(self, fd: int, size: int) -> str:
        """Keep the bytes of an open file, which has this size, without having it in memory.

        Raises HistoryFull, and UndoError when the file changes while it is read.
        """
        raise NotImplementedError

    def index(self, root: bytes) -> dict[bytes, Entry]:
        """Return what was in a folder at the last look, by path relative to it.

        An undo brings it up to date for what it writes: ask again after one.
        """
        raise NotImplementedError

    def save_index(
        self, root: bytes, changed: Mapping[bytes, Entry], removed: Iterable[bytes]
    ) -> None:
        """Save what a look found to be different from `index`."""
        raise NotImplementedError

    def record(
        self,
        set: ChangeSet,
        session_id: SessionId,
        root: str,
        changes: Sequence[PathChange],
        unheld: Sequence[str] = (),
    ) -> ChangeSet:
        """Record a change set and return it with its files, counts and an id if it had none."""
        raise NotImplementedError

    # -- reading

    def changes(self, session_id: SessionId, root: str) -> SessionChanges:
        """Return all that a session changed; paths are relative to `root`."""
        raise NotImplementedError

    def contents(self, scope: UndoScope) -> tuple[bytes | None, bytes | None]:
        """Return what was at `scope.path` before the first change of the scope and after the last.

        None stands for nothing there, or a folder. Raises UndoError where it was not kept.
        """
        raise NotImplementedError

    # -- undo

    def plan(self, scope: UndoScope) -> UndoPlan:
        """Return what `undo` would do now. A scope with the id of an undo is its redo.

        `to_message` has to be a message of which there are change sets: the first one at or after
        the message that is meant.
        """
        raise NotImplementedError

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
        raise NotImplementedError

    def recover(self) -> tuple[UndoReport, ...]:
        """Finish what was cut off by a crash: at the start, before anything else."""
        raise NotImplementedError

    # -- bounds

    def usage(self) -> tuple[UndoUsage, ...]:
        """Return what each folder takes, the largest first."""
        raise NotImplementedError

    def empty(self, folder: str = "") -> None:
        """Forget all that is kept for a folder, or for all of them."""
        raise NotImplementedError

    def forget_session(self, session_id: SessionId) -> None:
        """Forget what a session changed."""
        raise NotImplementedError

    def collect(self, now: float) -> None:
        """Delete what is over the limits, the oldest first; `now` in seconds since 1970."""
        raise NotImplementedError
