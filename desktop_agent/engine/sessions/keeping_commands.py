"""The engine's commands about which sessions are kept, and where they are listed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.engine.sessions.registry import Sessions


class KeepingCommands(ABC):
    """Mixed into the engine: pin, archive, delete, restore and erase a session."""

    _sessions: Sessions

    @abstractmethod
    def _check_thread(self) -> None:
        """Raise on another thread than the engine's."""

    @abstractmethod
    def _refusing(
        self, command: str, what: str, agent_id: AgentId | None = None, about: str = ""
    ) -> AbstractContextManager[None]:
        """Tell in words of a command that a disk which refuses to write kept from being done."""

    def pin_session(self, session_id: SessionId, is_pinned: bool) -> None:
        """List a session at the top, or where it belongs again; a pinned one is not archived."""
        self._check_thread()
        with self._refusing("pin_session", "The session was not pinned"):
            session = self._sessions.session(session_id)
            is_archived = session.info.is_archived and not is_pinned
            session.update(is_pinned=is_pinned, is_archived=is_archived, touch=False)

    def archive_session(self, session_id: SessionId, is_archived: bool) -> None:
        """List a session among the archived ones, or take it from there."""
        self._check_thread()
        with self._refusing("archive_session", "The session was not archived"):
            session = self._sessions.session(session_id)
            is_pinned = session.info.is_pinned and not is_archived
            session.update(is_archived=is_archived, is_pinned=is_pinned, touch=False)

    def delete_session(self, session_id: SessionId) -> None:
        """Stop a session's agents and put it among the recently deleted ones."""
        self._check_thread()
        with self._refusing("delete_session", "The session was not deleted"):
            self._sessions.delete(session_id)

    def restore_session(self, session_id: SessionId) -> None:
        """Take a session from the recently deleted ones, whole."""
        self._check_thread()
        self._sessions.restore_deleted(session_id)

    def erase_session(self, session_id: SessionId) -> None:
        """Erase a recently deleted session with all that is kept of it."""
        self._check_thread()
        self._sessions.erase(session_id)

    def empty_deleted(self) -> None:
        """Erase all recently deleted sessions."""
        self._check_thread()
        self._sessions.empty_deleted()
