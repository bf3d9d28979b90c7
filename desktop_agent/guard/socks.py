"""The requests of SOCKS 5 (RFC 1928): a connection to a name or an address, without a login."""

from __future__ import annotations

import asyncio
import ipaddress

from desktop_agent.core.network.hosts import HostError, clean_host
from desktop_agent.guard.heads import BadRequest, Request
from desktop_agent.guard.streams import Inlet

VERSION = 5
_CONNECT = 1
# Of the answers of RFC 1928, those that fit a status of http; else a general failure.
_REPLIES = {200: 0, 403: 2, 502: 4, 504: 4, 405: 7, 415: 8}


class SocksError(BadRequest):
    """The greeting is refused: there is no way to say why."""


async def read_request(inlet: Inlet) -> Request:
    """Greet, and read what is wanted, after the first byte. Raises BadRequest, HostError."""
    methods = await inlet.exactly((await inlet.exactly(1))[0])
    if 0 not in methods:
        raise SocksError(407, "")
    await send(inlet, b"\x05\x00")
    version, command, _, kind = await inlet.exactly(4)
    if version != VERSION or command != _CONNECT:
        raise BadRequest(405, "")
    host = await _host(inlet, kind)
    port = int.from_bytes(await inlet.exactly(2), "big")
    if not port:
        raise HostError("0 is not a port.")
    return Request("socks", clean_host(host), port)


async def _host(inlet: Inlet, kind: int) -> str:
    match kind:
        case 1:
            return str(ipaddress.IPv4Address(await inlet.exactly(4)))
        case 3:
            name = await inlet.exactly((await inlet.exactly(1))[0])
            return name.decode("latin-1")
        case 4:
            return f"[{ipaddress.IPv6Address(await inlet.exactly(16))}]"
        case _:
            raise BadRequest(415, "")


def reply(status: int) -> bytes:
    """Return the answer that fits a status of http."""
    return bytes((VERSION, _REPLIES.get(status, 1), 0, 1, 0, 0, 0, 0, 0, 0))


async def send(inlet: Inlet, answer: bytes) -> None:
    """Send bytes to the client."""
    await asyncio.get_running_loop().sock_sendall(inlet.socket, answer)
