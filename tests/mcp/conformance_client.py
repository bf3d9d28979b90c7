"""Our client as a command for the conformance suite: `python -m tests.mcp.conformance_client URL`.

It does what the scenario wants of a client, through the process that speaks MCP for the app: every
tool is called once, what a server asks for is answered by what its form holds at first, and where
a sign-in is wanted its address is opened.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from desktop_agent.adapters.mcp.hosted_servers import HostedServers
from desktop_agent.core.mcp import McpError, McpGrant, McpOffer, McpServer
from desktop_agent.core.parts.forms import FormAnswer, ServerForm
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
    """Take over what the fields hold at first."""
    known = ((field.name, field.default) for field in form.fields)
    return FormAnswer("accept", {name: value for name, value in known if value is not None})


class Client:
    """A user of one server who signs in whenever it wants that, at most `_MOST_SIGN_INS` times."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._servers = HostedServers(lambda: {})
        self._grant: McpGrant | None = None

    async def run(self) -> int:
        """Use the server; return an exit code."""
        try:
            for count in range(_MOST_SIGN_INS + 1):
                if not await self._wants_sign_in(signs_in=count > 0):
                    return 0
        except McpError as error:
            print(error, file=sys.stderr)
        finally:
            await self._servers.close()
        return 1

    async def _wants_sign_in(self, *, signs_in: bool) -> bool:
        """List and call; return whether the user has to sign in. Raises McpError."""
        self._offered: asyncio.Future[McpOffer] = asyncio.get_running_loop().create_future()
        self._ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._browsers: list[asyncio.Future[None]] = []
        listener = Listener(self._on_listed, self._on_ended, self._on_asked, self._on_kept)
        own = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
        app = (own.get("client_id", ""), own.get("client_secret", ""))
        server = McpServer("conformance", url=self._url, client_id=app[0], client_secret=app[1])
        launch = Launch(server, os.getcwd(), grant=self._grant, signs_in=signs_in)  # noqa: PTH109
        connection = await self._servers.connect(launch, listener)
        try:
            for tool in (await self._offered).tools:
                result = await connection.call(tool.name, arguments_for(tool.schema), answer)
                print(f"{tool.name}: {result.text[:200]}")
            return False
        except McpError:
            # The end of the connection is told after the end of the call.
            done, _ = await asyncio.wait([self._ended], timeout=2)
            if not done or not self._ended.result():
                raise
            return True
        finally:
            await asyncio.gather(*self._browsers)
            await connection.close()

    def _on_listed(self, offer: McpOffer) -> None:
        if not self._offered.done():
            self._offered.set_result(offer)

    def _on_ended(self, why: str, needs_sign_in: bool) -> None:
        print(why, file=sys.stderr)
        self._ended.set_result(needs_sign_in)
        if not self._offered.done():
            self._offered.set_exception(McpError(why))

    def _on_asked(self, address: str) -> None:
        self._browsers.append(asyncio.ensure_future(asyncio.to_thread(_browse, address)))

    def _on_kept(self, grant: McpGrant) -> None:
        self._grant = grant


def _browse(address: str) -> None:
    with suppress(HTTPError), urlopen(address) as page:
        page.read()


if __name__ == "__main__":
    raise SystemExit(asyncio.run(Client(sys.argv[1]).run()))
