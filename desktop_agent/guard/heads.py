"""Requests as a proxy gets them, read strictly: what could be understood in two ways is refused."""

from __future__ import annotations

import base64
import binascii
from typing import Literal

import msgspec
from msgspec.structs import replace

from desktop_agent.core.network.hosts import HostError, authority, split_authority

_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_VISIBLE = frozenset(range(0x21, 0x7F))
_FIELD = frozenset(range(0x20, 0x100)) - {0x7F} | {0x09}
_DIGITS = frozenset(b"0123456789")
_LONGEST_METHOD = 32
_LONGEST_ID = 128
# Of one connection only, or written anew.
_NOT_FORWARDED = frozenset({
    b"connection", b"proxy-connection", b"keep-alive", b"proxy-authorization",
    b"proxy-authenticate", b"te", b"trailer", b"transfer-encoding", b"content-length",
    b"upgrade", b"host", b"http2-settings",
})  # fmt: skip

Header = tuple[bytes, bytes]
Body = int | Literal["chunked"]


class BadRequest(Exception):
    """The request is answered with this status and one sentence, and nothing else is done."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Request(msgspec.Struct, frozen=True):
    """Where to, and for plain http what to send there.

    `path` is what the origin gets of the address, `body` the length of what follows.
    """

    kind: Literal["tunnel", "http", "socks"]
    host: str
    port: int
    method: bytes = b""
    path: bytes = b""
    version: bytes = b""
    headers: tuple[Header, ...] = ()
    body: Body = 0
    call_id: str = ""

    def head(self, *, is_absolute: bool = False, authorization: bytes = b"") -> bytes:
        """Return the head for the origin, or `is_absolute` for another proxy."""
        place = authority(self.host, self.port, 80).encode()
        target = b"http://" + place + self.path if is_absolute else self.path
        lines = [b"%s %s %s" % (self.method, target, self.version), b"Host: " + place]
        lines += [b"%s: %s" % header for header in self.headers]
        if self.body == "chunked":
            lines.append(b"Transfer-Encoding: chunked")
        elif self.body or self.method in {b"POST", b"PUT", b"PATCH"}:
            lines.append(b"Content-Length: %d" % self.body)
        if is_absolute and authorization:
            lines.append(b"Proxy-Authorization: " + authorization)
        return b"\r\n".join([*lines, b"Connection: close", b"", b""])


def read_head(head: bytes, most_headers: int) -> Request:
    """Read a head without its last two line ends. Raises BadRequest, or HostError for the host."""
    first, *lines = head.split(b"\r\n")
    if len(lines) > most_headers:
        raise BadRequest(431, "The request has too many headers.")
    method, target, version = _request_line(first)
    headers = [_header(line) for line in lines]
    call_id = _owner(headers)
    if method == b"CONNECT":
        host, port = split_authority(target.decode("ascii"))
        return Request("tunnel", host, port, call_id=call_id)
    host, port, path = _absolute(target)
    request = Request("http", host, port, method, path, version, body=_body(headers, version))
    return replace(request, headers=_forwarded(headers), call_id=call_id)


def _request_line(line: bytes) -> tuple[bytes, bytes, bytes]:
    words = line.split(b" ")
    if len(words) != 3 or not all(words):
        raise BadRequest(400, "The request line is not understood.")
    method, target, version = words
    if len(method) > _LONGEST_METHOD or not _TOKEN.issuperset(method):
        raise BadRequest(400, "The method of the request is not understood.")
    if version not in {b"HTTP/1.1", b"HTTP/1.0"}:
        raise BadRequest(505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.")
    if not _VISIBLE.issuperset(target):
        raise BadRequest(400, "The address holds characters that it may not hold.")
    return method, target, version


def _absolute(target: bytes) -> tuple[str, int, bytes]:
    scheme, _, rest = target.partition(b"://")
    if scheme.lower() != b"http" or b"#" in rest:
        raise BadRequest(400, "This is a proxy: the request needs an address with http://.")
    ends = [place for place in (rest.find(b"/"), rest.find(b"?")) if place >= 0]
    end = min(ends, default=len(rest))
    place, path = rest[:end].decode("ascii"), rest[end:]
    if "@" in place:
        raise HostError("an address with a user name or password is not fetched.")
    host, port = split_authority(place, 80)
    return host, port, path if path.startswith(b"/") else b"/" + path


def _header(line: bytes) -> Header:
    name, colon, value = line.partition(b":")
    if not colon or not name or not _TOKEN.issuperset(name):
        raise BadRequest(400, "A header of the request is not understood.")
    value = value.strip(b" \t")
    if not _FIELD.issuperset(value):
        raise BadRequest(400, "A header holds characters that it may not hold.")
    return name, value


def _values(headers: list[Header], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name.lower() == wanted]


def _body(headers: list[Header], version: bytes) -> Body:
    lengths = _values(headers, b"content-length")
    codings = _values(headers, b"transfer-encoding")
    if len(_values(headers, b"host")) > 1 or len(lengths) + len(codings) > 1:
        raise BadRequest(400, "The request says twice what may be said once.")
    if codings:
        if codings[0].lower() != b"chunked" or version != b"HTTP/1.1":
            raise BadRequest(400, "The transfer encoding of the request is not understood.")
        return "chunked"
    if not lengths:
        return 0
    if not lengths[0] or len(lengths[0]) > 15 or not _DIGITS.issuperset(lengths[0]):
        raise BadRequest(400, "The length of the request is not a number.")
    return int(lengths[0])


def _forwarded(headers: list[Header]) -> tuple[Header, ...]:
    named = {
        word.strip(b" \t").lower()
        for value in _values(headers, b"connection")
        for word in value.split(b",")
    }
    dropped = _NOT_FORWARDED | named
    return tuple(header for header in headers if header[0].lower() not in dropped)


def _owner(headers: list[Header]) -> str:
    """Return the user's name for this proxy: the call that the command belongs to."""
    for value in _values(headers, b"proxy-authorization"):
        kind, _, encoded = value.partition(b" ")
        if kind.lower() != b"basic" or len(encoded) > 2 * _LONGEST_ID:
            continue
        try:
            name = base64.b64decode(encoded, validate=True).partition(b":")[0].decode("ascii")
        except (binascii.Error, ValueError):
            continue
        if name.isprintable() and len(name) <= _LONGEST_ID:
            return name
    return ""


def chunk_size(line: bytes) -> int:
    """Return the size that begins a chunk; extensions are ignored. Raises BadRequest."""
    digits = line.partition(b";")[0].rstrip(b" \t")
    if (
        not digits
        or len(digits) > 12
        or not frozenset(b"0123456789abcdefABCDEF").issuperset(digits)
    ):
        raise BadRequest(400, "A chunk of the request is not understood.")
    return int(digits, 16)


def answer(status: int, words: str) -> bytes:
    """Return a whole answer; the words stand in the status line too, which most programs show."""
    plain = words.encode("ascii", "replace").translate(None, b"\r\n")
    return (
        b"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
        b"Connection: close\r\nCache-Control: no-store\r\n\r\n%s\n"
    ) % (status, plain, len(plain) + 1, plain)
