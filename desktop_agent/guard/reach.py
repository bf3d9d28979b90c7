"""Connections out: a name is resolved here, once, and only a public address is connected to."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress

import msgspec

from desktop_agent.core.network.addresses import is_public
from desktop_agent.core.network.hosts import address_of, authority
from desktop_agent.guard.heads import BadRequest
from desktop_agent.guard.limits import Limits
from desktop_agent.guard.streams import Inlet
from desktop_agent.guard.upstream import Upstream, Upstreams

Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
_ADDRESSES = 4
_FULL = {errno.EMFILE, errno.ENFILE}


async def look_up(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a name; none when it has none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def may_connect(address: str) -> bool:
    """Whether an address is out on the internet, and not one of this computer's own."""
    return is_public(address) and not _is_own(address)


def _is_own(address: str) -> bool:
    # The system says which address it would use; to itself it is the same. Nothing is sent.
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with suppress(OSError), closing(socket.socket(family, socket.SOCK_DGRAM)) as asked:
        asked.connect((address, 9))
        return asked.getsockname()[0] == address
    return False


class Network(msgspec.Struct, frozen=True):
    """How names are looked up, and which addresses may be reached."""

    resolve: Resolve = look_up
    is_allowed: Callable[[str], bool] = may_connect


class Unreachable(BadRequest):
    """There is no way to the host; the words say why."""


class Reach:
    """The way out, directly or through the proxy of this computer."""

    def __init__(self, network: Network, upstreams: Upstreams, limits: Limits) -> None:
        self._network = network
        self._upstreams = upstreams
        self._limits = limits

    def check(self, host: str) -> None:
        """Raise Unreachable for an address that nobody need be asked about."""
        address = address_of(host)
        if address and not self._network.is_allowed(address):
            raise _private(host)

    def way_to(self, host: str, port: int, *, is_tunnel: bool) -> Upstream | None:
        """Return the proxy that a connection goes through. Raises Unreachable."""
        upstream = self._upstreams.way_to(host, port, is_tunnel=is_tunnel)
        if upstream is not None and upstream.problem:
            raise Unreachable(502, f"Not reached: {upstream.problem}.")
        return upstream

    async def connect(
        self, host: str, port: int, upstream: Upstream | None, touch: Callable[[], None]
    ) -> Inlet:
        """Return a connection to the host, or to the proxy on the way. Raises Unreachable."""
        addresses = await self._addresses(host, port)
        if upstream is not None:
            addresses = await look_up(upstream.host, upstream.port)
            port = upstream.port
        if not addresses:
            raise Unreachable(502, f"The address of {host} was not found.")
        return Inlet(await self._first(host, addresses[:_ADDRESSES], port), touch)

    async def tunnel(self, host: str, port: int, origin: Inlet, upstream: Upstream) -> None:
        """Ask the proxy on the way for a tunnel. Raises Unreachable, OSError."""
        place = authority(host, port).encode()
        lines = [b"CONNECT %s HTTP/1.1" % place, b"Host: " + place]
        if upstream.authorization:
            lines.append(b"Proxy-Authorization: " + upstream.authorization)
        head = b"\r\n".join([*lines, b"", b""])
        await asyncio.get_running_loop().sock_sendall(origin.socket, head)
        answered = await origin.until(b"\r\n\r\n", self._limits.head, 502)
        words = answered.partition(b"\r\n")[0].split(b" ")
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or words[1][:1] != b"2":
            status = words[1][:3].decode("ascii", "replace") if len(words) > 1 else "nonsense"
            raise Unreachable(502, f"The proxy of this computer answered {status} for {host}.")

    async def _addresses(self, host: str, port: int) -> tuple[str, ...]:
        address = address_of(host)
        found = (address,) if address else await self._network.resolve(host, port)
        # One private address among public ones is how a name is rebound: refuse them all.
        # Behind a proxy names may be unknown here; what is known is held to the same rule.
        if not all(map(self._network.is_allowed, found)):
            raise _private(host)
        return found

    async def _first(self, host: str, addresses: tuple[str, ...], port: int) -> socket.socket:
        words = f"{host} did not answer."
        for address in addresses:
            try:
                async with asyncio.timeout(self._limits.connect_s):
                    return await _connected(address, port)
            except TimeoutError:
                words = f"{host} did not answer in time."
            except OSError as error:
                if error.errno in _FULL:
                    raise Unreachable(503, "Too many connections are open.") from None
                words = f"{host} can't be reached: {os.strerror(error.errno or 0).lower()}."
        raise Unreachable(502, words)


async def _connected(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return made


def _private(host: str) -> Unreachable:
    return Unreachable(403, f"{host} is in a private network, which is never reached from here.")
