"""The proxy that the person's own computer uses, as the app's environment names it."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping

import msgspec

from desktop_agent.core.network.hosts import address_of

_DEFAULT_PORT = 80


class Upstream(msgspec.Struct, frozen=True):
    """A proxy on the way; `problem` says why it can't be used, instead of going around it."""

    host: str
    port: int
    authorization: bytes = b""
    problem: str = ""


class Upstreams(msgspec.Struct, frozen=True):
    """Which proxy a connection goes through, if any."""

    http: Upstream | None = None
    https: Upstream | None = None
    none_for: tuple[str, ...] = ()

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Upstreams:
        """Read HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY; small letters come first."""

        def value(name: str) -> str:
            return environment.get(name.lower()) or environment.get(name) or ""

        both = value("ALL_PROXY")
        exempt = tuple(one.strip().lower() for one in value("NO_PROXY").split(",") if one.strip())
        http, https = (_read(value(name) or both) for name in ("HTTP_PROXY", "HTTPS_PROXY"))
        return cls(http, https, exempt)

    def way_to(self, host: str, port: int, *, is_tunnel: bool) -> Upstream | None:
        """Return the proxy for a host, None to go directly."""
        chosen = self.https if is_tunnel else self.http
        if chosen is None or any(_is_exempt(host, port, one) for one in self.none_for):
            return None
        return chosen


def _read(text: str) -> Upstream | None:
    if not text.strip():
        return None
    scheme, colons, rest = text.strip().partition("://")
    if not colons:
        scheme, rest = "http", text.strip()
    login, _, place = rest.partition("/")[0].rpartition("@")
    host, _, digits = place.rpartition(":") if not place.endswith("]") else (place, "", "")
    if not host:
        host, digits = place, ""
    if scheme.lower() != "http":
        return Upstream("", 0, problem=f"a proxy of the kind {scheme[:20]} is not supported here")
    if not host or (digits and not (digits.isdecimal() and 0 < int(digits[:6]) < 65_536)):
        return Upstream("", 0, problem="the address of this computer's proxy is not understood")
    port = int(digits) if digits else _DEFAULT_PORT
    return Upstream(host.strip("[]"), port, _basic(login))


def _basic(login: str) -> bytes:
    if not login:
        return b""
    return b"Basic " + base64.b64encode(_unquoted(login))


def _unquoted(text: str) -> bytes:
    first, *others = text.encode().split(b"%")
    whole = bytearray(first)
    for one in others:
        try:
            whole += bytes.fromhex(one[:2].decode("ascii")) + one[2:]
        except ValueError:
            whole += b"%" + one
    return bytes(whole)


def _is_exempt(host: str, port: int, pattern: str) -> bool:
    if pattern == "*":
        return True
    name, colon, digits = pattern.rpartition(":")
    if colon and digits.isdecimal() and name and ":" not in name.strip("[]"):
        if int(digits[:6]) != port:
            return False
        pattern = name
    if address := address_of(host):
        return _is_within(address, pattern.strip("[]"))
    pattern = pattern.removeprefix("*").strip(".")
    return bool(pattern) and (host == pattern or host.endswith(f".{pattern}"))


def _is_within(address: str, pattern: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        return False
