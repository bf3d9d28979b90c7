"""Names of hosts in one form, and the refusal of every odd way to write an address."""

from __future__ import annotations

import ipaddress
import re

from desktop_agent.core.network.addresses import is_public
from desktop_agent.core.network.command_proxy import PORT

LOCALHOST = "localhost"
_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_LONGEST_NAME = 253
_LONGEST_LABEL = 63
# Names that are never out on the internet (RFC 6761, 6762, 8375, 9476).
_LOCAL_ENDS = frozenset({"localhost", "local", "internal", "arpa"})


class HostError(ValueError):
    """What was given is no host, or none that could be public; the text says why, for people."""


def split_authority(text: str, default_port: int | None = None) -> tuple[str, int]:
    """Return host and port of `host:port`, the host in one form. Raises HostError."""
    host, colon, digits = text.rpartition(":")
    if not colon or "]" in digits or text.endswith("]"):
        host, digits = text, ""
    if not digits:
        if colon and text.endswith(":"):
            raise HostError("the port is missing.")
        if default_port is None:
            raise HostError("the port is missing.")
        return clean_host(host), default_port
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5):
        raise HostError("the port is not a number.")
    port = int(digits)
    if not 0 < port < 65_536:
        raise HostError(f"{port} is not a port.")
    return clean_host(host), port


def local_port(text: str) -> int:
    """Return the port of `localhost:PORT`, which is this computer's own; 0 for anything else."""
    name, _, digits = text.strip().lower().rpartition(":")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= 5
    port = int(digits) if name == LOCALHOST and is_number else 0
    return port if port < 65_536 and port != PORT else 0


def split_place(text: str) -> tuple[str, int]:
    """Return host and port of what a user allows: `HOST`, `HOST:PORT`, or `localhost:PORT`.

    The port is 0 where none is named. Raises HostError.
    """
    port = local_port(text)
    return (LOCALHOST, port) if port else split_authority(text, 0)


def pasted_place(text: str) -> tuple[str, int]:
    """Do the same for a field, into which a whole address is pasted. Raises HostError."""
    return split_place(re.split(r"[/?#]", text.partition("://")[2] or text, maxsplit=1)[0])


def reachable(place: tuple[str, int]) -> tuple[str, int]:
    """Return a place that is to be allowed. Raises HostError for an address that none reaches."""
    address = address_of(place[0])
    if address and not is_public(address):
        words = "is an address of this computer or its network, which is never reached."
        raise HostError(f"{address} {words} A port of this computer is localhost:PORT.")
    return place


def clean_host(text: str) -> str:
    """Return a name in small letters, or an address as it is usually written; an IPv6 one in [].

    Raises HostError, also for addresses in octal, hexadecimal or one number.
    """
    if text.startswith("["):
        return _ipv6(text)
    name = text.removesuffix(".")
    if not name or len(name) > _LONGEST_NAME or not name.isascii():
        raise HostError("the name of the host is not plain.")
    name = name.lower()
    labels = name.split(".")
    if not all(map(_is_label, labels)):
        raise HostError("the name of the host is not plain.")
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        return _ipv4(name)
    if len(labels) == 1 or labels[-1] in _LOCAL_ENDS:
        raise HostError(f"{name} is a name of this computer or its network.")
    return name


def address_of(host: str) -> str:
    """Return the address that a host from `clean_host` is, or nothing for a name."""
    if host.startswith("["):
        return host[1:-1]
    return host if host.rpartition(".")[2].isdigit() else ""


def authority(host: str, port: int, default_port: int | None = None) -> str:
    """Write host and port as in an address; the usual port is left out."""
    return host if port == default_port else f"{host}:{port}"


def _is_label(label: str) -> bool:
    is_sized = 0 < len(label) <= _LONGEST_LABEL
    return is_sized and _LABEL.issuperset(label) and "-" not in (label[0], label[-1])


def _ipv4(name: str) -> str:
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError:
        raise HostError("the address is not written in the usual form.") from None


def _ipv6(text: str) -> str:
    inner = text[1:-1]
    if not text.endswith("]") or "%" in inner or len(inner) > 45 or not inner.isascii():
        raise HostError("the address is not written in the usual form.")
    try:
        address = ipaddress.IPv6Address(inner)
    except ValueError:
        raise HostError("the address is not written in the usual form.") from None
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"[{address}]"
