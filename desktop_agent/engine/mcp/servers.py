"""All MCP servers: those of the user in each folder that is worked in, and a folder's own."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import CommandRefused, Event, McpChanged
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.mcp import McpAnswer, McpError, McpGrant, McpLine, McpServer, McpState
from desktop_agent.core.sandbox import Boundary, Enclosure, SandboxOptions
from desktop_agent.core.tool import Tool, ToolContext
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.mcp.instance import Instance, same_launch
from desktop_agent.engine.mcp.names import name_of
from desktop_agent.engine.mcp.ports import AskForm, Launch, McpConnector, McpMemory
from desktop_agent.engine.mcp.tools import (
    MOST_LISTED,
    Offered,
    search_tools,
    tool_of,
)
from desktop_agent.engine.permissions import policy
from desktop_agent.engine.permissions.checked_sandbox import Confinement
from desktop_agent.engine.permissions.file_rules import speaks_of_files
from desktop_agent.engine.permissions.host_rules import local_ports
from desktop_agent.engine.skills.rules import visible

_log = logging.getLogger(__name__)

# The first request in a folder waits this long for its servers; who comes later is offered later.
_PATIENCE_S = 20.0
_MOST_ROOTS = 8
_SESSION = "mcp_"
_UNTRUSTED = "It waits until you trust this folder."
_NO_SANDBOX = "No sandbox holds here: it runs once you allow that it can use all your files."
_FOLDER_UNCONTAINED = (
    "No sandbox holds here, and a folder's own server runs in one only. Add it as yours to allow "
    "it to use all your files."
)
_OTHERWISE = (
    "it describes this tool otherwise since it was called, so it was not used. Look at the tool "
    "and call again."
)


class Surroundings(msgspec.Struct, frozen=True):
    """What servers live in. `folder_config` returns a folder's `.mcp.json` and if it is trusted.

    `rules` are those of no session. `is_worked_in` tells whether an agent works in a folder now.
    """

    confinement: Confinement
    options: Callable[[], SandboxOptions]
    rules: Callable[[], Sequence[Rule]]
    folder_config: Callable[[str], tuple[str, bool]]
    is_worked_in: Callable[[str], bool]
    emit: Callable[[Event], None]


class Asking(msgspec.Struct, frozen=True):
    """A server that wants to reach a host: where it runs, and the newest of those who call it."""

    root: str
    name: str
    caller: tuple[SessionId, AgentId] | None


class Servers:
    """For the engine thread. Nothing runs before `ready` or `watch` names a folder.

    `spare` is where servers start that belong to no folder.
    """

    def __init__(
        self, connector: McpConnector, memory: McpMemory, spare: Path, around: Surroundings
    ) -> None:
        self._connector = connector
        self.memory = memory
        self._spare = spare
        self._around = around
        self._folders: dict[str, dict[str, Instance]] = {}
        self._resting: dict[str, tuple[McpState, ...]] = {}
        # Whose network is which server's, and for whom each works.
        self._networks: dict[SessionId, tuple[str, str]] = {}
        self._calling: dict[tuple[str, str], list[tuple[SessionId, AgentId]]] = {}
        self._tools: dict[str, tuple[Tool, Offered]] = {}
        self._search = {tool.name: tool for tool in search_tools(self._usable)}
        self._told: dict[str, tuple[McpState, ...]] = {}
        self._endings: set[asyncio.Task[None]] = set()
        self._keyring = asyncio.Lock()

    # -- life --------------------------------------------------------------------------------

    def list(self, root: str) -> None:
        """Tell of a folder's servers; none is started."""
        if root in self._folders:
            self._told.pop(root, None)
            self._tell(root)
            return
        wanted, resting = self._configured(root)
        states = (*(McpState(server, "idle") for server in wanted.values()), *resting)
        if states or self._told.get(root):
            self._told[root] = _by_name(states)
            self._around.emit(McpChanged(root, self._told[root]))

    def follow(self, root: str) -> None:
        """A folder's own configuration may have changed, or the trust in it."""
        if root in self._folders:
            self.refresh(root)
        else:
            self.list(root)

    def watch(self, root: str) -> None:
        """Tell of a folder's servers, and start those that are on."""
        self.refresh(root)
        self._told.pop(root, None)
        self._tell(root)

    async def ready(self, root: str) -> None:
        """Have a folder's servers run, or failed; waits for a while, once. Never raises."""
        self.refresh(root)
        every = self._folders.get(root, {}).values()
        waits = {asyncio.ensure_future(o.settled()): o for o in every if not o.was_waited_for}
        if not waits:
            return
        try:
            _, late = await asyncio.wait(waits, timeout=_PATIENCE_S)
            for wait in late:
                waits[wait].was_waited_for = True
        finally:
            for wait in waits:
                wait.cancel()

    def refresh(self, root: str) -> None:
        """Look at the configuration again: start what is new, end what has gone."""
        folder = self._folders.pop(root, {})
        self._folders[root] = folder
        wanted, resting = self._configured(root)
        for name in [one for one in folder if one not in wanted]:
            self._end(folder.pop(name))
        for name, server in wanted.items():
            known = folder.get(name)
            if known is not None and same_launch(known.server, server):
                known.configure(server)
                # Rules may have been made since it was started.
                if known.boundary in (None, self._boundary(root, server)):
                    continue
            if known is not None:
                self._end(known)
            folder[name] = self._begin(root, server)
        self._resting[root] = resting
        at_rest = [one for one in self._folders if not self._around.is_worked_in(one)]
        for old in at_rest[:-_MOST_ROOTS]:
            for instance in self._folders.pop(old).values():
                self._end(instance)
        self._on_change(root)

    def restart(self, root: str, name: str) -> None:
        """End a server and start it anew, in the background."""
        if instance := self._folders.get(root, {}).get(name):
            self._spawn(instance.restart())

    def sign_in(self, root: str, name: str) -> None:
        """Start a server anew, with the user there to sign in."""
        if instance := self._folders.get(root, {}).get(name):
            self._spawn(instance.restart(signs_in=True))

    def sign_out(self, root: str, name: str) -> None:
        """Forget what a sign-in gave, in the background, and start the server anew."""
        if instance := self._folders.get(root, {}).get(name):
            self._spawn(self._sign_out(instance.address))

    async def test(self, root: str, server: McpServer) -> McpState:
        """Start a server apart from all others, and return how that went."""
        if why := self._why_waiting(server):
            return McpState(server, "waiting", why, needs_consent=True)
        instance = self._instance(root, server, lambda: None)
        instance.start()
        try:
            await instance.settled()
            return instance.state
        finally:
            await instance.close()

    def log(self, root: str, name: str, most: int) -> tuple[McpLine, ...]:
        """Return the last lines that a server wrote."""
        instance = self._folders.get(root, {}).get(name)
        return instance.log(most) if instance is not None else ()

    async def close(self) -> None:
        """End all servers."""
        running = [one for folder in self._folders.values() for one in folder.values()]
        self._folders.clear()
        await asyncio.gather(*(each.close() for each in running), *self._endings)
        await self._connector.close()

    # -- what is configured --------------------------------------------------------------------

    def find(self, root: str, name: str) -> McpServer | None:
        """Return a server of a folder by its name."""
        wanted, resting = self._configured(root)
        states = {one.server.name: one.server for one in resting}
        return wanted.get(name) or states.get(name)

    def _configured(self, root: str) -> tuple[dict[str, McpServer], tuple[McpState, ...]]:
        """Return what is to run in a folder, and how the rest stands."""
        run: dict[str, McpServer] = {}
        rest: dict[str, McpState] = {}
        for server, is_trusted in self._known(root):
            if server.name in run or server.name in rest:
                continue
            if not is_trusted:
                rest[server.name] = McpState(server, "waiting", _UNTRUSTED, needs_trust=True)
            elif not server.is_on:
                rest[server.name] = McpState(server)
            elif why := self._why_waiting(server):
                rest[server.name] = McpState(
                    server, "waiting", why, needs_consent=server.origin == "mine"
                )
            else:
                run[server.name] = server
        return run, tuple(rest.values())

    def _known(self, root: str) -> Iterator[tuple[McpServer, bool]]:
        try:
            own = self.memory.servers()
        except McpError as error:
            _log.warning("the servers were not read: %s", error)
            own = ()
        yield from ((server, True) for server in own)
        text, is_trusted = self._around.folder_config(root)
        if text:
            try:
                yield from ((one, is_trusted) for one in self.memory.folder_servers(root, text))
            except McpError as error:
                _log.warning("the servers of %s were not read: %s", root, error)

    def _why_waiting(self, server: McpServer) -> str:
        confinement = self._around.confinement
        if not server.is_local or server.is_outside or confinement.is_machine:
            return ""
        sandbox = confinement.sandbox
        # Whether it holds is found out at the start, before anything else.
        is_open = sandbox is None or (sandbox.is_checked and not sandbox.state.holds)
        return _no_sandbox(server) if is_open else ""

    # -- starting ------------------------------------------------------------------------------

    def _begin(self, root: str, server: McpServer) -> Instance:
        instance = self._instance(root, server, lambda: self._on_change(root))
        instance.start()
        return instance

    def _instance(self, root: str, server: McpServer, changed: Callable[[], None]) -> Instance:
        async def prepare(now: McpServer) -> Launch:
            resolved = await asyncio.to_thread(self.memory.resolved, now, root)
            directory = self._directory(root, resolved)
            boundary = self._boundary(root, resolved)
            enclosure = await self._enclosure(boundary, resolved, directory)
            grant = await self._grant(resolved)
            return Launch(resolved, directory, enclosure, boundary, grant, root=root)

        return Instance(server, self._connector, prepare, changed, self._keep)

    def _directory(self, root: str, server: McpServer) -> str:
        if not root:
            self._spare.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.path.realpath(Path(root or self._spare, server.cwd))

    def _boundary(self, root: str, server: McpServer) -> Boundary | None:
        """Return what a server's command may reach; None where nothing keeps it."""
        confinement = self._around.confinement
        if not server.is_local or server.is_outside or confinement.is_machine:
            return None
        inside = self._directory(root, McpServer(server.name))
        digest = sha256(f"{root}\0{server.name}".encode("utf-8", "surrogateescape")).hexdigest()
        session_id = SessionId(f"{_SESSION}{digest[:16]}")
        self._networks[session_id] = (root, server.name)
        folders = Workspace(inside)
        rules = self._around.rules()
        refusals = policy.refusing(rules, folders)
        about_files = tuple(rule for rule in refusals if speaks_of_files(rule))
        return Boundary(
            session_id,
            folders,
            confinement.own,
            about_files,
            options=self._around.options(),
            local_ports=local_ports(rules, inside),
        )

    async def _enclosure(
        self, boundary: Boundary | None, server: McpServer, directory: str
    ) -> Enclosure | None:
        if boundary is None:
            return None
        sandbox = self._around.confinement.sandbox
        if sandbox is None or not (await sandbox.ready()).holds:
            raise McpError(_no_sandbox(server))
        return await sandbox.enclose(boundary, directory, server.env)

    def _end(self, instance: Instance) -> None:
        self._spawn(instance.close())

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def asking(self, session_id: SessionId) -> Asking | None:
        """Return the server that has a network of this id, None when it is no server's."""
        if (known := self._networks.get(session_id)) is None:
            return None
        calling = self._calling.get(known)
        return Asking(*known, calling[-1] if calling else None)

    # -- signing in ----------------------------------------------------------------------------

    async def _grant(self, server: McpServer) -> McpGrant | None:
        if not server.url:
            return None
        async with self._keyring:  # after what is on its way there
            return await asyncio.to_thread(self.memory.grants.of, server.url)

    def _keep(self, grant: McpGrant) -> None:
        self._spawn(self._kept(grant))

    async def _kept(self, grant: McpGrant) -> None:
        try:
            async with self._keyring:
                await asyncio.to_thread(self.memory.grants.keep, grant)
        except (OSError, ValueError) as error:
            _log.warning("a sign-in was not kept: %s", type(error).__name__)

    async def _sign_out(self, url: str) -> None:
        instances = self._at(url)
        await asyncio.gather(*(each.stop() for each in instances))
        try:
            async with self._keyring:
                await asyncio.to_thread(self.memory.grants.forget, url)
        except OSError as error:
            self.refuse("sign_out_mcp", f"You could not be signed out. {error}")
        await asyncio.gather(*(each.restart() for each in instances))

    def _at(self, url: str) -> tuple[Instance, ...]:
        every = (one for folder in self._folders.values() for one in folder.values())
        return tuple(one for one in every if url and one.address == url)

    # -- tools ---------------------------------------------------------------------------------

    def tools(self) -> Mapping[str, Tool]:
        """Return the tools of all servers, and those that find and call them, by name."""
        return {name: tool for name, (tool, _) in self._tools.items()} | self._search

    def listed(self) -> tuple[str, ...]:
        """Return the names that models are told: of each tool, or of the search when too many."""
        if len(self._tools) > MOST_LISTED:
            return tuple(self._search)
        return tuple(self._tools)

    def _usable(self, root: str) -> tuple[Tool, ...]:
        return tuple(tool for tool, _ in self._tools.values() if tool.where in ("", root))

    def _on_change(self, root: str) -> None:
        """A server has other tools, or stands otherwise."""
        found: dict[str, tuple[Tool, Offered]] = {}
        for folder, instances in self._folders.items():
            for instance in instances.values():
                for offered in self._offered(folder, instance):
                    known = self._tools.get(offered.name)
                    is_same = known is not None and known[1] == offered
                    made = known if is_same and known else (tool_of(offered, self._call), offered)
                    found[offered.name] = made
        self._tools = dict(sorted(found.items()))
        self._tell(root)

    def _offered(self, root: str, instance: Instance) -> Iterator[Offered]:
        server = instance.server
        where = root if server.origin == "folder" else ""
        changed = self._changed(root, instance)
        for tool in instance.offer.tools:
            if tool.name not in server.tools_off:
                name = name_of(server.name, tool.name, where)
                is_changed = tool.name in changed
                yield Offered(name, server.name, tool, where, server.is_local, is_changed)

    def _changed(self, root: str, instance: Instance) -> tuple[str, ...]:
        """Return the tools that are described otherwise than when they were last accepted."""
        tools = instance.offer.tools
        if not tools:
            return ()
        key = _memory_key(root, instance.server)
        known = self.memory.known_digests(key)
        new = {tool.name: tool.digest for tool in tools if tool.name not in known}
        if new:
            self._accept(key, new)
        return tuple(
            tool.name for tool in tools if known.get(tool.name, tool.digest) != tool.digest
        )

    def _accept(self, key: str, digests: Mapping[str, str]) -> None:
        try:
            self.memory.accept(key, digests)
        except OSError as error:
            _log.warning("how tools are described was not kept: %s", error)

    async def _call(
        self, offered: Offered, ctx: ToolContext, arguments: Mapping[str, Any], ask: AskForm
    ) -> McpAnswer:
        root = ctx.boundary.root
        instance = self._folders.get(root, {}).get(offered.server)
        if instance is None:
            raise McpError("the server is switched off.")
        if offered.is_changed:  # the user was asked, and allowed it
            key = _memory_key(root, instance.server)
            self._accept(key, {offered.tool.name: offered.tool.digest})
            self._on_change(root)
        calling = self._calling.setdefault((root, offered.server), [])
        calling.append(caller := (ctx.boundary.session_id, ctx.agent_id))
        try:
            connection = await instance.connected()
            self._require_unchanged(offered)
            return await connection.call(offered.tool.name, arguments, ask)
        finally:
            calling.remove(caller)

    def _require_unchanged(self, offered: Offered) -> None:
        """Raise McpError if a tool is described otherwise by now: something else was allowed.

        In each folder a server of the user's may describe it in another way.
        """
        digests: set[str] = set()
        for root, folder in self._folders.items():
            if offered.where in ("", root) and (one := folder.get(offered.server)):
                same = (tool for tool in one.offer.tools if tool.name == offered.tool.name)
                digests.update(tool.digest for tool in same)
        if digests and offered.tool.digest not in digests:
            raise McpError(_OTHERWISE)

    # -- for the person ------------------------------------------------------------------------

    async def prompt(
        self, root: str, server: str, name: str, arguments: Mapping[str, str]
    ) -> McpAnswer:
        """Return a prompt's text without what can't be seen in it. Raises McpError."""
        answer = await self._running(root, server).prompt(name, arguments)
        return msgspec.structs.replace(answer, text=visible(answer.text))

    async def resource(self, root: str, server: str, uri: str) -> McpAnswer:
        """Return what a resource holds, likewise. Raises McpError."""
        answer = await self._running(root, server).read(uri)
        return msgspec.structs.replace(answer, text=visible(answer.text))

    def _running(self, root: str, server: str) -> Instance:
        instance = self._folders.get(root, {}).get(server)
        if instance is None:
            raise McpError(f"The server “{server}” is switched off.")
        return instance

    # -- telling -------------------------------------------------------------------------------

    def states(self, root: str) -> tuple[McpState, ...]:
        """Return how the servers of a folder stand, by name."""
        running: list[McpState] = []
        for one in self._folders.get(root, {}).values():
            changed = self._changed(root, one)
            running.append(msgspec.structs.replace(one.state, changed=changed))
        every = (*running, *self._resting.get(root, ()))
        return _by_name(every)

    def _tell(self, root: str) -> None:
        now = self.states(root)
        if now != self._told.get(root, ()):
            self._told[root] = now
            self._around.emit(McpChanged(root, now))

    def refuse(self, command: str, words: str) -> None:
        """Tell that something was not done."""
        self._around.emit(CommandRefused(command, words))


def _no_sandbox(server: McpServer) -> str:
    return _FOLDER_UNCONTAINED if server.origin == "folder" else _NO_SANDBOX


def _by_name(states: Iterable[McpState]) -> tuple[McpState, ...]:
    return tuple(sorted(states, key=lambda state: state.server.name.lower()))


def _memory_key(root: str, server: McpServer) -> str:
    return f"{root}\0{server.name}" if server.origin == "folder" else server.name
