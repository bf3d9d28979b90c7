"""Which network addresses may be reached: public ones, after the name was looked up."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from desktop_agent.core.tool import ToolError

Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
Allow = Callable[[str], bool]

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
_TEREDO = ipaddress.IPv6Network("2001::/32")


async def look_up(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a host name; raises ToolError when there are none."""
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ToolError(f"the address of {host} was not found.") from None
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether an address is out on the internet, also when it wraps another one."""
    try:
        plain = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if "%" in address:  # a zone means this link only
        return False
    if isinstance(plain, ipaddress.IPv6Address):
        inner = _wrapped(plain)
        if inner is not None and not _is_global(inner):
            return False
        if plain.ipv4_mapped is not None:
            return True
    return _is_global(plain)


def _wrapped(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR or address in _TEREDO:
        # Tunnels to anywhere: no server of the public web lives there.
        return ipaddress.IPv4Address(0)
    return None


def _is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    odd = address.is_multicast or address.is_reserved or address.is_unspecified
    local = address.is_private or address.is_loopback or address.is_link_local
    site = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    return address.is_global and not (odd or local or site)


@dataclass(frozen=True, slots=True)
class Network:
    """How names are looked up, and which addresses may be reached."""

    resolve: Resolve = look_up
    is_allowed: Allow = is_public
