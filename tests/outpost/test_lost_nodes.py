"""A node that is lost at a certain moment: nothing of its agent's work is lost without a word.

The members are real and work in this process; the Ray cluster they stand for is in `test_cluster`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_agent.adapters.places.git_copy import GitStore
from desktop_agent.core.events import ToolEnded, ToolStarted, TurnEnded, TurnStarted
from desktop_agent.core.ids import AgentId, new_note_id
from desktop_agent.core.messages import TextPart, ToolCall
from desktop_agent.core.notes import Note
from desktop_agent.core.pipes import host_pipe
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.outpost.agent_log import AgentLog
from desktop_agent.outpost.cluster import ClusterWork, MemberLost, Node
from desktop_agent.outpost.jobs import Needs
from desktop_agent.outpost.member import Member
from tests.adapters.sandbox.conftest import need_sandbox

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no outposts on Windows")
Parts = tuple[TextPart | ToolCall, ...]


class NodeOfTests:
    """A member, and how its node fails: right after it told what `fails_after` holds for."""

    def __init__(self, folder: Path) -> None:
        self._member = Member(folder)
        self._failed, self._is_closed = asyncio.Event(), False
        self.fails_after: Callable[[Any], bool] = lambda _: False

    async def order(self, first: int, orders: list[bytes]) -> None:
        """See Member.order."""
        await self._unless_failed(self._member.order(first, orders))

    async def next(self, after: int) -> tuple[int, list[bytes]]:
        """See Member.next."""
        first, told = await self._unless_failed(self._member.next(after))
        for count, one in enumerate(told, 1):
            if self.fails_after(pipe.from_outpost().decode(one)):
                self._failed.set()
                return first, told[:count]
        return first, told

    async def close(self) -> None:
        """See Member.close."""
        if not self._is_closed:
            self._is_closed = True
            await self._member.close()

    def end(self) -> None:
        """Hear nothing more."""
        self._failed.set()

    async def _unless_failed(self, work: Any) -> Any:
        done, failed = asyncio.ensure_future(work), asyncio.ensure_future(self._failed.wait())
        await asyncio.wait([done, failed], return_when=asyncio.FIRST_COMPLETED)
        failed.cancel()
        if self._failed.is_set():
            done.cancel()
            raise MemberLost("the power went")
        return done.result()


class Rig:
    """A head, its nodes one after the other, an agent, and a model that says what it is given."""

    def __init__(self, folder: Path, answers: list[Parts]) -> None:
        self.folder, self._answers = folder, answers
        self.made: list[NodeOfTests] = []
        self.told: list[Any] = []
        self.requests: list[ModelRequest] = []
        self._news = asyncio.Event()
        (folder / "head").mkdir()
        self.work = ClusterWork(self, folder / "head", self._send, self._tell)

    async def nodes(self) -> list[Node]:
        """As many as were made, and one more; the oldest has the most processors."""
        return [Node(str(number), 100.0 / (number + 1), 0, 8) for number in range(3)]

    async def member(self, node: Node | None, needs: Needs) -> NodeOfTests:
        """Start a member on a node."""
        assert node is not None
        folder = self.folder / f"node-{len(self.made)}"
        folder.mkdir()
        if (self.folder / "is-full").exists() and len(self.made) == 1:
            (folder / "agents").write_text("no folder can be made here")
        self.made.append(NodeOfTests(folder))
        return self.made[-1]

    async def begin(self) -> None:
        """Begin the agent in a copy of a folder with one file."""
        source = self.folder / "garden"
        source.mkdir()
        (source / "beds.txt").write_text("twelve\n")
        store = GitStore(self.folder / "store")
        store.make()
        commit = store.snapshot(source)
        store.bundle(commit, self.folder / "bundle")
        await self.work.keep(commit, (self.folder / "bundle").read_bytes())
        await self.work.carry_out(pipe.StartAgent("K", "one", "garden", commit, "demo", "", "free"))
        note = Note(new_note_id(), "go", created_at=1.0)
        await self.work.carry_out(pipe.TellAgent("K", note))

    async def once(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of what was told."""
        while not holds():
            self._news.clear()
            await self._news.wait()

    def events(self, kind: type[Any]) -> list[Any]:
        """Return what the agent told of a kind."""
        told = (one for one in self.told if isinstance(one, pipe.AgentWorked))
        return [event for one in told for event in one.events if isinstance(event, kind)]

    async def over(self) -> pipe.TurnOver:
        """Wait until the turn is over; return how."""
        await self.once(lambda: isinstance(self.told[-1], pipe.TurnOver))
        return self.told[-1]

    def _tell(self, event: pipe.Numbered) -> None:
        self.told.append(event)
        self._news.set()

    def _send(self, value: host_pipe.ToHost) -> None:
        loop = asyncio.get_running_loop()
        match value:
            case host_pipe.CallMade(id=number):
                nothing = msgspec.Raw(msgspec.msgpack.encode(None))
                loop.call_soon(self.work.take, host_pipe.CallAnswered(number, nothing))
            case host_pipe.StreamStarted(id=number, request=request):
                self.requests.append(request)
                answer = Answer(self._answers[len(self.requests) - 1])
                loop.call_soon(self.work.take, host_pipe.StreamAdvanced(number, (answer,)))
            case _:
                pass


@pytest.fixture
async def rigs(tmp_path: Path) -> AsyncIterator[Callable[[list[Parts]], Rig]]:
    """Make a rig that is closed at the end."""
    made: list[Rig] = []

    def make(answers: list[Parts]) -> Rig:
        made.append(Rig(tmp_path, answers))
        return made[-1]

    yield make
    for rig in made:
        await rig.work.close()
        for node in rig.made:  # a process that is killed lets go of all by itself
            await node.close()


def writes(name: str) -> ToolCall:
    """Return a call that writes a file."""
    return ToolCall(f"call-{name}", "write", {"path": name, "content": f"{name}\n"})


def ends_turn(value: Any) -> bool:
    """Whether a member told that the turn has ended."""
    events = value.events if isinstance(value, pipe.AgentWorked) else ()
    return any(isinstance(one, TurnEnded) for one in events)


async def test_what_was_written_before_a_stop_and_was_not_kept_is_said_to_be_gone(
    rigs: Callable[[list[Parts]], Rig],
) -> None:
    need_sandbox({})  # without one the command is asked about, and nobody answers
    runs = ToolCall("call-runs", "shell", {"command": "echo begun; sleep 3600"})
    rig = rigs([(writes("first.txt"),), (writes("second.txt"), runs)])
    await rig.begin()
    await rig.once(lambda: len(rig.events(ToolStarted)) == 3)
    rig.made[0].fails_after = ends_turn
    await rig.work.carry_out(pipe.StopAgent("K", 1))
    over = await rig.over()
    assert "first.txt" in over.patch
    assert "second.txt" not in over.patch
    assert "second.txt" in over.problem
    assert "is not there" in over.problem
    assert over.ended is not None
    assert over.ended.reason == "cancelled"
    assert len(rig.requests) == 2, "a turn that was stopped does not go on"


async def test_a_repository_that_is_made_in_the_copy_keeps_no_step_from_being_kept(
    rigs: Callable[[list[Parts]], Rig],
) -> None:
    need_sandbox({})
    makes = ToolCall("call-makes", "shell", {"command": "mkdir sub; git init -q sub"})
    rig = rigs([(makes, writes("first.txt")), (writes("second.txt"),), (TextPart("Done."),)])
    await rig.begin()
    await rig.once(lambda: len(rig.made) > 0)
    rig.made[0].fails_after = lambda value: isinstance(value, pipe.AgentKept)
    over = await rig.over()
    assert over.problem == ""
    assert "first.txt" in over.patch
    assert len(rig.events(ToolEnded)) == 3
    assert len(rig.made) > 1


async def test_a_node_that_can_not_take_an_agent_leaves_it_to_another(
    rigs: Callable[[list[Parts]], Rig], tmp_path: Path
) -> None:
    (tmp_path / "is-full").touch()
    rig = rigs([(writes("first.txt"),), (TextPart("Done."),), (TextPart("Done."),)])
    await rig.begin()
    await rig.once(lambda: len(rig.made) > 0)
    rig.made[0].fails_after = lambda value: isinstance(value, pipe.AgentKept)
    over = await rig.over()
    assert (over.problem, len(rig.made)) == ("", 3)
    assert "first.txt" in over.patch


def test_what_a_member_tells_of_another_agent_is_not_restored(tmp_path: Path) -> None:
    log, own, other = AgentLog(tmp_path / "log"), AgentId("ag_own"), AgentId("ag_other")
    log.add(pipe.AgentBegun(0, "K", own))
    log.add(pipe.AgentWorked(0, "K", (TurnStarted(own), TurnStarted(other))))
    start = pipe.StartAgent("K", "one", "garden", "c", "demo", "", "ask")
    restored = log.restore(start, "lost")
    assert isinstance(restored, pipe.RestoreAgent)
    assert restored.events == (TurnStarted(own),)
