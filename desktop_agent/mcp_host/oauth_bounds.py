"""What an authorization server may be: where it is, and how much it may answer."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncGenerator
from typing import cast

import httpx2
from mcp.client.auth import OAuthFlowError

from desktop_agent.core.network.addresses import is_public

# Metadata, a registration, tokens: some kilobytes.
_LARGEST_ANSWER = 256 * 1024
_PATIENCE_S = 20.0
_LONGEST_ADDRESS = 8_000


class Addresses:
    """Which addresses may be asked in the name of one server."""

    def __init__(self, server: str) -> None:
        self._server = httpx2.URL(server)
        self._is_server_public: bool | None = None

    async def check(self, address: httpx2.URL) -> None:
        """Raise OAuthFlowError unless it is safe to send secrets there.

        That takes TLS, except on this computer for a server that is here too; with TLS a name
        that leads elsewhere a moment later finds no certificate there. A public server leads to
        no private address.
        """
        place = f"{address.scheme}://{address.host}"[:200]
        if len(str(address)) > _LONGEST_ADDRESS:
            raise OAuthFlowError(f"An address for signing in is too long: {place}")
        if address.userinfo:
            raise OAuthFlowError(f"An address for signing in holds a name or password: {place}")
        is_here = _is_loopback(address.host) and _is_loopback(self._server.host)
        if address.scheme != "https" and not (address.scheme == "http" and is_here):
            raise OAuthFlowError(f"An address for signing in is not secure: {place}")
        if self._is_server_public is None:
            self._is_server_public = await _is_out(self._server.host)
        if self._is_server_public and not await _is_out(address.host):
            raise OAuthFlowError(f"An address for signing in is in a private network: {place}")

    def is_server(self, address: httpx2.URL) -> bool:
        """Whether an address is of the server itself."""
        server = self._server
        mine = (server.scheme, server.host, server.port)
        return mine == (address.scheme, address.host, address.port)


def bound_request(request: httpx2.Request) -> None:
    """Let a request wait for a while only, and be answered plainly."""
    request.headers["Accept-Encoding"] = "identity"
    request.extensions["timeout"] = httpx2.Timeout(_PATIENCE_S).as_dict()


def bound_answer(response: httpx2.Response) -> None:
    """Let so much be read of an answer; more raises OAuthFlowError."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise OAuthFlowError("The answer of the authorization server is encoded.")
    response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream))


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        left = _LARGEST_ANSWER
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise OAuthFlowError("The answer of the authorization server is too large.")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _is_out(host: str) -> bool:
    """Whether a host is on the internet; one that is not found can't be reached from here."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return True
    return all(is_public(str(address[0])) for *_, address in found)
