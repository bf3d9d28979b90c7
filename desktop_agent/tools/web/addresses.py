"""How names are looked up, and which of their addresses may be reached: public ones."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import msgspec

from desktop_agent.core.network.addresses import is_public
from desktop_agent.core.tool import ToolError

Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
Allow = Callable[[str], bool]


async def look_up(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a host name; raises ToolError when there are none."""
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ToolError(f"the address of {host} was not found.") from None
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class Network(msgspec.Struct, frozen=True):
    """How names are looked up, and which addresses may be reached."""

    resolve: Resolve = look_up
    is_allowed: Allow = is_public
