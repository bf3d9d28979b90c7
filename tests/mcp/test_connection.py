"""What is told of a server whose connection can't go on, to whoever waits for its answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from desktop_agent.core.pipes.mcp_pipe import (
    CallFailed,
    HostWrote,
    ServerListed,
    ServerOpened,
    ToolCalled,
)
from desktop_agent.mcp_host import command_stream
from desktop_agent.mcp_host.connection import Connection


class _Server:
    """Begins as it should; `told` has what the app hears of it once a call is over."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.is_listed, self.is_called = asyncio.Event(), asyncio.Event()
        self.connection = Connection(ServerOpened(1), self._hear)

    def _hear(self, value: Any) -> None:
        self.told.append(value)
        if isinstance(value, ServerListed):
            self.is_listed.set()
        for line in value.data.splitlines() if isinstance(value, HostWrote) else ():
            self._answer(json.loads(line))

    def _answer(self, asked: dict[str, Any]) -> None:
        id_, method = asked.get("id"), asked["method"]
        if method == "tools/call":
            self.is_called.set()
            return
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "unknown"}}
        if method == "initialize":
            version = asked["params"]["protocolVersion"]
            about = {"serverInfo": {"name": "one", "version": "1"}, "capabilities": {"tools": {}}}
            answer = {"result": {"protocolVersion": version, **about}}
        elif method == "tools/list":
            answer = {"result": {"tools": [{"name": "do", "inputSchema": {"type": "object"}}]}}
        if id_ is not None:
            said = json.dumps({"jsonrpc": "2.0", "id": id_, **answer})
            self.connection.take(said.encode() + b"\n")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (b'{"jsonrpc":"2.0","id":3,"result":"' + b"y" * 50_000, "a message of more than"),
        (b"No MCP.\n" * 5_000, "something else than MCP"),
    ],
)
async def test_whoever_calls_a_server_that_can_not_be_followed_hears_why(
    written: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_stream, "LONGEST_LINE", 20_000)
    monkeypatch.setattr(command_stream, "MOST_JUNK", 10_000)
    server = _Server()
    running = asyncio.ensure_future(server.connection.run())
    await server.is_listed.wait()
    call = asyncio.ensure_future(server.connection.call(ToolCalled(7, 1, "do", {})))
    await server.is_called.wait()
    server.connection.take(written)
    await asyncio.gather(running, call)
    (failed,) = (one for one in server.told if isinstance(one, CallFailed))
    assert words in failed.message
