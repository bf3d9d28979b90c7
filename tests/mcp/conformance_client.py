"""Our client as a command for the conformance suite: `python -m tests.mcp.conformance_client URL`.

It does what the scenario wants of a client, through the process that speaks MCP for the app: every
tool is called once, what a server asks for is answered by what its form holds at first, and where
a sign-in is wanted its address is opened.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from desktop_agent.adapters.mcp.hosted_servers import HostedServers
from desktop_agent.core.mcp import McpError, McpGrant, McpOffer, McpServer
from desktop_agent.core.parts.forms import FormAnswer, ServerForm, default_answer
from desktop_agent.engine.mcp.ports import Launch, Listener

_MOST_SIGN_INS = 3
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


class Client:
    """A user of one server who signs in whenever it wants that, at most `_MOST_SIGN_INS` times."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._servers = HostedServers(lambda: {})
        self._grant: McpGrant | None = None
        self._sign_ins = 0

    async def run(self) -> int:
        """Use the server; return an exit code."""
        signs_in = False
        try:
            while await self._use(signs_in=signs_in):
                signs_in = True
                self._sign_ins += 1
                if self._sign_ins > _MOST_SIGN_INS:
                    return 1
        except McpError as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            await self._servers.close()
        return 0

    async def _use(self, *, signs_in: bool) -> bool:
        """List and call; return whether the user has to sign in. Raises McpError."""
        offered: asyncio.Future[McpOffer] = asyncio.get_running_loop().create_future()
        browsers: list[asyncio.Future[None]] = []
        needed = asyncio.Event()

        def listed(offer: McpOffer) -> None:
            if not offered.done():
                offered.set_result(offer)

        def ended(why: str, needs_sign_in: bool) -> None:
            print(why, file=sys.stderr)
            if needs_sign_in:
                needed.set()
            if not offered.done():
                offered.set_exception(McpError(why))

        def kept(grant: McpGrant) -> None:
            self._grant = grant

        def asked(address: str) -> None:
            browsers.append(asyncio.ensure_future(asyncio.to_thread(_browse, address)))

        server = McpServer("conformance", url=self._url)
        launch = Launch(server, os.getcwd(), grant=self._grant, signs_in=signs_in)  # noqa: PTH109
        connection = await self._servers.connect(launch, Listener(listed, ended, asked, kept))
        try:
            for tool in (await offered).tools:
                result = await connection.call(tool.name, arguments_for(tool.schema), answer)
                print(f"{tool.name}: {result.text[:200]}")
        except McpError:
            # The end of the connection is told after the end of the call.
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await needed.wait()
            if not needed.is_set():
                raise
        finally:
            await asyncio.gather(*browsers)
            await connection.close()
        return needed.is_set()


def _browse(address: str) -> None:
    with suppress(HTTPError), urlopen(address) as page:
        page.read()


if __name__ == "__main__":
    raise SystemExit(asyncio.run(Client(sys.argv[1]).run()))
