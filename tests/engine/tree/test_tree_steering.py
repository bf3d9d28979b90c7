"""What agents and the person say to each other in a tree: each outcome to the letter."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.agents import Budget
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import (
    AgentEnded,
    AgentSpawned,
    ApprovalRequested,
    CommandRefused,
    EngineFailed,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    QuestionAnswered,
    QuestionAsked,
    SessionsChanged,
    ToolEnded,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import SessionId
from desktop_agent.core.notes import Note
from desktop_agent.core.settings import Settings
from desktop_agent.core.tasks import TaskEdit
from desktop_agent.core.tool import Access, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.base.ports import StoreError
from tests.engine.rig import tool
from tests.engine.tree.tree_rig import WAIT, TreeRig, gate, spawns
from tests.helpers.engines import info_of, steering_of
from tests.helpers.prose import prose
from tests.helpers.scripted import Breaks, calls, says


class StubbornRig(TreeRig):
    """Has a tool that takes its time to be cancelled: until `may_go`."""

    def _tools(self):
        self.may_go, self.holds = asyncio.Event(), asyncio.Event()

        async def stubborn(_: Mapping[str, Any], __: ToolContext) -> ToolOutput:
            self.holds.set()
            try:
                await asyncio.Event().wait()
            finally:
                await self.may_go.wait()
            return ToolOutput("never")

        return [*super()._tools(), tool("stubborn", stubborn, access=Access.READ)]


def to_child(rig: TreeRig, name: str, number: int = 0, **arguments: Any):
    """Return a step that calls a tool with the id of the n-th subagent."""

    def step(_):
        agent_id = rig.of(AgentSpawned)[number].agent_id
        return calls((name, {"agent_id": agent_id, **arguments}))

    return step


async def told(rig: TreeRig, count: int) -> str:
    """Wait for the main agent's n-th tool result."""
    await rig.once(lambda: len(rig.tool_texts(rig.agent_id)) >= count)
    return rig.tool_texts(rig.agent_id)[count - 1]


# -- S5, S6: too late ----------------------------------------------------------------------


async def test_s5_a_stopping_child_is_not_steered(tmp_path: Path) -> None:
    rig = StubbornRig(tmp_path, [], {"a": [calls(("stubborn", {}))]})
    rig.model.script = [
        spawns("a"),
        calls(("slow", {})),
        to_child(rig, "steer", note="use euros"),
        gate(),
    ]
    rig.send("go")
    child = await rig.child()
    await rig.holds.wait()
    rig.engine.stop(child)
    await rig.status(child, "stopping")
    rig.gates.open.set()
    assert await told(rig, 3) == f"Cannot steer {child} — it is stopping."
    assert rig.notes_to(child, "steer") == []
    rig.may_go.set()
    assert (await rig.ended(child)).status == "stopped"
    await rig.engine.close()


async def test_s5_a_child_that_failed_while_its_own_child_still_ends_is_not_woken(
    tmp_path: Path,
) -> None:
    """It ends with the last of its own; until then no note and no wish brings it back."""
    scripts = {
        "a": [spawns("b"), calls(("slow", {})), Breaks(Fault("auth", "no key"))],
        "b": [calls(("stubborn", {}))],
    }
    rig = StubbornRig(tmp_path, [], scripts)
    rig.model.script = [spawns("a"), WAIT, to_child(rig, "steer", note="x"), gate(), gate()]
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    await rig.holds.wait()
    rig.gates.open.set()
    await rig.status(outer, "stopping")
    note = rig.send_to(outer, "too late")
    rig.engine.resume(outer)
    rig.engine.finish(outer)
    assert [(e.note_id, e.why) for e in rig.of(NoteReturned)] == [(note.id, "stopped")]
    rig.send("wake up")
    assert await told(rig, 3) == f"Cannot steer {outer} — it is stopping."
    assert not rig.tree.find(outer).is_running
    rig.may_go.set()
    assert (await rig.ended(inner)).status == "stopped"
    assert (await rig.ended(outer)).status == "failed"
    assert [e.agent_id for e in rig.of(AgentEnded)] == [inner, outer]
    await rig.engine.close()


async def test_more_budget_does_not_wake_a_child_that_was_stopped_while_its_own_still_ends(
    tmp_path: Path,
) -> None:
    scripts = {
        "a": [spawns("b"), calls(("echo", {})), says("no")],
        "b": [calls(("stubborn", {}))],
    }
    limited = Settings(subagent_budget=Budget(steps=3))
    rig = StubbornRig(tmp_path, [spawns("a"), gate()], scripts, settings=limited)
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    await rig.holds.wait()
    rig.engine.set_budget(inner, Budget(steps=1))  # it holds nothing of its parent's then
    await rig.status(outer, "paused")
    rig.engine.stop(outer)
    await rig.once(lambda: any(e.agent_id == outer for e in rig.of(TurnEnded)))
    await rig.once(lambda: not rig.agent(outer).is_running)
    rig.engine.set_budget(outer, Budget(steps=50))
    assert not rig.agent(outer).is_running
    assert rig.info(outer).status == "stopping"
    rig.may_go.set()
    assert (await rig.ended(inner)).status == "stopped"
    assert (await rig.ended(outer)).status == "stopped"
    await rig.engine.close()


async def test_a_note_of_the_persons_to_a_stopping_child_comes_back_and_wakes_nobody(
    tmp_path: Path,
) -> None:
    rig = StubbornRig(tmp_path, [spawns("a"), gate()], {"a": [calls(("stubborn", {}))]})
    rig.send("go")
    child = await rig.child()
    await rig.holds.wait()
    rig.engine.stop(child)
    note = rig.send_to(child, "use euros")
    assert [(e.note_id, e.why) for e in rig.of(NoteReturned)] == [(note.id, "stopped")]
    rig.may_go.set()
    assert (await rig.ended(child)).status == "stopped"
    assert len(rig.model.requests_of("a")) == 1
    await rig.engine.close()


async def test_stop_and_send_cuts_the_childs_step_and_goes_on_with_the_note(
    tmp_path: Path,
) -> None:
    held = gate()
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [held, says("in euros")]})
    rig.send("go")
    child = await rig.child()
    await held.reached.wait()
    rig.engine.stop_and_send(child, Note("no_1", "use euros"))  # type: ignore[arg-type]
    ended = await rig.ended(child)
    assert (ended.status, ended.text) == ("completed", "in euros")


async def test_a_stop_beats_the_note_that_would_have_gone_on(tmp_path: Path) -> None:
    rig = StubbornRig(tmp_path, [spawns("a"), gate()], {"a": [calls(("stubborn", {}))]})
    rig.send("go")
    child = await rig.child()
    await rig.holds.wait()
    rig.engine.stop_and_send(child, Note("no_1", "use euros"))  # type: ignore[arg-type]
    rig.engine.stop(child)
    rig.may_go.set()
    assert (await rig.ended(child)).status == "stopped"
    assert [(e.note_id, e.why) for e in rig.of(NoteReturned)] == [("no_1", "stopped")]
    await rig.engine.close()


async def test_s6_an_inbox_that_closed_between_the_checks_is_as_if_unknown(tmp_path: Path) -> None:
    held = gate()
    rig = TreeRig(tmp_path, [], {"a": [held]})

    def steer(_):
        child = rig.tree.find(rig.of(AgentSpawned)[0].agent_id)
        assert child is not None
        child.inbox.give_back("finished")
        return calls(("steer", {"agent_id": child.id, "note": "use euros"}))

    rig.model.script = [spawns("a"), steer, gate()]
    rig.send("go")
    child = await rig.child()
    assert await told(rig, 2) == f"Cannot steer {child} — no such running subagent."
    await rig.engine.close()


async def test_s4_a_child_of_another_session_is_unknown(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [gate()]})
    rig.send("go")
    child = await rig.child()
    rig.engine.new_session(SessionId("se_other"), rig.workspace, model="m")
    other = rig.agent(rig.store.infos[SessionId("se_other")].main_agent)
    with pytest.raises(ToolError, match=f"^Cannot steer {child} — no such running subagent.$"):
        steering_of(rig.engine).steer(other, child, "use euros")
    await rig.engine.close()


async def test_n1_a_note_that_could_not_be_written_is_in_nobodys_inbox(tmp_path: Path) -> None:
    held = gate()
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [held]})
    rig.send("go")
    child = await rig.child()
    await held.reached.wait()

    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    record, rig.store.record = rig.store.record, full  # type: ignore[method-assign]
    note = rig.send_to(child, "use euros")
    rig.store.record = record  # type: ignore[method-assign]
    assert not [e for e in rig.of(NoteQueued) if e.note.id == note.id]
    assert rig.agent(child).inbox.waiting == ()
    (refused,) = rig.of(CommandRefused)
    assert (refused.command, refused.agent_id) == ("send", child)
    assert refused.message == "Your message was not sent. the disk is full"
    await rig.engine.close()


async def test_n1_a_note_that_is_queued_is_not_called_unsent_when_work_can_not_begin(
    tmp_path: Path,
) -> None:
    rig = TreeRig(tmp_path, [says("done")], {})

    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    save, rig.store.save_session = rig.store.save_session, full  # type: ignore[method-assign]
    note = rig.send("go")
    assert [event.note.id for event in rig.of(NoteQueued)] == [note.id]
    failed = await rig.until(TurnEnded)
    assert failed.fault is not None
    assert (failed.fault.kind, failed.fault.message) == ("storage", "the disk is full")
    assert not rig.of(EngineFailed)
    assert info_of(rig.engine, rig.session_id).status == "failed"
    rig.store.save_session = save  # type: ignore[method-assign]
    await rig.once(lambda: not rig.agent(rig.agent_id).is_running)
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded, 2)
    assert [event.note_id for event in rig.of(NoteDelivered)] == [note.id]
    assert rig.store.infos[rig.session_id].status == "idle"
    assert rig.store.infos[rig.session_id].title == "go"
    await rig.engine.close()


async def test_a_session_whose_subagents_work_on_is_never_called_idle(tmp_path: Path) -> None:
    held = gate("A is done.")
    rig = TreeRig(tmp_path, [spawns("a"), says("On its way."), says("All done.")], {"a": [held]})
    rig.send("go")
    child = await rig.child()
    await rig.until(TurnEnded)
    await rig.once(lambda: not rig.agent(rig.agent_id).is_running)
    held.gate.set()
    await rig.ended(child)
    await rig.once(lambda: info_of(rig.engine, rig.session_id).status == "idle")
    told = [session.status for event in rig.of(SessionsChanged) for session in event.sessions]
    assert "idle" not in told[told.index("running") : -1]
    await rig.engine.close()


# -- S7, S8: queued, and honest ------------------------------------------------------------


async def test_s7_a_child_that_waits_for_an_approval_reads_it_after_that(tmp_path: Path) -> None:
    script = [calls(("write", {"what": "x"})), says("done")]
    rig = TreeRig(tmp_path, [], {"a": script})
    rig.model.script = [
        spawns("a"),
        calls(("slow", {})),
        to_child(rig, "steer", note="use euros"),
        gate(),
    ]
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rig.gates.open.set()
    child = asked.agent_id
    assert await told(rig, 3) == (
        f"steer ▸ {child} ← use euros (queued — {child} is waiting for the user's approval of a "
        "tool call and sees it after that)"
    )
    assert not [e for e in rig.of(NoteTaken) if e.agent_id == child and e.note_id == "x"]
    rig.engine.decide(asked.request.id, AllowOnce())
    await rig.ended(child)
    last = prose(rig.model.requests_of("a")[1].messages[-1])
    assert last == "<app:parent>\nuse euros\n</app:parent>"
    await rig.engine.close()


async def test_s7_a_question_is_shortened_in_the_answer_and_the_note_in_the_echo(
    tmp_path: Path,
) -> None:
    question, note = "why " * 60, "because " * 30
    asks = calls(("ask_parent", {"question": question}))
    rig = TreeRig(tmp_path, [], {"a": [asks, says("x")]})
    rig.model.script = [spawns("a"), WAIT, to_child(rig, "steer", note=note), gate()]
    rig.send("go")
    text = await told(rig, 3)
    child = await rig.child()
    echo = text.removeprefix(f"steer ▸ {child} ← ").split(" (queued")[0]
    shown = text.split("its question: ")[1].split(" — unblock")[0]
    assert (len(echo), echo[-1]) == (80, "…")
    assert (len(shown), shown[-1]) == (120, "…")
    assert rig.notes_to(child, "steer") == [note.strip()]
    await rig.engine.close()


async def test_a_question_for_the_user_is_not_the_parents_to_answer(tmp_path: Path) -> None:
    asks = calls(("ask", {"what": "Your name?"}))
    rig = TreeRig(tmp_path, [], {"a": [asks, says("done")]})
    rig.model.script = [
        spawns("a"),
        calls(("slow", {})),
        to_child(rig, "answer_child", answer="Bob"),
        to_child(rig, "steer", note="be quick"),
        gate(),
    ]
    rig.send("go")
    asked = await rig.until(QuestionAsked)
    child = asked.agent_id
    rig.gates.open.set()
    assert await told(rig, 3) == f"{child} is not waiting on you."
    assert await told(rig, 4) == (
        f"steer ▸ {child} ← be quick (queued — {child} is waiting for the user's answer to a "
        "question and sees it after that)"
    )
    rig.engine.answer(asked.question.id, "Ann")
    await rig.ended(child)
    assert [e.text for e in rig.of(QuestionAnswered)] == ["Ann"]
    await rig.engine.close()


async def test_s8_a_note_is_read_once_by_the_child_with_its_sender(tmp_path: Path) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})))
    rig = TreeRig(tmp_path, [], {"a": [held, says("done")]})
    rig.model.script = [spawns("a"), to_child(rig, "steer", note="use euros"), gate()]
    rig.send("go")
    child = await rig.child()
    text = await told(rig, 2)
    assert text == f"steer ▸ {child} ← use euros (parked · enters child context next turn)"
    held.gate.set()
    await rig.ended(child)
    sent = [m for m in rig.model.requests_of("a")[-1].messages if "use euros" in m.text]
    assert [prose(m) for m in sent] == ["<app:parent>\nuse euros\n</app:parent>"]
    assert sent[0].sender == rig.agent_id
    await rig.engine.close()


# -- N: receipts, and who speaks -----------------------------------------------------------


async def test_n3_a_note_is_queued_taken_and_delivered_once_and_in_this_order(
    tmp_path: Path,
) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})), is_accepted=True)
    second = gate(answer=says("done"), is_accepted=False)
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [held, second]})
    rig.send("go")
    child = await rig.child()
    await held.reached.wait()
    note = rig.send_to(child, "use euros")

    def seen() -> list[str]:
        mine = [e for e in rig.events if getattr(e, "note_id", None) == note.id]
        queued = [e for e in rig.of(NoteQueued) if e.note.id == note.id]
        return ["NoteQueued"] * len(queued) + [type(e).__name__ for e in mine]

    assert seen() == ["NoteQueued"]
    held.gate.set()
    await second.reached.wait()
    assert seen() == ["NoteQueued", "NoteTaken"], "not delivered before the provider accepted"
    second.gate.set()
    await rig.ended(child)
    assert seen() == ["NoteQueued", "NoteTaken", "NoteDelivered"]
    await rig.engine.close()


async def test_n3_a_note_in_a_request_that_was_refused_comes_back_as_failed(
    tmp_path: Path,
) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})))
    refused = Breaks(Fault("auth", "This key is not known here."), is_accepted=False)
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [held, refused]})
    rig.send("go")
    child = await rig.child()
    await held.reached.wait()
    note = rig.send_to(child, "use euros")
    held.gate.set()
    assert (await rig.ended(child)).text == "This key is not known here."
    assert [(e.note_id, e.why) for e in rig.of(NoteReturned)] == [(note.id, "failed")]
    assert not [e for e in rig.of(NoteDelivered) if e.note_id == note.id]
    await rig.engine.close()


async def test_n3_delivered_names_the_step_that_read_it(tmp_path: Path) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})))
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [held, says("done")]})
    rig.send("go")
    child = await rig.child()
    await held.reached.wait()
    note = rig.send_to(child, "use euros")
    held.gate.set()
    await rig.ended(child)
    [delivered] = [e for e in rig.of(NoteDelivered) if e.note_id == note.id]
    assert (delivered.agent_id, delivered.step) == (child, 2)
    assert delivered.at > 0
    await rig.engine.close()


async def test_n2_a_note_waits_for_all_results_of_the_batch(tmp_path: Path) -> None:
    both = calls(("echo", {"what": "1"}), ("slow", {}))
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [both, says("done")]})
    rig.send("go")
    child = await rig.child()
    await rig.gates.reached.wait()
    await rig.once(lambda: any(e.agent_id == child for e in rig.of(ToolEnded)))
    note = rig.send_to(child, "use euros")
    assert not [e for e in rig.of(NoteTaken) if e.note_id == note.id]
    rig.gates.open.set()
    await rig.ended(child)
    sent = rig.model.requests_of("a")[1].messages
    assert [m.role for m in sent[-2:]] == ["tool", "user"]
    assert [r.text for r in sent[-2].results] == ["echo 1", "slow done"]
    await rig.engine.close()


async def test_n6_the_persons_words_come_last_and_each_is_named(tmp_path: Path) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})))
    rig = TreeRig(tmp_path, [], {"a": [held, says("done")]})
    rig.model.script = [spawns("a"), to_child(rig, "steer", note="use dollars"), gate()]
    rig.send("go")
    child = await rig.child()
    await held.reached.wait()
    rig.send_to(child, "use euros")
    await told(rig, 2)
    held.gate.set()
    await rig.ended(child)
    [merged] = [m for m in rig.model.requests_of("a")[-1].messages if "euros" in m.text]
    assert prose(merged) == (
        "<app:parent>\nuse dollars\n</app:parent>\n\n<app:user>\nuse euros\n</app:user>"
    )
    assert merged.sender == "user"
    await rig.engine.close()


async def test_n6_the_main_agents_messages_need_no_name(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [says("ok")], {})
    await rig.run("use euros")
    assert rig.model.main_requests[0].messages[0].text == "use euros"


# -- A2: wait ------------------------------------------------------------------------------


async def test_a_wait_for_one_child_ends_with_its_report(tmp_path: Path) -> None:
    first, second = gate(answer=says("a done")), gate(answer=says("b done"))
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in "ab"))
    rig = TreeRig(tmp_path, [], {"a": [first], "b": [second]})

    def wait_for_first(_):
        ids = [rig.of(AgentSpawned)[0].agent_id]
        return calls(("wait", {"agent_ids": ids}))

    rig.model.script = [two, wait_for_first, wait_for_first, gate(), gate()]
    rig.send("go")
    a = await rig.child(1)
    info = await rig.status(rig.agent_id, "waiting_children")
    assert info.doing == "waiting for a"
    first.gate.set()
    assert await told(rig, 3) == "Something came: it follows."
    await rig.ended(a)
    assert await told(rig, 4) == "They have all ended; their reports reached you."
    await rig.engine.close()


async def test_a_wait_for_a_stranger_is_refused(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [calls(("wait", {"agent_ids": ["sa_none"]})), says("ok")], {})
    await rig.run("go")
    assert rig.tool_texts(rig.agent_id) == ["Error: sa_none is not one of your subagents."]


async def test_a_wait_that_brings_nothing_says_how_many_still_run(tmp_path: Path) -> None:
    wait = calls(("wait", {"timeout_s": 0.01}))
    rig = TreeRig(tmp_path, [spawns("a"), wait, gate()], {"a": [gate()]})
    rig.send("go")
    assert await told(rig, 2) == "Nothing came within 0.01 s; 1 still running."
    await rig.engine.close()


async def test_a_wait_without_children_returns_at_once_even_with_a_message_queued(
    tmp_path: Path,
) -> None:
    """A message for after the turn is not what it waits for: it would wait for ever."""
    rig = TreeRig(tmp_path, [calls(("slow", {})), WAIT, says("first"), says("second")], {})
    rig.send("go")
    await rig.gates.reached.wait()
    rig.send("later", delivery="turn")
    rig.gates.open.set()
    assert await told(rig, 2) == "You have no running subagents."
    await rig.until(TurnEnded)


async def test_a_wait_tells_of_a_question_that_stands(tmp_path: Path) -> None:
    asks = calls(("ask_parent", {"question": "Which currency?"}))
    rig = TreeRig(tmp_path, [spawns("a"), calls(("slow", {})), WAIT, gate()], {"a": [asks]})
    rig.send("go")
    await rig.until(QuestionAsked)
    rig.gates.open.set()
    child = await rig.child()
    assert await told(rig, 3) == (
        f'{child} waits for your answer.\n<app:question from="the a" agent_id="{child}" '
        'waits_for="answer_child">\nWhich currency?\n</app:question>'
    )
    await rig.engine.close()


# -- A8 to A11: probe, ask, answer, stop ---------------------------------------------------


async def test_a_child_that_asks_answers_a_live_probe_with_its_question(tmp_path: Path) -> None:
    asks = calls(("ask_parent", {"question": "Which currency?"}))
    rig = TreeRig(tmp_path, [], {"a": [asks]})
    live = to_child(rig, "probe", live=True)
    rig.model.script = [spawns("a"), WAIT, live, gate()]
    rig.send("go")
    child = await rig.child()
    assert await told(rig, 3) == (
        f'{child} is waiting for your answer.\n<app:question from="the a" agent_id="{child}" '
        'waits_for="answer_child">\nWhich currency?\n</app:question>'
    )
    assert len(rig.model.requests_of("a")) == 1
    await rig.engine.close()


async def test_an_ended_child_can_be_probed_without_a_model_call(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [], {"a": [calls(("echo", {"what": "x"})), says("done")]})
    rig.model.script = [spawns("a"), WAIT, to_child(rig, "probe", live=True), gate()]
    rig.send("go")
    child = await rig.child()
    text = await told(rig, 3)
    assert text.splitlines() == [
        f"probe {child} · general · completed · 1 tools · last: echo x",
        "- echo x",
    ]
    assert len(rig.model.requests_of("a")) == 2
    await rig.engine.close()


async def test_the_first_line_of_a_probe_is_to_the_letter(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [spawns("a", agent="explore"), gate()], {"a": [calls(("slow", {}))]})
    rig.send("go")
    child = await rig.child()
    await rig.gates.reached.wait()
    main = rig.tree.find(rig.agent_id)
    assert main is not None
    text = await steering_of(rig.engine).probe(main, child, "", live=False)
    standing = "explore · running · 1 tools · last: slow"
    assert text.splitlines()[0] == f"probe {child} · {standing}"
    # The person sees it under the agent's name, and in words.
    said = (await rig.engine.probe(child)).splitlines()
    assert said[:2] == ["Running · 1 tool call so far", "Now: slow"]
    await rig.engine.close()


async def test_a_probe_shows_six_activities_at_most(tmp_path: Path) -> None:
    eight = [calls(("echo", {"what": str(n)})) for n in range(8)]
    held = gate()
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [*eight, held]})
    rig.send("go")
    await held.reached.wait()
    lines = (await rig.engine.probe(await rig.child())).splitlines()
    listed = [line for line in lines if line.startswith("- ")]
    assert listed == [f"- echo {n}" for n in range(2, 8)]
    await rig.engine.close()


async def test_a_live_probe_that_the_provider_refuses_is_an_answer_in_words(
    tmp_path: Path,
) -> None:
    held = gate()
    refused = Breaks(Fault("auth", "This key is not known here."), is_accepted=False)
    rig = TreeRig(tmp_path, [], {"a": [held, refused]})
    rig.model.script = [spawns("a"), calls(("slow", {})), live_probe(rig), gate()]
    rig.send("go")
    await held.reached.wait()
    rig.gates.open.set()
    said = await told(rig, 3)
    assert said == "Error: the probe got no answer: This key is not known here."
    assert not rig.of(EngineFailed)
    await rig.engine.close()


def live_probe(rig: TreeRig):
    return to_child(rig, "probe", live=True)


async def test_a_second_question_of_a_child_is_refused(tmp_path: Path) -> None:
    two = calls(*(("ask_parent", {"question": q}) for q in ("first?", "second?")))
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [two, says("done")]})
    rig.send("go")
    asked = await rig.until(QuestionAsked)
    rig.engine.answer(asked.question.id, "yes")
    await rig.ended(asked.agent_id)
    results = rig.model.requests_of("a")[1].messages[-1].results
    assert [r.text for r in results] == [
        "yes",
        "Error: you already have a question pending; wait for the answer.",
    ]
    assert len(rig.of(QuestionAsked)) == 1
    await rig.engine.close()


async def test_an_unanswered_question_ends_with_the_promised_words(tmp_path: Path) -> None:
    asks = calls(("ask_parent", {"question": "?"}))
    settings = Settings(question_timeout_s=0)
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [asks, says("done")]}, settings=settings)
    rig.send("go")
    await rig.ended(await rig.child())
    assert rig.model.requests_of("a")[1].messages[-1].results[0].text == (
        "Your parent did not provide an answer. Proceed with your best judgement."
    )
    assert Settings().question_timeout_s == 15 * 60
    await rig.engine.close()


async def test_the_main_agent_has_no_parent_to_ask(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [calls(("ask_parent", {"question": "?"})), says("ok")], {})
    await rig.run("go")
    [text] = rig.tool_texts(rig.agent_id)
    assert text == "Error: you have no parent; ask the user instead"


async def test_a_question_of_a_deeper_child_goes_to_its_own_parent(tmp_path: Path) -> None:
    asks = calls(("ask_parent", {"question": "Which?"}))
    scripts = {"a": [spawns("b"), WAIT, gate()], "b": [asks]}
    rig = TreeRig(tmp_path, [spawns("a"), gate()], scripts)
    rig.send("go")
    outer = await rig.child(1)
    await rig.until(QuestionAsked)
    assert len(rig.notes_to(outer, "question")) == 1
    assert rig.notes_to(rig.agent_id, "question") == []
    await rig.engine.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"answer": " "}, "Error: answer is required"),
        ({"answer": "x", "agent_id": "sa_none"}, "Error: sa_none is not one of your subagents."),
    ],
)
async def test_an_answer_that_can_not_be_given_says_why(
    tmp_path: Path, arguments: dict[str, str], said: str
) -> None:
    rig = TreeRig(tmp_path, [], {"a": [gate()]})
    rig.model.script = [spawns("a"), to_child(rig, "answer_child", **arguments), gate()]
    rig.send("go")
    assert await told(rig, 2) == said
    await rig.engine.close()


async def test_an_answer_to_a_child_that_does_not_ask_says_so(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [], {"a": [gate()]})
    rig.model.script = [spawns("a"), to_child(rig, "answer_child", answer="x"), gate()]
    rig.send("go")
    child = await rig.child()
    assert await told(rig, 2) == f"{child} is not waiting on you."
    await rig.engine.close()


async def test_an_agent_stops_only_its_own_children(tmp_path: Path) -> None:
    scripts = {"a": [spawns("b"), gate()], "b": [gate()]}
    rig = TreeRig(tmp_path, [], scripts)
    rig.model.script = [
        spawns("a"),
        calls(("slow", {})),
        to_child(rig, "stop", number=1),
        gate(),
    ]
    rig.send("go")
    inner = await rig.child(2)
    rig.gates.open.set()
    assert await told(rig, 3) == f"Error: {inner} is not one of your subagents."
    assert not rig.of(AgentEnded)
    await rig.engine.close()


async def test_a_stop_takes_what_is_below_and_says_what_had_run(tmp_path: Path) -> None:
    scripts = {
        "a": [calls(("echo", {"what": "1"})), spawns("b"), gate()],
        "b": [calls(("slow", {}))],
    }
    rig = TreeRig(tmp_path, [], scripts)
    rig.model.script = [
        spawns("a"),
        calls(("slow", {})),
        to_child(rig, "stop"),
        to_child(rig, "stop"),
        gate(),
    ]
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    await rig.status(inner, "running")
    await rig.once(lambda: rig.info(inner).tools_run == 1)
    rig.gates.open.set()
    text = await told(rig, 3)
    assert text == f"[{outer}] stopped after 2 tools; side effects may exist"
    ends = [(e.agent_id, e.status) for e in rig.of(AgentEnded)]
    assert ends[-1] == (outer, "stopped")
    assert {agent for agent, _ in ends} == {outer, inner}
    assert await told(rig, 4) == f"[{outer}] already stopped — nothing to stop."
    await rig.engine.close()


async def test_no_tool_starts_once_a_stop_was_said(tmp_path: Path) -> None:
    both = calls(("slow", {}), ("write", {"what": "x"}))
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [both]}, mode="free")
    rig.send("go")
    child = await rig.child()
    await rig.gates.reached.wait()
    rig.engine.stop(child)
    rig.gates.open.set()
    await rig.ended(child)
    assert rig.gates.ran == []
    outcomes = [(e.outcome, e.result.text[:13]) for e in rig.of(ToolEnded) if e.agent_id == child]
    assert outcomes == [("cancelled", "Cancelled: th"), ("cancelled", "Not executed:")]
    await rig.engine.close()


async def test_an_edit_of_an_ended_childs_tasks_queues_no_note_for_it(tmp_path: Path) -> None:
    script = [calls(("TaskCreate", {"subject": "t"}), ("TaskCreate", {"subject": "u"})), says("x")]
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": script})
    rig.send("go")
    child = await rig.child()
    await rig.ended(child)
    rig.engine.edit_tasks(child, TaskEdit("delete", task_id=1))
    assert rig.notes_to(child, "task_edit") == []


async def test_an_id_that_was_used_is_never_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = chain(["sa_00000001"] * 3, repeat("sa_00000002"))
    monkeypatch.setattr("desktop_agent.engine.tree.agents.new_subagent_id", lambda: next(drawn))
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in "ab"))
    rig = TreeRig(tmp_path, [two, gate()], {"a": [gate()], "b": [gate()]})
    rig.send("go")
    await rig.child(2)
    assert [e.agent_id for e in rig.of(AgentSpawned)] == ["sa_00000001", "sa_00000002"]
    await rig.engine.close()
