"""The loop: nothing is lost, doubled or left open, whatever happens in the middle of a turn."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from desktop_agent.core.events import (
    CommandRefused,
    EngineFailed,
    MessageAdded,
    NoteDelivered,
    NoteReturned,
    RetryScheduled,
    SessionOpened,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.messages import TextPart, ThinkingPart, ToolCall, open_calls
from desktop_agent.core.requests import Accepted, Answer, Retrying
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from tests.engine.rig import Rig
from tests.helpers.scripted import Breaks, MemoryStore, Waits, calls, says

REFUSED = Fault("refused", "Nothing answers there.", "retry")


async def test_a_plain_answer_comes_in_the_documented_order(tmp_path: Path) -> None:
    rig = Rig(tmp_path, says("hello"))
    ended = await rig.run("hi")
    assert ended.reason == "finished"
    assert rig.kinds() == [
        "NoteQueued", "TurnStarted", "StepStarted", "NoteTaken", "MessageAdded",
        "NoteDelivered", "MessageStarted", "PartDelta", "MessageAdded", "StepEnded", "TurnEnded",
    ]  # fmt: skip


async def test_a_tool_result_goes_back_to_the_model(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("echo", {"what": "a"})), says("done"))
    await rig.run("go")
    sent = rig.model.requests[1].messages
    assert [m.role for m in sent] == ["user", "assistant", "tool"]
    assert sent[2].results[0].text == "echo a"


async def test_results_stand_in_the_order_of_the_calls(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("slow", {}), ("echo", {"what": "b"})), says("done"))
    rig.send("go")
    await rig.until(ToolEnded)  # echo is done while slow still runs: they run together
    rig.gates.open.set()
    await rig.until(TurnEnded)
    assert [result.text for result in rig.results] == ["slow done", "echo b"]


async def test_calls_that_change_something_wait_for_the_one_before(tmp_path: Path) -> None:
    two = calls(("write", {"what": "1"}), ("write", {"what": "2"}))
    rig = Rig(tmp_path, two, says("done"), mode="free")
    await rig.run("go")
    assert rig.gates.ran == ["1", "2"]
    started = [rig.events.index(event) for event in rig.of(ToolStarted)]
    ended = [rig.events.index(event) for event in rig.of(ToolEnded)]
    assert started[0] < ended[0] < started[1] < ended[1]


async def test_a_note_sent_while_a_tool_runs_is_in_the_next_request(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("slow", {})), says("done"))
    rig.send("go")
    await rig.gates.reached.wait()
    note = rig.send("use euros")
    assert note.id not in {event.note_id for event in rig.of(NoteDelivered)}
    rig.gates.open.set()
    await rig.until(TurnEnded)
    texts = [m.text for m in rig.model.requests[1].messages]
    assert texts.count("use euros") == 1
    assert texts[-1] == "use euros"
    assert len(rig.model.requests) == 2


async def test_a_note_sent_during_the_last_answer_gets_a_step(tmp_path: Path) -> None:
    waits = Waits(asyncio.Event(), answer=says("first"))
    rig = Rig(tmp_path, waits, says("second"))
    rig.send("go")
    await waits.reached.wait()
    note = rig.send("and this")
    waits.gate.set()
    await rig.until(TurnEnded)
    assert len(rig.of(TurnEnded)) == 1
    assert rig.messages[-1].text == "second"
    delivered = [event for event in rig.of(NoteDelivered) if event.note_id == note.id]
    assert [event.step for event in delivered] == [2]


async def test_a_queued_note_waits_for_the_end_of_the_turn(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("slow", {})), says("first done"), says("second done"))
    rig.send("go")
    await rig.gates.reached.wait()
    rig.send("afterwards", delivery="turn")
    rig.gates.open.set()
    await rig.until(TurnEnded)
    assert "afterwards" not in [m.text for m in rig.model.requests[1].messages]
    assert rig.model.requests[2].messages[-1].text == "afterwards"


async def test_a_waiting_note_can_be_edited_and_withdrawn(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("slow", {})), says("done"))
    rig.send("go")
    await rig.gates.reached.wait()
    kept, gone = rig.send("wrong"), rig.send("never mind")
    rig.engine.edit_note(rig.agent_id, kept.id, "right")
    rig.engine.withdraw_note(rig.agent_id, gone.id)
    rig.gates.open.set()
    await rig.until(TurnEnded)
    assert rig.model.requests[1].messages[-1].text == "right"
    assert [event.note_id for event in rig.of(NoteReturned)] == [gone.id]


async def test_an_edit_that_comes_too_late_changes_nothing_and_is_given_back(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path, says("done"))
    note = rig.send("hi")
    await rig.until(TurnEnded)
    rig.engine.edit_note(rig.agent_id, note.id, "other")
    rig.engine.withdraw_note(rig.agent_id, note.id)
    assert rig.messages[0].text == "hi"
    assert not rig.of(NoteReturned)
    (refused,) = rig.of(CommandRefused)
    assert (refused.command, refused.agent_id, refused.about) == (
        "edit_note",
        rig.agent_id,
        note.id,
    )
    assert "“other”" in refused.message


async def test_stop_keeps_real_results_and_closes_the_other_calls(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("echo", {"what": "a"}), ("slow", {})), says("on"))
    rig.send("go")
    await rig.until(ToolEnded)
    await rig.gates.reached.wait()
    rig.engine.stop(rig.agent_id)
    ended = await rig.until(TurnEnded)
    assert ended.reason == "cancelled"
    assert ended.report is not None
    assert ended.report.cancelled == ("slow",)
    assert [r.text[:9] for r in rig.results] == ["echo a", "Cancelled"]
    assert not open_calls(rig.messages)
    rig.engine.resume(rig.agent_id)
    assert (await rig.until(TurnEnded, 2)).reason == "finished"


async def test_stop_names_the_calls_that_did_not_begin(tmp_path: Path) -> None:
    two = calls(("slow", {}), ("write", {"what": "x"}))
    rig = Rig(tmp_path, two, mode="free")
    rig.send("go")
    await rig.gates.reached.wait()
    rig.engine.stop(rig.agent_id)
    ended = await rig.until(TurnEnded)
    assert ended.report is not None
    assert ended.report.not_executed == ("write x",)
    assert rig.results[1].text.startswith("Not executed")
    assert rig.gates.ran == []


async def test_stop_in_mid_stream_keeps_the_text_that_was_seen(tmp_path: Path) -> None:
    waits = Waits(asyncio.Event(), text="half an ans")
    rig = Rig(tmp_path, waits, says("the rest"))
    rig.send("go")
    await waits.reached.wait()
    rig.engine.stop(rig.agent_id)
    await rig.until(TurnEnded)
    partial = rig.of(MessageAdded)[-1]
    assert (partial.message.text, partial.is_partial) == ("half an ans", True)
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded, 2)
    assert [m.role for m in rig.model.requests[1].messages] == ["user", "assistant", "user"]


async def test_a_message_sent_while_stopping_starts_the_next_turn(tmp_path: Path) -> None:
    waits = Waits(asyncio.Event())
    rig = Rig(tmp_path, waits, says("now this"))
    rig.send("go")
    await waits.reached.wait()
    rig.engine.stop(rig.agent_id)
    rig.send("do this instead")
    await rig.until(TurnEnded, 2)
    assert rig.messages[-1].text == "now this"


async def test_a_refused_request_can_be_retried_with_the_same_message(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Breaks(REFUSED, is_accepted=False), says("hello"))
    ended = await rig.run("hi")
    assert ended.fault == REFUSED
    assert not rig.of(NoteDelivered)
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded, 2)
    assert [m.text for m in rig.model.requests[1].messages] == ["hi"]
    assert len(rig.of(NoteDelivered)) == 1


async def test_a_broken_stream_offers_to_continue_and_keeps_the_text(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Breaks(REFUSED, text="half"), says("rest"))
    ended = await rig.run("hi")
    assert ended.fault is not None
    assert ended.fault.action == "continue"
    assert rig.messages[-1].text == "half"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(()), "protocol"),
        (Answer((), "filtered"), "filtered"),
        (Answer((), "length"), "cut_off"),
        (says("too lo", finish="length"), "cut_off"),
        (says("I can", finish="filtered"), "filtered"),
    ],
)
async def test_an_answer_that_is_not_whole_ends_with_a_card(
    tmp_path: Path, answer: Answer, kind: str
) -> None:
    rig = Rig(tmp_path, answer)
    ended = await rig.run("hi")
    assert ended.fault is not None
    assert ended.fault.kind == kind


async def test_calls_cut_off_in_the_middle_are_not_run_and_are_closed(tmp_path: Path) -> None:
    parts = (ToolCall("a", "write", {"what": "x"}), ToolCall("b", "write", raw='{"what": "'))
    rig = Rig(tmp_path, Answer(parts, "length"), says("again"), mode="free")
    ended = await rig.run("hi")
    assert ended.fault is not None
    assert ended.fault.kind == "cut_off"
    assert rig.gates.ran == []
    assert not open_calls(rig.messages)


async def test_an_unknown_tool_is_answered_with_the_names_of_the_tools(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("fly", {})), says("ok"))
    await rig.run("go")
    assert "echo" in rig.results[0].text
    assert rig.results[0].is_error


async def test_arguments_that_are_not_json_go_back_as_an_error(tmp_path: Path) -> None:
    broken = Answer((ToolCall("c1", "echo", raw="{what: a}"),), "tool_calls")
    rig = Rig(tmp_path, broken, says("ok"))
    ended = await rig.run("go")
    assert ended.reason == "finished"
    assert "not a JSON object" in rig.results[0].text


async def test_a_defect_in_a_tool_does_not_end_the_turn(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("crash", {}), ("fail", {"what": "fly"})), says("ok"))
    ended = await rig.run("go")
    assert ended.reason == "finished"
    assert rig.of(EngineFailed)[0].where == "crash"
    assert rig.results[1].text == "Error: cannot fly"


async def test_the_step_limit_ends_the_turn_and_can_be_resumed(tmp_path: Path) -> None:
    script = [calls(("echo", {"what": str(n)})) for n in range(4)]
    rig = Rig(tmp_path, *script, says("done"), settings=Settings(max_steps=3))
    assert (await rig.run("go")).reason == "step_limit"
    rig.engine.resume(rig.agent_id)
    assert (await rig.until(TurnEnded, 2)).reason == "finished"


async def test_a_retry_is_told_while_it_waits(tmp_path: Path) -> None:
    class Retries:
        async def stream(self, _):
            yield Retrying(1, 2.0, REFUSED)
            yield Accepted()
            yield says("ok")

    rig = Rig(tmp_path, model=Retries())
    await rig.run("hi")
    assert [event.delay_s for event in rig.of(RetryScheduled)] == [2.0]


async def test_a_retry_that_waits_goes_to_the_model_that_is_chosen_meanwhile(
    tmp_path: Path,
) -> None:
    class Refuses:
        def __init__(self):
            self.asked = []

        async def stream(self, request):
            self.asked.append(request.model)
            if request.model == "other":
                yield Accepted()
                yield says("ok")
                return
            yield Retrying(1, 60.0, REFUSED)
            await asyncio.Event().wait()

    rig = Rig(tmp_path, model=(model := Refuses()))
    rig.send("hi")
    await rig.until(RetryScheduled)
    rig.engine.set_model(rig.session_id, "m")
    rig.engine.set_model(rig.session_id, "other")
    assert (await rig.until(TurnEnded)).reason == "finished"
    assert model.asked == ["m", "other"]
    assert [event.delay_s for event in rig.of(RetryScheduled)] == [60.0, 0.0]


async def test_sessions_run_side_by_side(tmp_path: Path) -> None:
    store = MemoryStore()
    first = Waits(asyncio.Event(), answer=says("one"))
    rig = Rig(tmp_path, first, says("two"), store=store)
    one = rig.agent_id
    rig.send("a")
    await first.reached.wait()
    rig.session_id = type(rig.session_id)("se_other")
    rig.engine.new_session(rig.session_id, rig.workspace, model="m")
    rig.send("b")
    ended = await rig.until(TurnEnded)
    assert ended.agent_id == rig.agent_id
    first.gate.set()
    await rig.until(TurnEnded, 2)
    assert rig.of(TurnEnded)[1].agent_id == one


async def test_a_command_from_another_thread_fails_loudly(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    with pytest.raises(RuntimeError, match="engine thread"):
        await asyncio.to_thread(rig.engine.stop, rig.agent_id)


async def test_a_listener_that_raises_does_not_stop_the_work(tmp_path: Path, caplog) -> None:
    rig = Rig(tmp_path, says("hello"))
    heard = rig.hear

    def broken(event):
        heard(event)
        raise ValueError("the window is gone")

    rig.hear = broken
    ended = await rig.run("hi")
    assert ended.reason == "finished"
    assert "a listener failed" in caplog.text


async def test_the_title_comes_from_the_first_message(tmp_path: Path) -> None:
    rig = Rig(tmp_path, says("a"), says("b"))
    await rig.run("Sum up the sales\nplease")
    await rig.run("and more")
    assert rig.store.infos[rig.session_id].title == "Sum up the sales"


async def test_text_and_attachments_become_one_message(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("slow", {})), says("ok"))
    rig.send("go")
    await rig.gates.reached.wait()
    rig.send("first")
    rig.send("second")
    rig.gates.open.set()
    await rig.until(TurnEnded)
    last = rig.model.requests[1].messages[-1]
    assert last.text == "first\n\nsecond"
    assert len(last.note_ids) == 2
    assert all(isinstance(part, TextPart) for part in last.parts)


async def test_an_opened_session_tells_what_happened(tmp_path: Path) -> None:
    rig = Rig(tmp_path, says("hello"))
    await rig.run("hi")
    rig.engine.open_session(rig.session_id)
    opened = rig.of(SessionOpened)[-1]
    assert opened.info.id == rig.session_id
    assert [e.message.text for e in opened.events if isinstance(e, MessageAdded)] == ["hi", "hello"]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((), "empty answer"),
        ((TextPart(" \n"),), "without an answer"),
        ((ThinkingPart("Hm."),), "without an answer"),
    ],
)
async def test_an_answer_without_a_word_is_told_paid_for_and_can_be_tried_again(
    parts, words, tmp_path: Path
) -> None:
    rig = Rig(tmp_path, Answer(parts, "stop", Usage(10, 5)), says("here"))
    ended = await rig.run("hi")
    assert ended.reason == "error"
    assert ended.fault is not None
    assert words in ended.fault.message
    assert ended.fault.action == "retry"
    assert rig.agent(rig.agent_id).meter.usage == Usage(10, 5)
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded, 2)
    assert rig.messages[-1].text == "here"
    assert [m.role for m in rig.model.requests[1].messages] == ["user"]
