"""The engine's commands and queries about MCP servers."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from desktop_agent.core.events import Event, SkillsChanged
from desktop_agent.core.ids import SessionId
from desktop_agent.core.mcp import McpAnswer, McpError, McpLine, McpServer, McpState
from desktop_agent.core.network.questions import HostQuestion, HostVerdict
from desktop_agent.core.settings import Settings
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.base.session import Session, tell
from desktop_agent.engine.permissions.approvals import Approvals
from desktop_agent.engine.permissions.checked_sandbox import Confinement
from desktop_agent.engine.permissions.host_requests import HostRequests
from desktop_agent.engine.skills.registry import Skills

if TYPE_CHECKING:
    from desktop_agent.engine.mcp.servers import Servers, Surroundings


class McpCommands(EnginePart):
    """A part of the Engine. A `root` is a session's folder; empty stands for none.

    Without `_mcp` there are no servers.
    """

    _mcp: Servers | None
    _skills: Skills | None
    _approvals: Approvals
    _hosts: HostRequests

    @abstractmethod
    def _current_settings(self) -> Settings:
        """Return the user's settings, as they are now."""

    @abstractmethod
    def _session_in(self, root: str, session_id: SessionId | None) -> Session | None:
        """Return a session; without an id the one in that folder that was used last."""

    async def close_mcp(self) -> None:
        """End all servers."""
        if self._mcp is not None:
            await self._mcp.close()

    def list_mcp(self, root: str) -> None:
        """Send out the servers of a folder as they stand; none is started."""
        self._check_thread()
        if self._mcp is not None:
            self._mcp.list(root)

    def watch_mcp(self, root: str) -> None:
        """Send out the servers of a folder, and again whenever one changes; start them."""
        self._check_thread()
        if self._mcp is not None:
            self._mcp.watch(root)

    def save_mcp(self, root: str, server: McpServer, replaces: str = "") -> None:
        """Keep one of the user's servers and start it; `replaces` names what it was before.

        Another one of its name is not replaced; nor one but for upper and lower case, whose
        secrets would be called the same.
        """

        def save(mcp: Servers) -> None:
            others = {one.name.lower() for one in mcp.memory.servers() if one.name != replaces}
            if server.name.lower() in others:
                raise McpError(f"There is a server “{server.name}” already.")
            mcp.memory.save(server, replaces)

        self._change(root, "save_mcp", save)

    def remove_mcp(self, root: str, name: str) -> None:
        """End one of the user's servers, and forget it with its secrets."""
        self._change(root, "remove_mcp", lambda mcp: mcp.memory.remove(name))

    def switch_mcp(self, root: str, name: str, is_on: bool) -> None:
        """Switch a server on or off."""
        self._switch(root, name, lambda one: msgspec.structs.replace(one, is_on=is_on))

    def switch_mcp_tools(self, root: str, name: str, tools: Sequence[str], is_on: bool) -> None:
        """Switch tools of a server on or off, from the next step on."""

        def switched(server: McpServer) -> McpServer:
            others = set(server.tools_off).difference(tools)
            off = others if is_on else others.union(tools)
            return msgspec.structs.replace(server, tools_off=tuple(sorted(off)))

        self._switch(root, name, switched)

    def allow_mcp_outside(self, root: str, name: str) -> None:
        """Let one of the user's servers run where no sandbox keeps it."""
        self._switch(root, name, lambda one: msgspec.structs.replace(one, is_outside=True))

    def restart_mcp(self, root: str, name: str) -> None:
        """End a server and start it anew."""
        self._check_thread()
        if self._mcp is not None:
            self._mcp.restart(root, name)

    def sign_in_mcp(self, root: str, name: str) -> None:
        """Start a server by address anew; its state tells where the user is to sign in."""
        self._check_thread()
        if self._mcp is not None:
            self._mcp.sign_in(root, name)

    def sign_out_mcp(self, root: str, name: str) -> None:
        """Forget what signing in to a server gave."""
        self._check_thread()
        if self._mcp is not None:
            self._mcp.sign_out(root, name)

    async def mcp_log(self, root: str, name: str, most: int) -> tuple[McpLine, ...]:
        """Return the last lines that a server wrote beside its messages."""
        return self._mcp.log(root, name, most) if self._mcp is not None else ()

    async def mcp_secret(self, root: str, name: str, variable: str) -> str:
        """Return a secret of one of the user's servers, for them to look at. Raises McpError."""
        server = self._servers.find(root, name)
        if server is None or server.origin != "mine":
            raise McpError("There is no such server of yours.")
        return await asyncio.to_thread(self._servers.memory.secret, server, variable)

    async def test_mcp(self, root: str, server: McpServer) -> McpState:
        """Start a server apart from all others, and return how that went."""
        if self._mcp is None:
            return McpState(server, "failed", "There are no servers here.")
        return await self._mcp.test(root, server)

    async def mcp_prompt(
        self, root: str, server: str, prompt: str, arguments: Mapping[str, str]
    ) -> McpAnswer:
        """Return the text of a server's prompt. Raises McpError."""
        return await self._servers.prompt(root, server, prompt, arguments)

    async def mcp_resource(self, root: str, server: str, uri: str) -> McpAnswer:
        """Return what a server's resource holds. Raises McpError."""
        return await self._servers.resource(root, server, uri)

    @property
    def _servers(self) -> Servers:
        if self._mcp is None:
            raise McpError("There are no servers here.")
        return self._mcp

    async def import_mcp(self, text: str) -> tuple[McpServer, ...]:
        """Return the servers in a configuration; nothing is kept or started. Raises McpError."""
        return self._mcp.memory.read(text) if self._mcp is not None else ()

    async def found_mcp(self) -> tuple[tuple[str, tuple[McpServer, ...]], ...]:
        """Return the servers that other apps have, by app; nothing is kept or started."""
        return await asyncio.to_thread(self._mcp.memory.found) if self._mcp is not None else ()

    async def ask_host(self, question: HostQuestion) -> HostVerdict:
        """Return whether commands of a session, or a server, may reach a host.

        The user may be asked; for a server in the session that it works for, else in the one of
        its folder that was used last.
        """
        asking = self._mcp.asking(question.session_id) if self._mcp is not None else None
        if asking is None:
            return await self._hosts.ask(question)
        session_id, agent_id = asking.caller or (None, None)
        session = self._session_in(asking.root, session_id)
        if session is None:
            return HostVerdict(False, "No session of its folder is open to ask in.")
        whose = agent_id or session.info.main_agent
        return await self._hosts.ask_for_server(question, asking.name, session, whose)

    def _new_mcp(
        self,
        make: Callable[[Surroundings], Servers] | None,
        confinement: Confinement,
        is_worked_in: Callable[[str], bool],
    ) -> Servers | None:
        if make is None:
            return None
        from desktop_agent.engine.mcp.servers import Surroundings  # not where there are none

        return make(
            Surroundings(
                confinement,
                options=lambda: self._current_settings().sandbox,
                # A server is of no session.
                rules=lambda: self._approvals.rules_for(SessionId("")),
                folder_config=self._folder_config,
                is_worked_in=is_worked_in,
                emit=self._emit,
            )
        )

    def _tell_skills(self, emit: Callable[[Event], None], event: Event) -> None:
        """Pass an event on; a folder's own servers follow its files and the trust in them."""
        tell(emit, event)
        if isinstance(event, SkillsChanged) and self._mcp is not None:
            self._mcp.follow(event.root)

    def _folder_config(self, root: str) -> tuple[str, bool]:
        """Return a folder's own configuration of servers, and whether the user trusts it."""
        found = self._skills.catalog(root) if self._skills is not None and root else None
        return (found.mcp_config, found.is_mcp_trusted) if found is not None else ("", False)

    async def _mcp_ready(self, root: str) -> None:
        if self._mcp is not None:
            if self._skills is not None:
                await self._skills.ready(root)  # it knows of the folder's own servers
            await self._mcp.ready(root)

    def _switch(self, root: str, name: str, change: Callable[[McpServer], McpServer]) -> None:
        def switch(mcp: Servers) -> None:
            if (server := mcp.find(root, name)) is not None:
                mcp.memory.switch(change(server), root)

        self._change(root, "switch_mcp", switch)

    def _change(self, root: str, command: str, change: Callable[[Servers], object]) -> None:
        self._check_thread()
        if self._mcp is None:
            return
        try:
            change(self._mcp)
        except (McpError, OSError) as error:
            self._mcp.refuse(command, f"The server was not changed. {error}")
        self._mcp.watch(root)
