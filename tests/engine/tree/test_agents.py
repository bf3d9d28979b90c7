"""Subagents: started at once, reported once, steered honestly, stopped whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from desktop_agent.core.agents import Budget
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import (
    AgentEnded,
    AgentsChanged,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    BudgetReached,
    ListChanged,
    NoteDelivered,
    NoteReturned,
    QuestionAsked,
    SessionsChanged,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId
from desktop_agent.core.settings import Settings
from desktop_agent.core.tasks import TaskEdit
from desktop_agent.engine.tree.messaging import NO_ANSWER
from desktop_agent.engine.tree.reports import shortened
from tests.engine.tree.tree_rig import WAIT, TreeRig, gate, spawns
from tests.helpers.engines import questions_of, steering_of
from tests.helpers.prose import prose
from tests.helpers.scripted import Breaks, Waits, calls, says

# -- A1, A2: start and report --------------------------------------------------------------


async def test_spawn_returns_at_once_and_the_report_wakes_an_idle_parent(tmp_path: Path) -> None:
    child = gate(answer=says("42 files"))
    rig = TreeRig(
        tmp_path, [spawns("count"), says("started"), says("all done")], {"count": [child]}
    )
    rig.send("go")
    agent_id = await rig.child()
    await rig.until(TurnEnded)
    assert rig.messages_of(rig.agent_id)[-1].text == "started"
    await rig.status(rig.agent_id, "waiting_children")
    child.gate.set()
    ended = await rig.ended(agent_id)
    assert (ended.status, ended.text) == ("completed", "42 files")
    await rig.once(lambda: rig.messages_of(rig.agent_id)[-1].text == "all done")
    assert prose(rig.model.main_requests[2].messages[-1]) == (
        f'<app:report from="the count" agent_id="{agent_id}" status="completed">\n'
        "42 files\n</app:report>"
    )


async def test_a_child_sees_its_prompt_and_nothing_of_its_parent(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [spawns("look"), WAIT, says("ok")], {"look": [says("seen")]})
    rig.send("a secret plan")
    await rig.until(AgentEnded)
    request = rig.model.requests_of("look")[0]
    assert [m.text for m in request.messages] == ["look"]
    assert "secret plan" not in request.system
    assert "Your role" in request.system


async def test_ids_are_fresh_and_of_the_promised_form(tmp_path: Path) -> None:
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in ("a", "b")))
    rig = TreeRig(
        tmp_path, [two, says("x"), says("y"), says("z")], {"a": [says("1")], "b": [says("2")]}
    )
    rig.send("go")
    ids = [await rig.child(1), await rig.child(2)]
    assert len(set(ids)) == 2
    for agent_id in ids:
        assert agent_id.startswith("sa_")
        assert len(agent_id) == 11
        int(agent_id[3:], 16)
        await rig.ended(agent_id)


async def test_a_long_report_is_shortened_and_kept_whole(tmp_path: Path) -> None:
    long = "word " * 2000

    def fetch(_):
        return calls(("agent_result", {"agent_id": rig.of(AgentSpawned)[0].agent_id}))

    rig = TreeRig(tmp_path, [spawns("w"), WAIT, fetch, says("ok")], {"w": [says(long)]})
    rig.send("go")
    await rig.until(TurnEnded, 2)
    await rig.once(lambda: rig.messages_of(rig.agent_id)[-1].text == "ok")
    report = rig.notes_to(rig.agent_id, "report")[0]
    assert len(report) < 4300
    assert "agent_result" in report
    assert rig.tool_texts(rig.agent_id)[-1] == long.strip()


# -- A3: caps ------------------------------------------------------------------------------


async def test_caps_name_themselves_and_their_number(tmp_path: Path) -> None:
    wait = {p: [gate()] for p in "abc"}
    three = calls(*(("spawn", {"description": p, "prompt": p}) for p in "abc"))
    rig = TreeRig(
        tmp_path, [three, says("x")], wait, settings=Settings(max_children=2, max_agents=8)
    )
    rig.send("go")
    await rig.until(TurnEnded)
    texts = rig.tool_texts(rig.agent_id)
    assert "2 running subagents at most (max_children)" in texts[2]
    assert len(rig.of(AgentSpawned)) == 2
    await rig.engine.close()


async def test_depth_comes_from_the_tree(tmp_path: Path) -> None:
    scripts = {"a": [spawns("b"), WAIT, says("a done")], "b": [spawns("c"), says("b done")]}
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], scripts)
    rig.send("go")
    inner = await rig.child(2)
    await rig.ended(inner)
    request = rig.model.requests_of("b")[1]
    assert "2 deep at most (max_depth)" in request.messages[-1].results[0].text


async def test_the_cap_on_all_agents_counts_the_whole_tree(tmp_path: Path) -> None:
    scripts = {"a": [spawns("b"), gate()], "b": [gate()]}
    main = [spawns("a"), calls(("slow", {})), spawns("c"), says("x")]
    rig = TreeRig(tmp_path, main, scripts, settings=Settings(max_agents=2))
    rig.send("go")
    await rig.child(2)
    rig.gates.open.set()
    await rig.until(TurnEnded)
    assert (
        "2 subagents may run at the same time at most (max_agents)"
        in rig.tool_texts(rig.agent_id)[-1]
    )
    await rig.engine.close()


# -- A4: rights only narrow ----------------------------------------------------------------


async def test_a_child_gets_no_more_folders_tools_or_mode_than_its_parent(tmp_path: Path) -> None:
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    outside = spawns("o", write=[str(tmp_path / "other")])
    inside = spawns("i", write=["src"])
    explorer = spawns("e", agent="explore")
    scripts = {
        "i": [calls(("write", {"what": "x"})), says("1")],
        "e": [calls(("write", {"what": "y"})), says("2")],
    }
    main = [outside, inside, explorer, WAIT, WAIT, says("ok"), says("ok")]
    rig = TreeRig(tmp_path / "work", main, scripts, mode="free")
    rig.send("go")
    await rig.until(AgentEnded, 2)
    specs = [event.spec for event in rig.of(AgentSpawned)]
    assert "outside the workspace" in rig.tool_texts(rig.agent_id)[0]
    assert specs[0].workspace.write_roots == (str((tmp_path / "work" / "src").resolve()),)
    assert specs[1].mode == "look"
    assert "write" not in {tool.name for tool in rig.model.requests_of("e")[0].tools}
    refused = rig.model.requests_of("e")[1].messages[-1].results[0].text
    assert "there is no tool 'write'" in refused
    await rig.engine.close()


async def test_a_session_that_is_set_to_look_only_takes_its_children_along(tmp_path: Path) -> None:
    held = gate(answer=calls(("write", {"what": "x"})))
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [held, says("1")]}, mode="free")
    rig.send("go")
    await held.reached.wait()
    rig.engine.set_mode(rig.session_id, "look")
    held.gate.set()
    await rig.until(AgentEnded)
    assert rig.gates.ran == []


# -- A5: the task of a child ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "status", "owner"),
    [([says("done")], "completed", "the job"), ([Breaks(Fault("auth", "no key"))], "pending", "")],
)
async def test_the_linked_task_follows_the_child(tmp_path: Path, script, status, owner) -> None:
    task = calls(("TaskCreate", {"subject": "t"}), ("TaskCreate", {"subject": "u"}))
    main = [task, spawns("job", task_id=1), WAIT, says("ok"), says("ok")]
    rig = TreeRig(tmp_path, main, {"job": script})
    rig.send("go")
    await rig.until(AgentEnded)
    lists = [event.tasks for event in rig.of(ListChanged) if event.agent_id == rig.agent_id]
    running = [tasks[0] for tasks in lists if tasks and tasks[0].status == "in_progress"]
    assert running[0].owner == "the job"
    await rig.once(lambda: bool(rig.notes_to(rig.agent_id, "report")))
    last = [e.tasks for e in rig.of(ListChanged) if e.agent_id == rig.agent_id][-1]
    assert (last[0].status, last[0].owner) == (status, owner)
    assert f"Task #1 is {status}" in rig.notes_to(rig.agent_id, "report")[0]


async def test_a_child_that_ends_after_the_list_was_begun_anew_changes_no_task_of_it(
    tmp_path: Path,
) -> None:
    main = [calls(("TaskCreate", {"subject": "old"})), spawns("job", task_id=1), says("ok")]
    held = gate(answer=says("done"))
    rig = TreeRig(tmp_path, [*main, says("I see")], {"job": [held]})
    rig.send("go")
    await held.reached.wait()
    await rig.until(TurnEnded)
    await rig.at_rest()
    rig.engine.clear_context(rig.agent_id)
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="call the bank"))
    held.gate.set()
    await rig.ended(await rig.child())
    await rig.status(rig.agent_id, "idle")
    left = rig.agent(rig.agent_id).tasks.tasks
    assert [(task.subject, task.status) for task in left] == [("call the bank", "pending")]


# -- A6, A11, X: status and stop -----------------------------------------------------------


async def test_a_parent_is_not_finished_while_a_child_lives(tmp_path: Path) -> None:
    held = gate(answer=says("inner done"))
    scripts = {"a": [spawns("b"), says("a waits"), says("a done")], "b": [held]}
    rig = TreeRig(tmp_path, [spawns("a"), says("ok"), says("end")], scripts)
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    await rig.status(outer, "waiting_children")
    held.gate.set()
    assert (await rig.ended(outer)).text == "a done"
    ends = [event.agent_id for event in rig.of(AgentEnded)]
    assert ends == [inner, outer]


async def test_stop_takes_the_subtree_and_the_reports_wake_nobody(tmp_path: Path) -> None:
    scripts = {"a": [spawns("b"), gate()], "b": [calls(("slow", {}))]}
    rig = TreeRig(tmp_path, [spawns("a"), gate()], scripts)
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    await rig.gates.reached.wait()
    rig.engine.stop(rig.agent_id)
    await rig.ended(outer)
    await rig.status(rig.agent_id, "idle")
    assert {e.agent_id: e.status for e in rig.of(AgentEnded)} == {
        outer: "stopped",
        inner: "stopped",
    }
    by_agent = {e.agent_id: e.text for e in rig.of(AgentEnded)}
    assert by_agent[inner] == "stopped after 1 tool; side effects may exist"
    assert not any(agent.is_running for agent in rig.tree.all())


async def test_a_child_stopped_before_any_tool_says_so(tmp_path: Path) -> None:
    def stop(_):
        return calls(("stop", {"agent_id": rig.of(AgentSpawned)[0].agent_id}))

    rig = TreeRig(tmp_path, [spawns("a"), stop, stop, says("ok"), says("ok")], {"a": [gate()]})
    rig.send("go")
    agent_id = await rig.child()
    await rig.until(TurnEnded, 2)
    texts = rig.tool_texts(rig.agent_id)
    assert texts[1] == f"[{agent_id}] stopped before it ran any tools"
    assert texts[2] == f"[{agent_id}] already stopped — nothing to stop."


async def test_stop_withdraws_the_childs_approvals_and_questions(tmp_path: Path) -> None:
    scripts = {
        "a": [calls(("write", {"what": "x"}))],
        "b": [calls(("ask_parent", {"question": "?"}))],
    }
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in "ab"))
    rig = TreeRig(tmp_path, [two, gate()], scripts)
    rig.send("go")
    await rig.until(ApprovalRequested)
    await rig.until(QuestionAsked)
    rig.engine.stop(rig.agent_id)
    await rig.until(AgentEnded, 2)
    assert len(rig.of(ApprovalResolved)) == 1
    assert not any(questions_of(rig.engine).to_parent_of(e.agent_id) for e in rig.of(AgentEnded))
    assert rig.gates.ran == []


# -- S1-S8: steer --------------------------------------------------------------------------


class Steered:
    """A parent with one held child, and what steer answers."""

    def __init__(self, tmp_path: Path, *script, note="use euros", target=None, child=None) -> None:
        self.held = gate(answer=says("child done"))

        def steer(_):
            agent_id = target if target is not None else self.rig.of(AgentSpawned)[0].agent_id
            return calls(("steer", {"agent_id": agent_id, "note": note}))

        children = {"a": child or [self.held, says("after")]}
        self.rig = TreeRig(tmp_path, [spawns("a"), *script, steer, gate()], children)

    async def answer(self) -> str:
        self.rig.send("go")
        await self.rig.once(lambda: len(self.rig.tool_texts(self.rig.agent_id)) > self.before)
        text = self.rig.tool_texts(self.rig.agent_id)[-1]
        await self.rig.engine.close()
        return text

    before = 1


async def test_s1_a_blank_note(tmp_path: Path) -> None:
    assert await Steered(tmp_path, note="  ").answer() == "Error: note is required"


@pytest.mark.parametrize("target", ["", "sa_00000000"])
async def test_s2_an_unknown_id(tmp_path: Path, target: str) -> None:
    text = await Steered(tmp_path, target=target).answer()
    assert text == f"Cannot steer {target} — no such running subagent."


async def test_s3_oneself(tmp_path: Path) -> None:
    steered = Steered(tmp_path)
    steered.rig.model.script[1] = lambda _: calls(
        ("steer", {"agent_id": steered.rig.agent_id, "note": "x"})
    )
    assert await steered.answer() == "Error: cannot steer yourself."


async def test_s4_not_a_direct_child(tmp_path: Path) -> None:
    scripts = {"a": [spawns("b"), gate()], "b": [gate()]}

    def steer(_):
        return calls(("steer", {"agent_id": rig.of(AgentSpawned)[1].agent_id, "note": "x"}))

    rig = TreeRig(tmp_path, [spawns("a"), calls(("slow", {})), steer, gate()], scripts)
    rig.send("go")
    inner = await rig.child(2)
    rig.gates.open.set()
    await rig.once(lambda: len(rig.tool_texts(rig.agent_id)) == 3)
    assert rig.tool_texts(rig.agent_id)[-1] == (
        f"Error: {inner} is not one of your subagents — you can only steer children you started."
    )
    await rig.engine.close()


async def test_s5_an_ended_child(tmp_path: Path) -> None:
    steered = Steered(tmp_path, WAIT, child=[says("quick")])
    steered.before = 2
    text = await steered.answer()
    agent_id = steered.rig.of(AgentSpawned)[0].agent_id
    assert text == f"Cannot steer {agent_id} — it already finished (completed)."


async def test_s7_a_child_that_waits_for_an_answer(tmp_path: Path) -> None:
    asks = calls(("ask_parent", {"question": "Which currency?"}))
    steered = Steered(tmp_path, WAIT, child=[asks, says("x")])
    steered.before = 2
    text = await steered.answer()
    agent_id = steered.rig.of(AgentSpawned)[0].agent_id
    assert text == (
        f"steer ▸ {agent_id} ← use euros (queued — but {agent_id} is BLOCKED on ask_parent and "
        f"will NOT see it until you answer its question: Which currency? — unblock it with "
        f'answer_child(agent_id: "{agent_id}", answer: "…"))'
    )


async def test_s8_the_note_is_queued_whole_and_echoed_short(tmp_path: Path) -> None:
    note = "use euros " * 20
    steered = Steered(tmp_path, note=note)
    text = await steered.answer()
    agent_id = steered.rig.of(AgentSpawned)[0].agent_id
    assert text.startswith(f"steer ▸ {agent_id} ← use euros")
    assert text.endswith("… (parked · enters child context next turn)")
    assert steered.rig.notes_to(agent_id, "steer") == [note.strip()]


async def test_a_note_during_the_childs_last_answer_gets_a_step(tmp_path: Path) -> None:
    held = gate(answer=says("first"))
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [held, says("second")]})
    rig.send("go")
    await held.reached.wait()
    child = await rig.child()
    rig.send_to(child, "use euros")
    held.gate.set()
    assert (await rig.ended(child)).text == "second"
    texts = [prose(m) for m in rig.model.requests_of("a")[1].messages]
    assert texts.count("<app:user>\nuse euros\n</app:user>") == 1


async def test_the_parent_is_told_what_the_person_told_its_child(tmp_path: Path) -> None:
    held = gate(answer=says("first"))
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [held, says("second")]})
    rig.send("go")
    await held.reached.wait()
    child = await rig.child()
    rig.send_to(child, "use euros")
    held.gate.set()
    await rig.ended(child)
    await rig.until(TurnEnded, 2)
    texts = [prose(m) for m in rig.model.main_requests[2].messages]
    told = (
        f'<app:user_to_subagent to="the a" agent_id="{child}">\nuse euros\n</app:user_to_subagent>'
    )
    assert sum(told in text for text in texts) == 1


async def test_a_note_to_a_child_that_fails_comes_back_to_its_sender(tmp_path: Path) -> None:
    held = gate(answer=None)
    steered = Steered(tmp_path, child=[held])
    rig = steered.rig
    rig.send("go")
    await held.reached.wait()
    child = await rig.child()
    await rig.once(lambda: bool(rig.notes_to(child, "steer")))
    rig.engine.stop(child)
    await rig.ended(child)
    assert len(rig.of(NoteReturned)) == 1
    assert "It did not read your note: use euros" in rig.notes_to(rig.agent_id, "report")[0]
    await rig.engine.close()


async def test_a_note_of_the_person_to_an_ended_child_comes_back(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [says("x")]})
    rig.send("go")
    child = await rig.child()
    await rig.ended(child)
    note = rig.send_to(child, "too late")
    assert [(e.note_id, e.why) for e in rig.of(NoteReturned)] == [(note.id, "finished")]


async def test_a_parent_that_waits_is_woken_by_a_steer(tmp_path: Path) -> None:
    held = gate()
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("heard")], {"a": [held]})
    rig.send("go")
    await rig.status(rig.agent_id, "waiting_children")
    rig.send("something else")
    await rig.until(TurnEnded)
    assert rig.model.main_requests[2].messages[-1].text == "something else"
    await rig.engine.close()


# -- A8: probe -----------------------------------------------------------------------------


async def test_a_probe_tells_and_appends_nothing(tmp_path: Path) -> None:
    def probe(live):
        def step(_):
            agent_id = rig.of(AgentSpawned)[0].agent_id
            return calls(("probe", {"agent_id": agent_id, "live": live, "question": "how far?"}))

        return step

    script = [calls(("echo", {"what": "prices"})), calls(("slow", {})), says("end")]
    main = [spawns("a"), calls(("echo", {"what": "w"})), probe(False), gate()]
    rig = TreeRig(tmp_path, main, {"a": script})
    rig.send("go")
    child = await rig.child()
    await rig.gates.reached.wait()
    await rig.once(lambda: len(rig.tool_texts(rig.agent_id)) == 3)
    text = rig.tool_texts(rig.agent_id)[-1]
    before = len(rig.tree.find(child).history)
    assert text.splitlines()[0].startswith(f"probe {child} · general · running · ")
    assert "- echo prices" in (await rig.engine.probe(child)).splitlines()
    assert len(rig.tree.find(child).history) == before
    await rig.engine.close()


async def test_a_live_probe_is_limited_and_leaves_the_history_alone(tmp_path: Path) -> None:
    held = gate()
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [held, *[says("half done")] * 6]})
    rig.send("go")
    await held.reached.wait()
    child = rig.tree.find(await rig.child())
    main = rig.tree.find(rig.agent_id)
    before = child.history
    for _ in range(5):
        said = await steering_of(rig.engine).probe(main, child.id, "how far?", live=True)
        assert said == "half done"
    with pytest.raises(Exception, match=r"live-probe budget exhausted .* \(max 5 per child\)"):
        await steering_of(rig.engine).probe(main, child.id, "", live=True)
    assert child.history == before
    await rig.engine.close()


# -- A9, A10: ask and answer ---------------------------------------------------------------


async def test_a_question_is_answered_once_by_whoever_is_first(tmp_path: Path) -> None:
    asks = calls(("ask_parent", {"question": "Which currency?"}))

    def answer(_):
        agent_id = rig.of(AgentSpawned)[0].agent_id
        return calls(("answer_child", {"agent_id": agent_id, "answer": "euros"}))

    main = [spawns("a"), WAIT, answer, answer, WAIT, says("ok")]
    rig = TreeRig(tmp_path, main, {"a": [asks, says("done")]})
    rig.send("go")
    child = await rig.child()
    await rig.ended(child)
    await rig.until(TurnEnded, 2)
    assert rig.model.requests_of("a")[1].messages[-1].results[0].text == "euros"
    texts = rig.tool_texts(rig.agent_id)
    assert f"Answered {child}." in texts
    assert f"{child} is not waiting on you." in texts
    assert "Which currency?" in rig.notes_to(rig.agent_id, "question")[0]


async def test_the_person_may_answer_any_child(tmp_path: Path) -> None:
    asks = calls(("ask_parent", {"question": "Which currency?"}))
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [asks, says("done")]})
    rig.send("go")
    asked = await rig.until(QuestionAsked)
    assert rig.info(asked.agent_id).status in {"waiting_answer", "running", "queued"}
    rig.engine.answer(asked.question.id, "euros")
    await rig.ended(asked.agent_id)
    assert rig.model.requests_of("a")[1].messages[-1].results[0].text == "euros"
    await rig.engine.close()


async def test_a_question_nobody_answers_lets_the_child_go_on(tmp_path: Path) -> None:
    asks = calls(("ask_parent", {"question": "?"}))
    settings = Settings(question_timeout_s=0)
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [asks, says("done")]}, settings=settings)
    rig.send("go")
    await rig.ended(await rig.child())
    assert rig.model.requests_of("a")[1].messages[-1].results[0].text == NO_ANSWER
    await rig.engine.close()


# -- A12: pause, step, resume; A7: budgets -------------------------------------------------


async def paused(rig: TreeRig, held: Waits) -> AgentId:
    """Pause the child in the midst of a step; return it when it holds."""
    rig.send("go")
    child = await rig.child()
    await held.reached.wait()
    rig.engine.pause(child)
    held.gate.set()
    await rig.status(child, "paused")
    return child


async def test_pause_step_resume(tmp_path: Path) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})))
    script = [held, calls(("echo", {"what": "2"})), calls(("echo", {"what": "3"})), says("done")]
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": script})
    child = await paused(rig, held)
    assert len(rig.model.requests_of("a")) == 1
    rig.engine.step(child)
    await rig.once(lambda: len(rig.model.requests_of("a")) == 2)
    await rig.status(child, "paused")
    assert len(rig.model.requests_of("a")) == 2
    rig.engine.resume(child)
    assert (await rig.ended(child)).text == "done"


@pytest.mark.parametrize("wish", ["resume", "step"])
async def test_who_is_paused_while_it_waits_for_subagents_just_waits_on(
    tmp_path: Path, wish: str
) -> None:
    held = gate(answer=says("b done"))
    scripts = {"a": [spawns("b"), says("a waits"), says("a done")], "b": [held]}
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], scripts)
    rig.send("go")
    outer = await rig.child()
    await rig.status(outer, "waiting_children")
    rig.engine.pause(outer)
    await rig.status(outer, "paused")
    getattr(rig.engine, wish)(outer)
    await rig.status(outer, "waiting_children")
    assert not rig.agent(outer).is_running
    held.gate.set()
    assert (await rig.ended(outer)).text == "a done"
    assert rig.notes_to(outer, "message") == ["a"]


async def test_a_pause_is_no_run_time_and_the_session_does_not_seem_to_work(tmp_path: Path) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})))
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [held, says("done")]})
    child = await paused(rig, held)
    await rig.once(lambda: rig.of(SessionsChanged)[-1].sessions[0].status == "paused")
    await rig.once(lambda: rig.of(AgentsChanged)[-1].agents[-1].paused_at > 0.0)
    rig.engine.resume(child)
    await rig.ended(child)
    ended = rig.tree.info(rig.agent(child))
    assert ended.paused_at == 0.0
    assert ended.paused > 0.0


def test_what_is_shown_of_a_result_ends_with_a_whole_word() -> None:
    words = "stopped after 1 tool; side effects may exist"
    assert shortened(words, 30) == "stopped after 1 tool; side…"
    assert shortened(words, 36) == "stopped after 1 tool; side effects…"
    assert shortened(words, 80) == words
    assert shortened("x" * 50, 10) == "x" * 9 + "…"


async def test_finish_takes_one_last_step_without_tools(tmp_path: Path) -> None:
    held = gate(answer=calls(("echo", {"what": "1"})))
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [held, says("what I have")]})
    child = await paused(rig, held)
    rig.engine.finish(child)
    assert (await rig.ended(child)).text == "what I have"
    assert rig.model.requests_of("a")[1].tools == ()


async def test_a_used_up_budget_holds_and_half_as_much_again_lets_go_on(tmp_path: Path) -> None:
    script = [calls(("echo", {"what": str(n)})) for n in range(3)]
    settings = Settings(subagent_budget=Budget(steps=2))
    rig = TreeRig(
        tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [*script, says("done")]}, settings=settings
    )
    rig.send("go")
    reached = await rig.until(BudgetReached)
    child = reached.agent_id
    assert (reached.owner_id, reached.spent.steps) == (child, 2)
    await rig.status(child, "paused")
    assert len(rig.model.requests_of("a")) == 2
    rig.engine.set_budget(child, Budget(steps=10))
    assert (await rig.ended(child)).text == "done"


async def test_a_child_cannot_get_past_its_parents_remainder(tmp_path: Path) -> None:
    script = [calls(("echo", {"what": str(n)})) for n in range(9)]
    settings = Settings(budget=Budget(steps=3))
    rig = TreeRig(tmp_path, [spawns("a"), WAIT], {"a": script}, settings=settings)
    rig.send("go")
    reached = await rig.until(BudgetReached)
    assert reached.owner_id in {rig.agent_id, reached.agent_id}
    taken = len(rig.model.requests_of("a")) + len(rig.model.main_requests)
    assert taken <= 4, "main's own step may be under way when the child takes the last one"
    await rig.status(reached.agent_id, "paused")
    assert rig.store.infos[rig.session_id].status == "needs_you", "whoever's budget it is"
    await rig.engine.close()


# -- restart -------------------------------------------------------------------------------


async def test_the_tree_and_undelivered_notes_survive_a_restart(tmp_path: Path) -> None:
    held = gate()
    first = TreeRig(
        tmp_path, [spawns("a"), spawns("b"), gate()], {"a": [says("a done")], "b": [held]}
    )
    first.send("go")
    await held.reached.wait()
    a, b = await first.child(1), await first.child(2)
    await first.ended(a)
    first.send_to(b, "use euros")
    store = first.store.copy()
    await first.engine.close()

    script = {"b": [says("b done")]}
    rig = TreeRig(tmp_path, [says("ok"), says("ok")], script, store=store)
    rig.engine.open_session(rig.session_id)
    infos = {agent.id: agent for agent in rig.opened.agents}
    assert (infos[a].status, infos[b].status) == ("completed", "paused")
    assert infos[a].parent_id == rig.agent_id
    assert not rig.model.requests
    rig.engine.resume(b)
    assert (await rig.ended(b)).text == "b done"
    texts = [prose(m) for m in rig.model.requests_of("b")[0].messages]
    assert "<app:user>\nuse euros\n</app:user>" in texts[-1]
    delivered = [e for e in rig.of(NoteDelivered) if e.agent_id == b]
    assert delivered


async def test_delegation_is_one_switch(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [says("x")], {}, settings=Settings(has_subagents=False))
    await rig.run("hi")
    names = {tool.name for tool in rig.model.main_requests[0].tools}
    assert not names & {"spawn", "wait", "steer", "stop", "probe"}
    assert "Subagents" not in rig.model.main_requests[0].system


async def test_an_approval_of_a_child_runs_in_the_child(tmp_path: Path) -> None:
    script = [calls(("write", {"what": "x"})), says("done")]
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": script})
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    assert asked.agent_id == await rig.child()
    assert rig.store.infos[rig.session_id].status == "needs_you"
    rig.engine.decide(asked.request.id, AllowOnce())
    await rig.ended(AgentId(asked.agent_id))
    assert rig.gates.ran == ["x"]
