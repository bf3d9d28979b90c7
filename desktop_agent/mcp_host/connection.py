"""One server: spoken with until it is closed or fails; tools that change are listed again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types
from mcp import Client, MCPError
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from desktop_agent import __version__
from desktop_agent.core.mcp import McpTool
from desktop_agent.core.pipes.mcp_pipe import (
    FromMcpHost,
    HostWrote,
    ServerFailed,
    ServerOpened,
    ToolCalled,
    ToolFailed,
    ToolsListed,
)
from desktop_agent.mcp_host.bounds import (
    MOST_PAGES,
    MOST_TOOLS,
    answer_of,
    failure_text,
    tool_of,
)
from desktop_agent.mcp_host.command_stream import Babble, CommandStream

# A first start may have to fetch a package.
_START_S = 300.0
_GONE = "The server is not connected."


class Connection:
    """`send` takes what the app is told. Every end but `close` is told as ServerFailed."""

    def __init__(self, opened: ServerOpened, send: Callable[[FromMcpHost], None]) -> None:
        self._opened = opened
        self._send = send
        self._stream = CommandStream(lambda data: send(HostWrote(opened.id, data)))
        self._client: Client | None = None
        self._ended = asyncio.Event()
        self._changed = asyncio.Event()
        self._running: asyncio.Task[Any] | None = None
        self._failure = ""

    def take(self, data: bytes) -> None:
        """Hand on what the server's command wrote."""
        try:
            self._stream.take(data)
        except Babble as error:
            self._fail(str(error))

    def close(self) -> None:
        """End the session; nothing is told."""
        self._ended.set()
        if self._client is None and self._running is not None:
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
            self._send(ServerFailed(self._opened.id, self._failure))

    async def _speak(self) -> None:
        client = Client(
            self._transport(),
            message_handler=self._on_message,
            client_info=mcp_types.Implementation(name="desktop-agent", version=__version__),
            cache=None,
        )
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(_START_S):
                await stack.enter_async_context(client)
                await self._list(client)
            self._client = client
            while not self._ended.is_set():
                await self._next()
                if self._changed.is_set():
                    self._changed.clear()
                    await self._list(client)

    async def _next(self) -> None:
        """Wait for the end, or for other tools."""
        waits = [asyncio.create_task(each.wait()) for each in (self._ended, self._changed)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def call(self, called: ToolCalled) -> None:
        """Call a tool; whatever comes of it is told."""
        client = self._client
        if client is None:
            self._send(ToolFailed(called.id, _GONE))
            return
        try:
            result = await client.call_tool(called.tool, called.arguments)
            self._send(answer_of(called.id, result))
        except asyncio.CancelledError:
            raise
        except MCPError as error:
            self._send(ToolFailed(called.id, failure_text(error)))
            if self._is_lost(error):
                self._fail(failure_text(error))
        except Exception as error:  # noqa: BLE001 - the agent reads of it, whatever it is
            self._send(ToolFailed(called.id, failure_text(error)))
            if _is_of_network(error):
                self._fail(failure_text(error))

    def _is_lost(self, error: MCPError) -> bool:
        """Whether an HTTP server that was started anew does not know of us."""
        is_closed = error.code == mcp_types.CONNECTION_CLOSED
        is_unknown = "terminated" in error.message.lower()
        return bool(self._opened.url) and (is_closed or is_unknown)

    def _fail(self, why: str) -> None:
        self._failure = why
        self.close()

    async def _list(self, client: Client) -> None:
        tools: dict[str, McpTool] = {}
        left_out, cursor = 0, None
        if client.server_capabilities.tools is not None:
            for _ in range(MOST_PAGES):
                page = await client.list_tools(cursor=cursor)
                for one in page.tools:
                    tool = tool_of(one) if len(tools) < MOST_TOOLS else None
                    left_out += tool is None
                    if tool is not None:
                        tools.setdefault(tool.name, tool)
                cursor = page.next_cursor
                if not cursor or len(tools) >= MOST_TOOLS:
                    break
        self._send(ToolsListed(self._opened.id, tuple(tools.values()), left_out))

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._changed.set()

    def _transport(self) -> AbstractAsyncContextManager[TransportStreams]:
        opened = self._opened
        if not opened.url:
            return self._stream.opened()
        if opened.is_sse:
            return sse_client(opened.url, headers=opened.headers)
        return _http(opened.url, opened.headers)


@asynccontextmanager
async def _http(url: str, headers: dict[str, str]) -> AsyncGenerator[TransportStreams]:
    async with (
        create_mcp_http_client(headers=headers) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


def _is_of_network(error: Exception) -> bool:
    return type(error).__module__.split(".")[0] in ("httpx", "httpx2", "httpcore", "anyio")
