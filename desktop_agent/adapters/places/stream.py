"""The program that gives a stream to a place: frames of an outpost's protocol, and complaints."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Generator
from typing import Any

import msgspec

from desktop_agent.adapters.child_process import exited
from desktop_agent.core.network.places import end_of
from desktop_agent.core.pipes.frames import LENGTH_BYTES
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.core.pipes.outpost_pipe import MARK, MOST_BYTES

_MOST_GREETING = 1 << 16
_MOST_WORDS = 300
_MOST_KEPT = 2000
_END_S = 5.0
ENDED = "it said nothing"


class BrokenStream(Exception):
    """The stream ended, or holds what is not the protocol."""


async def begin(*command: str, stdin: int = PIPE, stdout: int = PIPE) -> Process:
    """Start a program, which `end` ends. Raises OSError."""
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=stdin,
        stdout=stdout,
        stderr=PIPE,
        start_new_session=True,
        creationflags=NO_WINDOW,
    )


async def end(process: Process) -> None:
    """Kill a program with what it started, and close its pipes.

    One that may not be killed ends with its input, or is left alone.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        elif process.returncode is None:  # else the number may be another group's by now
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    closed = asyncio.ensure_future(_close(process))
    try:
        await asyncio.shield(closed)
    except asyncio.CancelledError:
        await closed  # what was killed ends at once, and would be left to nobody
        raise


async def _close(process: Process) -> None:
    """Wait until a program has ended, and close its pipes."""
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await exited(process)
    finally:
        # Else they stay open as long as whoever has left the group holds them.
        # There is no other way.
        transport: Any = vars(process)["_transport"]
        transport.close()


async def find_mark(reader: asyncio.StreamReader) -> None:
    """Skip what comes before the mark. Raises BrokenStream when it does not come."""
    seen = b""
    while not seen.endswith(MARK):
        piece = await reader.read(1)
        if not piece or len(seen) > _MOST_GREETING:
            raise BrokenStream(one_line(seen) or ENDED)
        seen += piece


async def read_frame(reader: asyncio.StreamReader, silent_s: float | None = None) -> bytes:
    """Return the bytes of one value. Raises BrokenStream, also where none come for so long."""
    length = int.from_bytes(await _exactly(reader, LENGTH_BYTES, silent_s), "big")
    if length > MOST_BYTES:
        raise BrokenStream("a frame is too long")
    return await _exactly(reader, length, silent_s)


async def _exactly(reader: asyncio.StreamReader, size: int, silent_s: float | None) -> bytes:
    read = bytearray()
    while len(read) < size:
        try:
            async with asyncio.timeout(silent_s):
                piece = await reader.read(size - len(read))
        except TimeoutError:
            raise BrokenStream(f"nothing was heard of it for {silent_s:.0f} s") from None
        except ConnectionError:
            piece = b""
        if not piece:
            raise BrokenStream("the stream ended")
        read += piece
    return bytes(read)


@contextlib.contextmanager
def readable() -> Generator[None]:
    """Take what can't be read, as text that is none or is nested without end, as no frame."""
    try:
        yield
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(f"a frame can't be read: {error}") from None


async def greeting(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Return the first frame as a mapping, and its bytes. Raises BrokenStream, DecodeError."""
    await find_mark(reader)
    body = await read_frame(reader)
    with readable():
        return msgspec.msgpack.decode(body, type=dict[str, Any]), body


async def last_words(reader: asyncio.StreamReader) -> str:
    """Read what a program complains about to its end; return the last of it on one line."""
    said = b""
    while piece := await reader.read(4096):
        said = (said + piece)[-_MOST_KEPT:]
    return one_line(said)


def one_line(said: bytes) -> str:
    """Return the end of some output, on one line, without what a screen can't show."""
    words = " ".join(said.decode("utf-8", "replace").split())
    return end_of("".join(one for one in words if one.isprintable()), _MOST_WORDS)
