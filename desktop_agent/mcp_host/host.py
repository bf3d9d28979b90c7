"""The host's side of the pipe: many servers at once, on one loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from typing import Any

import msgspec

from desktop_agent.core.pipes.frames import deliver, frame
from desktop_agent.core.pipes.mcp_pipe import (
    CallCancelled,
    FormAnswered,
    FromMcpHost,
    Request,
    ServerClosed,
    ServerOpened,
    ServerWrote,
    ToMcpHost,
)
from desktop_agent.mcp_host.connection import Connection

_decoder = msgspec.msgpack.Decoder(ToMcpHost)


class Host:
    """Does what comes out of the pipe until the other side has gone."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe
        self._servers: dict[int, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Serve until the app ends, by itself or not."""
        reader, self._writer = await asyncio.open_connection(sock=self._pipe)
        await deliver(reader.read, lambda body: self._take(_decoder.decode(body)))

    def send(self, value: FromMcpHost) -> None:
        """Tell the app."""
        self._writer.write(frame(value))

    def _take(self, wanted: ToMcpHost) -> None:
        match wanted:
            case ServerOpened(id_):
                server = self._servers[id_] = Connection(wanted, self.send)
                self._spawn(server.run())
            case ServerClosed(id_):
                if server := self._servers.pop(id_, None):
                    server.close()
            case CallCancelled(id_):
                if task := self._calls.get(id_):
                    task.cancel()
            case ServerWrote(id_):
                self._hand_on(wanted, self._servers.get(id_))
            case _:
                self._hand_on(wanted, self._servers.get(wanted.server))

    def _hand_on(
        self, wanted: ServerWrote | FormAnswered | Request, server: Connection | None
    ) -> None:
        match wanted:
            case _ if server is None:
                pass  # it is closed already
            case ServerWrote(data=data):
                server.take(data)
            case FormAnswered(id_, answer=answer):
                server.forms.settle(id_, answer)
            case _:
                task = self._calls[wanted.id] = self._spawn(server.call(wanted))
                task.add_done_callback(lambda _: self._calls.pop(wanted.id, None))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
