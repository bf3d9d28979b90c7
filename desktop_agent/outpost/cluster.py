"""Work on the nodes of a cluster: each has a member that does it, and one of them is lost at times.

Which nodes there are, and that one is gone, the cluster says; what becomes of the work is ours: a
job begins again elsewhere from the state of its folder, an agent goes on from its last step.
Whatever a lost member still says is not heard.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Protocol

import msgspec

from desktop_agent.core.messages import Value
from desktop_agent.core.pipes import host_pipe
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.usage import Usage
from desktop_agent.outpost.agent_log import AgentLog
from desktop_agent.outpost.jobs import Needs, needs_of
from desktop_agent.outpost.work import Send, Tell, WorkOrder

_log = logging.getLogger(__name__)

# How often a job begins anew because its node was lost, or an agent without a step in between,
# before it is its own fault.
_MOST_STARTS = 4
_CLOSE_S = 10.0


class Node(Value, frozen=True):
    """A computer of the cluster, and what it has in all. `is_ours` is the one that we run on."""

    id: str
    cpus: float
    gpus: float
    memory_gb: float
    is_ours: bool = False

    def has(self, needs: Needs) -> bool:
        """Whether it could ever run what needs so much."""
        own = self.cpus, self.gpus, self.memory_gb
        return all(x >= y for x, y in zip(own, msgspec.structs.astuple(needs), strict=True))


class MemberLost(Exception):
    """A node, or the process of its member, is gone or was not to be had; the text says why."""


class FarMember(Protocol):
    """A member on its node. All methods raise MemberLost."""

    async def order(self, first: int, orders: list[bytes]) -> None:
        """See Member.order; it is sent again until it is known to have arrived."""
        ...

    async def next(self, after: int) -> tuple[int, list[bytes]]:
        """See Member.next."""
        ...

    async def close(self) -> None:
        """Stop what runs there."""
        ...

    def end(self) -> None:
        """End its process."""
        ...


class Cluster(Protocol):
    """Who knows the nodes."""

    async def nodes(self) -> list[Node]:
        """Return those that live."""
        ...

    async def member(self, node: Node | None, needs: Needs) -> FarMember:
        """Start a member on a node, or on any that has what it needs. Raises MemberLost."""
        ...


class _Post:
    """A member that works: what is to be sent, what was had, and what it has in hand."""

    def __init__(self, member: FarMember, work: ClusterWork, node: str) -> None:
        """`node` is whose only member it is; empty where it has one job alone."""
        self.member, self._work, self.node = member, work, node
        self.keys: set[str] = set()
        self.snapshots: set[str] = set()
        # Requests to models under way: its number of each, and ours.
        self.asked: dict[int, int] = {}
        self._orders: list[bytes] = []
        self._sent = self._had = 0
        self._news = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._guarded(one())) for one in (self._send, self._hear)
        ]

    def give(self, order: pipe.ToOutpost) -> None:
        """Send an order, after those before it."""
        self._orders.append(msgspec.msgpack.encode(order))
        self._news.set()

    def end(self) -> None:
        """Hear nothing more of it."""
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self.member.end()

    async def _send(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            orders, self._orders = self._orders, []
            if orders:
                await self.member.order(self._sent + 1, orders)
                self._sent += len(orders)

    async def _hear(self) -> None:
        while True:
            first, told = await self.member.next(self._had)
            for one in told[max(0, self._had + 1 - first) :]:
                self._work.heard(self, pipe.from_outpost().decode(one))
            self._had = max(self._had, first + len(told) - 1)

    async def _guarded(self, loop: Coroutine[Any, Any, None]) -> None:
        try:
            await loop
        except Exception as error:  # noqa: BLE001 - else what it had waits for ever
            if not isinstance(error, MemberLost | msgspec.MsgspecError):
                _log.exception("a member of a cluster failed")
            self._work.lost(self, str(error))


class _Charge(msgspec.Struct):
    """A job or an agent: where it is, or goes, and what waits until it is there.

    `why` its last node was lost; `log` is an agent's; nodes that `refused` could not take it.
    """

    start: pipe.Start | pipe.StartAgent
    log: AgentLog
    why: str = ""
    post: _Post | None = None
    node: str = ""
    waiting: list[WorkOrder] = []
    starts: int = 0
    refused: set[str] = set()
    is_over: bool = False

    def note(self, order: pipe.AgentOrder) -> None:
        """Let it do no more than was ordered last, wherever it goes on."""
        if isinstance(order, pipe.SetAgentMode) and isinstance(self.start, pipe.StartAgent):
            self.start = msgspec.structs.replace(self.start, mode=order.mode)


class ClusterWork:
    """Hands work to members; `folder` is ours alone."""

    def __init__(self, cluster: Cluster, folder: Path, send: Send, tell: Tell) -> None:
        self._cluster, self._folder = cluster, folder
        self._send, self._tell = send, tell
        self._charges: dict[str, _Charge] = {}
        self._shared: dict[str, asyncio.Task[_Post]] = {}
        self._posts: list[_Post] = []
        self._asked: dict[int, tuple[_Post, int]] = {}
        self._numbers = itertools.count(1)
        self._placing: set[asyncio.Task[None]] = set()

    @property
    def has_any(self) -> bool:
        """Whether a job runs or an agent is wanted still."""
        return any(not one.is_over for one in self._charges.values())

    async def keep(self, commit: str, bundle: bytes) -> None:
        """Take a state of a folder."""
        file = self._bundle(commit)
        try:
            await asyncio.to_thread(file.write_bytes, bundle)
        except OSError as error:  # the copy of it fails, and says so
            _log.warning("a folder that was sent is not kept: %s", error)
            file.unlink(missing_ok=True)

    async def carry_out(self, order: WorkOrder) -> None:
        """Hand an order to whoever has its job or agent."""
        match order:
            case pipe.Start(key=key) | pipe.StartAgent(key=key):
                if key not in self._charges:
                    log = AgentLog(self._folder / f"agent-{next(self._numbers)}.log")
                    self._charges[key] = charge = _Charge(order, log)
                    self._place(charge)
            case pipe.Stop():
                self._stop_jobs()
            case pipe.KeepAgents(keys=keys):
                for key in [*self._charges]:
                    if key not in keys and isinstance(self._charges[key].start, pipe.StartAgent):
                        self._drop(key)
            case pipe.DropAgent(key=key):
                self._drop(key)
            case _ if isinstance(order, pipe.AgentOrder):
                self._hand_over(order)
            case _:
                pass

    def take(self, value: host_pipe.FromHost) -> None:
        """Give an answer of a model to the member that asked."""
        if (asked := self._asked.get(value.id)) is not None:
            post, number = asked
            post.give(msgspec.structs.replace(value, id=number))

    def on_attached(self) -> None:
        """Let all members ask anew."""
        for post in self._posts:
            post.give(pipe.Attach("", 0))

    def acknowledged(self, key: str) -> None:
        """Forget a job."""
        self._charges.pop(key, None)

    async def close(self) -> None:
        """Stop what runs, and end the members."""
        for task in self._placing:
            task.cancel()
        closing = [asyncio.create_task(post.member.close()) for post in self._posts]
        if closing:
            await asyncio.wait(closing, timeout=_CLOSE_S)
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        for post in self._posts:
            post.end()

    # -- what a post tells ------------------------------------------------------------------------

    def heard(self, post: _Post, value: pipe.FromOutpost) -> None:
        """Pass on what a member told."""
        match value:
            case host_pipe.StreamStarted(id=number) | host_pipe.CallMade(id=number):
                ours = post.asked.get(number) or next(self._numbers)
                post.asked[number], self._asked[ours] = ours, (post, number)
                self._send(msgspec.structs.replace(value, id=ours))
            case host_pipe.StreamCancelled(id=number):
                self._cancel(post, number)
            case host_pipe.AgentForgotten():
                self._send(value)
            case pipe.Hello():
                pass
            case _:
                charge = self._charges.get(value.key)
                if charge is not None and charge.post is post:
                    self._of_charge(charge, value)

    def lost(self, post: _Post, why: str) -> None:
        """Go on without a member."""
        if post not in self._posts:
            return
        self._dismiss(post)
        for key in post.keys:
            charge = self._charges[key]
            charge.post, charge.node, charge.why = None, "", why
            self._place(charge)

    def _of_charge(self, charge: _Charge, value: pipe.MemberNews) -> None:
        if not isinstance(value, pipe.JobEnded | pipe.AgentRefused):
            charge.log.add(value)
        match value:
            case pipe.AgentRefused(key=key, why=why):
                if charge.post is not None:
                    charge.post.keys.discard(key)
                    charge.refused.add(charge.post.node)
                charge.post, charge.node = None, ""
                _log.warning("a node did not take an agent: %s", why)
                self._place(charge)
            case pipe.AgentKept():
                charge.starts = 0
            case pipe.JobEnded():
                self._tell(value)
                self._end(charge)
            case _:
                self._tell(value)

    # -- where a charge is ------------------------------------------------------------------------

    def _place(self, charge: _Charge) -> None:
        task = asyncio.create_task(self._find_place(charge))
        self._placing.add(task)
        task.add_done_callback(self._placing.discard)

    async def _find_place(self, charge: _Charge) -> None:
        try:
            await self._take_place(charge)
        except Exception as error:  # noqa: BLE001 - as above
            _log.exception("no place was found on a cluster")
            if not charge.is_over:
                self._give_up(charge, str(error))

    async def _take_place(self, charge: _Charge) -> None:
        start, post, why = charge.start, None, "its nodes were lost"
        while post is None and charge.starts < _MOST_STARTS:
            charge.starts += 1
            try:
                post = await self._post_for(charge)
            except MemberLost as error:
                why = str(error)
        bundle, order = b"", None
        if post is not None and start.commit not in post.snapshots:
            with contextlib.suppress(FileNotFoundError):  # the copy of it fails, and says so
                bundle = await asyncio.to_thread(self._bundle(start.commit).read_bytes)
        try:
            order = await asyncio.to_thread(_order_of, charge)
        except OSError as error:
            why = str(error)
        if self._charges.get(start.key) is not charge or charge.is_over:
            self._release(post)
        elif post is None or order is None:
            self._release(post)
            self._give_up(charge, why)
        elif post not in self._posts:  # lost while the bundle was read
            self._place(charge)
        else:
            charge.post = post
            post.keys.add(start.key)
            if start.commit not in post.snapshots:
                post.snapshots.add(start.commit)
                post.give(pipe.Snapshot(start.commit, bundle))
            for one in (order, *charge.waiting):
                post.give(one)
            charge.waiting.clear()

    async def _post_for(self, charge: _Charge) -> _Post:
        needs = needs_of(charge.start.said) if isinstance(charge.start, pipe.Start) else Needs()
        nodes = [node for node in await self._cluster.nodes() if node.has(needs)]
        if not nodes:
            charge.starts = _MOST_STARTS
            raise MemberLost("no node of the cluster has what it needs")
        if needs != Needs():
            return self._post(await self._cluster.member(None, needs), "")

        # The same load: rather where a failure is not our end as well.
        def rank(one: Node) -> tuple[bool, float, bool]:
            return one.id in charge.refused, self._load(one), one.is_ours

        node = min(nodes, key=rank)
        charge.node = node.id
        if node.id not in self._shared:
            self._shared[node.id] = asyncio.create_task(self._share(node))
        return await asyncio.shield(self._shared[node.id])

    async def _share(self, node: Node) -> _Post:
        try:
            return self._post(await self._cluster.member(node, Needs()), node.id)
        except BaseException:
            del self._shared[node.id]
            raise

    def _post(self, member: FarMember, node: str) -> _Post:
        post = _Post(member, self, node)
        self._posts.append(post)
        return post

    def _load(self, node: Node) -> float:
        """Return how many charges each processor of a node has."""
        live = (one for one in self._charges.values() if not one.is_over)
        return sum(one.node == node.id for one in live) / max(1.0, node.cpus)

    # -- how a charge ends ------------------------------------------------------------------------

    def _give_up(self, charge: _Charge, why: str) -> None:
        key = charge.start.key
        if isinstance(charge.start, pipe.Start):
            self._end(charge, pipe.JobEnded(0, key, "error", "", Usage(), 0.0, "", why))
        else:
            if charge.why:
                lost = f"the node that it worked on was lost ({charge.why})"
                why = f"{lost}, and it can't go on on another: {why}"
            self._end(charge, pipe.TurnOver(0, key, problem=why))

    def _end(self, charge: _Charge, event: pipe.Numbered | None = None) -> None:
        charge.is_over = True
        if event is not None:
            self._tell(event)
        post, charge.post = charge.post, None
        if post is not None:
            post.keys.discard(charge.start.key)
            self._release(post)

    def _drop(self, key: str) -> None:
        charge = self._charges.pop(key, None)
        if charge is not None:
            charge.log.forget()
        if charge is not None and charge.post is not None:
            charge.post.give(pipe.DropAgent(key))
            charge.post.keys.discard(key)

    def _stop_jobs(self) -> None:
        for post in self._posts:
            post.give(pipe.Stop())
        for key, charge in self._charges.items():
            if isinstance(charge.start, pipe.Start) and charge.post is None and not charge.is_over:
                self._end(charge, pipe.JobEnded(0, key, "interrupted", "", Usage(), 0.0, ""))

    def _hand_over(self, order: pipe.AgentOrder) -> None:
        charge = self._charges.get(order.key)
        if charge is not None:
            charge.note(order)
        if charge is None or charge.is_over:
            if isinstance(order, pipe.ResumeAgent):
                problem = "nothing is left there of its work"
                self._tell(pipe.TurnOver(0, order.key, problem=problem))
        elif charge.post is not None:
            charge.post.give(order)
        else:
            charge.waiting.append(order)

    def _release(self, post: _Post | None) -> None:
        """End a member that had one job alone."""
        if post is not None and not post.node and post in self._posts:
            self._dismiss(post)

    def _dismiss(self, post: _Post) -> None:
        self._posts.remove(post)
        self._shared.pop(post.node, None)
        for number in list(post.asked):
            self._cancel(post, number)
        post.end()

    def _cancel(self, post: _Post, number: int) -> None:
        ours = post.asked.pop(number, None)
        if ours is not None:
            del self._asked[ours]
            self._send(host_pipe.StreamCancelled(ours))

    def _bundle(self, commit: str) -> Path:
        return self._folder / f"{commit}.bundle"


def _order_of(charge: _Charge) -> pipe.Start | pipe.StartAgent | pipe.RestoreAgent:
    """Return what has a member begin, or go on. Raises OSError."""
    if isinstance(charge.start, pipe.Start):
        return charge.start
    return charge.log.restore(charge.start, charge.why)
