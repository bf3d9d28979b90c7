"""The networks of all sessions: one guard serves their listeners and asks about hosts."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from desktop_agent.adapters.network.guard_process import GuardProcess
from desktop_agent.adapters.network.guard_process import program as program_of
from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.guard_pipe import (
    AskWithdrawn,
    FromGuard,
    GuardReady,
    HostAsked,
    HostDecided,
    PacketPipe,
    PortClosed,
    SessionForgotten,
    SessionServed,
)
from desktop_agent.core.network.questions import AskHost, HostQuestion, HostVerdict

_log = logging.getLogger(__name__)

_STARTS = 3
_NOT_ASKED = "The question could not be asked."

# A session's listener: 0 is the proxy's, others are ports of this computer.
_Key = tuple[SessionId, int]
_OnGone = Callable[["_Connection"], None]

_decoder = msgspec.msgpack.Decoder(FromGuard)


class GuardedNetwork:
    """Serves the listeners of sessions through a guard that is started when first needed.

    `ask` answers for a host; it is cancelled when nobody waits for it any more. A guard that
    dies is started again: connections are lost, listeners are not. To be used on one event
    loop. `program` starts the guard.
    """

    def __init__(self, ask: AskHost, program: Sequence[str] | None = None) -> None:
        self._ask = ask
        self._program = tuple(program or program_of("guard"))
        self._listeners: dict[_Key, socket.socket] = {}
        self._connection: _Connection | None = None
        self._starting: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The guard's process id, when it runs."""
        return self._connection.process.pid if self._connection is not None else None

    def serve(self, session_id: SessionId, listener: socket.socket, port: int = 0) -> None:
        """Serve a session's listener, which is ours from now on.

        It is the proxy's, or with a `port` joined to that port of this computer.

        What connects before the guard has started waits. If it can't be started, the listener
        is closed: nothing is reached then, and nobody waits for it.
        """
        key = (session_id, port)
        self._drop(key)
        if self._is_closed:
            listener.close()
            return
        self._listeners[key] = listener
        if self._connection is not None:
            self._connection.serve(key, listener)
        elif self._starting is None:
            self._starting = asyncio.ensure_future(self._start())

    def forget(self, session_id: SessionId) -> None:
        """End a session's connections and let go of its listeners."""
        for key in [one for one in self._listeners if one[0] == session_id]:
            self._drop(key)
        if self._connection is not None:
            self._connection.forget(session_id)

    def close_port(self, session_id: SessionId, port: int) -> None:
        """End a session's connections to a port of this computer, and take no more of them."""
        listener = self._listeners.get((session_id, port))
        if listener is not None:
            with suppress(OSError):
                # At once, also for the guard, which has it too and may be busy.
                listener.shutdown(socket.SHUT_RDWR)
        self._drop((session_id, port))
        if self._connection is not None:
            self._connection.close_port((session_id, port))

    async def close(self) -> None:
        """End the guard."""
        self._is_closed = True
        if self._starting is not None:
            await asyncio.wait({self._starting})
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        self._drop_all()

    def _drop(self, key: _Key) -> None:
        listener = self._listeners.pop(key, None)
        if listener is not None:
            listener.close()

    def _drop_all(self) -> None:
        for key in list(self._listeners):
            self._drop(key)

    async def _start(self, gone: _Connection | None = None) -> None:
        """Start the guard; one that dies at once is tried again, a few times."""
        if gone is not None:
            await gone.close()
            _log.warning("the guard of the network ended by itself")
        for _ in range(_STARTS):
            if self._is_closed or not self._listeners:
                break
            try:
                await self._connect()
                break
            except OSError as error:
                _log.warning("the guard of the network did not start: %s", error)
        else:
            self._drop_all()
        self._starting = None

    async def _connect(self) -> None:
        connection = _Connection(GuardProcess(self._program), self._ask, self._on_gone)
        try:
            await connection.ready
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        for key, listener in self._listeners.items():
            connection.serve(key, listener)

    def _on_gone(self, gone: _Connection) -> None:
        self._connection = None
        self._starting = asyncio.ensure_future(self._start(gone))


class _Connection:
    """The pipe to one guard. `ready` fails with OSError when the guard ends before it is."""

    def __init__(self, process: GuardProcess, ask: AskHost, on_gone: _OnGone) -> None:
        self.process = process
        self._ask = ask
        self._on_gone = on_gone
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = loop.create_future()
        self._served: dict[_Key, socket.socket] = {}
        self._questions: dict[int, asyncio.Task[None]] = {}
        self._pipe = PacketPipe(process.pipe, loop, self._take, self._on_ended)

    def serve(self, key: _Key, listener: socket.socket) -> None:
        if self._served.get(key) is not listener:
            self._served[key] = listener
            self._pipe.send(SessionServed(*key), listener.fileno())

    def forget(self, session_id: SessionId) -> None:
        served = [key for key in self._served if key[0] == session_id]
        for key in served:
            del self._served[key]
        if served:
            self._pipe.send(SessionForgotten(session_id))

    def close_port(self, key: _Key) -> None:
        if self._served.pop(key, None) is not None:
            self._pipe.send(PortClosed(*key))

    async def close(self) -> None:
        """End the process, and the questions that nobody waits for any more."""
        self._pipe.close()
        waiting = list(self._questions.values())
        for question in waiting:
            question.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await self.process.ended()

    def _on_ended(self) -> None:
        if self.ready.done():
            self._on_gone(self)
        else:
            self.ready.set_exception(OSError("the guard of the network did not start"))

    def _take(self, packet: bytes, descriptor: int | None) -> None:
        if descriptor is not None:
            os.close(descriptor)
        match _decode(packet):
            case GuardReady() if not self.ready.done():
                self.ready.set_result(None)
            case HostAsked() as asked:
                task = asyncio.ensure_future(self._answer(asked))
                self._questions[asked.id] = task
                task.add_done_callback(lambda _: self._questions.pop(asked.id, None))
            case AskWithdrawn(id_) if id_ in self._questions:
                self._questions[id_].cancel()
            case _:
                pass

    async def _answer(self, asked: HostAsked) -> None:
        question = HostQuestion(asked.session_id, asked.host, asked.port, asked.call_id)
        try:
            verdict = await self._ask(question)
        except Exception:  # noqa: BLE001 - the connections must have an answer
            _log.exception("a host could not be asked about")
            verdict = HostVerdict(False, _NOT_ASKED)
        self._pipe.send(HostDecided(asked.id, verdict.is_allowed, verdict.reason))


def _decode(packet: bytes) -> FromGuard | None:
    with suppress(msgspec.DecodeError):
        return _decoder.decode(packet)
    return None
