"""Branches of a session: what is said on one never shows on another, and none is ever lost."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import (
    BranchStarted,
    CommandRefused,
    NoteDelivered,
    SessionOpened,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import MessageId, new_note_id
from desktop_agent.core.messages import Message, TextPart, open_calls
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import AttachedFile
from desktop_agent.core.sessions import BranchPoint
from desktop_agent.core.tasks import TaskEdit
from desktop_agent.tools.agents import agent_tools
from tests.engine.rig import Rig
from tests.engine.tree.tree_rig import TreeModel, gate, spawns
from tests.helpers.scripted import Breaks, Waits, calls, says
from tests.helpers.stores import abandon


class Branched(Rig):
    """A session in a real database."""

    def __init__(self, path: Path, *script: Any, **more: Any) -> None:
        path.mkdir(exist_ok=True)
        self.file = path / "sessions.sqlite"
        self.disk = SqliteStore(self.file)
        super().__init__(path, *script, store=self.disk, **more)  # pyright: ignore[reportArgumentType]

    def said(self) -> list[str]:
        """What the user said, along the branch that is shown."""
        history = self.agent(self.agent_id).history
        return [message.text for message in history if message.role == "user"]

    def message(self, text: str) -> MessageId:
        history = self.agent(self.agent_id).history
        return next(m.id for m in reversed(history) if m.role == "user" and m.text == text)

    async def branch(self, text: str, words: str | None = None) -> None:
        """Send a message again, or other words in its place, and wait for the turn's end."""
        ended = len(self.of(TurnEnded))
        note = Note(new_note_id(), words) if words is not None else None
        self.engine.begin_branch(self.agent_id, self.message(text), note)
        await self.until(TurnEnded, ended + 1)
        await self.at_rest()

    async def turn(self, text: str) -> None:
        await self.run(text)
        await self.at_rest()

    @property
    def points(self) -> tuple[BranchPoint, ...]:
        self.engine.open_session(self.session_id)
        return self.opened.branches

    def switch(self, head: int) -> None:
        self.engine.switch_branch(self.session_id, head)


@asynccontextmanager
async def session(path: Path, *script: Any, **more: Any) -> AsyncIterator[Branched]:
    rig = Branched(path, *script, **more)
    try:
        yield rig
    finally:
        await rig.engine.close()
        rig.disk.close()


def texts(opened: SessionOpened) -> list[str]:
    found = (getattr(event, "message", None) for event in opened.events)
    return [m.text for m in found if isinstance(m, Message) and m.role in ("user", "assistant")]


async def test_an_edited_message_goes_on_without_what_followed_it(tmp_path: Path) -> None:
    async with session(tmp_path, says("1"), says("2"), says("other 2")) as rig:
        await rig.turn("one")
        await rig.turn("two")
        before = rig.model.requests[1].messages
        await rig.branch("two", "two, but blue")
        assert rig.said() == ["one", "two, but blue"]
        assert texts(rig.opened) == ["one", "1"]
        again = rig.model.requests[2].messages
        shared = len(before) - 1
        assert msgspec.json.encode(again[:shared]) == msgspec.json.encode(before[:shared])
        (point,) = rig.points
        assert (point.place, len(point.heads)) == (1, 2)
        assert point.message_id == rig.message("two, but blue")


async def test_switching_brings_the_other_branch_back_whole(tmp_path: Path) -> None:
    async with session(tmp_path, says("1"), says("2"), says("3"), says("b"), says("4")) as rig:
        for text in ("one", "two", "three"):
            await rig.turn(text)
        await rig.branch("two", "blue")
        rig.switch(rig.points[0].heads[0])
        assert rig.said() == ["one", "two", "three"]
        assert texts(rig.opened) == ["one", "1", "two", "2", "three", "3"]
        await rig.turn("four")
        assert rig.said() == ["one", "two", "three", "four"]
        rig.switch(rig.points[0].heads[1])
        assert rig.said() == ["one", "blue"]


async def test_the_same_words_are_sent_again_with_their_files(tmp_path: Path) -> None:
    async with session(tmp_path, says("1"), says("2"), says("3")) as rig:
        file = TextPart("a = 1", AttachedFile("a.py"))
        rig.engine.send(rig.agent_id, Note(new_note_id(), "look", attachments=(file,)))
        await rig.until(TurnEnded)
        await rig.at_rest()
        await rig.branch("look\n\na = 1")
        (message, _) = rig.agent(rig.agent_id).history
        texts = [part.text for part in message.parts if isinstance(part, TextPart)]
        assert texts == ["look", "a = 1"]
        rig.engine.begin_branch(
            rig.agent_id, message.id, Note(new_note_id(), "look well"), is_edit=True
        )
        await rig.until(TurnEnded, 3)
        assert rig.said() == ["look well\n\na = 1"]
        assert len(rig.points[0].heads) == 3


async def test_alternatives_of_an_alternative_stand_beside_it(tmp_path: Path) -> None:
    async with session(tmp_path, *(says(str(n)) for n in range(5))) as rig:
        await rig.turn("a")
        await rig.branch("a", "b")
        await rig.branch("b", "c")
        assert [(p.place, len(p.heads)) for p in rig.points] == [(2, 3)]
        rig.switch(rig.points[0].heads[0])
        assert rig.said() == ["a"]


async def test_a_branch_in_the_middle_of_a_turn_leaves_no_call_unanswered(tmp_path: Path) -> None:
    script = (calls(("slow", {})), says("done"), says("steered"), says("again"))
    async with session(tmp_path, *script, mode="free") as rig:
        rig.send("work")
        await rig.gates.reached.wait()
        rig.send("be quick")
        rig.gates.open.set()
        await rig.until(TurnEnded)
        await rig.at_rest()
        await rig.branch("be quick", "take your time")
        history = rig.agent(rig.agent_id).history
        assert open_calls(history) == ()
        assert [message.role for message in history] == [
            "user",
            "assistant",
            "tool",
            "user",
            "assistant",
        ]
        assert rig.said() == ["work", "take your time"]


async def test_the_task_list_is_as_it_was_at_the_message(tmp_path: Path) -> None:
    async with session(tmp_path, *(says(str(n)) for n in range(4))) as rig:
        await rig.turn("one")
        rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="early"))
        await rig.turn("two")
        rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="late"))
        two = next(text for text in rig.said() if "two" in text)
        await rig.branch(two, "blue")
        tasks = rig.agent(rig.agent_id).tasks
        assert [task.subject for task in tasks.tasks] == ["early"]
        assert tasks.state.next_id == 3, "an id is never given twice"
        rig.switch(rig.points[0].heads[0])
        tasks = rig.agent(rig.agent_id).tasks
        assert [task.subject for task in tasks.tasks] == ["early", "late"]
        rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="last"))
        assert [task.id for task in rig.agent(rig.agent_id).tasks.tasks] == [1, 2, 3]


async def test_edits_that_were_read_with_a_message_are_told_again_with_it(tmp_path: Path) -> None:
    async with session(tmp_path, *(says(str(n)) for n in range(4))) as rig:
        await rig.turn("one")
        rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="early"))
        await rig.turn("two")
        two = next(text for text in rig.said() if "two" in text)
        rig.engine.begin_branch(rig.agent_id, rig.message(two))
        rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="late"))
        await rig.until(TurnEnded, 3)
        await rig.at_rest()
        said = rig.said()[-1]
        assert said.startswith("- added #1: early\n- added #2: late\n")
        await rig.branch(said)
        assert rig.said()[-1] == said


async def test_while_the_agent_works_a_branch_is_refused_in_words(tmp_path: Path) -> None:
    waits = Waits(asyncio.Event())
    async with session(tmp_path, says("1"), says("b"), waits) as rig:
        await rig.turn("one")
        await rig.branch("one", "blue")
        head = rig.points[0].heads[0]
        rig.send("two")
        await waits.reached.wait()
        note = Note(new_note_id(), "other")
        rig.engine.begin_branch(rig.agent_id, rig.message("blue"), note)
        rig.switch(head)
        refused = rig.of(CommandRefused)
        assert [one.command for one in refused] == ["begin_branch", "switch_branch"]
        assert refused[0].about == note.id, "the words go back to the box"
        assert all("Stop the agent" in one.message for one in refused)
        assert rig.said() == ["blue", "two"]
        waits.gate.set()
        await rig.until(TurnEnded, 3)


async def test_what_is_not_on_the_branch_shown_is_refused(tmp_path: Path) -> None:
    async with session(tmp_path, says("1"), says("b")) as rig:
        await rig.turn("one")
        old = rig.message("one")
        await rig.branch("one", "blue")
        rig.engine.begin_branch(rig.agent_id, old, Note(new_note_id(), "x"))
        rig.switch(77)
        assert len(rig.of(CommandRefused)) == 2
        assert rig.said() == ["blue"]


async def test_what_all_branches_used_is_counted(tmp_path: Path) -> None:
    async with session(tmp_path, *(says(str(n)) for n in range(3))) as rig:
        await rig.turn("one")
        await rig.branch("one")
        await rig.branch("one")
        assert rig.agent(rig.agent_id).meter.usage.input_tokens == 30
        script = rig.model.script
    async with session(tmp_path, *script) as again:
        assert again.agent(again.agent_id).meter.usage.input_tokens == 30
        assert again.agent(again.agent_id).step == 3


async def test_a_message_that_failed_is_sent_by_trying_again(tmp_path: Path) -> None:
    down = Breaks(Fault("refused", "Nothing answers there."), is_accepted=False)
    async with session(tmp_path, down, says("1")) as rig:
        await rig.turn("one")
        rig.engine.resume(rig.agent_id)
        await rig.until(TurnEnded, 2)
        assert rig.said() == ["one"]
        assert len(rig.of(NoteDelivered)) == 1
        assert rig.points == ()


async def test_a_kill_leaves_the_branch_that_was_shown_last(tmp_path: Path) -> None:
    waits = Waits(asyncio.Event())
    async with session(tmp_path / "first", says("1"), waits) as rig:
        await rig.turn("one")
        note = Note(new_note_id(), "blue")
        rig.engine.begin_branch(rig.agent_id, rig.message("one"), note)
        await waits.reached.wait()
        # As the disk is at a kill.
        shutil.copytree(tmp_path / "first", tmp_path / "killed")
    async with session(tmp_path / "killed", says("2")) as again:
        assert again.said() == ["blue"]
        assert [one.message_id for one in again.points] == [again.message("blue")]
        again.switch(again.points[0].heads[0])
        assert again.said() == ["one"]


async def test_words_that_nobody_had_read_wait_on_their_branch(tmp_path: Path) -> None:
    rig = Branched(tmp_path, says("1"))
    await rig.turn("one")
    one = rig.message("one")
    agent = rig.agent(rig.agent_id)
    agent.inbox.put(Note(new_note_id(), "later"))
    # Killed after the branch was begun, before its message was read.
    begun = BranchStarted(rig.agent_id, one)
    rig.disk.begin_branch(rig.session_id, one, begun)
    abandon(rig.disk)
    async with session(tmp_path, says("2"), says("3")) as again:
        assert again.said() == []
        assert len(again.agent(again.agent_id).inbox) == 0
        (point,) = again.points
        assert (point.message_id, point.place) == (None, 1)
        again.switch(point.heads[0])
        assert again.said() == ["one"]
        assert [n.text for n in again.agent(again.agent_id).inbox.waiting] == ["later"]


async def test_what_others_told_before_a_branch_is_not_read_a_second_time_on_it(
    tmp_path: Path,
) -> None:
    silent = Waits(asyncio.Event(), is_accepted=False)
    async with session(tmp_path, says("1"), silent, says("3"), says("other 3")) as rig:
        await rig.turn("one")
        told = Note(new_note_id(), "The disk is full.", kind="notice", sender="app")
        rig.agent(rig.agent_id).inbox.put(told)
        rig.send("two")
        await silent.reached.wait()
        rig.engine.stop(rig.agent_id)
        await rig.at_rest()
        await rig.turn("three")
        await rig.branch("three", "four")
        sent = [m.text for m in rig.model.requests[-1].messages if m.role == "user"]
        assert "".join(sent).count("The disk is full.") == 1


async def test_a_report_is_read_on_each_branch_though_the_clock_went_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, right = gate("a done"), time.time
    main = [spawns("a"), says("1"), says("2"), says("so"), says("other 2")]
    model = TreeModel(main, {"a": [held]})
    async with session(tmp_path, model=model, tools=agent_tools()) as rig:
        await rig.turn("one")
        await rig.turn("two")
        monkeypatch.setattr(time, "time", lambda: right() - 3600)
        held.gate.set()
        await rig.once(lambda: rig.messages[-1].text == "so")
        await rig.at_rest()
        await rig.branch("two", "other")
        sent = "".join(m.text for m in model.main_requests[-1].messages)
        assert sent.count("a done") == 1
