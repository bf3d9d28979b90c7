"""What goes over the pipe between the app and the process that speaks MCP.

The app starts the servers that are commands: what they write is handed over as it is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from desktop_agent.core.mcp import McpTool
from desktop_agent.core.messages import ImagePart, Value

_LENGTH_BYTES = 4


class ServerOpened(Value, frozen=True):
    """Begin to speak with a server; without `url` over ServerWrote and HostWrote."""

    id: int
    url: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    is_sse: bool = False


class ServerWrote(Value, frozen=True):
    """What a server's command wrote; empty at the end."""

    id: int
    data: bytes


class ServerClosed(Value, frozen=True):
    """Nothing more is wanted of a server."""

    id: int


class ToolCalled(Value, frozen=True):
    """Call a tool of a server."""

    id: int
    server: int
    tool: str
    arguments: dict[str, Any]


class ToolCancelled(Value, frozen=True):
    """Nobody waits for a call any more."""

    id: int


class HostWrote(Value, frozen=True):
    """What a server's command is to read."""

    id: int
    data: bytes


class ToolsListed(Value, frozen=True):
    """A server has begun to work, or has other tools now; `left_out` could not be taken."""

    id: int
    tools: tuple[McpTool, ...]
    left_out: int = 0


class ServerFailed(Value, frozen=True):
    """A server can't be spoken with, or not any more."""

    id: int
    message: str


class ToolAnswered(Value, frozen=True):
    """A call's end, bounded."""

    id: int
    text: str
    images: tuple[ImagePart, ...] = ()
    is_error: bool = False


class ToolFailed(Value, frozen=True):
    """A call that got no answer."""

    id: int
    message: str


ToMcpHost = ServerOpened | ServerWrote | ServerClosed | ToolCalled | ToolCancelled
FromMcpHost = HostWrote | ToolsListed | ServerFailed | ToolAnswered | ToolFailed

_encoder = msgspec.msgpack.Encoder()


def mcp_frame(value: ToMcpHost | FromMcpHost) -> bytes:
    """Encode one value with its length before it, as core.pipes.host_pipe.FrameBuffer reads it."""
    body = _encoder.encode(value)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body
