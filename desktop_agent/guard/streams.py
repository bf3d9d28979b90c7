"""Moving bytes between two sockets: never more in memory than one piece for each direction."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from desktop_agent.guard.heads import BadRequest, Body, chunk_size

_PIECE = 64 * 1024

Touch = Callable[[], None]


class Inlet:
    """What a socket sends; `touch` is called whenever something came."""

    def __init__(self, source: socket.socket, touch: Touch, held: bytes = b"") -> None:
        self.socket = source
        self.touch = touch
        self._held = held
        self._loop = asyncio.get_running_loop()

    @property
    def is_over(self) -> bool:
        """Whether the other side has gone, as far as one can see without waiting."""
        if self._held:
            return False
        try:
            return not self.socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True

    async def some(self, most: int = _PIECE) -> bytes:
        """Return what there is, at least a byte; nothing at the end."""
        if self._held:
            piece, self._held = self._held[:most], self._held[most:]
            return piece
        piece = await self._loop.sock_recv(self.socket, most)
        self.touch()
        return piece

    def give_back(self, piece: bytes) -> None:
        """Put what was read before what is still to come."""
        self._held = piece + self._held

    async def exactly(self, count: int) -> bytes:
        """Return so many bytes. Raises BadRequest at an earlier end."""
        got = bytearray()
        while len(got) < count:
            piece = await self.some(count - len(got))
            if not piece:
                raise BadRequest(400, "The request ended too early.")
            got += piece
        return bytes(got)

    async def until(self, end: bytes, most: int, status: int = 431) -> bytes:
        """Return what comes before `end`, which is taken too. Raises BadRequest beyond `most`."""
        got = bytearray()
        seen = 0
        while True:
            place = got.find(end, seen)
            if place >= 0:
                self._held = bytes(got[place + len(end) :]) + self._held
                return bytes(got[:place])
            if len(got) > most:
                raise BadRequest(status, "The head of the request is too long.")
            seen = max(0, len(got) - len(end) + 1)
            piece = await self.some(most + len(end) + 1 - len(got))
            if not piece:
                raise BadRequest(400, "The request ended too early.")
            got += piece

    async def pour(self, sink: socket.socket) -> None:
        """Send all that comes to another socket, and then its end."""
        while self._held:
            await self._loop.sock_sendall(sink, await self.some())
        room = memoryview(bytearray(_PIECE))
        while count := await self._loop.sock_recv_into(self.socket, room):
            self.touch()
            await self._loop.sock_sendall(sink, room[:count])
            self.touch()
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    async def pour_body(self, sink: socket.socket, body: Body, most_line: int) -> None:
        """Send the body of a request, and not a byte of what may follow. Raises BadRequest."""
        if body == "chunked":
            await self._pour_chunks(sink, most_line)
        else:
            await self._pour_bytes(sink, body)

    async def _pour_bytes(self, sink: socket.socket, count: int) -> None:
        while count:
            piece = await self.some(min(count, _PIECE))
            if not piece:
                raise BadRequest(400, "The request ended too early.")
            await self._loop.sock_sendall(sink, piece)
            count -= len(piece)

    async def _pour_chunks(self, sink: socket.socket, most_line: int) -> None:
        while size := chunk_size(await self.until(b"\r\n", most_line, 400)):
            await self._loop.sock_sendall(sink, b"%x\r\n" % size)
            await self._pour_bytes(sink, size)
            if await self.exactly(2) != b"\r\n":
                raise BadRequest(400, "A chunk of the request is not understood.")
            await self._loop.sock_sendall(sink, b"\r\n")
        for _ in range(100):  # trailers: read, and not sent on
            if not await self.until(b"\r\n", most_line, 400):
                await self._loop.sock_sendall(sink, b"0\r\n\r\n")
                return
        raise BadRequest(431, "The request has too many trailers.")

    async def drain(self) -> None:
        """Read and drop what comes until the end."""
        while await self.some():
            pass


async def both_ways(first: Inlet, second: Inlet) -> None:
    """Connect two sockets until both have ended, or one failed. Raises OSError."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(first.pour(second.socket))
            group.create_task(second.pour(first.socket))
    except* OSError as errors:
        raise errors.exceptions[0] from None


async def exchange(client: Inlet, origin: Inlet, body: Body, most_line: int) -> None:
    """Send one request's body and pass the answer on until either side ends.

    Raises OSError, and BadRequest for a body that is not understood.
    """
    sending = asyncio.ensure_future(_send_body(client, origin.socket, body, most_line))
    answering = asyncio.ensure_future(origin.pour(client.socket))
    try:
        await asyncio.wait({sending, answering}, return_when=asyncio.FIRST_COMPLETED)
        (answering if answering.done() else sending).result()
    finally:
        for one in (sending, answering):
            one.cancel()
        await asyncio.gather(sending, answering, return_exceptions=True)


async def _send_body(client: Inlet, sink: socket.socket, body: Body, most_line: int) -> None:
    await client.pour_body(sink, body, most_line)
    # A second request would go unread through whatever else is on the way.
    await client.drain()
