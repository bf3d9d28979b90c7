"""The part of the store that begins branches of a session, and goes from one to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial

from desktop_agent.adapters.store import tasks
from desktop_agent.adapters.store.branches import Branches
from desktop_agent.adapters.store.errors import readable_errors
from desktop_agent.core.events import AgentEvent, ListChanged
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.core.notes import Note
from desktop_agent.core.sessions import BranchPoint, SessionInfo


class BranchStore(ABC):
    """A part of SqliteStore."""

    _branches: Branches
    _lists: tasks.SavedLists

    @abstractmethod
    def _key(self, session_id: SessionId) -> int:
        """Return the number of a session's row; raises LookupError."""

    @abstractmethod
    def _info(self, session_id: SessionId) -> SessionInfo:
        """Return a session's row."""

    @abstractmethod
    def _save_info(self, info: SessionInfo) -> None:
        """Write a session's row, in a transaction."""

    @abstractmethod
    def _write(self, key: int, event: AgentEvent, over: Sequence[str]) -> list[str]:
        """Write an event, in a transaction."""

    @abstractmethod
    def _writing(self, *, is_forced: bool) -> AbstractContextManager[None]:
        """Open a transaction."""

    def begin_branch(
        self,
        session_id: SessionId,
        before: MessageId,
        *events: AgentEvent,
        info: SessionInfo | None = None,
    ) -> None:
        """Go on from right before a user message of the main agent's, with these events.

        Its task list is as it was then, as far as that was kept. Raises LookupError.
        """
        begin = partial(self._branches.begin, before=before)
        self._change_path(session_id, begin, events, info)

    def switch_branch(
        self, session_id: SessionId, head: int, info: SessionInfo | None = None
    ) -> None:
        """Go on at the end of a branch. Raises LookupError."""
        self._change_path(session_id, partial(self._branches.switch, head=head), (), info)

    def branch_points(self, session_id: SessionId) -> tuple[tuple[BranchPoint, ...], int]:
        """Return where others branch off, first to last, and a number for the branch shown."""
        with readable_errors():
            return self._branches.points(self._key(session_id), self._info(session_id).main_agent)

    def branch_with(self, session_id: SessionId, seq: int) -> int | None:
        """Return the branch to switch to for an event of the main agent's; None if it is shown."""
        with readable_errors():
            return self._branches.holding(self._key(session_id), seq)

    def notes_in(self, session_id: SessionId, message_id: MessageId) -> tuple[Note, ...]:
        """Return the notes that a user message of the main agent's was made of."""
        with readable_errors():
            key, main = self._key(session_id), self._info(session_id).main_agent
            return self._branches.notes_in(key, main, message_id)

    def _change_path(
        self,
        session_id: SessionId,
        change: Callable[[int, AgentId], ListChanged | None],
        events: Sequence[AgentEvent],
        info: SessionInfo | None,
    ) -> None:
        main = self._info(session_id).main_agent
        try:
            with self._writing(is_forced=True):
                key = self._key(session_id)
                listed = change(key, main)
                if info is not None:
                    self._save_info(info)
                for event in (listed, *events):
                    if event is not None:
                        self._write(key, event, ())
        except BaseException:
            self._lists.forget(self._key(session_id))
            raise
