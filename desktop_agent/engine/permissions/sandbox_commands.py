"""The engine's commands about the sandbox."""

from __future__ import annotations

from abc import ABC, abstractmethod

from desktop_agent.core.events import Event, SandboxChanged
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Sandbox, SandboxState
from desktop_agent.engine.permissions.checked_sandbox import CheckedSandbox

_NONE = SandboxState(reason="There is no sandbox here.")


class SandboxCommands(ABC):
    """A part of the Engine. Without `_sandbox` there is none, and commands are asked about."""

    _sandbox: CheckedSandbox | None

    @abstractmethod
    def _check_thread(self) -> None:
        """Raise when this is not the engine's thread."""

    @abstractmethod
    def _emit(self, event: Event) -> None:
        """Tell the listener."""

    def check_sandbox(self) -> None:
        """Find out, in the background, whether the sandbox holds; SandboxChanged tells it."""
        self._check_thread()
        if self._sandbox is not None:
            self._sandbox.begin_check()

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
        if self._sandbox is not None:
            self._sandbox.begin_forget(session_id)
