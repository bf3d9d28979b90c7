"""A note that waits while the app pauses, closes or is killed: read once, whatever it did."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import (
    ApprovalRequested,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    SessionOpened,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.messages import open_calls
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import Answer, ModelRequest
from tests.engine.rig import Rig
from tests.helpers.engines import agent_of
from tests.helpers.scripted import Waits, calls, says

DATABASE = "sessions.db"
WORDS = "use euros"


class Scene:
    """An agent at one moment, with a note that it has not read."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.gate = asyncio.Event()
        self.store: SqliteStore
        self.rig: Rig
        self.note: Note

    def open(self, *script: object) -> Rig:
        """Start the app on what is on disk."""
        self.home.mkdir(exist_ok=True)
        self.store = SqliteStore(self.home / DATABASE)
        self.rig = Rig(self.home / "folder", *script, store=self.store)  # type: ignore[arg-type]
        return self.rig

    async def close(self) -> None:
        """Close the app."""
        await self.rig.engine.close()
        self.store.close()

    async def kill(self) -> None:
        """Leave on disk what is there at this very moment, and nothing of what follows."""
        left = self.home.with_name("left")
        left.mkdir()
        for file in self.home.glob(f"{DATABASE}*"):
            shutil.copy(file, left)
        shutil.copytree(self.home / "folder", left / "folder")
        await self.close()
        self.home = left

    def let_go(self) -> None:
        """Let everything that holds the agent go on."""
        self.gate.set()
        self.rig.gates.open.set()
        for asked in self.rig.of(ApprovalRequested):
            self.rig.engine.decide(asked.request.id, AllowOnce())


async def _held_before_its_first_step(scene: Scene) -> None:
    rig = scene.open(says("ok"))
    rig.engine.pause(rig.agent_id)
    scene.note = rig.send(WORDS)
    await rig.until(TurnStarted)


async def _sent_but_not_accepted(scene: Scene) -> None:
    rig = scene.open(Waits(scene.gate, is_accepted=False, answer=says("ok")))
    scene.note = rig.send(WORDS)
    await rig.until(MessageAdded)


async def _while_the_model_answers(scene: Scene) -> None:
    rig = scene.open(Waits(scene.gate, "So "), says("ok"))
    rig.send("go")
    await rig.until(NoteDelivered)
    scene.note = rig.send(WORDS)


async def _while_a_tool_runs(scene: Scene) -> None:
    rig = scene.open(calls(("slow", {})), says("ok"))
    rig.send("go")
    await rig.gates.reached.wait()
    scene.note = rig.send(WORDS)


async def _while_an_approval_waits(scene: Scene) -> None:
    rig = scene.open(calls(("write", {"what": "x"})), says("ok"))
    rig.send("go")
    await rig.until(ApprovalRequested)
    scene.note = rig.send(WORDS)


async def _while_it_stops(scene: Scene) -> None:
    rig = scene.open(Waits(scene.gate, "So "), says("ok"))
    rig.send("go")
    await rig.until(NoteDelivered)
    rig.engine.stop(rig.agent_id)
    scene.note = rig.send(WORDS)


MOMENTS: list[Callable[[Scene], Awaitable[None]]] = [
    _held_before_its_first_step,
    _sent_but_not_accepted,
    _while_the_model_answers,
    _while_a_tool_runs,
    _while_an_approval_waits,
    _while_it_stops,
]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda one: one.__name__.strip("_"))
@pytest.mark.parametrize("what", ["pause", "close", "kill"])
async def test_a_note_that_waits_is_read_once_whatever_the_app_does(
    tmp_path: Path, moment: Callable[[Scene], Awaitable[None]], what: str
) -> None:
    scene = Scene(tmp_path / "home")
    await moment(scene)
    delivered: list[NoteDelivered] = []
    if what == "pause":
        scene.rig.engine.pause(scene.rig.agent_id)
        scene.let_go()
    else:
        await (scene.close() if what == "close" else scene.kill())
        delivered += scene.rig.of(NoteDelivered)
        scene.open(says("ok"))
        scene.rig.engine.open_session(scene.rig.session_id)
        queued = [e.note.id for e in scene.rig.of(SessionOpened)[-1].events if _is_queued(e)]
        assert scene.note.id in queued
        assert not scene.rig.model.requests
    rig = scene.rig
    rig.engine.resume(rig.agent_id)
    await _read(scene, delivered)
    for request in rig.model.requests:
        assert [m.text for m in request.messages].count(WORDS) <= 1
        assert not open_calls(request.messages)
    assert [m.text for m in rig.model.requests[-1].messages].count(WORDS) == 1
    assert [e.note_id for e in delivered + rig.of(NoteDelivered)].count(scene.note.id) == 1
    await scene.close()
    with closing(SqliteStore(scene.home / DATABASE)) as store:
        (record,) = store.load_agents(rig.session_id)
    assert [one for m in record.history for one in m.note_ids].count(scene.note.id) == 1
    assert (record.inbox, record.unconfirmed) == ((), ())


def _is_queued(event: object) -> bool:
    return isinstance(event, NoteQueued)


async def _read(scene: Scene, before: list[NoteDelivered]) -> None:
    """Wait for the end of the turn in which the note was delivered."""
    while scene.note.id not in [e.note_id for e in before + scene.rig.of(NoteDelivered)]:
        await scene.rig.until(TurnEnded, len(scene.rig.of(TurnEnded)) + 1)
    await scene.rig.at_rest()


@pytest.mark.parametrize("has_history", [False, True])
async def test_a_note_taken_back_from_a_paused_agent_leaves_nothing_to_send(
    tmp_path: Path, has_history: bool
) -> None:
    rig = Rig(tmp_path, says("hello"), says("not asked for"))
    if has_history:
        await rig.run("hi")
    requests = len(rig.model.requests)
    turns = len(rig.of(TurnEnded))
    rig.engine.pause(rig.agent_id)
    note = rig.send("wait, what about")
    await rig.until(TurnStarted, turns + 1)
    rig.engine.withdraw_note(rig.agent_id, note.id)
    rig.engine.resume(rig.agent_id)
    ended = await rig.until(TurnEnded, turns + 1)
    assert (ended.reason, ended.fault) == ("finished", None)
    assert len(rig.model.requests) == requests
    assert [e.note_id for e in rig.of(NoteReturned)] == [note.id]
    await rig.at_rest()
    answer = await rig.run("and now?")
    assert answer.reason == "finished"
    assert rig.model.requests[-1].messages[-1].text == "and now?"
    await rig.engine.close()


async def test_a_note_taken_back_does_not_count_against_the_budget_of_steps(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path, says("hello"))
    agent = agent_of(rig.engine, rig.agent_id)
    rig.engine.pause(rig.agent_id)
    note = rig.send("wait")
    await rig.until(TurnStarted)
    rig.engine.withdraw_note(rig.agent_id, note.id)
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded)
    assert agent.meter.spent.steps == 0
    await rig.engine.close()


async def test_a_note_sent_while_the_app_closes_waits_for_the_next_start(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "home")
    rig = scene.open(calls(("slow", {})))
    rig.send("go")
    await rig.gates.reached.wait()
    closing = asyncio.ensure_future(rig.engine.close())
    await rig.until(TurnEnded)
    note = rig.send(WORDS)
    await closing
    scene.store.close()
    assert len(rig.of(TurnStarted)) == 1
    assert len(rig.model.requests) == 1
    again = scene.open(says("ok"))
    again.engine.open_session(again.session_id)
    again.engine.resume(again.agent_id)
    await again.until(TurnEnded)
    assert [m.text for m in again.model.requests[0].messages].count(WORDS) == 1
    assert [e.note_id for e in again.of(NoteDelivered)].count(note.id) == 1
    await scene.close()


async def test_a_note_that_waits_longer_than_a_page_of_events_is_told_when_it_is_opened(
    tmp_path: Path,
) -> None:
    waiting: list[Note] = []

    def first(_: ModelRequest) -> Answer:
        waiting.append(rig.send("Then this", delivery="turn"))
        return calls(("echo", {"what": "first"}))

    last = Waits(asyncio.Event())
    steps = [calls(("echo", {"what": str(number)})) for number in range(80)]
    rig = Rig(tmp_path, first, *steps, last, says("It is done"))
    rig.send("go")
    await last.reached.wait()
    rig.engine.open_session(rig.session_id)
    assert rig.opened.first_seq > 1
    assert [told.note for told in rig.opened.notes] == waiting
    last.gate.set()
    await rig.until(NoteDelivered, 2)
    rig.engine.open_session(rig.session_id)
    assert rig.opened.notes == ()
    await rig.engine.close()
