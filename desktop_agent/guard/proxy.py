"""The proxy of a session: what is done with each connection."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.hosts import HostError
from desktop_agent.guard import socks
from desktop_agent.guard.heads import BadRequest, Request, answer, read_head
from desktop_agent.guard.limits import Limits
from desktop_agent.guard.questions import Questions
from desktop_agent.guard.reach import Reach, Unreachable
from desktop_agent.guard.streams import Inlet, both_ways, exchange

_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class ProxyConnection:
    """One client of a session's, from its first byte to its last."""

    def __init__(
        self,
        client: socket.socket,
        session_id: SessionId,
        questions: Questions,
        reach: Reach,
        limits: Limits,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._heard_at: float | None = None
        self._session_id = session_id
        self._questions = questions
        self._reach = reach
        self._limits = limits
        self._is_socks = False
        self._has_answered = False
        client.setblocking(False)
        with suppress(OSError):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client = Inlet(client, self._touch)

    def is_idle(self, now: float) -> bool:
        """Whether bytes moved once, and have not for long."""
        return self._heard_at is not None and now - self._heard_at > self._limits.idle_s

    def _touch(self) -> None:
        if self._heard_at is not None:
            self._heard_at = self._loop.time()

    async def serve(self) -> None:
        """Do what the client asks for, or say why not."""
        try:
            with suppress(OSError):
                await self._serve()
        finally:
            self._client.socket.close()

    async def _serve(self) -> None:
        try:
            request = await self._request()
            await self._allowed(request)
            await self._connect(request)
        except HostError as error:
            await self._refuse(403, f"Not reached: {error}")
        except BadRequest as error:
            await self._refuse(error.status, error.words)

    async def _request(self) -> Request:
        try:
            async with asyncio.timeout(self._limits.head_s):
                first = await self._client.exactly(1)
                if first[0] == socks.VERSION:
                    self._is_socks = True
                    return await socks.read_request(self._client)
                self._client.give_back(first)
                head = await self._client.until(b"\r\n\r\n", self._limits.head)
                return read_head(head, self._limits.headers)
        except TimeoutError:
            raise BadRequest(408, "The request took too long.") from None
        except UnicodeError:
            raise BadRequest(400, "The request is not understood.") from None

    async def _allowed(self, request: Request) -> None:
        """Raise Unreachable unless the host may be reached. Nothing was looked up before."""
        self._reach.check(request.host)
        key = (self._session_id, request.host, request.port)
        gone = self._client
        verdict = await self._questions.ask(key, request.call_id, lambda: gone.is_over)
        if not verdict.is_allowed:
            raise Unreachable(403, verdict.reason or f"{request.host} may not be reached.")

    async def _connect(self, request: Request) -> None:
        if self._client.is_over:
            return
        is_tunnel = request.kind != "http"
        upstream = self._reach.way_to(request.host, request.port, is_tunnel=is_tunnel)
        origin = await self._reach.connect(request.host, request.port, upstream, self._touch)
        with origin.socket:
            self._heard_at = self._loop.time()
            if upstream is not None and is_tunnel:
                await self._reach.tunnel(request.host, request.port, origin, upstream)
            if is_tunnel:
                await self._send(socks.reply(200) if self._is_socks else _ESTABLISHED)
                self._has_answered = True
                await both_ways(self._client, origin)
                return
            proof = upstream.authorization if upstream is not None else b""
            head = request.head(is_absolute=upstream is not None, authorization=proof)
            await self._loop.sock_sendall(origin.socket, head)
            self._has_answered = True
            await exchange(self._client, origin, request.body, self._limits.chunk_line)

    async def _refuse(self, status: int, words: str) -> None:
        """Say why not, unless the client has heard something already."""
        if self._has_answered:
            return
        if not self._is_socks:
            await self._send(answer(status, words))
        elif status == 407:
            await self._send(b"\x05\xff")
        else:
            await self._send(socks.reply(status))
        await self._linger()

    async def _linger(self) -> None:
        # What was sent and never read would reset the connection, and the answer be lost.
        self._client.socket.shutdown(socket.SHUT_WR)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.linger_s):
                await self._client.drain()

    async def _send(self, content: bytes) -> None:
        await self._loop.sock_sendall(self._client.socket, content)
