"""What goes over a stream to an outpost: length-prefixed msgpack, after a mark and a greeting.

Orders go out and have ids: one that was carried out already is ignored, so each may be sent again.
Events come back with numbers, which begin anew with each epoch, that is each start of the outpost;
what is not acknowledged is sent again when the stream is there again. Between them go the requests
to models, in the values of the model host's pipe, and their answers: these may be lost.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from desktop_agent.core.messages import Value
from desktop_agent.core.pipes.host_pipe import FromHost, ToHost
from desktop_agent.core.usage import Usage
from desktop_agent.headless.output import EndReason

PROTOCOL = 1
# A shell may greet before us: what stands before the mark is not read.
MARK = b"\0desktop-agent outpost\n"
_MOST_GREETING = 1 << 16
_LENGTH_BYTES = 4
MOST_BYTES = 1 << 28


class BrokenStream(Exception):
    """The stream ended, or holds what is not the protocol."""


class Hello(Value, frozen=True):
    """The outpost's first frame; `protocol` stays its first field in all versions."""

    protocol: int
    version: str
    epoch: str
    snapshots: tuple[str, ...] = ()


class Attach(Value, frozen=True):
    """Take up the stream: send what comes after event number `after` of an epoch."""

    epoch: str
    after: int


class Snapshot(Value, frozen=True):
    """A state of a folder, as a bundle of git's."""

    commit: str
    bundle: bytes


class Start(Value, frozen=True):
    """An order: run a job in a copy of a snapshot; its key is the order's id."""

    key: str
    folder: str
    commit: str
    said: dict[str, Any]
    cost_left: float | None = None


class Stop(Value, frozen=True):
    """Interrupt all that runs."""


class Acknowledge(Value, frozen=True):
    """All events up to this number are on disk at home."""

    number: int


class Leave(Value, frozen=True):
    """Nothing more is wanted: the outpost ends."""


class JobEnded(Value, frozen=True):
    """An event: how a job came to its end, and what it changed."""

    number: int
    key: str
    reason: EndReason
    text: str
    usage: Usage
    seconds: float
    patch: str
    error: str = ""


ToOutpost = Attach | Snapshot | Start | Stop | Acknowledge | Leave | FromHost
FromOutpost = Hello | JobEnded | ToHost

_encoder = msgspec.msgpack.Encoder()
to_outpost = msgspec.msgpack.Decoder(ToOutpost)
from_outpost = msgspec.msgpack.Decoder(FromOutpost)


def frame(value: ToOutpost | FromOutpost) -> bytes:
    """Encode one value with its length before it."""
    body = _encoder.encode(value)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


async def find_mark(reader: asyncio.StreamReader) -> None:
    """Skip what comes before the mark. Raises BrokenStream when it does not come."""
    seen = b""
    while not seen.endswith(MARK):
        piece = await reader.read(1)
        if not piece or len(seen) > _MOST_GREETING:
            said = " ".join(seen.decode("utf-8", "replace").split())[-200:]
            raise BrokenStream(said or "it said nothing")
        seen += piece


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Return the bytes of one value. Raises BrokenStream."""
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES), "big")
        if length > MOST_BYTES:
            raise BrokenStream("a frame is too long")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        raise BrokenStream("the stream ended") from None
