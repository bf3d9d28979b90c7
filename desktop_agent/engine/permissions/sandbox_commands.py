"""The engine's commands about the sandbox."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Protocol

from desktop_agent.core.events import CommandRefused, MachineSandboxChanged, SandboxChanged
from desktop_agent.core.ids import AgentId, SessionId, new_note_id
from desktop_agent.core.messages import Message
from desktop_agent.core.notes import Note
from desktop_agent.core.sandbox import (
    Sandbox,
    SandboxContents,
    SandboxInstaller,
    SandboxInventory,
    SandboxState,
)
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.permissions.checked_sandbox import CheckedSandbox
from desktop_agent.engine.permissions.outside_permits import OutsidePermits, failed_inside
from desktop_agent.engine.permissions.scope import Scope

_LET_OUT = (
    "You may run this command outside the sandbox, once. If it is still needed, call `shell` with "
    'exactly this command, in the same folder, and with outside="the user allowed it":'
)
_OTHER_REMEDY = "Nothing was run: the sandbox has been checked since, and what it needs is another."
_NONE = SandboxState(reason="There is no sandbox here.")


class _Agent(Protocol):
    @property
    def history(self) -> tuple[Message, ...]: ...

    @property
    def scope(self) -> Scope: ...


class SandboxCommands(EnginePart):
    """A part of the Engine. Without `_sandbox` there is none, and commands are asked about.

    `_machine_sessions` are those for which the machine is the sandbox, oldest first.
    """

    _sandbox: CheckedSandbox | None
    _inventory: SandboxInventory | None
    _installer: SandboxInstaller | None
    _permits: OutsidePermits
    _machine_sessions: tuple[SessionId, ...] = ()

    @abstractmethod
    def send(self, agent_id: AgentId, note: Note) -> None:
        """Queue a note of the person's."""

    @abstractmethod
    def _agent(self, agent_id: AgentId) -> _Agent:
        """Return an agent; checks the thread."""

    @abstractmethod
    def _session(self, session_id: SessionId) -> Session:
        """Return a live session; raises KeyError for an unknown id."""

    def check_sandbox(self) -> None:
        """Find out, in the background, whether the sandbox holds; SandboxChanged tells it."""
        self._check_thread()
        if self._sandbox is not None:
            self._sandbox.begin_check()

    def allow_outside(self, agent_id: AgentId, call_id: str) -> None:
        """Let the agent run a command that failed inside outside of the sandbox, once.

        Exactly that command; the agent is told, and runs it again or doesn't. What its turn
        leaves unused is taken back.
        """
        agent = self._agent(agent_id)
        failed = failed_inside(agent.history, call_id)
        if failed is None or agent.scope.mode == "look":
            why = "The mode is Look only" if failed is not None else "That command is not known"
            self._emit(CommandRefused("allow_outside", f"{why}; nothing was allowed.", agent_id))
            return
        self._permits.give(agent_id, failed.fingerprint)
        words = f"{_LET_OUT}\n\n{failed.command}"
        self.send(agent_id, Note(new_note_id(), words, "steer", created_at=time.time()))

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

    async def sandbox_contents(self, root: str) -> SandboxContents:
        """Return what commands in a folder see of the home, and the private caches of all."""
        if self._inventory is None:
            return SandboxContents()
        return await self._inventory.contents(root)

    async def empty_cache(self, cache_id: str) -> None:
        """Delete what is in a private cache."""
        if self._inventory is not None:
            await self._inventory.empty_cache(cache_id)

    async def fix_sandbox(self, command: tuple[str, ...]) -> str:
        """Run the command that installs what is missing, which the person was shown; check again.

        Return why the sandbox doesn't hold then, or nothing. Nothing but what the last check
        offers is run.
        """
        if self._sandbox is None or self._installer is None:
            return _NONE.reason
        if not command or command != (await self._sandbox.ready()).command:
            return _OTHER_REMEDY
        failed = await self._installer.install(command)
        await self._sandbox.ready()  # a check that was begun before knows nothing of it
        state = await self._sandbox.check()
        return "" if state.holds else failed or state.reason

    async def close_sandbox(self) -> None:
        """End what the commands of the sessions share."""
        if self._sandbox is not None:
            await self._sandbox.close()

    def _checked(self, sandbox: Sandbox | None) -> CheckedSandbox | None:
        if sandbox is None:
            return None
        return CheckedSandbox(sandbox, lambda state: self._emit(SandboxChanged(state)))

    def _look_ahead(self, workspace: Workspace) -> None:
        if self._sandbox is not None:
            self._sandbox.begin_look_ahead(workspace)

    def _is_contained(self) -> bool:
        return self._sandbox is not None and self._sandbox.state.holds

    def _forget_session(self, session_id: SessionId) -> None:
        self._tell_machine_sessions(session_id, is_on=False)
        if self._sandbox is not None:
            self._sandbox.begin_forget(session_id)
