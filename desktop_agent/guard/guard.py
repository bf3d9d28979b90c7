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
    SessionForgotten,
    SessionServed,
    ToGuard,
)
from desktop_agent.core.network.questions import HostVerdict
from desktop_agent.guard.limits import Limits
from desktop_agent.guard.proxy import SessionProxy
from desktop_agent.guard.questions import Questions
from desktop_agent.guard.reach import Reach

_decoder = msgspec.msgpack.Decoder(ToGuard)


class Guard:
    """Serves the sessions that it is given, until the app has gone. Made on a running loop."""

    def __init__(self, pipe: socket.socket, reach: Reach, limits: Limits) -> None:
        self._reach = reach
        self._limits = limits
        self._room = asyncio.Semaphore(limits.all_connections)
        self._sessions: dict[SessionId, SessionProxy] = {}
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
        for session_id in list(self._sessions):
            self._forget(session_id)
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _take(self, packet: bytes, descriptor: int | None) -> None:
        try:
            value = _decoder.decode(packet)
        except msgspec.DecodeError:
            value = None
        if isinstance(value, SessionServed) and descriptor is not None:
            self._serve(value.session_id, socket.socket(fileno=descriptor))
            return
        if descriptor is not None:
            os.close(descriptor)
        match value:
            case HostDecided(id_, is_allowed, reason):
                self._questions.decide(id_, HostVerdict(is_allowed, reason))
            case SessionForgotten(session_id):
                self._forget(session_id)
            case _:
                pass

    def _serve(self, session_id: SessionId, listener: socket.socket) -> None:
        self._forget(session_id)
        self._sessions[session_id] = SessionProxy(
            session_id, listener, self._questions, self._reach, self._limits, self._room
        )

    def _forget(self, session_id: SessionId) -> None:
        self._questions.forget(session_id)
        session = self._sessions.pop(session_id, None)
        if session is not None:
            closing = asyncio.create_task(session.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._limits.idle_s / 8)
            now = asyncio.get_running_loop().time()
            for session in self._sessions.values():
                session.end_idle(now)
