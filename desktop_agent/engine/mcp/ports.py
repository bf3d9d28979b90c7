"""What the engine needs to use MCP servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from desktop_agent.core.mcp import McpAnswer, McpGrant, McpLine, McpOffer, McpServer
from desktop_agent.core.parts.forms import FormAnswer, ServerForm
from desktop_agent.core.sandbox import Boundary, Enclosure

# Asks the user for what a server wants to know, and waits; cancelling takes it back.
AskForm = Callable[[ServerForm], Awaitable[FormAnswer]]


class Launch(msgspec.Struct, frozen=True):
    """A server with all variables resolved, and where its command starts, in what.

    `boundary` is what the enclosure keeps it within; without one no program of `root`, where agents
    work, stands in for the system's. `grant` is what an earlier sign-in gave; `signs_in`: the user
    wants to sign in now.
    """

    server: McpServer
    directory: str
    enclosure: Enclosure | None = None
    boundary: Boundary | None = None
    grant: McpGrant | None = None
    signs_in: bool = False
    root: str = ""


class Listener(msgspec.Struct, frozen=True):
    """Hears of one connection: `listed` what the server offers, `ended` once why.

    The second of `ended` tells that the user has to sign in. `asked` is the address where that is
    done, `kept` what it gave, or a refresh of it.
    """

    listed: Callable[[McpOffer], None]
    ended: Callable[[str, bool], None]
    asked: Callable[[str], None]
    kept: Callable[[McpGrant], None]


class McpConnection(Protocol):
    """A server that was started or reached. Nothing is heard of it after `close`."""

    def log(self, most: int) -> tuple[McpLine, ...]:
        """Return the last lines that its command wrote beside its messages."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any], ask: AskForm) -> McpAnswer:
        """Call a tool; `ask` is what its server may ask the user with. Raises McpError."""
        ...

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> McpAnswer:
        """Return the text of a prompt. Raises McpError."""
        ...

    async def read(self, uri: str) -> McpAnswer:
        """Return what a resource holds. Raises McpError."""
        ...

    async def close(self) -> None:
        """End it, and all that its command started."""
        ...


class McpConnector(Protocol):
    """Starts servers, or reaches them."""

    async def connect(self, launch: Launch, listener: Listener) -> McpConnection:
        """Begin; the listener hears how it goes. Raises McpError when it can't even begin."""
        ...

    async def close(self) -> None:
        """End all of them."""
        ...


class McpGrants(Protocol):
    """What sign-ins gave, by the server's address. Each may wait for the system's keyring."""

    def of(self, url: str) -> McpGrant | None:
        """Return what is kept for an address."""
        ...

    def keep(self, grant: McpGrant) -> None:
        """Keep it in the place of what was. Raises OSError."""
        ...

    def forget(self, url: str) -> None:
        """Forget what is kept for an address. Raises OSError."""
        ...


class McpMemory(Protocol):
    """What is kept about servers. Writing raises OSError."""

    @property
    def grants(self) -> McpGrants:
        """What sign-ins gave."""
        ...

    def servers(self) -> tuple[McpServer, ...]:
        """Return the user's own servers, and those of this run, as they are configured."""
        ...

    def folder_servers(self, root: str, text: str) -> tuple[McpServer, ...]:
        """Return the servers that the `.mcp.json` of a folder holds. Raises McpError."""
        ...

    def read(self, text: str) -> tuple[McpServer, ...]:
        """Return the servers in a configuration that the user gives. Raises McpError."""
        ...

    def found(self) -> tuple[tuple[str, tuple[McpServer, ...]], ...]:
        """Return the servers of other apps, by app."""
        ...

    def save(self, server: McpServer, replaces: str = "") -> McpServer:
        """Keep a server, its secrets apart, and return it as it is kept.

        Raises McpError where that is refused.
        """
        ...

    def remove(self, name: str) -> None:
        """Forget a server and its secrets."""
        ...

    def resolved(self, server: McpServer, root: str) -> McpServer:
        """Return it with the variables in it replaced. Raises McpError that names one missing."""
        ...

    def secret(self, server: McpServer, variable: str) -> str:
        """Return a kept secret of a server's, to be looked at. Raises McpError."""
        ...

    def switch(self, server: McpServer, root: str) -> None:
        """Keep whether it is on, and which of its tools are off; of a folder's own for that one."""
        ...

    def known_digests(self, server: str) -> Mapping[str, str]:
        """Return the digests of a server's tools as they were last accepted, by tool."""
        ...

    def accept(self, server: str, digests: Mapping[str, str]) -> None:
        """Remember how tools are described."""
        ...
