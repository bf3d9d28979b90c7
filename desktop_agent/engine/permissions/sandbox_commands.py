"""The engine's commands about the sandbox."""

from __future__ import annotations

from abc import ABC, abstractmethod

from desktop_agent.core.events import Event, MachineSandboxChanged, SandboxChanged
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Sandbox, SandboxState
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.permissions.checked_sandbox import CheckedSandbox

_NONE = SandboxState(reason="There is no sandbox here.")


class SandboxCommands(ABC):
    """A part of the Engine. Without `_sandbox` there is none, and commands are asked about.

    `_machine_sessions` are those for which the machine is the sandbox, oldest first.
    """

    _sandbox: CheckedSandbox | None
    _machine_sessions: tuple[SessionId, ...] = ()

    @abstractmethod
    def _check_thread(self) -> None:
        """Raise when this is not the engine's thread."""

    @abstractmethod
    def _emit(self, event: Event) -> None:
        """Tell the listener."""

    @abstractmethod
    def _session(self, session_id: SessionId) -> Session:
        """Return a live session; raises KeyError for an unknown id."""

    def check_sandbox(self) -> None:
        """Find out, in the background, whether the sandbox holds; SandboxChanged tells it."""
        self._check_thread()
        if self._sandbox is not None:
            self._sandbox.begin_check()

    def set_machine_sandbox(self, session_id: SessionId, is_on: bool) -> None:
        """Let a session use this machine as the sandbox, from the next call on, or end that.

        Its commands then run as they are, unasked in mode free, and its file tools may use the
        whole disk; what RULES P4 lists is still asked. It is not stored.
        """
        self._check_thread()
        self._session(session_id).is_machine_sandbox = is_on
        self._tell_machine_sessions(session_id, is_on=is_on)

    def _tell_machine_sessions(self, session_id: SessionId, *, is_on: bool) -> None:
        others = tuple(one for one in self._machine_sessions if one != session_id)
        now = (*others, session_id) if is_on else others
        if set(now) != set(self._machine_sessions):
            self._machine_sessions = now
            self._emit(MachineSandboxChanged(now))

    async def sandbox_state(self) -> SandboxState:
        """Return whether the sandbox holds, once that was found out."""
        return _NONE if self._sandbox is None else await self._sandbox.ready()

    async def close_sandbox(self) -> None:
        """End what the commands of the sessions share."""
        if self._sandbox is not None:
            await self._sandbox.close()

    def _checked(self, sandbox: Sandbox | None) -> CheckedSandbox | None:
        if sandbox is None:
            return None
        return CheckedSandbox(sandbox, lambda state: self._emit(SandboxChanged(state)))

    def _is_contained(self) -> bool:
        return self._sandbox is not None and self._sandbox.state.holds

    def _forget_session(self, session_id: SessionId) -> None:
        self._tell_machine_sessions(session_id, is_on=False)
        if self._sandbox is not None:
            self._sandbox.begin_forget(session_id)
