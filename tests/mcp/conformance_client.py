"""Our client as a command for the conformance suite: `python -m tests.mcp.conformance_client URL`.

It does what the scenario wants of a client, through the process that speaks MCP for the app: every
tool is called once, and what a server asks for is answered by what its form holds at first.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from desktop_agent.adapters.mcp.hosted_servers import HostedServers
from desktop_agent.core.mcp import McpError, McpOffer, McpServer
from desktop_agent.core.parts.forms import FormAnswer, ServerForm, default_answer
from desktop_agent.engine.mcp.ports import Launch, Listener

_SAMPLES: dict[str, Any] = {
    "number": 2,
    "integer": 2,
    "boolean": True,
    "array": [],
    "object": {},
}


def arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    """Return something for each property of a schema."""
    properties = schema.get("properties", {})
    return {name: _SAMPLES.get(one.get("type"), "a") for name, one in properties.items()}


async def answer(form: ServerForm) -> FormAnswer:
    return default_answer(form)


async def run(url: str) -> int:
    """Use the server; return an exit code."""
    servers = HostedServers(lambda: {})
    offered: asyncio.Future[McpOffer] = asyncio.get_running_loop().create_future()

    def listed(offer: McpOffer) -> None:
        if not offered.done():
            offered.set_result(offer)

    def ended(why: str) -> None:
        print(why, file=sys.stderr)
        if not offered.done():
            offered.set_exception(McpError(why))

    launch = Launch(McpServer("conformance", url=url), os.getcwd())  # noqa: PTH109
    connection = await servers.connect(launch, Listener(listed, ended))
    try:
        for tool in (await offered).tools:
            result = await connection.call(tool.name, arguments_for(tool.schema), answer)
            print(f"{tool.name}: {result.text[:200]}")
    except McpError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        await connection.close()
        await servers.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(run(sys.argv[1])))
