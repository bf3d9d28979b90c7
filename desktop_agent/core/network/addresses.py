"""Which addresses are out on the internet: public ones, also when they wrap another."""

from __future__ import annotations

import ipaddress

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# In the public ranges, and yet none of the web's; older Pythons call some of them global.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",
            "168.63.129.16/32",  # a cloud's own services, on each of its machines
            "192.88.99.0/24",  # relays of 6to4
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.175.48.0/24",
            "2001::/23",  # Teredo and other tunnels
            "2001:db8::/32",
            "2002::/16",  # 6to4: tunnels to anywhere
            "3fff::/20",
        ),
    )
)


def is_public(address: str) -> bool:
    """Whether an address is out on the internet; what is no address is not."""
    if "%" in address:  # a zone means this link only
        return False
    try:
        plain = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(plain, ipaddress.IPv6Address):
        inner = _wrapped(plain)
        if inner is not None:
            return _is_global(inner)
        if plain not in _GLOBAL_UNICAST:
            return False
    return _is_global(plain)


def _wrapped(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def _is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    odd = address.is_multicast or address.is_reserved or address.is_unspecified
    local = address.is_private or address.is_loopback or address.is_link_local
    known = any(address.version == one.version and address in one for one in _NOT_PUBLIC)
    return address.is_global and not (odd or local or known)
