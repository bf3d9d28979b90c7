"""Which window of several may change a session, and which commands would. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.gui.state.session_state import SessionState

W = TypeVar("W")

# By what their first argument names.
OF_AGENT = frozenset({
    "send", "edit_note", "withdraw_note", "edit_tasks", "stop", "stop_call", "stop_and_send",
    "resume", "pause", "step", "finish", "extend_budget", "set_budget", "begin_branch", "compact",
    "undo_compaction", "clear_context", "type_into_job", "stop_job", "allow_outside", "ask_aside",
    "run_on",
})  # fmt: skip
OF_REQUEST = frozenset({"decide", "answer"})
OF_SESSION = frozenset({
    "rename_session", "archive_session", "delete_session", "switch_branch", "set_mode",
    "set_model", "set_workspace", "set_machine_sandbox",
})  # fmt: skip


class SessionHolds(Generic[W]):
    """Of the windows that show a session the first has it for writing, until another takes it.

    When that one shows something else or is closed, the next has it.
    """

    def __init__(self) -> None:
        self._windows: dict[SessionId, list[W]] = {}

    def show(self, window: W, session_id: SessionId | None) -> None:
        """Take in that a window shows this session from now on, or none."""
        if session_id is not None and window in self._windows.get(session_id, ()):
            return
        for shown, windows in list(self._windows.items()):
            if window in windows:
                windows.remove(window)
            if not windows:
                del self._windows[shown]
        if session_id is not None:
            self._windows.setdefault(session_id, []).append(window)

    def take(self, window: W) -> None:
        """Give a window what it shows for writing; the others read."""
        for windows in self._windows.values():
            if window in windows:
                windows.remove(window)
                windows.insert(0, window)

    def writer(self, session_id: SessionId) -> W | None:
        """Return the window that has a session for writing, if any shows it."""
        return next(iter(self._windows.get(session_id, ())), None)

    def held_by_others(self, window: W) -> frozenset[SessionId]:
        """Return what other windows than this have for writing."""
        held = ((one, windows[0]) for one, windows in self._windows.items())
        return frozenset(one for one, writer in held if writer is not window)


def session_changed_by(
    known: SessionState, command: str, args: Sequence[object]
) -> SessionId | None:
    """Return the session that a command would change; None for what changes no session.

    To pin and to mark as read is free: that is about the list, not the session.
    """
    about = str(args[0]) if args else ""
    if command in OF_AGENT:
        return known.session_of(AgentId(about))
    if command in OF_REQUEST:
        return known.session_of_request(about)
    return SessionId(about) if command in OF_SESSION else None
