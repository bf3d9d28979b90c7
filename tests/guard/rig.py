"""A guard that runs, a person who is asked, and servers that count what reaches them."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from desktop_agent.adapters.network.guarded_network import GuardedNetwork
from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.questions import HostQuestion, HostVerdict

SESSION = SessionId("se_1")
YES = HostVerdict(True)
NO = HostVerdict(False, "The person refused it.")


@dataclass
class Person:
    """Answers at once with `verdict`, or with None when the test says what.

    `asked` gets each question as it comes, `withdrawn` those that nobody waits for any more.
    """

    verdict: HostVerdict | None = YES
    seen: list[HostQuestion] = field(default_factory=list)
    asked: asyncio.Queue[HostQuestion] = field(default_factory=asyncio.Queue)
    withdrawn: asyncio.Queue[HostQuestion] = field(default_factory=asyncio.Queue)
    _open: dict[tuple[str, str, int], asyncio.Future[HostVerdict]] = field(default_factory=dict)

    async def __call__(self, question: HostQuestion) -> HostVerdict:
        self.seen.append(question)
        key = (question.session_id, question.host, question.port)
        answer = self._open[key] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait(question)
        if self.verdict is not None:
            return self.verdict
        try:
            return await answer
        except asyncio.CancelledError:
            self.withdrawn.put_nowait(question)
            raise

    async def takes(self, seconds: int) -> None:
        """Let a person think for real: what is tried is the patience of clients."""
        await asyncio.sleep(seconds)

    def say(self, question: HostQuestion, verdict: HostVerdict) -> None:
        self._open[question.session_id, question.host, question.port].set_result(verdict)


@dataclass
class Proxy:
    """A session's way out."""

    network: GuardedNetwork
    person: Person
    port: int
    clients: list[Client] = field(default_factory=list)

    async def open(self) -> Client:
        client = Client(*await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20))
        self.clients.append(client)
        return client

    async def ask(self, request: bytes, *, is_over: bool = False) -> bytes:
        """Send a request, and nothing more if it `is_over`; return all that comes back."""
        client = await self.open()
        client.send(request)
        if is_over:
            client.writer.write_eof()
        return await client.rest()

    async def connect(self, host: str, port: int) -> tuple[Client, bytes]:
        client = await self.open()
        client.send(b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (host.encode(), port))
        return client, await client.line()


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, content: bytes) -> None:
        self.writer.write(content)

    async def line(self) -> bytes:
        """Return the first line of an answer's head, and take the head."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        return head.partition(b"\r\n")[0]

    async def rest(self) -> bytes:
        got = bytearray()
        try:
            while piece := await self.reader.read(1 << 16):
                got += piece
        except ConnectionError:
            pass
        self.writer.close()
        return bytes(got)

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@dataclass
class Origin:
    """A server on this computer: what came, connection by connection.

    It answers when what came ends in one of `ends`, and hangs up.
    """

    port: int = 0
    came: list[bytearray] = field(default_factory=list)
    ended: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    ends: tuple[bytes, ...] = (b"\r\n\r\n",)
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"

    @property
    def bytes(self) -> int:
        return sum(map(len, self.came))


@asynccontextmanager
async def origin(address: str = "127.0.0.1", *, is_echo: bool = False) -> AsyncIterator[Origin]:
    made = Origin()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got = bytearray()
        made.came.append(got)
        try:
            while piece := await reader.read(1 << 16):
                got += piece
                if is_echo:
                    writer.write(piece)
                    await writer.drain()
                elif got.endswith(made.ends):
                    writer.write(made.answer)
                    break
        except ConnectionError:
            pass
        finally:
            made.ended.put_nowait(bytes(got))
            writer.close()

    server = await asyncio.start_server(serve, address, 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def program(
    names: Mapping[str, Sequence[Sequence[str]]] | None = None,
    *,
    is_loopback_allowed: bool = True,
    **limits: float,
) -> tuple[str, ...]:
    told = {"names": names or {}, "is_loopback_allowed": is_loopback_allowed, "limits": limits}
    return (sys.executable, "-m", "tests.guard.loopback_guard", json.dumps(told))


def listener() -> socket.socket:
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    made.listen(64)
    return made


@asynccontextmanager
async def proxy(
    person: Person | None = None,
    names: Mapping[str, Sequence[Sequence[str]]] | None = None,
    *,
    is_loopback_allowed: bool = True,
    **limits: float,
) -> AsyncIterator[Proxy]:
    asked = person or Person()
    started = program(names, is_loopback_allowed=is_loopback_allowed, **limits)
    network = GuardedNetwork(asked, started)
    made = listener()
    port = made.getsockname()[1]
    network.serve(SESSION, made)
    made_one = Proxy(network, asked, port)
    try:
        await made_one.ask(b"\r\n\r\n")  # answered once it has started, in this environment
        yield made_one
    finally:
        for client in made_one.clients:
            await client.close()
        await network.close()
