"""Where a browser comes back to after a sign-in: a page on 127.0.0.1, for one answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

_PATH = "/callback"
_LARGEST_HEAD = 16 * 1024
_HEAD_S = 10.0
_MOST_FIELDS = 20
_LONGEST_REASON = 200
_THANKS = b"Desktop Agent goes on from here. You can close this page."
_NOT_HERE = b"There is nothing here."


class RedirectPage:
    """Takes the first request that has the state that is expected; answers no other."""

    def __init__(self, port: int) -> None:
        self._host = f"127.0.0.1:{port}"
        self._state = ""
        self._answer: asyncio.Future[AuthorizationCodeResult] = (
            asyncio.get_running_loop().create_future()
        )
        self._answer.add_done_callback(_looked_at)

    @property
    def uri(self) -> str:
        """The address that the authorization server sends the browser to."""
        return f"http://{self._host}{_PATH}"

    @property
    def is_used(self) -> bool:
        """Whether the user was sent to sign in already."""
        return bool(self._state)

    def expect(self, state: str) -> None:
        """Wait for this state from now on."""
        self._state = state

    async def answer(self) -> AuthorizationCodeResult:
        """Return what the browser brings. Raises OAuthFlowError when that is a refusal."""
        return await self._answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
                is_taken = self._take(head.decode("latin-1"))
                writer.write(_page(_THANKS) if is_taken else _page(_NOT_HERE, "404 Not Found"))
                await writer.drain()
        writer.close()

    def _take(self, head: str) -> bool:
        first, _, fields = head.partition("\r\n")
        method, _, rest = first.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        # A page of the web's that calls itself by another name must not reach this one.
        is_named = any(
            name.strip().lower() == "host" and value.strip() == self._host
            for name, _, value in (line.partition(":") for line in fields.split("\r\n"))
        )
        if method != "GET" or target.path != _PATH or not is_named:
            return False
        try:
            given = parse_qs(target.query, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return False
        if not self._state or given.get("state") != [self._state]:
            return False
        if not self._answer.done():
            self._settle({name: values[0] for name, values in given.items()})
        return True

    def _settle(self, given: dict[str, str]) -> None:
        code, iss = given.get("code", ""), given.get("iss")
        if code:
            found = AuthorizationCodeResult(code=code, state=self._state, iss=iss)
            self._answer.set_result(found)
            return
        why = given.get("error_description") or given.get("error") or "no code was given"
        self._answer.set_exception(OAuthFlowError(f"The sign-in failed: {why[:_LONGEST_REASON]}"))


@asynccontextmanager
async def redirect_page() -> AsyncGenerator[RedirectPage]:
    """Open the page on a port that is free. Raises OSError."""
    pages: list[RedirectPage] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await pages[0].serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=_LARGEST_HEAD)
    pages.append(RedirectPage(server.sockets[0].getsockname()[1]))
    try:
        yield pages[0]
    finally:
        server.close()


def _looked_at(answer: asyncio.Future[AuthorizationCodeResult]) -> None:
    if not answer.cancelled():
        answer.exception()


def _page(text: bytes, status: str = "200 OK") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(text)}\r\nCache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + text
