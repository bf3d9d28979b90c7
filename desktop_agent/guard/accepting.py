"""Accepting what a session's commands connect to, within bounds."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol

from desktop_agent.guard.limits import Limits

_FULL_PAUSE_S = 0.1


class Connection(Protocol):
    """One client, from its first byte to its last."""

    def is_idle(self, now: float) -> bool:
        """Whether bytes moved once, and have not for long."""
        ...

    async def serve(self) -> None:
        """Do what the client wants, then close it."""
        ...


class Accepting:
    """Has each client of a listener served; `room` bounds the connections of all sessions."""

    def __init__(
        self,
        listener: socket.socket,
        connection: Callable[[socket.socket], Connection],
        limits: Limits,
        room: asyncio.Semaphore,
    ) -> None:
        self._listener = listener
        self._connection = connection
        self._room = (asyncio.Semaphore(limits.connections), room)
        self._connections: dict[asyncio.Task[None], Connection] = {}
        listener.setblocking(False)
        self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> None:
        """End every connection and let go of the listener."""
        tasks = [self._accepting, *self._connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()

    def end_idle(self, now: float) -> None:
        """End the connections over which nothing came for long; those that wait are not idle."""
        for task, connection in self._connections.items():
            if connection.is_idle(now):
                task.cancel()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(self._listener)
            except OSError:
                # Aborted meanwhile, or no descriptor is left: that passes.
                await asyncio.sleep(_FULL_PAUSE_S)
                continue
            try:
                # The next ones wait in the system's queue.
                for room in self._room:
                    await room.acquire()
            except BaseException:
                client.close()
                raise
            self._begin(client)

    def _begin(self, client: socket.socket) -> None:
        connection = self._connection(client)
        task = asyncio.create_task(connection.serve())
        self._connections[task] = connection
        task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        del self._connections[task]
        self._release()
        if not task.cancelled():
            task.exception()  # a defect of one connection is the end of that one

    def _release(self) -> None:
        for room in self._room:
            room.release()
