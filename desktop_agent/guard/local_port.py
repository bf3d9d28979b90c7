"""A port of this computer's own that the user opened to a session."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from desktop_agent.guard.limits import Limits
from desktop_agent.guard.streams import Inlet, both_ways

_HERE = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


class LocalConnection:
    """A client in a session's network, joined to the same port here."""

    def __init__(self, client: socket.socket, port: int, limits: Limits) -> None:
        client.setblocking(False)
        self._port = port
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._client = Inlet(client, self._touch)

    def is_idle(self, now: float) -> bool:
        """Whether no byte has moved for long."""
        return now - self._heard_at > self._limits.idle_s

    async def serve(self) -> None:
        """Pass on what either side sends; a client is closed where nothing listens."""
        try:
            with suppress(OSError, TimeoutError), await self._connected() as there:
                await both_ways(self._client, Inlet(there, self._touch))
        finally:
            self._client.socket.close()

    def _touch(self) -> None:
        self._heard_at = self._loop.time()

    async def _connected(self) -> socket.socket:
        for family, address in _HERE:
            made = socket.socket(family, socket.SOCK_STREAM)
            try:
                made.setblocking(False)
                async with asyncio.timeout(self._limits.connect_s):
                    await self._loop.sock_connect(made, (address, self._port))
            except ConnectionRefusedError:
                made.close()
            except BaseException:
                made.close()
                raise
            else:
                return made
        raise ConnectionRefusedError
