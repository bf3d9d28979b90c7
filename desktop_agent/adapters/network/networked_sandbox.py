"""A sandbox whose sessions reach the network through the guard, and not otherwise."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from desktop_agent.adapters.network.guarded_network import GuardedNetwork
from desktop_agent.adapters.network.session_listener import open_listener
from desktop_agent.adapters.network.shared_port import SharedPort
from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.command_proxy import PORT as PROXY
from desktop_agent.core.network.command_proxy import proxy_environment
from desktop_agent.core.sandbox import Boundary, Enclosure, Sandbox, SandboxState
from desktop_agent.core.tool import ToolError

T = TypeVar("T")
_log = logging.getLogger(__name__)


class NetworkKeeper(Protocol):
    """A network that lasts; another one is another keeper."""

    @property
    def words(self) -> Sequence[str]:
        """What starts a program within it."""
        ...

    def listening(self) -> tuple[int, ...]:
        """Return the ports that something in it listens on."""
        ...


class KeepingSandbox(Sandbox, Protocol):
    """A sandbox that keeps a network for each session."""

    async def keeper(self, session_id: SessionId) -> NetworkKeeper:
        """Return who keeps a session's network, made if need be. Raises ToolError."""
        ...


class ProxiedEnclosure:
    """Another enclosure, in whose environment stands the way out."""

    def __init__(self, enclosure: Enclosure, call_id: str) -> None:
        self._enclosure = enclosure
        self._call_id = call_id

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments that come before the shell's own."""
        return self._enclosure.words

    @property
    def environment(self) -> Mapping[str, str]:
        """What is set in the command's environment, besides its own."""
        return {**self._enclosure.environment, **proxy_environment(self._call_id)}

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors that the first of `words` inherits."""
        return self._enclosure.descriptors

    def close(self) -> None:
        """Close the descriptors on this side."""
        self._enclosure.close()

    def has_started(self, exit_code: int) -> bool:
        """Whether the command itself ran, asked once after its end."""
        return self._enclosure.has_started(exit_code)

    async def finished(self) -> tuple[str, ...]:
        """Once all of the command has ended: put right what it may not leave behind, and say so."""
        return await self._enclosure.finished()


class NetworkedSandbox:
    """Opens each session's way out before its first command. One event loop's own."""

    def __init__(self, sandbox: KeepingSandbox, network: GuardedNetwork) -> None:
        self._sandbox = sandbox
        self._network = network
        self._served: dict[SessionId, NetworkKeeper] = {}
        self._ports: dict[SessionId, set[int]] = {}
        self._shared: dict[tuple[SessionId, int], SharedPort] = {}
        self._locks: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    @property
    def state(self) -> SandboxState:
        """What the last check found."""
        return self._sandbox.state

    async def check(self) -> SandboxState:
        """Run the probes, and return what they found."""
        return await self._sandbox.check()

    async def enclose(
        self, boundary: Boundary, directory: str, environment: Mapping[str, str]
    ) -> Enclosure:
        """Prepare to run one command in `directory`. Raises ToolError; never a way without."""
        # First, as an enclosure has to be closed.
        is_open = not boundary.is_offline and await self._shielded(
            boundary.session_id, lambda: self._open(boundary)
        )
        enclosure = await self._sandbox.enclose(boundary, directory, environment)
        return ProxiedEnclosure(enclosure, boundary.call_id) if is_open else enclosure

    async def look_ahead(self, roots: Sequence[str]) -> None:
        """Find what is protected in folders that commands will change, so that none waits."""
        await self._sandbox.look_ahead(roots)

    def temporary_folder(self, session_id: SessionId) -> str:
        """Return the real path of what a session's commands see as `/tmp`, made if need be."""
        return self._sandbox.temporary_folder(session_id)

    async def forget(self, session_id: SessionId) -> None:
        """End what a session's commands share: its network, its temporary folder."""
        await self._shielded(session_id, lambda: self._forget(session_id))

    def served_ports(self, session_id: SessionId) -> tuple[int, ...]:
        """Return the ports that commands of a session listen on, in its own network."""
        keeper = self._served.get(session_id)
        if keeper is None:
            return ()
        ours = {PROXY, *self._ports.get(session_id, ())}
        return tuple(port for port in keeper.listening() if port not in ours)

    async def share_port(self, session_id: SessionId, port: int) -> int:
        """Have this computer's programs reach such a port; return where. Raises ToolError."""
        return await self._shielded(session_id, lambda: self._share(session_id, port))

    async def _shielded(
        self, session_id: SessionId, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> T:
        """Do one thing of a session's after the other, to its end.

        Whoever waits for it may be stopped: what a thread has begun to open is then nobody's.
        """
        lock = self._locks.setdefault(session_id, asyncio.Lock())

        async def in_turn() -> T:
            async with lock:
                return await work()

        return await asyncio.shield(asyncio.create_task(in_turn()))

    async def _forget(self, session_id: SessionId) -> None:
        self._served.pop(session_id, None)
        self._ports.pop(session_id, None)
        self._network.forget(session_id)
        await self._end_shared(session_id)
        await self._sandbox.forget(session_id)

    async def _share(self, session_id: SessionId, port: int) -> int:
        known = self._shared.get((session_id, port))
        if known is not None and known.is_alive:
            return known.port
        keeper = self._served.get(session_id)
        if keeper is None or port not in self.served_ports(session_id):
            raise ToolError(f"nothing serves port {port} in this session any more.")
        try:
            shared = await asyncio.to_thread(SharedPort, keeper.words, port)
        except OSError as error:
            raise ToolError(f"port {port} can't be opened here: {error}.") from None
        if known is not None:
            await asyncio.to_thread(known.close)
        self._shared[session_id, port] = shared
        return shared.port

    async def _end_shared(self, session_id: SessionId) -> None:
        for key in [one for one in self._shared if one[0] == session_id]:
            await asyncio.to_thread(self._shared.pop(key).close)

    async def _open(self, boundary: Boundary) -> bool:
        """Return whether the session has a way out, opened if need be. Raises ToolError."""
        session_id = boundary.session_id
        keeper = await self._sandbox.keeper(session_id)
        if self._served.get(session_id) is not keeper:
            self._network.forget(session_id)
            await self._end_shared(session_id)
            self._ports[session_id] = set()
            if not await self._serve(session_id, keeper, PROXY):
                return False
            self._served[session_id] = keeper
        await self._open_ports(boundary, keeper)
        return True

    async def _open_ports(self, boundary: Boundary, keeper: NetworkKeeper) -> None:
        """Join the ports of this computer that are allowed now, and no others."""
        session_id, wanted = boundary.session_id, set(boundary.local_ports)
        opened = self._ports[session_id]
        for port in opened - wanted:
            self._network.close_port(session_id, port)
        opened &= wanted
        for port in sorted(wanted - opened):
            if await self._serve(session_id, keeper, port):
                opened.add(port)

    async def _serve(self, session_id: SessionId, keeper: NetworkKeeper, port: int) -> bool:
        try:
            listener = await asyncio.to_thread(open_listener, keeper.words, port)
        except OSError as error:
            # What needs it not works all the same; the next command tries again.
            _log.warning("port %s of a session's network can't be opened: %s", port, error)
            return False
        self._network.serve(session_id, listener, 0 if port == PROXY else port)
        return True
