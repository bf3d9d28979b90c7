"""One write is refused: what is told is true, nobody waits for ever, and it can go on."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.approvals import AllowAlways, AllowOnce, Rule
from desktop_agent.core.events import (
    AgentEnded,
    ApprovalRequested,
    ApprovalResolved,
    CommandRefused,
    EngineFailed,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    PartDelta,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    SessionsChanged,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.messages import TextPart, open_calls
from desktop_agent.core.parts.origins import Report
from desktop_agent.core.tasks import TaskEdit
from tests.e2e.write_trial import DATABASE, KINDS, Disk
from tests.engine.rig import Rig
from tests.engine.tree.tree_rig import WAIT, TreeRig, spawns
from tests.helpers.engines import agent_of
from tests.helpers.scripted import Waits, calls, says
from tests.helpers.stores import connection_of

FULL = "The disk is full, so nothing more can be saved. Free some space, then go on."


class PickyDisk(Disk):
    """Refuses the next write that has what `refuse` names, or every one until it is freed."""

    def __init__(self) -> None:
        super().__init__(1)
        self.has_refused = asyncio.Event()
        self._is_wanted: Callable[[str, object], bool] = lambda _sql, _values: False
        self._has_come = self._is_for_good = False

    def refuse(self, kind: str, role: str = "", *, for_good: bool = False) -> None:
        """Refuse the next transaction that holds such an event."""

        def is_wanted(sql: str, values: object) -> bool:
            is_event = sql.startswith("INSERT INTO event") and isinstance(values, tuple)
            if not is_event or values[3] != kind:  # type: ignore[index]
                return False
            return f'"role":"{role}"'.encode() in values[4] if role else True  # type: ignore[index]

        self._is_wanted, self._is_for_good = is_wanted, for_good

    def refuse_all(self) -> None:
        """Refuse every write from here on."""
        self._is_wanted, self._is_for_good = lambda _sql, _values: True, True

    def free(self) -> None:
        """Take everything again."""
        self._is_wanted, self._has_come = lambda _sql, _values: False, False

    def look(self, statement: str, values: object = ()) -> None:
        self._has_come |= self._is_wanted(statement, values)
        if statement == "COMMIT" and self._has_come:
            self._has_come = self._is_for_good
            if not self._is_for_good:
                self.free()
            self.has_refused.set()
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error


@pytest.fixture
def disk() -> PickyDisk:
    return PickyDisk()


@pytest.fixture
def opened(tmp_path: Path, disk: PickyDisk) -> Iterator[Callable[[], SqliteStore]]:
    """Open the sessions on the disk, as often as wanted."""
    stores: list[SqliteStore] = []

    def open_() -> SqliteStore:
        for store in stores:
            store.close()
        with disk.connections():
            stores.append(SqliteStore(tmp_path / DATABASE))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


Opened = Callable[[], SqliteStore]
Begin = Callable[..., Any]


@pytest.fixture
def begin(tmp_path: Path, opened: Opened) -> Begin:
    """Start the app on the disk, with these answers of its models."""

    def begin_one(*script: Any, children: dict[str, list[Any]] | None = None) -> Rig:
        folder, store = tmp_path / "folder", opened()
        if children is None:
            return Rig(folder, *script, store=store)  # type: ignore[arg-type]
        return TreeRig(folder, list(script), children, store=store)

    return begin_one


async def main_turn_ended(rig: TreeRig) -> None:
    """Wait until the main agent has finished, and read all that its subagents said."""

    def is_over() -> bool:
        agent = agent_of(rig.engine, rig.agent_id)
        ended = [e.reason for e in rig.of(TurnEnded) if e.agent_id == rig.agent_id]
        return ended[-1:] == ["finished"] and not agent.is_running and not len(agent.inbox)

    await rig.once(is_over)


async def test_a_note_is_not_taken_when_its_message_is_refused(
    disk: PickyDisk, begin: Begin
) -> None:
    rig = begin(says("ok"))
    disk.refuse("MessageAdded", "user")
    ended = await rig.run("use euros")
    assert ended.fault is not None
    assert (ended.fault.kind, ended.fault.message) == ("storage", FULL)
    assert not rig.of(NoteTaken)
    assert not rig.model.requests
    await rig.at_rest()
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded, 2)
    assert [m.text for m in rig.model.requests[0].messages] == ["use euros"]
    assert len(rig.of(NoteDelivered)) == 1
    assert not rig.of(EngineFailed)
    await rig.engine.close()


@pytest.mark.parametrize(
    "kind", ["StepEnded", "ToolStarted", "ToolEnded", "TurnStarted", "NoteDelivered", "TurnEnded"]
)
async def test_whatever_is_refused_no_call_stays_without_its_result(
    disk: PickyDisk, opened: Opened, begin: Begin, kind: str
) -> None:
    script = [calls(("echo", {"what": "a"}), ("echo", {"what": "b"}))] * 2
    rig = begin(*script, *[says("done")] * 3)
    disk.refuse(kind)
    ended = await rig.run("go")
    await rig.at_rest()
    if ended.fault is not None:
        rig.engine.resume(rig.agent_id)
        await rig.until(TurnEnded, 2)
        await rig.at_rest()
    await rig.run("and then?")
    for request in rig.model.requests:
        assert not open_calls(request.messages)
    assert rig.of(TurnEnded)[-1].reason == "finished"
    await rig.engine.close()
    store = opened()
    (record,) = store.load_agents(rig.session_id)
    assert not open_calls(record.history)
    told = [m.id for m in rig.messages]
    assert [m.id for m in record.history] == told


async def test_a_result_that_was_refused_once_reaches_the_model_after_all(
    disk: PickyDisk, begin: Begin
) -> None:
    script = [calls(("echo", {"what": "a"})), says("done")]
    rig = begin(*script)
    disk.refuse("ToolEnded")
    await rig.run("go")
    assert [e.outcome for e in rig.of(ToolEnded)] == ["ok"]
    assert [result.text for result in rig.results] == ["echo a"]
    await rig.engine.close()


async def test_a_result_that_can_not_be_saved_is_told_as_unknown(
    disk: PickyDisk, begin: Begin
) -> None:
    rig = begin(calls(("echo", {"what": "a"})))
    disk.refuse("ToolEnded", for_good=True)
    ended = await rig.run("go")
    assert ended.fault is not None
    assert [e.outcome for e in rig.of(ToolEnded)] == ["unknown"]
    assert "Check what was done" in rig.results[0].text
    disk.free()
    await rig.engine.close()


async def test_a_parent_hears_of_its_subagents_end_on_a_disk_that_refuses_it(
    disk: PickyDisk, opened: Opened, begin: Begin
) -> None:
    main = [spawns("a"), WAIT, says("I heard.")]
    rig = begin(*main, children={"a": [says("a is done")]})
    disk.refuse("AgentEnded")
    rig.send("go")
    await main_turn_ended(rig)
    child = rig.of(AgentEnded)[0]
    assert (child.status, child.text) == ("completed", "a is done")
    assert any("a is done" in m.text for m in rig.model.main_requests[-1].messages)
    await rig.engine.close()
    record = next(r for r in opened().load_agents(rig.session_id) if r.spec is not None)
    assert record.end == child


async def test_a_subagent_that_can_not_begin_is_heard_of_as_failed(
    disk: PickyDisk, begin: Begin
) -> None:
    main = [spawns("a"), WAIT, says("I heard.")]
    rig = begin(*main, children={"a": [says("a is done")]})
    rig.send("go")
    await rig.child()
    disk.refuse("TurnStarted")
    await rig.until(AgentEnded)
    assert rig.of(AgentEnded)[0].status == "failed"
    await main_turn_ended(rig)
    parts = [part for m in rig.model.main_requests[-1].messages for part in m.parts]
    texts = [part for part in parts if isinstance(part, TextPart)]
    reports = [(one.text, one.origin.status) for one in texts if isinstance(one.origin, Report)]
    assert reports == [(FULL, "failed")]
    await rig.engine.close()


async def test_a_subagent_is_there_with_its_prompt_or_not_at_all(
    disk: PickyDisk, begin: Begin
) -> None:
    main = [spawns("a"), says("It could not be started.")]
    rig = begin(*main, children={"a": []})
    disk.refuse("AgentSpawned")
    ended = await rig.run("go")
    assert ended.reason == "finished"
    assert FULL in rig.results[0].text
    assert len(rig.tree.of_session(rig.session_id)) == 1
    await rig.engine.close()


async def test_a_decision_that_can_not_be_saved_is_not_acted_on_and_can_be_made_again(
    disk: PickyDisk, begin: Begin
) -> None:
    script = [calls(("write", {"what": "x"})), says("done")]
    rig = begin(*script)
    rig.send("go")
    asked = (await rig.until(ApprovalRequested)).request
    disk.refuse("ApprovalResolved")
    rig.engine.decide(asked.id, AllowOnce())
    failed = await rig.until(CommandRefused)
    assert failed.command == "decide"
    assert failed.message == f"Your decision was not saved, so nothing was done. {FULL}"
    assert rig.gates.ran == []
    rig.engine.decide(asked.id, AllowOnce())
    await rig.until(TurnEnded)
    assert rig.gates.ran == ["x"]
    assert [e.decision for e in rig.of(ApprovalResolved)] == [AllowOnce()]
    await rig.engine.close()


async def test_a_rule_that_can_not_be_saved_allows_nothing(disk: PickyDisk, begin: Begin) -> None:
    script = [calls(("write", {"what": "x"})), says("done")]
    rig = begin(*script)
    rig.send("go")
    asked = (await rig.until(ApprovalRequested)).request
    disk.refuse_all()
    rig.engine.decide(asked.id, AllowAlways(Rule("write", "", scope="everywhere")))
    assert await rig.engine.rules() == ()
    assert rig.gates.ran == []
    disk.free()
    rig.engine.decide(asked.id, AllowOnce())
    await rig.until(TurnEnded)
    await rig.engine.close()


async def test_a_decision_that_can_not_be_saved_leaves_no_rule_behind(
    disk: PickyDisk, begin: Begin
) -> None:
    kept = Rule("write", "", scope="session", where="se_elsewhere")
    rig = begin(calls(("write", {"what": "x"})), calls(("write", {"what": "y"})), says("done"))
    rig.engine.add_rule(kept)
    rig.send("go")
    asked = (await rig.until(ApprovalRequested)).request
    disk.refuse("ApprovalResolved")
    rig.engine.decide(asked.id, AllowAlways(Rule("write", "", scope="everywhere")))
    assert "nothing was done" in (await rig.until(CommandRefused)).message
    assert [rule.scope for rule in await rig.engine.rules()] == ["session"]
    rig.engine.decide(asked.id, AllowOnce())
    again = await rig.until(ApprovalRequested, 2)
    assert rig.gates.ran == ["x"]
    rig.engine.decide(again.request.id, AllowOnce())
    await rig.until(TurnEnded)
    await rig.engine.close()


async def test_an_edit_of_the_list_is_made_and_told_to_the_agent_or_refused(
    disk: PickyDisk, begin: Begin
) -> None:
    rig = begin(says("done"), children={})
    for refused in ("ListChanged", "NoteQueued"):
        disk.refuse(refused)
        rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text=refused))
        has_failed = bool(rig.of(CommandRefused))
        disk.free()
        subjects = [task.subject for task in rig.agent(rig.agent_id).tasks.tasks]
        told = rig.notes_to(rig.agent_id, "task_edit")
        assert has_failed == (refused not in subjects) == (refused not in " ".join(told))
        rig.events = [event for event in rig.events if not isinstance(event, CommandRefused)]
    await rig.engine.close()


async def test_a_rule_of_the_settings_that_can_not_be_saved_is_refused_in_words(
    disk: PickyDisk, begin: Begin
) -> None:
    rig = begin()
    disk.refuse_all()
    rig.engine.add_rule(Rule("write", "", scope="everywhere", is_deny=True))
    assert rig.of(CommandRefused)[-1].message == f"The rule was not saved. {FULL}"
    assert await rig.engine.rules() == ()
    disk.free()
    rig.engine.add_rule(Rule("write", "", scope="everywhere", is_deny=True))
    assert [rule.is_deny for rule in await rig.engine.rules()] == [True]
    await rig.engine.close()


async def test_an_answer_that_can_not_be_saved_leaves_the_question_open(
    disk: PickyDisk, begin: Begin
) -> None:
    script = [calls(("ask", {"what": "Which currency?"})), says("done")]
    rig = begin(*script)
    rig.send("go")
    asked = (await rig.until(QuestionAsked)).question
    disk.refuse("QuestionAnswered")
    rig.engine.answer(asked.id, "euros")
    assert (await rig.until(CommandRefused)).command == "answer"
    assert not rig.of(QuestionAnswered)
    rig.engine.answer(asked.id, "euros")
    await rig.until(TurnEnded)
    assert rig.results[0].text == "euros"
    await rig.engine.close()


async def test_a_note_to_a_subagent_is_queued_for_it_and_told_to_its_parent_or_neither(
    disk: PickyDisk, begin: Begin
) -> None:
    main = [spawns("a"), WAIT, says("I heard.")]
    script = [calls(("slow", {})), says("a is done")]
    rig = begin(*main, children={"a": script})
    rig.send("go")
    child = await rig.child()
    await rig.gates.reached.wait()
    queued = len(rig.of(NoteQueued))
    disk.refuse("NoteQueued")
    note = rig.send_to(child, "use euros")
    failed = rig.of(CommandRefused)[-1]
    assert (failed.command, failed.agent_id, failed.about) == ("send", child, note.id)
    assert failed.message == f"Your message was not sent. {FULL}"
    assert len(rig.of(NoteQueued)) == queued
    rig.gates.open.set()
    await rig.until(TurnEnded, 2)
    await rig.engine.close()


@pytest.mark.parametrize("is_freed", [False, True])
async def test_the_app_starts_on_a_full_disk_after_an_interruption(
    disk: PickyDisk, opened: Opened, begin: Begin, is_freed: bool
) -> None:
    first = begin(calls(("slow", {})))
    first.send("go")
    await first.gates.reached.wait()
    note = first.send("use euros")
    disk.refuse_all()
    await first.engine.close()  # the end of it is not on disk either
    rig = begin(says("ok"))
    rig.engine.open_session(rig.session_id)
    shown = rig.of(SessionOpened)[-1]
    assert shown.info.status == "interrupted"
    assert [e.outcome for e in shown.events if isinstance(e, ToolEnded)] == ["unknown"]
    assert note.id in [e.note.id for e in shown.events if isinstance(e, NoteQueued)]
    assert [e.reason for e in shown.events if isinstance(e, TurnEnded)] == ["interrupted"]
    if not is_freed:
        rig.engine.resume(rig.agent_id)
        ended = await rig.until(TurnEnded)
        assert ended.fault is not None
        assert ended.fault.message == FULL
        await rig.at_rest()
    disk.free()
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded, 1 if is_freed else 2)
    sent = rig.model.requests[0].messages
    assert not open_calls(sent)
    assert [m.text for m in sent].count("use euros") == 1
    await rig.engine.close()
    (record,) = opened().load_agents(rig.session_id)
    assert record.history[: len(sent)] == sent


async def test_a_reply_that_was_cut_off_is_not_called_finished_on_a_full_disk(
    tmp_path: Path, disk: PickyDisk, opened: Opened
) -> None:
    store, gate = opened(), asyncio.Event()
    first = Rig(tmp_path / "folder", says("hello"), Waits(gate, "So far "), store=store)  # type: ignore[arg-type]
    await first.run("hi")
    first.send("go")
    await first.once(lambda: any(e.text == "So far " for e in first.of(PartDelta)))
    store.flush_pending()
    left = tmp_path / "left"
    left.mkdir()
    for file in tmp_path.glob(f"{DATABASE}*"):
        shutil.copy(file, left)
    await first.engine.close()
    disk.refuse_all()
    with disk.connections(), closing(SqliteStore(left / DATABASE)) as killed:
        rig = Rig(tmp_path / "folder", says("and on"), store=killed)  # type: ignore[arg-type]
        rig.engine.open_session(rig.session_id)
        shown = rig.of(SessionOpened)[-1]
        assert shown.info.status == "interrupted"
        assert [e.text for e in shown.events if isinstance(e, PartDelta)] == ["So far "]
        disk.free()
        rig.engine.resume(rig.agent_id)
        await rig.until(TurnEnded)
        assert [m.text for m in rig.model.requests[0].messages][2:4] == ["go", "So far "]
        await rig.engine.close()


async def test_a_lasting_refusal_is_told_once_and_prints_no_traceback(
    disk: PickyDisk,
    begin: Begin,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("desktop_agent.engine.sessions.registry._RETRY_S", 0.0)
    rig = begin(says("ok"))
    disk.refuse("MessageAdded", "assistant", for_good=True)
    ended = await rig.run("go")
    disk.refuse_all()
    assert ended.fault is not None
    await rig.at_rest()
    rig.engine.mark_read(rig.session_id)
    for _ in range(3):
        disk.has_refused.clear()
        await disk.has_refused.wait()
    assert not rig.of(EngineFailed)  # the card says it
    await rig.engine.close()
    assert [e.message for e in rig.of(EngineFailed)] == [
        f"The last of your work is not saved yet. {FULL}"
    ]
    assert not [record for record in caplog.records if record.exc_info]
    assert caplog.records == [] or max(r.levelno for r in caplog.records) < logging.ERROR
    disk.free()


async def test_a_title_and_a_deletion_that_are_refused_change_nothing(
    disk: PickyDisk, begin: Begin
) -> None:
    rig = begin(says("ok"))
    await rig.run("go")
    await rig.at_rest()
    disk.refuse_all()
    before = len(rig.of(SessionsChanged))
    rig.engine.rename_session(rig.session_id, "Prices")
    assert rig.of(CommandRefused)[-1].message == f"The title was not changed. {FULL}"
    await rig.until(SessionsChanged, before + 1)
    assert rig.listed.sessions[0].title == "go"
    rig.engine.delete_session(rig.session_id)
    await rig.once(lambda: "was not deleted" in rig.of(CommandRefused)[-1].message)
    await rig.once(lambda: bool(rig.listed.sessions))
    assert [info.title for info in rig.listed.sessions] == ["go"]
    disk.free()
    await rig.engine.close()


async def test_a_really_full_database_ends_the_turn_in_words_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    with closing(SqliteStore(tmp_path / DATABASE)) as store:
        rig = Rig(tmp_path / "folder", says("x" * 100_000), says("ok"), says("ok"), store=store)  # type: ignore[arg-type]
        pages = connection_of(store).execute("PRAGMA page_count").fetchone()[0]
        connection_of(store).execute(f"PRAGMA max_page_count = {pages + 8}")
        ended = await rig.run("go")
        assert ended.fault is not None
        assert ended.fault.message == FULL
        await rig.at_rest()
        connection_of(store).execute("PRAGMA max_page_count = 100000")
        rig.engine.resume(rig.agent_id)
        assert (await rig.until(TurnEnded, 2)).reason == "finished"
        await rig.at_rest()
        await rig.engine.close()
        (record,) = store.load_agents(rig.session_id)
    assert [m.id for m in record.history] == [m.id for m in rig.messages]
    assert record.history[1].text == "x" * 100_000
    assert len(rig.of(TurnStarted)) == 2
    assert [e.is_partial for e in rig.of(MessageAdded)] == [False, True, False, False]


def test_the_words_of_each_refusal_say_what_to_do(tmp_path: Path) -> None:
    said = set[str]()
    for kind in KINDS:
        disk = Disk(1, kind)
        with disk.connections(), closing(SqliteStore(tmp_path / f"{kind}.db")) as store:
            disk.is_armed = True
            with pytest.raises(Exception, match=r"\.$") as refused:
                store.save_rules([])
            said.add(str(refused.value))
    assert len(said) == len(KINDS)
    assert all(any(verb in words for verb in ("Free", "Check")) for words in said)
