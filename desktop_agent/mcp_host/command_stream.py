"""The transport of a server that the app has started: its lines come and go over our own pipe."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import mcp_types
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

# A result of 10 MB is taken; a longer line is none that anybody wants.
LONGEST_LINE = 32 * 1024 * 1024
# Where the id of a message is looked for that can't be read, and how long it may be.
_HEAD, _LONGEST_ID = 200, 15
# What is no message is left out, until it is as much as this without any message in between.
MOST_JUNK = 4 * 1024 * 1024
_NO_MCP = "It writes something else than MCP messages to its output."
_TOO_LONG = f"It wrote a message of more than {LONGEST_LINE // 1024**2} MB, which is not taken."


class Babble(Exception):
    """The server writes what is no MCP; the text says so."""


class Lines:
    """Cuts what a server writes into messages, within bounds. Linear in what it is fed."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0
        self._junk = 0
        self._is_skipping = self._has_skipped = False
        # The ids, as JSON, of what was asked in a way that can't be read.
        self.refused: list[str] = []

    def feed(self, data: bytes) -> list[SessionMessage]:
        """Return the messages that are now whole. Raises Babble."""
        first, *rest = data.split(b"\n")
        found: list[SessionMessage] = []
        self._hold(first)
        for piece in rest:
            line, self._pieces, self._held = b"".join(self._pieces), [], 0
            was_skipping, self._is_skipping = self._is_skipping, False
            message = None if was_skipping else _parsed(line) or self._unreadable(line)
            if message is not None:
                found.append(message)
                self._junk, self._has_skipped = 0, False
            else:
                self._count_junk(len(line))
            self._hold(piece)
        return found

    def _unreadable(self, line: bytes) -> SessionMessage | None:
        id_ = _id_of(line)
        if id_ and b'"method"' in line[:_HEAD]:
            self.refused.append(id_)
            return None
        return _failure(id_)

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > LONGEST_LINE:
            self._is_skipping = self._has_skipped = True
        if not self._is_skipping:
            self._pieces.append(piece)
            return
        self._count_junk(len(piece) + sum(map(len, self._pieces)))
        self._pieces = []

    def _count_junk(self, size: int) -> None:
        self._junk += size
        if self._junk > LONGEST_LINE + MOST_JUNK or (self._junk > MOST_JUNK and self._is_short):
            raise Babble(_TOO_LONG if self._has_skipped else _NO_MCP)

    @property
    def _is_short(self) -> bool:
        return not self._is_skipping


def _parsed(line: bytes) -> SessionMessage | None:
    if not line.lstrip().startswith((b"{", b"[")):
        return None
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


def _id_of(line: bytes) -> str:
    """Return the id, as JSON, in a line that can't be read: one that is nested too deep, say."""
    _, _, rest = line[:_HEAD].partition(b'"id":')
    token = rest.lstrip().partition(b",")[0].rstrip()[:_LONGEST_ID]
    inner = token[1:-1] if token.startswith(b'"') and token.endswith(b'"') else token
    is_sound = inner.replace(b"-", b"").isalnum() if inner is not token else inner.isdigit()
    return token.decode("ascii") if is_sound and token.isascii() else ""


def _failure(id_: str) -> SessionMessage | None:
    """Return the end of a request of ours, without which whoever asked would wait for nothing."""
    if not id_.isdigit():
        return None
    error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message="The answer can't be read.")
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=int(id_), error=error))


_UNREADABLE = {"code": mcp_types.PARSE_ERROR, "message": "This can't be read."}


class CommandStream:
    """A transport for mcp.Client. `take` is given what the server wrote, b"" at its end."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._lines = Lines()
        self._into, self._messages = anyio.create_memory_object_stream[SessionMessage | Exception](
            float("inf")
        )

    def take(self, data: bytes) -> None:
        """Hand on the messages in what the server wrote. Raises Babble."""
        if not data:
            self._into.close()
            return
        messages = self._lines.feed(data)
        while self._lines.refused:
            end = f'"id":{self._lines.refused.pop(0)},"error":{json.dumps(_UNREADABLE)}'
            self._write(f'{{"jsonrpc":"2.0",{end}}}\n'.encode())
        for message in messages:
            try:
                self._into.send_nowait(message)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[TransportStreams]:
        """Yield the streams while the session lasts."""
        outgoing, to_write = anyio.create_memory_object_stream[SessionMessage](0)

        async def write() -> None:
            async for message in to_write:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._write(text.encode() + b"\n")

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            try:
                yield self._messages, outgoing
            finally:
                for stream in (self._into, self._messages, outgoing, to_write):
                    stream.close()
                group.cancel_scope.cancel()
