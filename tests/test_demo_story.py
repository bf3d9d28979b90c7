"""The demo's whole story on the real engine, tools, store and model host, without a window."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from desktop_agent import paths
from desktop_agent.compose import Backend, compose
from desktop_agent.core.approvals import AllowOnce, Decision, Deny
from desktop_agent.core.events import (
    AgentEnded,
    AgentSpawned,
    ApprovalRequested,
    Event,
    ListChanged,
    MessageAdded,
    NoteDelivered,
    NoteTaken,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, SessionId, new_note_id
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.core.notes import Note
from desktop_agent.core.tasks import TaskEdit
from desktop_agent.core.workspace import Workspace
from tests.helpers.patience import HANG_S as SECONDS


class Watcher:
    """Keeps every event; `until` waits for one that has not been waited for yet."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._next = 0
        self._came = asyncio.Event()

    def hear(self, event: Event) -> None:
        self.events.append(event)
        self._came.set()

    async def until(self, kind: type, where: Callable[[Event], bool] = lambda _: True) -> Event:
        async with asyncio.timeout(SECONDS):
            while True:
                while self._next < len(self.events):
                    event = self.events[self._next]
                    self._next += 1
                    if isinstance(event, kind) and where(event):
                        return event
                self._came.clear()
                await self._came.wait()


class Story:
    """One session on the demo model in a copy of the demo folder."""

    def __init__(self, backend: Backend, watcher: Watcher, folder: Path) -> None:
        self.backend = backend
        self.watcher = watcher
        self.folder = folder
        self.agent = AgentId("")

    async def begin(self, text: str) -> None:
        root = Workspace(str(self.folder))
        self.backend.engine.new_session(SessionId("se_1"), root, model="demo", mode="ask")
        opened = await self.watcher.until(SessionOpened)
        assert isinstance(opened, SessionOpened)
        self.agent = opened.info.main_agent
        self.send(text)

    def send(self, text: str) -> Note:
        note = Note(new_note_id(), text)
        self.backend.engine.send(self.agent, note)
        return note

    async def decide(self, decision: Decision) -> ApprovalRequested:
        asked = await self.watcher.until(ApprovalRequested)
        assert isinstance(asked, ApprovalRequested)
        self.backend.engine.decide(asked.request.id, decision)
        return asked

    async def ended(self) -> TurnEnded:
        event = await self.watcher.until(
            TurnEnded, lambda e: isinstance(e, TurnEnded) and e.agent_id == self.agent
        )
        assert isinstance(event, TurnEnded)
        return event

    @property
    def last_words(self) -> str:
        said = [e.message for e in self.watcher.events if isinstance(e, MessageAdded)]
        return [message.text for message in said if message.role == "assistant" and message.text][
            -1
        ]

    @property
    def overview(self) -> str:
        return (self.folder / "OVERVIEW.md").read_text()


@pytest.fixture
async def story(tmp_path: Path, forked_hosts: None) -> AsyncIterator[Story]:
    folder = tmp_path / "garden"
    shutil.copytree(paths.resource("demo"), folder)
    watcher = Watcher()
    home = tmp_path / "home"
    backend = await compose(watcher.hear, data_dir=home, config_dir=home, is_warmed=False)
    yield Story(backend, watcher, folder)
    await backend.close()


async def test_a_newcomer_allows_the_overview_and_gets_it(story: Story) -> None:
    await story.begin("Look around")
    asked = await story.decide(AllowOnce())
    assert isinstance(asked.request.display, DiffDisplay)
    assert asked.request.display.is_new
    assert "+# Overview of this folder" in asked.request.display.patch
    ended = await story.ended()
    assert (ended.reason, ended.fault) == ("finished", None)
    assert "7 files in 3 folders." in story.overview
    assert "3 lines" not in story.overview
    assert "`notes/meeting.md`, line 12" in story.overview
    assert "`OVERVIEW.md` has" in story.last_words


async def test_a_newcomer_refuses_and_nothing_is_written(story: Story) -> None:
    await story.begin("Look around")
    await story.decide(Deny())
    assert (await story.ended()).reason == "finished"
    assert "You said no, and that is fine" in story.last_words
    assert not (story.folder / "OVERVIEW.md").exists()


async def test_words_with_a_refusal_are_heeded(story: Story) -> None:
    await story.begin("Look around")
    await story.decide(Deny("much shorter, please"))
    await story.decide(AllowOnce())
    await story.ended()
    assert "## What I read" not in story.overview


async def test_a_note_sent_while_it_works_is_delivered_once_and_acted_on(story: Story) -> None:
    await story.begin("Look around")
    await story.watcher.until(ToolStarted)
    note = story.send("Please include next-year, I mean plan-next-year.md")
    await story.watcher.until(
        NoteTaken, lambda e: isinstance(e, NoteTaken) and e.note_id == note.id
    )
    await story.decide(AllowOnce())
    await story.ended()
    assert "### `notes/plan-next-year.md`" in story.overview
    delivered = [e for e in story.watcher.events if isinstance(e, NoteDelivered)]
    assert [e.note_id for e in delivered].count(note.id) == 1


async def test_a_note_sent_during_the_approval_changes_the_file(story: Story) -> None:
    await story.begin("Look around")
    asked = await story.watcher.until(ApprovalRequested)
    assert isinstance(asked, ApprovalRequested)
    story.send("keep it short")
    story.backend.engine.decide(asked.request.id, AllowOnce())
    await story.decide(AllowOnce())
    await story.ended()
    assert "## What I read" not in story.overview


async def test_a_survey_that_was_stopped_continues(story: Story) -> None:
    await story.begin("Look around")
    await story.watcher.until(ToolStarted)
    story.backend.engine.stop(story.agent)
    assert (await story.ended()).reason == "cancelled"
    story.backend.engine.resume(story.agent)
    await story.decide(AllowOnce())
    await story.ended()
    assert "7 files in 3 folders." in story.overview


async def test_every_ability_it_names_really_works(story: Story) -> None:
    await story.begin("list files")
    await story.ended()
    assert "notes/meeting.md" in story.last_words
    for order, answer in {
        "read harvest.csv": "2026-06-14,2,beans,1.2",
        "search for aniseed": "seeds.txt:8:",
        "write me a poem": "a script, not an AI",
    }.items():
        story.send(order)
        await story.ended()
        assert answer in story.last_words
    story.send("run python3 -m unittest discover tools")
    await story.decide(AllowOnce())
    await story.ended()
    assert "Ran 3 tests" in story.last_words
    story.send("ask me something")
    asked = await story.watcher.until(QuestionAsked)
    assert isinstance(asked, QuestionAsked)
    assert asked.question.options
    story.backend.engine.answer(asked.question.id, "look around")
    await story.ended()
    assert "> look around" in story.last_words


async def test_tasks_block_unblock_and_subagents_report_into_the_overview(story: Story) -> None:
    await story.begin("Look around")
    await story.decide(AllowOnce())
    assert (await story.ended()).reason == "finished"
    lists = [e.tasks for e in story.watcher.events if isinstance(e, ListChanged)]
    last = [task.subject for task in max(lists, key=len)][-1]
    seen = [next((t for t in tasks if t.subject == last), None) for tasks in lists]
    blocked = [bool(task.open_blockers) for task in seen if task is not None]
    assert blocked.index(True) < len(blocked) - 1 - blocked[::-1].index(False)
    ends = [e for e in story.watcher.events if isinstance(e, AgentEnded)]
    assert [e.status for e in ends] == ["completed", "completed"]
    assert "## What my subagents found" in story.overview
    answered = [e for e in story.watcher.events if isinstance(e, QuestionAnswered)]
    assert [e.by for e in answered] == [story.agent]


async def test_a_task_that_the_person_skips_is_not_done(story: Story) -> None:
    await story.begin("Look around")
    linked = await story.watcher.until(
        ListChanged,
        lambda e: isinstance(e, ListChanged) and any(t.open_blockers for t in e.tasks[-1:]),
    )
    assert isinstance(linked, ListChanged)
    write = linked.tasks[-1].id
    story.backend.engine.edit_tasks(story.agent, TaskEdit("skip", write))
    story.backend.engine.edit_tasks(story.agent, TaskEdit("add", text="Find the lavender"))
    assert (await story.ended()).reason == "finished"
    assert not (story.folder / "OVERVIEW.md").exists()
    said = [e.message.text for e in story.watcher.events if isinstance(e, MessageAdded)]
    assert any("searched for `lavender`" in text for text in said)


async def test_the_demo_loads_the_skill_that_fits_the_folder_and_says_that_it_is_a_script(
    story: Story,
) -> None:
    await story.begin("Look around")
    await story.decide(AllowOnce())
    await story.ended()
    begun = [e.call for e in story.watcher.events if isinstance(e, ToolStarted)]
    loaded = [call for call in begun if call.name == "skill"]
    assert [call.arguments for call in loaded] == [{"name": "spreadsheet"}]
    said = [e.message for e in story.watcher.events if isinstance(e, MessageAdded)]
    told = "\n".join(message.text for message in said if message.role == "assistant")
    assert "I was given the text of the skill `spreadsheet`" in told
    assert told.count("I'm a script and don't follow skills") >= 1
    assert "<skill" not in told + story.overview


async def test_a_skill_that_is_picked_is_owned_up_to_and_its_text_is_no_wish(story: Story) -> None:
    root = Workspace(str(story.folder))
    story.backend.engine.new_session(SessionId("se_1"), root, model="demo", mode="ask")
    opened = await story.watcher.until(SessionOpened)
    assert isinstance(opened, SessionOpened)
    story.agent = opened.info.main_agent
    note = Note(new_note_id(), "Look around", skills=("pdf",))
    story.backend.engine.send(story.agent, note)
    await story.decide(AllowOnce())
    await story.ended()
    said = [e.message for e in story.watcher.events if isinstance(e, MessageAdded)]
    told = "\n".join(message.text for message in said if message.role == "assistant")
    assert "I was given the text of the skill `pdf`, which begins with `PDF files`" in told
    assert "6 skills are offered to me, too." in told
    assert "<skill" not in told + story.overview
    assert "I can't find" not in told


async def spawned(story: Story, name: str) -> AgentId:
    event = await story.watcher.until(
        AgentSpawned, lambda e: isinstance(e, AgentSpawned) and e.spec.name == name
    )
    assert isinstance(event, AgentSpawned)
    return event.agent_id


async def test_the_person_can_answer_the_subagent_and_then_nobody_else_does(
    story: Story,
) -> None:
    await story.begin("Look around")
    asked = await story.watcher.until(QuestionAsked)
    assert isinstance(asked, QuestionAsked)
    story.backend.engine.answer(asked.question.id, "seeds.txt")
    await story.decide(AllowOnce())
    await story.ended()
    answered = [e for e in story.watcher.events if isinstance(e, QuestionAnswered)]
    assert [e.by for e in answered] == ["user"]
    calls = [e.call for e in story.watcher.events if isinstance(e, ToolStarted)]
    assert "answer_child" not in [call.name for call in calls]
    notes = story.overview.split("\nRead the notes:")[1]
    assert notes.index("seeds.txt") < notes.index("README.md")


async def test_a_paused_subagent_is_waited_for_and_its_result_reaches_the_overview(
    story: Story,
) -> None:
    await story.begin("Look around")
    child = await spawned(story, "Count the files")
    story.backend.engine.pause(child)
    # All that the other one is to do is done; only the paused one is left.
    await story.watcher.until(AgentEnded)
    story.backend.engine.resume(child)
    await story.decide(AllowOnce())
    await story.ended()
    assert "\nCount the files:\n\n```text\n7 files: " in story.overview


async def test_a_subagent_that_was_stopped_is_named_before_the_overview_is_allowed(
    story: Story,
) -> None:
    await story.begin("Look around")
    story.backend.engine.stop(await spawned(story, "Count the files"))
    await story.decide(AllowOnce())
    said = [e.message.text for e in story.watcher.events if isinstance(e, MessageAdded)]
    assert any("“Count the files”: There is no result: it was stopped." in text for text in said)
    await story.ended()
    assert "There is no result: it was stopped." in story.overview


async def test_an_empty_folder_leaves_no_task_open(story: Story) -> None:
    shutil.rmtree(story.folder)
    story.folder.mkdir()
    await story.begin("Look around")
    await story.decide(AllowOnce())
    await story.ended()
    lists = [e.tasks for e in story.watcher.events if isinstance(e, ListChanged)]
    assert [task.subject for task in lists[-1] if task.status != "completed"] == []
    said = [e.message.text for e in story.watcher.events if isinstance(e, MessageAdded)]
    assert any("nobody was started for “Count the files”" in text for text in said)
