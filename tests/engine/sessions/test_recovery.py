"""After a crash: what was shown is there, what ran is marked unknown, nothing goes on by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

from desktop_agent.core.approvals import Deny
from desktop_agent.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    MessageAdded,
    NoteDelivered,
    QuestionAnswered,
    SessionOpened,
    ToolEnded,
    TurnEnded,
)
from desktop_agent.core.messages import open_calls
from tests.engine.rig import Rig
from tests.helpers.scripted import MemoryStore, Waits, calls, says


async def _crashed(tmp_path: Path, *script, wait_for: type) -> tuple[MemoryStore, Rig]:
    """Return a store as it is when the app is killed as soon as an event was seen."""
    rig = Rig(tmp_path, *script)
    rig.send("go")
    await rig.until(wait_for)
    store = rig.store.copy()
    await rig.engine.close()
    return store, rig


async def test_a_running_tool_is_marked_unknown_and_not_run_again(tmp_path: Path) -> None:
    script = calls(("echo", {"what": "a"}), ("slow", {}))
    store, _ = await _crashed(tmp_path, script, wait_for=ToolEnded)
    rig = Rig(tmp_path, says("I checked"), store=store)
    rig.engine.open_session(rig.session_id)
    opened = rig.of(SessionOpened)[0]
    assert opened.info.status == "interrupted"
    outcomes = [e.outcome for e in opened.events if isinstance(e, ToolEnded)]
    assert outcomes == ["ok", "unknown"]
    assert isinstance(opened.events[-1], TurnEnded)
    assert opened.events[-1].reason == "interrupted"
    assert not rig.model.requests
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded)
    sent = rig.model.requests[0].messages
    assert not open_calls(sent)
    assert [r.text[:7] for r in sent[-1].results] == ["echo a", "The app"]
    assert not rig.gates.reached.is_set()


async def test_of_very_many_calls_all_that_ended_keep_their_results_and_what_waits_is_withdrawn(
    tmp_path: Path,
) -> None:
    wanted = [("echo", {"what": str(number)}) for number in range(500)]
    script = calls(("ask", {"what": "Shall I?"}), *wanted, ("slow", {}))
    rig = Rig(tmp_path, script)
    rig.send("go")
    await rig.once(lambda: len(rig.of(ToolEnded)) == len(wanted))
    store = rig.store.copy()
    await rig.engine.close()
    again = Rig(tmp_path, says("I checked"), store=store)
    events = store.events[again.session_id]
    outcomes = [e.outcome for e in events if isinstance(e, ToolEnded)]
    assert outcomes == ["ok"] * len(wanted) + ["unknown"] * 2
    assert [e.by for e in events if isinstance(e, QuestionAnswered)] == ["withdrawn"]
    again.engine.resume(again.agent_id)
    await again.until(TurnEnded)
    results = again.model.requests[0].messages[-1].results
    assert [r.text for r in results[1:-1]] == [f"echo {number}" for number in range(500)]


async def test_an_open_approval_is_closed_as_withdrawn(tmp_path: Path) -> None:
    script = calls(("write", {"what": "x"}))
    store, _ = await _crashed(tmp_path, script, wait_for=ApprovalRequested)
    rig = Rig(tmp_path, store=store)
    events = store.events[rig.session_id]
    resolved = [e for e in events if isinstance(e, ApprovalResolved)]
    assert [r.decision for r in resolved] == [Deny(by="withdrawn")]
    assert rig.gates.ran == []


async def test_a_queued_note_is_still_queued(tmp_path: Path) -> None:
    first = Rig(tmp_path, calls(("slow", {})))
    first.send("go")
    await first.gates.reached.wait()
    note = first.send("use euros")
    store = first.store.copy()
    await first.engine.close()
    rig = Rig(tmp_path, says("ok"), store=store)
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded)
    texts = [m.text for m in rig.model.requests[0].messages]
    assert texts.count("use euros") == 1
    assert [e.note_id for e in rig.of(NoteDelivered)].count(note.id) == 1


async def test_a_taken_note_is_sent_once_and_delivered_under_its_id(tmp_path: Path) -> None:
    waits = Waits(asyncio.Event(), is_accepted=False)
    store, first = await _crashed(tmp_path, waits, wait_for=MessageAdded)
    assert not first.of(NoteDelivered)
    rig = Rig(tmp_path, says("ok"), store=store)
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded)
    assert [m.text for m in rig.model.requests[0].messages] == ["go"]
    assert len(rig.of(NoteDelivered)) == 1


async def test_a_finished_session_is_left_alone(tmp_path: Path) -> None:
    first = Rig(tmp_path, says("hello"))
    await first.run("hi")
    before = len(first.store.events[first.session_id])
    rig = Rig(tmp_path, store=first.store)
    assert rig.listed.sessions[0].status == "idle"
    assert len(first.store.events[first.session_id]) == before
