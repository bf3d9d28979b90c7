"""Values as bytes on a pipe or stream between two processes of the app: length-prefixed msgpack."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import msgspec

from desktop_agent.core.messages import Value

LENGTH_BYTES = 4
READ_SIZE = 256 * 1024

_encoder = msgspec.msgpack.Encoder()


def frame(value: Value) -> bytes:
    """Encode one value with its length before it."""
    body = _encoder.encode(value)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


class FrameBuffer:
    """Cuts what comes out of the pipe, in pieces of any size, into values' bytes."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Add a piece and yield each value that is now whole."""
        self._pending += piece
        start = 0
        while len(self._pending) - start >= LENGTH_BYTES:
            body = start + LENGTH_BYTES
            end = body + int.from_bytes(self._pending[start:body], "big")
            if len(self._pending) < end:
                break
            yield bytes(self._pending[body:end])
            start = end
        del self._pending[:start]


async def deliver(read: Callable[[int], Awaitable[bytes]], take: Callable[[bytes], object]) -> None:
    """Hand each value's bytes to `take`, until the other side has gone.

    `read` is that of a stream: it returns at most so many bytes, and none at the end.
    """
    frames = FrameBuffer()
    while True:
        try:
            piece = await read(READ_SIZE)
        except ConnectionError:
            return
        if not piece:
            return
        for body in frames.feed(piece):
            take(body)
