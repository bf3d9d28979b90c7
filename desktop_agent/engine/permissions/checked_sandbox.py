"""The sandbox as the engine has it: checked before the first command, told when it changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Boundary, Enclosure, Sandbox, SandboxState
from desktop_agent.core.workspace import OwnPlaces, Workspace

FindPlaces = Callable[[], Awaitable[tuple[str, ...]]]

_log = logging.getLogger(__name__)


class CheckedSandbox:
    """A Sandbox around another one. `changed` hears of its state after each check.

    Of the engine's thread alone.
    """

    def __init__(self, sandbox: Sandbox, changed: Callable[[SandboxState], None]) -> None:
        self._sandbox = sandbox
        self._changed = changed
        self._state = sandbox.state
        self._checking: asyncio.Task[SandboxState] | None = None
        self._used: set[SessionId] = set()
        self._background: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> SandboxState:
        """What the last check found."""
        return self._state

    @property
    def is_checked(self) -> bool:
        """Whether the state is what a check has found."""
        return self._checking is not None and self._checking.done()

    def begin_check(self) -> None:
        """Check it in the background, unless that is being done."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.get_running_loop().create_task(self._check())

    async def ready(self) -> SandboxState:
        """Return the state once it has been checked; the first call begins with that."""
        if self._checking is None:
            self.begin_check()
        if self._checking is not None:
            await asyncio.shield(self._checking)
        return self._state

    async def check(self) -> SandboxState:
        """Check it again, and return what that found."""
        self.begin_check()
        return await self.ready()

    async def enclose(
        self, boundary: Boundary, directory: str, environment: Mapping[str, str]
    ) -> Enclosure:
        """Prepare to run one command in `directory`. Raises ToolError; never a way without."""
        self._used.add(boundary.session_id)
        try:
            return await self._sandbox.enclose(boundary, directory, environment)
        finally:
            if self._sandbox.state != self._state:  # it was replaced, and looked at again
                self._tell(self._sandbox.state)

    def begin_look_ahead(self, workspace: Workspace) -> None:
        """Have the first command in a session's folders wait less: it is to come soon."""
        roots = [root for root in workspace.write_roots if root != workspace.disk]
        if self._state.holds and roots:
            self._in_background(self.look_ahead(roots))

    async def look_ahead(self, roots: Sequence[str]) -> None:
        """Find what is protected in folders that commands will change, so that none waits."""
        await self._sandbox.look_ahead(roots)

    def temporary_folder(self, session_id: SessionId) -> str:
        """Return the real path of what a session's commands see as `/tmp`, made if need be."""
        self._used.add(session_id)
        return self._sandbox.temporary_folder(session_id)

    async def forget(self, session_id: SessionId) -> None:
        """End what a session's commands share."""
        self._used.discard(session_id)
        await self._sandbox.forget(session_id)

    def begin_forget(self, session_id: SessionId) -> None:
        """Forget a session in the background."""
        self._in_background(self.forget(session_id))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def close(self) -> None:
        """End what the commands of any session share."""
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.wait([self._checking])
        forgotten = (self.forget(session_id) for session_id in tuple(self._used))
        for failed in await asyncio.gather(*forgotten, *self._background, return_exceptions=True):
            if isinstance(failed, Exception):
                _log.warning("what commands shared was not ended: %s", failed)

    async def _check(self) -> SandboxState:
        try:
            found = await self._sandbox.check()
        except Exception as error:  # noqa: BLE001 - a defect leaves commands asked, not stuck
            _log.exception("the check of the sandbox failed")
            found = SandboxState(reason=f"The check failed: {type(error).__name__}.", fix="other")
        self._tell(found)
        return found

    def _tell(self, state: SandboxState) -> None:
        self._state = state
        self._changed(state)


class Confinement(msgspec.Struct, frozen=True):
    """What keeps commands: a sandbox, or, as the person says, the machine (`is_machine`).

    `own` are the app's own files, which no tool touches unasked. `registries` finds the hosts
    that packages come from, as `HOST:PORT`.
    """

    sandbox: CheckedSandbox | None = None
    is_machine: bool = False
    own: OwnPlaces = OwnPlaces()
    registries: FindPlaces | None = None
