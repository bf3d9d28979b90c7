"""The engine's commands about which sessions are kept, and where they are listed."""

from __future__ import annotations

import time

from desktop_agent.core.ids import SessionId, new_agent_id
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.sessions import SearchFound, SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import UsageReport
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.sessions.registry import Sessions


class KeepingCommands(EnginePart):
    """Mixed into the engine: pin, archive, delete, restore and erase a session."""

    _sessions: Sessions
    _settings: Settings

    async def search_sessions(self, text: str) -> SearchFound:
        """Return the sessions whose title holds the words, and the messages that do."""
        return self._sessions.search(text)

    async def usage(self, since: str) -> UsageReport:
        """Return what was used from a day such as `2026-11-01` on; ever, if that is empty."""
        return await self._sessions.usage(since)

    def new_info(self, session_id: SessionId, workspace: Workspace, title: str) -> SessionInfo:
        """Return the row of a new session. Without a model in the settings, it is the demo's."""
        now, settings = time.time(), self._settings
        return SessionInfo(
            id=session_id,
            main_agent=new_agent_id(),
            title=title,
            workspace=workspace,
            model=settings.model or DEMO_MODEL,
            mode=settings.mode,
            created_at=now,
            updated_at=now,
            api_base=settings.api_base,
        )

    def adopt_session(self, info: SessionInfo) -> None:
        """List a session that was imported: it is in the store, whole."""
        self._check_thread()
        self._sessions.adopt(info)

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
