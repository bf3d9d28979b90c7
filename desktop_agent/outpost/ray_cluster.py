"""A cluster of Ray's: a member on each node is an actor. Ray is installed on the cluster alone.

Placement, resources, life and death are Ray's. The outpost on the head is the driver: its actors
end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

from desktop_agent import __version__, paths
from desktop_agent.adapters.files.log_file import start_logging
from desktop_agent.adapters.files.temporary_folder import temporary_folder
from desktop_agent.outpost.cluster import MemberLost, Node
from desktop_agent.outpost.jobs import Needs
from desktop_agent.outpost.member import Member

_GB = 1e9
_AGAIN_S = 0.5
_MOST_WORDS = 160


class NoCluster(Exception):
    """There is no cluster here that can be used; the text says why."""


def join() -> RayCluster:
    """Join the cluster that this computer is a node of. Raises NoCluster."""
    # Read when Ray is imported. Without tokens, whoever reaches a cluster runs anything on it.
    os.environ["RAY_AUTH_MODE"] = "token"
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise NoCluster("Ray is not installed in the Python of Desktop Agent there") from None
    try:
        ray.init("auto", namespace="desktop-agent", log_to_driver=False, configure_logging=False)
    except Exception as error:  # noqa: BLE001 - Ray raises many kinds, none of them documented
        said = " ".join(str(error).split()).split(". ")[0][:_MOST_WORDS]
        raise NoCluster(f"no Ray cluster can be joined there with its token: {said}") from None
    return RayCluster(ray)


class Actor:
    """A member as Ray's actor; Ray makes it on another thread than the loop that it works on."""

    async def open(self, version: str) -> str:
        """Begin; return why that can't be, if it can't."""
        if version != __version__:
            return f"a node has Desktop Agent {__version__}, its head {version}"
        start_logging(paths.log_dir(), name="desktop-agent-outpost")
        self._open = contextlib.ExitStack()
        folder = self._open.enter_context(temporary_folder("desktop-agent-member-"))
        self._member = Member(folder)
        return ""

    async def order(self, first: int, orders: list[bytes]) -> None:
        """See Member.order."""
        await self._member.order(first, orders)

    async def next(self, after: int) -> tuple[int, list[bytes]]:
        """See Member.next."""
        return await self._member.next(after)

    async def close(self) -> None:
        """Stop what runs."""
        await self._member.close()
        self._open.close()


class RayCluster:
    """The nodes of the cluster that was joined."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    @property
    def words(self) -> str:
        """Say what it is."""
        count = len(self._alive())
        return f"Ray {self._ray.__version__}, {count} node{'' if count == 1 else 's'}"

    async def nodes(self) -> list[Node]:
        """Return those that live."""
        return await asyncio.to_thread(self._alive)

    async def member(self, node: Node | None, needs: Needs) -> RayMember:
        """Start an actor on a node, or on any that has what it needs. Raises MemberLost."""
        options: dict[str, Any] = {
            "num_cpus": needs.cpus, "num_gpus": needs.gpus, "max_restarts": 0,
            "memory": int(needs.memory_gb * _GB) or None,
        }  # fmt: skip
        if node is not None:
            strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
            on = strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
            options["scheduling_strategy"] = on
        actor = self._ray.remote(Actor).options(**options).remote()
        member = RayMember(self._ray, actor)
        try:
            refused = await member.done(lambda: actor.open.remote(__version__))
        except BaseException:
            member.end()
            raise
        if refused:
            member.end()
            raise MemberLost(refused)
        return member

    def _alive(self) -> list[Node]:
        ours = self._ray.get_runtime_context().get_node_id()
        return [
            Node(
                one["NodeID"],
                one["Resources"].get("CPU", 0.0),
                one["Resources"].get("GPU", 0.0),
                one["Resources"].get("memory", 0.0) / _GB,
                one["NodeID"] == ours,
            )
            for one in self._ray.nodes()
            if one["Alive"]
        ]


class RayMember:
    """An actor; what can't be known to have arrived is asked for again while it lives."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    async def order(self, first: int, orders: list[bytes]) -> None:
        """See Member.order. Raises MemberLost."""
        await self.done(lambda: self._actor.order.remote(first, orders))

    async def next(self, after: int) -> tuple[int, list[bytes]]:
        """See Member.next. Raises MemberLost."""
        return await self.done(lambda: self._actor.next.remote(after))

    async def close(self) -> None:
        """Stop what runs there. Raises MemberLost."""
        await self.done(lambda: self._actor.close.remote())

    def end(self) -> None:
        """End its process."""
        self._ray.kill(self._actor)

    async def done(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """Return what is answered. Raises MemberLost."""
        errors = self._ray.exceptions
        while True:
            try:
                return await ask()
            except errors.ActorUnavailableError:
                await asyncio.sleep(_AGAIN_S)
            except errors.RayError as error:
                said = " ".join(str(error).split())
                raise MemberLost(said[:_MOST_WORDS]) from None
