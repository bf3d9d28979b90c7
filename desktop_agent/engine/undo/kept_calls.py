"""What is done around each call that may change files, so that it can be undone.

Nothing here keeps a call from running: what can't be kept is said once, and work goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import msgspec

from desktop_agent.core.changes import ChangeSet, FarFile, UndoError
from desktop_agent.core.events import AgentEvent, EngineFailed, FilesChanged
from desktop_agent.core.ids import AgentId, MessageId, SessionId, new_change_set_id
from desktop_agent.core.messages import ToolCall
from desktop_agent.core.pipes.file_capture import CallBegun, Captured, FileWrite
from desktop_agent.core.tool import Access, Preview, Tool
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.ports import FileHistory, StoreError
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.undo.deleted_paths import deleted_paths

_log = logging.getLogger(__name__)

T = TypeVar("T")
# Longer than anything it does; a process that hangs must not hold up the agents.
_LONGEST_S = 120.0
_LABEL = 80
OUTSIDE = "What it changed outside the folder is not kept."


class Caller(Protocol):
    """What is needed of the agent that calls."""

    @property
    def id(self) -> AgentId:
        """Its id."""
        ...

    @property
    def session(self) -> Session:
        """The session it works in."""
        ...


class Call(msgspec.Struct, frozen=True):
    """A call that was decided about, and is about to run."""

    tool: Tool
    preview: Preview
    call: ToolCall
    workspace: Workspace


class KeptCalls:
    """Has the history keep what calls change, and tells FilesChanged of it.

    `message_of` returns the user's message that a session works on. Without a history nothing is
    kept. To be used on the engine's loop.
    """

    def __init__(
        self,
        history: FileHistory | None,
        message_of: Callable[[Session], MessageId | None],
        session_of: Callable[[SessionId], Session],
        failed: Callable[[EngineFailed], None],
    ) -> None:
        self._history = history
        self._message_of = message_of
        self._session_of = session_of
        self._failed = failed
        self._told = ""
        self._jobs: set[asyncio.Task[Any]] = set()

    def watch(self, session: Session) -> None:
        """Have a session's folder looked at in the background: work begins there."""
        if self._history is not None:
            info = session.info
            self.spawn(self._watch(self._history, info.id, info.workspace))

    @asynccontextmanager
    async def around(self, call: Call, caller: Caller) -> AsyncGenerator[CallChanges | None]:
        """Keep what a call changes while the block runs; yields None where it changes nothing."""
        if self._history is None or not _may_change(call):
            yield None
            return
        kept = CallChanges(self, self._history, _begun(call, caller, self._message_of))
        if call.tool.access is Access.WRITE:
            yield kept
            return
        begun = self.spawn(self.ask(self._history.begin(kept.begun)))
        try:
            is_begun = await asyncio.shield(begun)
        except asyncio.CancelledError:
            self.spawn(self._end_begun(self._history, begun, kept.begun.changes.id))
            raise
        try:
            yield kept
        finally:
            if not is_begun:
                pass  # that was said
            elif kept.until is None:
                await self.carried_out(self._end(self._history, kept.begun.changes.id))
            else:
                self.spawn(self._end_after(self._history, kept.until, kept.begun.changes.id))

    async def restorable(self, preview: Preview, session: Session) -> frozenset[str]:
        """Return what of that which a contained command deletes an undo could bring back."""
        contained = preview.containment
        is_inside = contained is not None and contained.is_contained
        if self._history is None or not is_inside or not preview.deletes or not preview.paths:
            return frozenset()
        named = deleted_paths(preview.command, preview.deletes, preview.paths[0])
        paths = list(named.values())
        try:
            async with asyncio.timeout(_LONGEST_S):
                held = await self._history.held(session.info.id, _root(session), paths)
        except (TimeoutError, UndoError):
            return frozenset()
        return frozenset(name for name, is_held in zip(named, held, strict=True) if is_held)

    async def keep_result(self, caller: Caller, files: Sequence[FarFile], began: float) -> bool:
        """Keep what an agent changed in a copy elsewhere, to be applied here by the user.

        Tells whether there is a history that keeps it. Raises UndoError.
        """
        if self._history is None or not files:
            return False
        session = caller.session
        meta = ChangeSet(
            new_change_set_id(),
            "result",
            caller.id,
            message_id=self._message_of(session),
            began=began,
            ended=time.time(),
        )
        kept = self._history.keep_result(meta, session.info.id, _root(session), files)
        await self.carried_out(kept)
        return True

    async def ask(self, answer: Coroutine[Any, Any, Captured]) -> bool:
        """Wait for what is recorded, and tell of it; what fails is said once.

        Returns whether there was an answer.
        """
        try:
            async with asyncio.timeout(_LONGEST_S):
                self._tell(await answer)
        except TimeoutError:
            self._fail("It took too long.")
        except UndoError as error:
            self._fail(str(error))
        else:
            return True
        return False

    async def carried_out(self, job: Coroutine[Any, Any, T]) -> T:
        """Run something to its end, also if the call is stopped meanwhile."""
        task = self.spawn(job)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise

    async def close(self) -> None:
        """Wait until all that ended is recorded."""
        if self._jobs:
            await asyncio.wait(self._jobs)

    async def _watch(self, history: FileHistory, session_id: SessionId, place: Workspace) -> None:
        try:
            await history.watch(session_id, place.root)
        except UndoError as error:
            self._fail(str(error))

    async def _end(self, history: FileHistory, set_id: str) -> None:
        await self.ask(history.end(set_id))

    async def _end_begun(self, history: FileHistory, begun: Awaitable[bool], set_id: str) -> None:
        """End a call that was stopped before it ran: it would hold up every undo."""
        if await begun:
            await self._end(history, set_id)

    async def _end_after(self, history: FileHistory, until: Awaitable[object], set_id: str) -> None:
        await asyncio.wait([asyncio.ensure_future(until)])
        await self.ask(history.end(set_id))

    def spawn(self, job: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something in the background; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)
        return task

    def _tell(self, captured: Captured) -> None:
        for one in captured.recorded:
            if one.changes.agent_id:  # else nobody's: it happened outside of all calls
                self.tell(one.session_id, one.changes)
        if captured.stopped:
            self._fail(captured.stopped)
        else:
            self._told = ""

    def tell(self, session_id: SessionId, changes: ChangeSet) -> None:
        """Record in the session what a call, or an undo, did to files."""
        event: AgentEvent = FilesChanged(changes.agent_id, changes)
        try:
            self._session_of(session_id).conclude(event)
        except (KeyError, StoreError) as error:  # the session was deleted meanwhile
            _log.info("changed files were not told: %s", error)

    def _fail(self, why: str) -> None:
        """Say it once, and again only after it was well."""
        if why != self._told:
            self._told = why
            self._failed(EngineFailed("undo", f"Undo is incomplete. {why}"))


class CallChanges:
    """What one call changes. `until` is when that is over, if not with the call."""

    def __init__(self, calls: KeptCalls, history: FileHistory, begun: CallBegun) -> None:
        self.begun = begun
        self.until: Awaitable[object] | None = None
        self._calls = calls
        self._history = history

    async def write(self, write: FileWrite, do: Callable[[], T]) -> T:
        """Keep what is there, then have `do` write the file on a worker thread."""
        return await self._calls.carried_out(self._write(write, do))

    def goes_on(self, ended: Awaitable[object]) -> None:
        """The call leaves something running that changes files until then."""
        self.until = ended

    async def _write(self, write: FileWrite, do: Callable[[], T]) -> T:
        begun = msgspec.structs.replace(self.begun, write=write)
        is_begun = await self._calls.ask(self._history.begin(begun))
        is_done = False
        try:
            result = await asyncio.to_thread(do)
            is_done = True
            return result
        finally:
            if is_begun:
                await self._calls.ask(self._history.end(begun.changes.id, is_done=is_done))


def _may_change(call: Call) -> bool:
    """Whether a call may change files of the workspace; typing into a command is the command's."""
    if call.tool.access is Access.WRITE:
        return True
    preview = call.preview
    if call.tool.access is Access.SERVER:
        return bool(preview.paths)
    if call.tool.access is not Access.EXECUTE or not preview.command or not preview.paths:
        return False
    contained = preview.containment
    cannot_write = contained is not None and contained.is_contained and not contained.is_changing
    return not preview.is_read_only and not cannot_write


def _root(session: Session) -> str:
    return os.path.realpath(session.info.workspace.root)


def _begun(
    call: Call, caller: Caller, message_of: Callable[[Session], MessageId | None]
) -> CallBegun:
    session, preview = caller.session, call.preview
    is_command = call.tool.access in {Access.EXECUTE, Access.SERVER}
    is_kept_inside = preview.containment is not None and preview.containment.is_contained
    changes = ChangeSet(
        id=new_change_set_id(),
        kind="command" if is_command else "tool",
        agent_id=caller.id,
        call_id=call.call.id,
        message_id=message_of(session),
        began=time.time(),
        unheld=(OUTSIDE,) if is_command and not is_kept_inside else (),
    )
    lines = (preview.command.strip() or call.tool.name).splitlines()
    return CallBegun(
        changes=changes,
        session_id=session.info.id,
        root=_root(session),
        folders=_looked_at(call.workspace) if is_command else (),
        label=f"`{lines[0][:_LABEL]}`" if is_command else "",
        asked_at=time.monotonic(),
    )


def _looked_at(workspace: Workspace) -> tuple[str, ...]:
    """Return the folders whose files are kept: the disk as a whole can't be looked at."""
    return tuple(root for root in workspace.write_roots if root != workspace.disk)
