"""After the app was killed: the tree, its transcripts and what nobody has read are there."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import Deny
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    AgentOpened,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    QuestionAnswered,
    QuestionAsked,
    ToolEnded,
    TurnEnded,
)
from desktop_agent.core.tasks import TaskEdit
from tests.engine.tree.tree_rig import WAIT, TreeRig, gate, spawns
from tests.helpers.prose import prose
from tests.helpers.scripted import MemoryStore, calls, says


def killed(rig: TreeRig, after: AgentEvent | None = None) -> MemoryStore:
    """Return what is on disk when the app is killed now, or right after an event."""
    store = MemoryStore()
    store.infos = dict(rig.store.infos)
    for key, events in rig.store.events.items():
        end = len(events) if after is None else events.index(after) + 1
        store.events[key] = list(events[:end])
    return store


async def test_notes_a_subagent_has_not_read_are_there_as_soon_as_the_session_is(
    tmp_path: Path,
) -> None:
    first = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [calls(("slow", {}))]})
    first.send("go")
    await first.gates.reached.wait()
    child = await first.child()
    note = first.send_to(child, "use euros")
    store = killed(first)
    await first.engine.close()

    rig = TreeRig(tmp_path, [], {}, store=store)
    rig.engine.open_session(rig.session_id)
    info = next(agent for agent in rig.opened.agents if agent.id == child)
    assert (info.status, info.waiting_notes, info.tools_run) == ("paused", 1, 1)
    assert [(e.agent_id, e.note.id, e.note.text) for e in rig.opened.notes] == [
        (child, note.id, "use euros")
    ]
    assert not rig.model.requests


async def test_after_a_crash_the_main_agent_rests_and_continue_is_meant_for_all(
    tmp_path: Path,
) -> None:
    held = [gate(), gate(), gate()]
    main = [spawns("a"), spawns("b"), held[0]]
    first = TreeRig(tmp_path, main, {"a": [held[1]], "b": [held[2]]})
    first.send("go")
    for one in held:
        await one.reached.wait()
    children = [await first.child(1), await first.child(2)]
    store = killed(first)
    await first.engine.close()

    scripts = {"a": [says("A is done.")], "b": [says("B is done.")]}
    rig = TreeRig(tmp_path, [says("Going on.")] * 3, scripts, store=store)
    rig.engine.open_session(rig.session_id)
    status = {agent.id: agent.status for agent in rig.opened.agents}
    assert status == {rig.agent_id: "idle", children[0]: "paused", children[1]: "paused"}
    rig.engine.pause(children[1])
    rig.engine.resume(rig.agent_id)
    assert (await rig.ended(children[0])).text == "A is done."
    await rig.once(lambda: not rig.agent(rig.agent_id).is_running)
    # What the person paused stays so.
    assert await rig.status(children[1], "paused")
    await rig.engine.close()


async def test_one_step_of_a_subagent_that_a_crash_paused_is_taken(tmp_path: Path) -> None:
    held = gate()
    first = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [held]})
    first.send("go")
    await held.reached.wait()
    child, store = await first.child(), killed(first)
    await first.engine.close()

    script = [calls(("echo", {"what": "1"})), says("A is done.")]
    rig = TreeRig(tmp_path, [], {"a": script}, store=store)
    rig.engine.open_session(rig.session_id)
    rig.engine.step(child)
    await rig.until(ToolEnded)
    await rig.status(child, "paused")
    assert len(rig.model.requests_of("a")) == 1
    await rig.engine.close()


async def test_the_time_that_the_app_was_closed_is_nobodys_work(tmp_path: Path) -> None:
    held = gate()
    main = [spawns("a"), spawns("b"), WAIT, gate()]
    first = TreeRig(tmp_path, main, {"a": [says("A is done.")], "b": [calls(("slow", {})), held]})
    first.send("go")
    ended = await first.ended(await first.child(1))
    at_work = await first.child(2)
    first.gates.open.set()
    await held.reached.wait()
    store = killed(first)
    await first.engine.close()
    # An hour later.
    events = store.events[first.session_id]
    store.events[first.session_id] = [an_hour_earlier(event) for event in events]

    rig = TreeRig(tmp_path, [says("Going on.")] * 3, {"b": [says("B is done.")]}, store=store)
    rig.engine.open_session(rig.session_id)
    info = {agent.id: agent for agent in rig.opened.agents}
    assert seconds(info[ended.agent_id]) < 60
    assert info[at_work].paused_at - info[at_work].started_at < 60
    rig.engine.resume(rig.agent_id)
    end = await rig.ended(at_work)
    assert end.paused > 3_500
    assert seconds(rig.info(at_work)) < 60
    await rig.engine.close()


def seconds(info: AgentInfo) -> float:
    """How long an agent that has ended was at work."""
    return info.ended_at - info.started_at - info.paused


def an_hour_earlier(event: AgentEvent) -> AgentEvent:
    """The event as it would have been, had it happened an hour ago."""
    match event:
        case AgentSpawned():
            spec = replace(event.spec, started_at=event.spec.started_at - 3_600)
            return replace(event, spec=spec)
        case MessageAdded():
            message = replace(event.message, created_at=event.message.created_at - 3_600)
            return replace(event, message=message)
        case AgentEnded():
            return replace(event, at=event.at - 3_600)
        case _:
            return event


async def test_a_note_taken_for_a_message_that_was_never_kept_waits_again(tmp_path: Path) -> None:
    """Killed between the two writes: it is in no history, so it has to be read yet."""
    held = gate(answer=calls(("echo", {"what": "1"})))
    first = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [held, says("done")]})
    first.send("go")
    child = await first.child()
    await held.reached.wait()
    note = first.send_to(child, "use euros")
    held.gate.set()
    await first.ended(child)
    taken = next(e for e in first.of(NoteTaken) if e.note_id == note.id)
    store = killed(first, after=taken)
    await first.engine.close()

    rig = TreeRig(tmp_path, [says("ok")], {"a": [says("in euros")]}, store=store)
    rig.engine.open_session(rig.session_id)
    assert [e.note.id for e in rig.opened.notes] == [note.id]
    rig.engine.resume(child)
    await rig.ended(child)
    texts = [prose(m) for m in rig.model.requests_of("a")[0].messages]
    assert texts.count("<app:user>\nuse euros\n</app:user>") == 1
    assert [e.note_id for e in rig.of(NoteDelivered)].count(note.id) == 1


async def test_a_note_in_a_message_that_was_kept_is_not_said_twice(tmp_path: Path) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})))
    silent = gate(is_accepted=False)
    first = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [held, silent]})
    first.send("go")
    child = await first.child()
    await held.reached.wait()
    note = first.send_to(child, "use euros")
    held.gate.set()
    await silent.reached.wait()
    store = killed(first)
    await first.engine.close()

    rig = TreeRig(tmp_path, [says("ok")], {"a": [says("in euros")]}, store=store)
    rig.engine.resume(child)
    await rig.ended(child)
    texts = [prose(m) for m in rig.model.requests_of("a")[0].messages]
    assert texts.count("<app:user>\nuse euros\n</app:user>") == 1
    assert [e.note_id for e in rig.of(NoteDelivered)].count(note.id) == 1


async def test_the_requests_and_questions_of_every_subagent_are_withdrawn(tmp_path: Path) -> None:
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in "ab"))
    scripts = {
        "a": [calls(("write", {"what": "x"}))],
        "b": [calls(("ask_parent", {"question": "?"}))],
    }
    first = TreeRig(tmp_path, [two, gate()], scripts)
    first.send("go")
    asked = await first.until(ApprovalRequested)
    question = await first.until(QuestionAsked)
    store = killed(first)
    await first.engine.close()

    rig = TreeRig(tmp_path, [], {}, store=store)
    events = store.events[rig.session_id]
    resolved = [e for e in events if isinstance(e, ApprovalResolved)]
    answered = [e for e in events if isinstance(e, QuestionAnswered)]
    assert [(e.agent_id, e.decision) for e in resolved] == [(asked.agent_id, Deny(by="withdrawn"))]
    assert [(e.agent_id, e.by) for e in answered] == [(question.agent_id, "withdrawn")]
    assert rig.gates.ran == []


async def test_an_old_request_is_withdrawn_however_much_others_streamed_since(
    tmp_path: Path,
) -> None:
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in "ab"))
    many = [calls(("echo", {"what": str(n)})) for n in range(120)]
    first = TreeRig(tmp_path, [two, gate()], {"a": [calls(("write", {"what": "x"}))], "b": many})
    first.send("go")
    await first.until(ApprovalRequested)
    await first.until(ToolEnded, 118)
    store = killed(first)
    await first.engine.close()
    assert len(store.events[first.session_id]) > 600

    rig = TreeRig(tmp_path, [], {}, store=store)
    resolved = [e for e in store.events[rig.session_id] if isinstance(e, ApprovalResolved)]
    assert len(resolved) == 1


async def test_a_subagent_that_only_waited_for_others_can_go_on(tmp_path: Path) -> None:
    """Killed after its child's end, before the report was written: nothing would wake it."""
    held = gate(answer=says("b done"))
    scripts = {"a": [spawns("b"), says("a waits"), says("a done")], "b": [held]}
    first = TreeRig(tmp_path, [spawns("a"), says("ok"), says("end")], scripts)
    first.send("go")
    outer, inner = await first.child(1), await first.child(2)
    await first.status(outer, "waiting_children")
    held.gate.set()
    ended = await first.ended(inner)
    store = killed(first, after=ended)
    await first.engine.close()

    rig = TreeRig(tmp_path, [says("all")], {"a": [says("went on")]}, store=store)
    rig.engine.open_session(rig.session_id)
    infos = {agent.id: agent.status for agent in rig.opened.agents}
    assert (infos[inner], infos[outer]) == ("completed", "paused")
    rig.engine.resume(outer)
    assert (await rig.ended(outer)).text == "went on"
    said = [prose(m) for m in rig.model.requests_of("a")[0].messages]
    told = f'<app:report from="the b" agent_id="{inner}" status="completed">\nb done\n</app:report>'
    assert said.count(told) == 1


async def test_a_report_that_was_read_is_not_written_again(tmp_path: Path) -> None:
    held = gate()
    main = [spawns("a"), WAIT, held]
    first = TreeRig(tmp_path, main, {"a": [says("a done")]})
    first.send("go")
    await held.reached.wait()
    store = killed(first)
    await first.engine.close()
    rig = TreeRig(tmp_path, [says("so")], {}, store=store)
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded)
    said = "".join(prose(m) for m in rig.model.main_requests[0].messages)
    assert said.count("<app:report ") == 1


async def test_notes_of_a_subagent_that_had_just_ended_come_back(tmp_path: Path) -> None:
    """Killed after its end was written, before its notes were given back."""
    first = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [calls(("slow", {}))]})
    first.send("go")
    await first.gates.reached.wait()
    child = await first.child()
    note = first.send_to(child, "use euros")
    first.engine.stop(child)
    store = killed(first, after=await first.ended(child))
    await first.engine.close()
    rig = TreeRig(tmp_path, [], {}, store=store)
    returned = [e for e in store.events[rig.session_id] if isinstance(e, NoteReturned)]
    assert [(e.note_id, e.why) for e in returned] == [(note.id, "stopped")]


async def test_a_resumed_subagents_report_wakes_the_agents_above_it(tmp_path: Path) -> None:
    held = gate()
    scripts = {"a": [spawns("b"), says("a waits")], "b": [held]}
    first = TreeRig(tmp_path, [spawns("a"), says("ok")], scripts)
    first.send("go")
    outer, inner = await first.child(1), await first.child(2)
    await first.status(outer, "waiting_children")
    await held.reached.wait()
    store = killed(first)
    await first.engine.close()

    after = {"a": [says("a done")], "b": [says("b done")]}
    rig = TreeRig(tmp_path, [says("all done")], after, store=store)
    rig.engine.open_session(rig.session_id)
    infos = {agent.id: agent.status for agent in rig.opened.agents}
    assert (infos[outer], infos[inner]) == ("waiting_children", "paused")
    rig.engine.resume(inner)
    assert (await rig.ended(outer)).text == "a done"
    await rig.once(lambda: bool(rig.messages) and rig.messages[-1].text == "all done")


async def test_the_tree_and_every_transcript_come_from_the_file(tmp_path: Path) -> None:
    """With the store that people have: ended and cut-off subagents, opened by their ids."""
    path = tmp_path / "sessions.db"
    held = gate("half a sen")
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in "ab"))
    store = SqliteStore(path)
    first = TreeRig(
        tmp_path / "w", [two, gate()], {"a": [says("a done")], "b": [held]}, store=store
    )  # type: ignore[arg-type]
    first.send("go")
    a, b = await first.child(1), await first.child(2)
    await first.ended(a)
    await held.reached.wait()
    note = first.send_to(b, "use euros")
    store.flush_pending()
    again = tmp_path / "again.db"
    copy_as_killed(path, again)
    await first.engine.close()
    store.close()

    store = SqliteStore(again)
    rig = TreeRig(tmp_path / "w", [], {}, store=store)  # type: ignore[arg-type]
    rig.engine.open_session(rig.session_id)
    infos = {agent.id: agent for agent in rig.opened.agents}
    assert (infos[a].status, infos[a].result) == ("completed", "a done")
    assert (infos[b].status, infos[b].waiting_notes) == ("paused", 1)
    assert [e.note.id for e in rig.opened.notes] == [note.id]
    said = {}
    for agent_id in (a, b):
        rig.engine.open_agent(agent_id)
        shown = rig.of(AgentOpened)[-1].events
        said[agent_id] = [e.message.text for e in shown if isinstance(e, MessageAdded)]
        assert {e.agent_id for e in shown} == {agent_id}
    assert said[a] == ["a", "a done"]
    assert said[b][0] == "b"
    ends = [e for e in rig.of(AgentOpened)[-1].events if isinstance(e, TurnEnded)]
    assert [e.reason for e in ends] == ["interrupted"]
    assert [e.note.id for e in rig.of(AgentOpened)[-1].events if isinstance(e, NoteQueued)][
        -1
    ] == note.id
    await rig.engine.close()
    store.close()


def copy_as_killed(source: Path, target: Path) -> None:
    """Copy a sessions file as a kill would leave it: what was not checkpointed is in its log."""
    for suffix in ("", "-wal"):
        part = Path(f"{source}{suffix}")
        if part.exists():
            Path(f"{target}{suffix}").write_bytes(part.read_bytes())


async def test_after_a_restart_no_task_gets_the_id_that_a_subagent_still_works_on(
    tmp_path: Path,
) -> None:
    main = [calls(("TaskCreate", {"subject": "old"})), spawns("job", task_id=1), says("ok")]
    held = gate()
    first = TreeRig(tmp_path, main, {"job": [held]})
    first.send("go")
    await held.reached.wait()
    await first.until(TurnEnded)
    rig = TreeRig(tmp_path, [says("I see")], {"job": [says("done")]}, store=killed(first))
    await first.engine.close()
    rig.engine.open_session(rig.session_id)
    rig.engine.clear_context(rig.agent_id)
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="call the bank"))
    rig.engine.resume(await first.child())
    await rig.until(AgentEnded)
    await rig.status(rig.agent_id, "idle")
    left = rig.agent(rig.agent_id).tasks.tasks
    assert [(task.subject, task.status) for task in left] == [("call the bank", "pending")]
