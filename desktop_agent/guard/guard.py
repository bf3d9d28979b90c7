"""The guard's side of the pipe: listeners come in, questions go out."""

from __future__ import annotations

import asyncio
import os
import socket

import msgspec

from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.guard_pipe import (
    GuardReady,
    HostDecided,
    PacketPipe,
    PortClosed,
    SessionForgotten,
    SessionServed,
    ToGuard,
)
from desktop_agent.core.network.questions import HostVerdict
from desktop_agent.guard.accepting import Accepting, Connection
from desktop_agent.guard.limits import Limits
from desktop_agent.guard.local_port import LocalConnection
from desktop_agent.guard.proxy import ProxyConnection
from desktop_agent.guard.questions import Questions
from desktop_agent.guard.reach import Reach

_decoder = msgspec.msgpack.Decoder(ToGuard)


class Guard:
    """Serves the sessions that it is given, until the app has gone. Made on a running loop."""

    def __init__(self, pipe: socket.socket, reach: Reach, limits: Limits) -> None:
        self._reach = reach
        self._limits = limits
        self._room = asyncio.Semaphore(limits.all_connections)
        self._listeners: dict[tuple[SessionId, int], Accepting] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._pipe = PacketPipe(pipe, loop, self._take, self._over.set)
        self._questions = Questions(self._pipe.send, limits)

    async def run(self) -> None:
        """Serve until the pipe is closed, then end every connection."""
        sweeping = asyncio.create_task(self._sweep())
        self._pipe.send(GuardReady())
        await self._over.wait()
        sweeping.cancel()
        for key in list(self._listeners):
            self._close(key)
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _take(self, packet: bytes, descriptor: int | None) -> None:
        try:
            value = _decoder.decode(packet)
        except msgspec.DecodeError:
            value = None
        if isinstance(value, SessionServed) and descriptor is not None:
            self._serve(value.session_id, value.port, socket.socket(fileno=descriptor))
            return
        if descriptor is not None:
            os.close(descriptor)
        match value:
            case HostDecided(id_, is_allowed, reason):
                self._questions.decide(id_, HostVerdict(is_allowed, reason))
            case SessionForgotten(session_id):
                self._questions.forget(session_id)
                for key in [one for one in self._listeners if one[0] == session_id]:
                    self._close(key)
            case PortClosed(session_id, port):
                self._close((session_id, port))
            case _:
                pass

    def _serve(self, session_id: SessionId, port: int, listener: socket.socket) -> None:
        def connection(client: socket.socket) -> Connection:
            if port:
                return LocalConnection(client, port, self._limits)
            return ProxyConnection(client, session_id, self._questions, self._reach, self._limits)

        if not port:
            self._questions.forget(session_id)
        self._close((session_id, port))
        accepting = Accepting(listener, connection, self._limits, self._room)
        self._listeners[session_id, port] = accepting

    def _close(self, key: tuple[SessionId, int]) -> None:
        accepting = self._listeners.pop(key, None)
        if accepting is not None:
            closing = asyncio.create_task(accepting.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._limits.idle_s / 8)
            now = asyncio.get_running_loop().time()
            for accepting in self._listeners.values():
                accepting.end_idle(now)
