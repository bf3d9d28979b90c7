"""One server: spoken with until it is closed or fails; what it offers is listed when it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types
import msgspec
from mcp import Client, MCPError
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from desktop_agent import __version__
from desktop_agent.core.mcp import McpOffer
from desktop_agent.core.pipes.mcp_pipe import (
    CallAnswered,
    CallFailed,
    FromMcpHost,
    HostWrote,
    PromptAsked,
    Request,
    ResourceAsked,
    ServerFailed,
    ServerListed,
    ServerOpened,
    ToolCalled,
)
from desktop_agent.mcp_host.asking import Forms
from desktop_agent.mcp_host.bounds import (
    answer_of,
    failure_text,
    prompt_answer,
    resource_answer,
)
from desktop_agent.mcp_host.command_stream import Babble, CommandStream
from desktop_agent.mcp_host.offers import list_more, list_tools
from desktop_agent.mcp_host.redirect_page import redirect_page
from desktop_agent.mcp_host.sifting import SiftedStream
from desktop_agent.mcp_host.sign_in import SignIn

# A first start may have to fetch a package.
_START_S = 300.0
# The user may have to find a password.
_SIGN_IN_S = 900.0
_GONE = "The server is not connected."
# Between two lists of a server whose offers change all the time, twice as long each time.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0
_CHANGES = (
    mcp_types.ToolListChangedNotification,
    mcp_types.PromptListChangedNotification,
    mcp_types.ResourceListChangedNotification,
)


class Connection:
    """`send` takes what the app is told. Every end but `close` is told as ServerFailed."""

    def __init__(self, opened: ServerOpened, send: Callable[[FromMcpHost], None]) -> None:
        self._opened = opened
        self._send = send
        self._stream = CommandStream(lambda data: send(HostWrote(opened.id, data)))
        self._client: Client | None = None
        self._is_listing = True
        self._sifted: SiftedStream | None = None
        self.forms = Forms(send)
        self._ended = asyncio.Event()
        self._changed = asyncio.Event()
        self._running: asyncio.Task[Any] | None = None
        self._failure = ""
        self._needs_sign_in = False

    def take(self, data: bytes) -> None:
        """Hand on what the server's command wrote."""
        try:
            self._stream.take(data)
        except Babble as error:
            self._fail(str(error))

    def close(self) -> None:
        """End the session; nothing is told."""
        self._ended.set()
        if self._is_listing and self._running is not None:
            self._running.cancel()  # it may wait for an answer that never comes

    async def run(self) -> None:
        """Speak with the server until the end."""
        self._running = asyncio.current_task()
        try:
            await self._speak()
        except asyncio.CancelledError:
            if not self._ended.is_set():
                raise
        except Exception as error:  # noqa: BLE001 - one server's failure is told, whatever it is
            self._failure = self._failure or failure_text(error)
        finally:
            self._client = None
        if self._failure:
            self._send(ServerFailed(self._opened.id, self._failure, self._needs_sign_in))

    async def _speak(self) -> None:
        client = Client(
            self._transport(),
            message_handler=self._on_message,
            elicitation_callback=self.forms.ask,
            client_info=mcp_types.Implementation(name="desktop-agent", version=__version__),
            cache=None,
        )
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(_SIGN_IN_S if self._opened.signs_in else _START_S):
                await stack.enter_async_context(client)
                offer = await self._list_tools(client)
            self._client = client
            self._send(ServerListed(self._opened.id, offer))  # agents need not wait for the rest
            now, pause = asyncio.get_running_loop().time, 0.0
            while True:
                prompts, resources = await list_more(client)
                whole = msgspec.structs.replace(offer, prompts=prompts, resources=resources)
                self._send(ServerListed(self._opened.id, whole))
                self._is_listing, listed_at = False, now()
                await _first_of(self._ended, self._changed)
                pause = pause_before_listing(pause, now() - listed_at)
                await _first_of(self._ended, limit_s=pause)
                if self._ended.is_set():
                    return
                self._is_listing = True
                self._changed.clear()
                offer = await self._list_tools(client)

    async def _list_tools(self, client: Client) -> McpOffer:
        sifted = self._sifted
        assert sifted is not None, "it is connected"
        sifted.version = client.protocol_version
        offer = await list_tools(client)
        return msgspec.structs.replace(offer, refused=sifted.take_refused())

    async def call(self, called: Request) -> None:
        """Put a request to the server; whatever comes of it is told."""
        client = self._client
        if client is None:
            self._send(CallFailed(called.id, _GONE))
            return
        try:
            with self.forms.during(called.id):
                answer = await _answered(client, called)
            self._send(answer)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the agent reads of it, whatever it is
            # Of what ended the connection only that it is closed is heard here.
            why = self._failure or failure_text(error)
            self._send(CallFailed(called.id, why))
            if self._is_lost(error):
                self._fail(why)

    def _is_lost(self, error: Exception) -> bool:
        """Whether an HTTP server is gone, or was started anew and does not know of us."""
        if not isinstance(error, MCPError):
            return _is_of_network(error)
        is_closed = error.code == mcp_types.CONNECTION_CLOSED
        is_unknown = "terminated" in error.message.lower()
        return bool(self._opened.url) and (is_closed or is_unknown)

    def _fail(self, why: str) -> None:
        self._failure = why
        self.close()

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, _CHANGES):
            self._changed.set()

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator[TransportStreams]:
        own = self._http() if self._opened.url else self._stream.opened()
        async with own as (incoming, outgoing):
            self._sifted = SiftedStream(incoming)
            yield self._sifted, outgoing

    @asynccontextmanager
    async def _http(self) -> AsyncGenerator[TransportStreams]:
        opened = self._opened
        async with AsyncExitStack() as stack:
            page = await stack.enter_async_context(redirect_page()) if opened.signs_in else None
            # Who configured an authorization of their own is never asked to sign in.
            has_own = any(name.lower() == "authorization" for name in opened.headers)
            auth = None if has_own else SignIn(opened, page, self._send, self._refuse)
            if opened.is_sse:
                transport = sse_client(opened.url, headers=opened.headers, auth=auth)
            else:
                client = create_mcp_http_client(headers=opened.headers, auth=auth)
                await stack.enter_async_context(client)
                transport = streamable_http_client(opened.url, http_client=client)
            yield await stack.enter_async_context(transport)

    def _refuse(self, why: str) -> None:
        """Tell that the user has to sign in: whoever sent something may never hear of it."""
        self._needs_sign_in = True
        self._fail(why)


def pause_before_listing(last_s: float, quiet_s: float) -> float:
    """Return how long to wait once offers have changed, after so long without a change."""
    if quiet_s >= _LONGEST_PAUSE_S:
        return 0.0
    return min(max(_FIRST_PAUSE_S, 2 * last_s), _LONGEST_PAUSE_S)


async def _first_of(*events: asyncio.Event, limit_s: float | None = None) -> None:
    """Wait until one of the events is set, or for so long."""
    waits = [asyncio.create_task(each.wait()) for each in events]
    try:
        await asyncio.wait(waits, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


async def _answered(client: Client, called: Request) -> CallAnswered:
    match called:
        case ToolCalled(id_, _, tool, arguments):
            return answer_of(id_, await client.call_tool(tool, arguments))
        case PromptAsked(id_, _, prompt, given):
            return prompt_answer(id_, await client.get_prompt(prompt, given))
        case ResourceAsked(id_, _, uri):
            return resource_answer(id_, await client.read_resource(uri))


def _is_of_network(error: Exception) -> bool:
    return type(error).__module__.split(".")[0] in ("httpx", "httpx2", "httpcore", "anyio")
