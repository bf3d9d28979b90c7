"""An engine with real MCP servers: each is a process, and so is what speaks with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.mcp.hosted_servers import HostedServers
from desktop_agent.adapters.mcp.servers_file import McpFile
from desktop_agent.core.approvals import AllowAlways, AllowOnce, Decision
from desktop_agent.core.events import ApprovalRequested, McpChanged
from desktop_agent.core.mcp import McpServer, McpState
from desktop_agent.engine.mcp.ports import McpConnector
from desktop_agent.engine.mcp.servers import Servers, Surroundings
from desktop_agent.tools.shell.environment import command_environment
from tests.engine.rig import Rig
from tests.helpers.forked import script_by_fork

SERVERS = Path(__file__).parent / "servers"


def honest(name: str = "honest", **more: Any) -> McpServer:
    """Return the server that behaves."""
    program, *words = script_by_fork(SERVERS / "honest.py")
    return McpServer(name, program, tuple(words), **more)


def asking(*, by_hand: bool = False) -> McpServer:
    """Return the server that asks the user in its calls, of the newest protocol or an older."""
    if by_hand:
        return McpServer("asking", sys.executable, (str(SERVERS / "asking_by_hand.py"),))
    program, *words = script_by_fork(SERVERS / "asking.py")
    return McpServer("asking", program, tuple(words))


def hostile(kind: str) -> McpServer:
    """Return a server that does not."""
    return McpServer(kind, sys.executable, (str(SERVERS / "hostile.py"), kind))


class McpRig(Rig):
    """Servers run as they are, as on a machine that is the sandbox, unless one is given."""

    def __init__(
        self,
        tmp_path: Path,
        *script: Any,
        servers: Sequence[McpServer] = (),
        environment: dict[str, str] | None = None,
        connector: McpConnector | None = None,
        **more: Any,
    ) -> None:
        self.config = tmp_path / "config"
        secrets = Secrets(self.config, environment={})
        self.file = McpFile(self.config, lambda: secrets, environment=environment or {})
        for server in servers:
            self.file.save(server)
        self.connector = HostedServers(lambda: command_environment({}))
        spoken_with = connector or self.connector

        def new_mcp(around: Surroundings) -> Servers:
            self.servers = Servers(spoken_with, self.file, tmp_path / "spare", around)
            return self.servers

        more.setdefault("is_machine_sandbox", "sandbox" not in more)
        (tmp_path / "folder").mkdir(exist_ok=True)
        super().__init__(tmp_path / "folder", *script, new_mcp=new_mcp, **more)

    @property
    def root(self) -> str:
        """The session's folder."""
        return self.workspace.root

    def states(self) -> dict[str, McpState]:
        """Return how the servers stand, as it was told last."""
        told = self._told()
        return {state.server.name: state for state in told[-1].servers} if told else {}

    def _told(self) -> list[McpChanged]:
        return [event for event in self.of(McpChanged) if event.root == self.root]

    async def until_state(self, name: str, holds: Callable[[McpState], bool]) -> McpState:
        """Wait until a server stands like this, or was told to since this was called."""
        known = max(len(self._told()) - 1, 0)

        def found() -> Iterator[McpState]:
            for event in self._told()[known:]:
                yield from (one for one in event.servers if one.server.name == name and holds(one))

        await self.once(lambda: any(True for _ in found()))
        return next(found())

    async def until_running(self, name: str) -> McpState:
        """Wait until a server runs."""
        return await self.until_state(name, lambda state: state.phase == "running")

    def allow_all(self, *, always: bool = False) -> None:
        """Allow whatever is asked for, from now on."""
        before = self.hear

        def hear(event: Any) -> None:
            before(event)
            if isinstance(event, ApprovalRequested):
                rule = msgspec.structs.replace(event.request.rules[0], scope="everywhere")
                decision: Decision = AllowAlways(rule) if always else AllowOnce()
                self.engine.decide(event.request.id, decision)

        self.hear = hear
