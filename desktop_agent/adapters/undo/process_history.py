"""The engine's FileHistory over a pipe to the process that keeps it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent.adapters.child_process import ChildProcess, keyless_environment, own_program
from desktop_agent.core.changes import (
    ChangeSet,
    Choice,
    FarFile,
    FolderLook,
    JudgedResult,
    SessionChanges,
    UndoError,
    UndoPlan,
    UndoReport,
    UndoScope,
    UndoUsage,
)
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.core.pipes.file_capture import (
    CallBegun,
    Captured,
    HistoryAnswered,
    HistoryCalled,
    HistoryRefused,
)
from desktop_agent.core.pipes.frames import deliver, frame

_log = logging.getLogger(__name__)

_GONE = "The part of the app that keeps what is changed has ended. It starts again by itself."

_Answer = HistoryAnswered | HistoryRefused
_decoder = msgspec.msgpack.Decoder(_Answer)


class ProcessHistory:
    """Starts the process when it is first needed, and again after it has ended by itself.

    Every method but `close` raises UndoError. What was begun in a process that has ended is not
    known to the next one. To be used on one event loop.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` is where the history is kept."""
        self._folder = folder
        # Has the id of the undo that is under way, until what it did is told: when the app is
        # killed the process may finish it, or the next start has to.
        self._undoing = folder / "undoing"
        self._connection: _Connection | None = None
        self._lock = asyncio.Lock()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The id of the process, when it runs."""
        return self._connection.process.pid if self._connection is not None else None

    @property
    def is_unfinished(self) -> bool:
        """Whether an undo was begun of which nobody said that it is `settled`."""
        return self._undoing.exists()

    async def watch(self, session_id: SessionId, root: str) -> None:
        """Look at a session's folder for the first time."""
        await self._call("watch", None, session_id=session_id, root=root)

    async def first_look(self, root: str, *, is_stopped: bool = False) -> FolderLook:
        """Return how far the first look at a folder is; stop it if it `is_stopped`."""
        return await self._call("first_look", FolderLook, root=root, is_stopped=is_stopped)

    async def begin(self, begun: CallBegun) -> Captured:
        """Note what is there before a call."""
        return await self._call("begin", Captured, begun=begun)

    async def end(self, set_id: str, *, is_done: bool = True) -> Captured:
        """Record what a call changed."""
        return await self._call("end", Captured, set_id=set_id, is_done=is_done)

    async def held(
        self, session_id: SessionId, root: str, paths: Sequence[bytes]
    ) -> tuple[bool, ...]:
        """Return which of these absolute paths an undo could bring back as they are now."""
        given = {"session_id": session_id, "root": root, "paths": list(paths)}
        return await self._call("held", tuple[bool, ...], **given)

    async def recovered(self) -> tuple[UndoReport, ...]:
        """Finish what a crash cut off in the middle of an undo; return what is not `settled`."""
        begun = ""
        with contextlib.suppress(OSError):
            begun = self._undoing.read_text("utf-8")
        return await self._call("recovered", tuple[UndoReport, ...], begun=begun)

    def settled(self) -> None:
        """What the last undo did is told, or it did nothing."""
        try:
            self._undoing.unlink(missing_ok=True)
        except OSError as error:  # the next start tells it once more
            _log.warning("%s stays: %s", self._undoing, error)

    async def changes(self, session_id: SessionId, root: str) -> SessionChanges:
        """Return all that a session changed."""
        return await self._call("changes", SessionChanges, session_id=session_id, root=root)

    async def diff(self, scope: UndoScope, *, is_since: bool = False) -> DiffDisplay:
        """Return how a scope changed its path, or how that was changed since."""
        return await self._call("diff", DiffDisplay, scope=scope, is_since=is_since)

    async def patch(self, session_id: SessionId, root: str) -> str:
        """Return all that a session changed as one patch."""
        return await self._call("patch", str, session_id=session_id, root=root)

    async def plan(self, scope: UndoScope, root: str) -> UndoPlan:
        """Return what an undo would do now."""
        return await self._call("plan", UndoPlan, scope=scope, root=root)

    async def undo(
        self,
        scope: UndoScope,
        choices: Mapping[str, Choice],
        meta: ChangeSet,
        plan: UndoPlan | None,
        root: str,
    ) -> UndoReport:
        """Take a scope back; until it is `settled` the next start of the app asks about it."""
        return await self._carried_out("undo", scope, choices, meta, plan, root)

    async def keep_result(
        self, meta: ChangeSet, session_id: SessionId, root: str, files: Sequence[FarFile]
    ) -> ChangeSet:
        """Keep what an agent changed in a copy elsewhere."""
        given = {"meta": meta, "session_id": session_id, "root": root, "files": list(files)}
        return await self._call("keep_result", ChangeSet, **given)

    async def judged_results(self, session_id: SessionId, root: str) -> tuple[JudgedResult, ...]:
        """Return what applying each result would do now."""
        found = tuple[JudgedResult, ...]
        return await self._call("judged_results", found, session_id=session_id, root=root)

    async def plan_result(self, scope: UndoScope, root: str) -> UndoPlan:
        """Return what applying a result would do now."""
        return await self._call("plan_result", UndoPlan, scope=scope, root=root)

    async def apply_result(
        self,
        scope: UndoScope,
        choices: Mapping[str, Choice],
        meta: ChangeSet,
        plan: UndoPlan | None,
        root: str,
    ) -> UndoReport:
        """Apply a result; until it is `settled` the next start of the app asks about it."""
        return await self._carried_out("apply_result", scope, choices, meta, plan, root)

    async def _carried_out(
        self,
        method: str,
        scope: UndoScope,
        choices: Mapping[str, Choice],
        meta: ChangeSet,
        plan: UndoPlan | None,
        root: str,
    ) -> UndoReport:
        given = {"scope": scope, "choices": dict(choices), "meta": meta, "plan": plan}
        await self._connected()  # it makes the folder
        try:
            self._undoing.write_text(meta.id, "utf-8")
        except OSError as error:
            raise UndoError(f"Nothing was changed: {error.strerror}.") from None
        return await self._call(method, UndoReport, **given, root=root)

    async def usage(self) -> tuple[UndoUsage, ...]:
        """Return what each folder takes."""
        return await self._call("usage", tuple[UndoUsage, ...])

    async def empty(self, folder: str) -> None:
        """Forget all that is kept for a folder, or for all of them."""
        await self._call("empty", None, folder=folder)

    async def forget_session(self, session_id: SessionId) -> None:
        """Forget what a session changed."""
        await self._call("forget_session", None, session_id=session_id)

    async def close(self) -> None:
        """End the process, once it has recorded what its calls have changed."""
        self._is_closed = True
        async with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _call(self, method: str, type_: Any, **arguments: Any) -> Any:
        connection = await self._connected()
        answer = await connection.call(method, arguments)
        if isinstance(answer, HistoryRefused):
            raise UndoError(answer.message)
        return msgspec.msgpack.decode(answer.value, type=type_)

    async def _connected(self) -> _Connection:
        async with self._lock:
            if self._is_closed:
                raise UndoError("The app is closing.")
            if self._connection is None or self._connection.is_gone:
                try:
                    process = _HistoryProcess(self._folder)
                except OSError as error:
                    raise UndoError(f"What is changed can't be kept: {error}.") from None
                self._connection = _Connection(process)
                await self._connection.open()
            return self._connection


class _HistoryProcess(ChildProcess):
    """Starts at once, with one end of a socket pair as its pipe; raises OSError if it can't."""

    # It finishes what it does, and records what its calls have changed.
    _exit_limit_s = 30.0

    def __init__(self, folder: Path) -> None:
        program = own_program("--file-history", "desktop_agent.file_history")
        super().__init__(socket.socketpair(), program, keyless_environment(), str(folder))
        self.pipe.setblocking(False)


class _Connection:
    """The pipe to one process."""

    def __init__(self, process: _HistoryProcess) -> None:
        self.process = process
        self.is_gone = False
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[_Answer]] = {}

    async def open(self) -> None:
        reader, self._writer = await asyncio.open_connection(sock=self.process.pipe)
        self._reading = asyncio.create_task(self._read(reader))

    async def close(self) -> None:
        # What was asked for is answered first.
        if self._waiting:
            await asyncio.wait(self._waiting.values())
        self._writer.close()
        await self._reading

    async def call(self, method: str, arguments: Mapping[str, Any]) -> _Answer:
        if self.is_gone:
            raise UndoError(_GONE)
        id_ = next(self._ids)
        answer = self._waiting[id_] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(frame(HistoryCalled(id_, method, dict(arguments))))
            return await answer
        finally:
            self._waiting.pop(id_, None)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        # A process that does not keep to the protocol is as good as dead: it is ended below.
        with contextlib.suppress(msgspec.DecodeError):
            await deliver(reader.read, self._take)
        self.is_gone = True
        self._writer.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(UndoError(_GONE))
        await self.process.ended()

    def _take(self, body: bytes) -> None:
        value = _decoder.decode(body)
        answer = self._waiting.get(value.id)
        if answer is not None and not answer.done():
            answer.set_result(value)
