"""Caps, budgets and what counts: a tree never gets past what it was given."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.agents import AgentSpec, Budget
from desktop_agent.core.approvals import AllowAlways, AllowOnce, Rule
from desktop_agent.core.events import (
    AgentEnded,
    AgentsChanged,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    BudgetChanged,
    BudgetReached,
    ListChanged,
    QuestionAsked,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.core.settings import Settings
from desktop_agent.core.tool import Preview
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.agent.usage import UsageMeter
from desktop_agent.engine.base.ports import AgentRecord
from tests.engine.rig import tool
from tests.engine.tree.tree_rig import WAIT, TreeRig, gate, spawns
from tests.helpers.prose import prose
from tests.helpers.scripted import calls, says

WARNING = (
    "<app:notice>\nFour fifths of your budget are used. Come to an end: finish what matters most.\n"
    "</app:notice>"
)


def echoes(count: int) -> list[Any]:
    return [calls(("echo", {"what": str(n)})) for n in range(count)]


# -- A3: what the caps count ---------------------------------------------------------------


async def test_ended_children_do_not_count_a_fifth_in_a_second_wave_works(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    four = calls(*(("spawn", {"description": p, "prompt": p}) for p in names))
    held = gate(answer=says("eve is done"))
    scripts: dict[str, list[Any]] = {name: [says(f"{name} is done")] for name in names}
    rig = TreeRig(tmp_path, [], {**scripts, "eve": [held]})
    rig.model.script = [four, calls(("slow", {})), spawns("eve"), gate()]
    rig.send("go")
    await rig.until(AgentEnded, 4)
    rig.gates.open.set()
    fifth = await rig.child(5)
    await held.reached.wait()
    assert (await rig.status(fifth, "running")).doing == "thinking"
    statuses = [a.status for a in rig.of(AgentsChanged)[-1].agents if a.parent_id is not None]
    assert statuses == ["completed"] * 4 + ["running"]
    held.gate.set()
    assert (await rig.ended(fifth)).status == "completed"
    await rig.engine.close()


async def test_a_fifth_beside_four_live_ones_is_refused_and_the_cap_is_named(
    tmp_path: Path,
) -> None:
    names = ["a", "b", "c", "d", "e"]
    five = calls(*(("spawn", {"description": p, "prompt": p}) for p in names))
    rig = TreeRig(tmp_path, [five, gate()], {name: [gate()] for name in names})
    rig.send("go")
    await rig.once(lambda: len(rig.tool_texts(rig.agent_id)) == 5)
    assert rig.tool_texts(rig.agent_id)[4] == (
        "Error: one agent may have 4 running subagents at most (max_children); wait for one to end"
    )
    assert len(rig.of(AgentSpawned)) == 4
    await rig.engine.close()


async def test_a_stopping_child_still_counts(tmp_path: Path) -> None:
    scripts = {"a": [spawns("b"), says("waits")], "b": [gate()]}
    rig = TreeRig(
        tmp_path,
        [spawns("a"), calls(("slow", {})), spawns("c"), gate()],
        {**scripts, "c": [gate()]},
        settings=Settings(max_children=1),
    )
    rig.send("go")
    outer = await rig.child(1)
    await rig.status(outer, "waiting_children")
    rig.gates.open.set()
    await rig.once(lambda: len(rig.tool_texts(rig.agent_id)) == 3)
    assert "(max_children)" in rig.tool_texts(rig.agent_id)[2]
    await rig.engine.close()


# -- A6: how a child stands ---------------------------------------------------------------


async def test_a_child_is_queued_then_runs_waits_and_ends(tmp_path: Path) -> None:
    script = [
        calls(("write", {"what": "x"})),
        calls(("ask_parent", {"question": "?"})),
        spawns("b"),
        says("b works"),
        says("done"),
    ]
    held = gate(answer=says("b done"))
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": script, "b": [held]})
    rig.send("go")
    child = await rig.child()
    rig.engine.decide((await rig.until(ApprovalRequested)).request.id, AllowOnce())
    rig.engine.answer((await rig.until(QuestionAsked)).question.id, "yes")
    await rig.status(child, "waiting_children")
    held.gate.set()
    await rig.ended(child)
    seen = [a.status for e in rig.of(AgentsChanged) for a in e.agents if a.id == child]
    order = [status for status, _ in groupby(seen)]
    assert order[:5] == ["queued", "running", "waiting_approval", "running", "waiting_answer"]
    assert "waiting_children" in order
    await rig.once(lambda: rig.info(child).status == "completed")
    infos = {a.id: a for a in rig.of(AgentsChanged)[-1].agents}
    assert len(infos) == 3, "rows that ended stay"
    await rig.engine.close()


# -- A5: the task of a child ---------------------------------------------------------------


async def test_the_task_of_a_stopped_child_waits_again_and_the_report_says_why(
    tmp_path: Path,
) -> None:
    task = calls(("TaskCreate", {"subject": "t"}))
    rig = TreeRig(tmp_path, [task, spawns("job", task_id=1), gate()], {"job": [gate()]})
    rig.send("go")
    child = await rig.child()
    rig.engine.stop(child)
    await rig.ended(child)
    last = [e.tasks for e in rig.of(ListChanged) if e.agent_id == rig.agent_id][-1]
    assert (last[0].status, last[0].owner) == ("pending", "")
    assert rig.notes_to(rig.agent_id, "report") == [
        f'<app:report from="the job" agent_id="{child}" status="stopped" '
        'remarks="Task #1 is pending again: its subagent was stopped.">\n'
        "stopped before it ran any tools\n</app:report>"
    ]
    await rig.engine.close()


async def test_a_child_for_a_task_that_is_not_there_is_not_started(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [spawns("job", task_id=7), says("ok")], {"job": []})
    await rig.run("go")
    assert "task 7 not found" in rig.tool_texts(rig.agent_id)[0]
    assert not rig.of(AgentSpawned)


# -- A7: budgets ---------------------------------------------------------------------------


async def test_at_four_fifths_the_agent_is_told_once(tmp_path: Path) -> None:
    rig = TreeRig(
        tmp_path,
        [spawns("a"), WAIT, says("ok")],
        {"a": [*echoes(9), says("done")]},
        settings=Settings(subagent_budget=Budget(steps=10)),
    )
    rig.send("go")
    await rig.ended(await rig.child())
    requests = rig.model.requests_of("a")
    assert [sum(prose(m) == WARNING for m in r.messages) for r in requests] == [0] * 8 + [1, 1]
    await rig.engine.close()


async def test_a_used_up_budget_can_end_in_one_last_step_without_tools(tmp_path: Path) -> None:
    rig = TreeRig(
        tmp_path,
        [spawns("a"), WAIT, says("ok")],
        {"a": [*echoes(2), says("what I have")]},
        settings=Settings(subagent_budget=Budget(steps=2)),
    )
    rig.send("go")
    child = (await rig.until(BudgetReached)).agent_id
    await rig.status(child, "paused")
    rig.engine.finish(child)
    ended = await rig.ended(child)
    assert (ended.status, ended.text) == ("completed", "what I have")
    assert rig.model.requests_of("a")[2].tools == ()
    await rig.engine.close()


async def test_who_stops_a_last_step_to_say_more_has_an_answer_and_no_tools_are_run(
    tmp_path: Path,
) -> None:
    held = gate()
    rig = TreeRig(
        tmp_path,
        [spawns("a"), WAIT, says("ok")],
        {"a": [*echoes(2), held, says("what I have")]},
        settings=Settings(subagent_budget=Budget(steps=2)),
    )
    rig.send("go")
    child = (await rig.until(BudgetReached)).agent_id
    await rig.status(child, "paused")
    rig.engine.finish(child)
    await held.reached.wait()
    rig.engine.stop_and_send(child, Note(new_note_id(), "in short"))
    assert (await rig.ended(child)).text == "what I have"
    asked = rig.model.requests_of("a")
    assert "in short" in prose(asked[-1].messages[-1])
    assert [bool(one.tools) for one in asked] == [True, True, False, False]
    await rig.engine.close()


async def test_a_used_up_budget_can_end_in_a_stop(tmp_path: Path) -> None:
    rig = TreeRig(
        tmp_path,
        [spawns("a"), WAIT, says("ok")],
        {"a": echoes(3)},
        settings=Settings(subagent_budget=Budget(steps=2)),
    )
    rig.send("go")
    child = (await rig.until(BudgetReached)).agent_id
    await rig.status(child, "paused")
    rig.engine.stop(child)
    assert (await rig.ended(child)).text == "stopped after 2 tools; side effects may exist"
    await rig.engine.close()


@pytest.mark.parametrize("wish", ["resume", "step"])
async def test_going_on_alone_does_not_get_past_a_used_up_budget(tmp_path: Path, wish) -> None:
    rig = TreeRig(
        tmp_path,
        [spawns("a"), WAIT, says("ok")],
        {"a": [*echoes(3), says("done")]},
        settings=Settings(subagent_budget=Budget(steps=2)),
    )
    rig.send("go")
    child = (await rig.until(BudgetReached)).agent_id
    await rig.status(child, "paused")
    getattr(rig.engine, wish)(child)
    await rig.until(BudgetReached, 2)
    assert len(rig.model.requests_of("a")) == 2
    rig.engine.extend_budget(child)
    assert (await rig.ended(child)).text == "done"
    await rig.engine.close()


@pytest.mark.parametrize(
    ("budget", "usage"),
    [(Budget(tokens=30), Usage(10, 5)), (Budget(cost=0.2), Usage(1, 1, cost=0.1))],
)
async def test_money_and_tokens_hold_as_steps_do(tmp_path: Path, budget, usage) -> None:
    import msgspec

    script = [msgspec.structs.replace(one, usage=usage) for one in echoes(4)]
    rig = TreeRig(
        tmp_path,
        [spawns("a"), WAIT, says("ok")],
        {"a": script},
        settings=Settings(subagent_budget=budget),
    )
    rig.send("go")
    reached = await rig.until(BudgetReached)
    assert len(rig.model.requests_of("a")) == 2
    assert reached.budget == budget
    await rig.engine.close()


async def test_many_children_together_do_not_get_past_what_their_parent_has_left(
    tmp_path: Path,
) -> None:
    """The parent's 9 steps: 1 of its own, and 8 of all its children, whoever is first."""
    names = ["a", "b", "c", "d"]
    four = calls(*(("spawn", {"description": p, "prompt": p}) for p in names))
    rig = TreeRig(
        tmp_path,
        [four, WAIT],
        {name: echoes(9) for name in names},
        settings=Settings(budget=Budget(steps=9)),
    )
    rig.send("go")
    await rig.once(
        lambda: len({e.agent_id for e in rig.of(BudgetReached)} & set(all_ids(rig))) == 4
    )
    taken = sum(len(rig.model.requests_of(name)) for name in names) + len(rig.model.main_requests)
    assert taken == 9
    assert {e.spec.budget for e in rig.of(AgentSpawned)} == {Budget()}, "they share its limit"
    await rig.engine.close()


def all_ids(rig: TreeRig) -> list[AgentId]:
    return [event.agent_id for event in rig.of(AgentSpawned)]


async def test_nothing_left_means_nothing(tmp_path: Path) -> None:
    rig = TreeRig(
        tmp_path,
        [spawns("a"), gate()],
        {"a": echoes(1)},
        settings=Settings(budget=Budget(steps=1)),
    )
    rig.send("go")
    child = await rig.child()
    reached = await rig.until(BudgetReached)
    assert rig.of(AgentSpawned)[0].spec.budget == Budget()
    assert reached.agent_id in {child, rig.agent_id}
    await rig.once(lambda: child in {e.agent_id for e in rig.of(BudgetReached)})
    assert rig.model.requests_of("a") == []
    await rig.engine.close()


async def test_the_main_agents_budget_holds_and_can_be_given_more(tmp_path: Path) -> None:
    rig = TreeRig(
        tmp_path, [*echoes(3), says("done")], {}, settings=Settings(budget=Budget(steps=2))
    )
    rig.send("go")
    reached = await rig.until(BudgetReached)
    assert (reached.agent_id, reached.owner_id) == (rig.agent_id, rig.agent_id)
    info = await rig.status(rig.agent_id, "paused")
    assert (info.budget, info.used) == (Budget(steps=2), 1.0)
    assert rig.store.infos[rig.session_id].status == "needs_you"
    rig.engine.extend_budget(rig.agent_id)
    assert rig.of(BudgetChanged)[-1].budget == Budget(steps=5)
    await rig.until(TurnEnded)
    assert rig.info(rig.agent_id).budget == Budget(steps=5)


async def test_the_main_agents_budget_can_be_set_before_anything_runs(tmp_path: Path) -> None:
    rig = TreeRig(tmp_path, [*echoes(1), says("done")], {})
    rig.engine.set_budget(rig.agent_id, Budget(steps=1))
    assert rig.info(rig.agent_id).budget == Budget(steps=1)
    rig.send("go")
    await rig.until(BudgetReached)
    assert len(rig.model.main_requests) == 1
    rig.engine.set_budget(rig.agent_id, Budget())
    await rig.until(TurnEnded)
    assert rig.messages_of(rig.agent_id)[-1].text == "done"


async def test_a_budget_the_person_gave_and_what_was_used_survive_a_restart(
    tmp_path: Path,
) -> None:
    settings = Settings(budget=Budget(steps=20), subagent_budget=Budget(steps=2))
    held = gate()
    first = TreeRig(tmp_path, [spawns("a"), WAIT], {"a": [*echoes(2), held]}, settings=settings)
    first.send("go")
    child = (await first.until(BudgetReached)).agent_id
    first.engine.set_budget(child, Budget(steps=6))
    first.engine.set_budget(first.agent_id, Budget(steps=30))
    await held.reached.wait()
    store = first.store.copy()
    await first.engine.close()
    rig = TreeRig(tmp_path, [], {}, store=store, settings=settings)
    rig.engine.open_session(rig.session_id)
    infos = {agent.id: agent for agent in rig.opened.agents}
    assert infos[child].budget == Budget(steps=6)
    assert infos[child].used == 0.5
    assert infos[rig.agent_id].budget == Budget(steps=30)
    assert infos[rig.agent_id].used == pytest.approx(5 / 30)


@pytest.mark.parametrize("whose", ["its own", "its parent's"])
async def test_an_agent_that_was_held_before_a_restart_goes_on_with_more(
    tmp_path: Path, whose: str
) -> None:
    limit, none = Budget(steps=3), Budget()
    settings = Settings(subagent_budget=limit, budget=none)
    if whose != "its own":
        settings = Settings(subagent_budget=none, budget=limit)
    first = TreeRig(tmp_path, [spawns("a"), WAIT], {"a": echoes(4)}, settings=settings)
    first.send("go")
    child = await first.child()
    await first.once(lambda: child in {e.agent_id for e in first.of(BudgetReached)})
    store = first.store.copy()
    await first.engine.close()
    rig = TreeRig(
        tmp_path, [says("ok"), says("ok")], {"a": [says("done")]}, store=store, settings=settings
    )
    rig.engine.open_session(rig.session_id)
    infos = {agent.id: agent for agent in rig.opened.agents}
    assert infos[child].status == "paused"
    assert not rig.model.requests
    rig.engine.extend_budget(child)
    assert (await rig.ended(child)).text == "done"
    await rig.engine.close()


# -- P8: what is not charged ---------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("status", "charged"),
    [
        ("running", 10.0),
        ("waiting_approval", 0.0),
        ("waiting_answer", 0.0),
        ("waiting_children", 0.0),
    ],
)
def test_waiting_for_the_person_or_for_subagents_runs_no_time_down(status, charged) -> None:
    clock = Clock()
    spec = AgentSpec(AgentId("ag"), "a", "p", 1, Workspace("/w"))
    meter = UsageMeter(AgentRecord(AgentId("sa"), spec=spec), clock)
    meter.start_turn()
    meter.begin(status, "x")
    clock.now += 10
    meter.end(status)
    clock.now += 3
    assert meter.end_turn() == charged + 3
    assert meter.spent.seconds == charged + 3


def test_being_held_runs_no_time_down() -> None:
    clock = Clock()
    meter = UsageMeter(AgentRecord(AgentId("ag")), clock)
    meter.start_turn()
    with meter.resting():
        clock.now += 10
    clock.now += 1
    assert meter.spent.seconds == 1


async def test_a_paused_agents_time_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    meters = partial(UsageMeter, clock=clock)
    monkeypatch.setattr("desktop_agent.engine.agent.agent.UsageMeter", meters)
    held = gate(answer=calls(("echo", {"what": "1"})))
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, says("ok")], {"a": [held, says("done")]})
    rig.send("go")
    child = await rig.child()
    await held.reached.wait()
    rig.engine.pause(child)
    held.gate.set()
    await rig.once(lambda: rig.info(child).paused_at > 0.0)
    assert rig.info(child).status == "paused"
    clock.now += 100
    rig.engine.resume(child)
    await rig.ended(child)
    assert rig.agent(child).meter.spent.seconds == 0.0
    await rig.engine.close()


# -- P3, P5: one list of requests for the whole tree ---------------------------------------


class RuleRig(TreeRig):
    """`write` can be allowed for good."""

    def _tools(self):
        async def write(args, _):
            from desktop_agent.core.tool import ToolOutput

            self.gates.ran.append(args["what"])
            return ToolOutput("written")

        from desktop_agent.core.tool import Access

        made = tool(
            "write",
            write,
            access=Access.WRITE,
            preview=lambda a: Preview(f"Write {a}?", rules=(Rule("write", ""),)),
        )
        return [*(t for t in super()._tools() if t.name != "write"), made]


async def test_a_rule_made_for_one_child_settles_the_request_of_another(tmp_path: Path) -> None:
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in "ab"))
    scripts = {p: [calls(("write", {"what": p})), says("done")] for p in "ab"}
    rig = RuleRig(tmp_path, [two, gate()], scripts)
    rig.send("go")
    await rig.until(ApprovalRequested, 2)
    first = rig.of(ApprovalRequested)[0]
    assert len({e.agent_id for e in rig.of(ApprovalRequested)}) == 2
    rig.engine.decide(first.request.id, AllowAlways(Rule("write", "", "everywhere")))
    await rig.until(AgentEnded, 2)
    assert len(rig.of(ApprovalResolved)) == 2
    assert sorted(rig.gates.ran) == ["a", "b"]
    assert [rule.uses for rule in rig.store.rules()] == [2]
    await rig.engine.close()


async def test_requests_of_many_children_can_be_answered_in_any_order(tmp_path: Path) -> None:
    two = calls(*(("spawn", {"description": p, "prompt": p}) for p in "ab"))
    scripts = {p: [calls(("write", {"what": p})), says("done")] for p in "ab"}
    rig = TreeRig(tmp_path, [two, gate()], scripts)
    rig.send("go")
    await rig.until(ApprovalRequested, 2)
    for asked in reversed(rig.of(ApprovalRequested)):
        rig.engine.decide(asked.request.id, AllowOnce())
    await rig.until(AgentEnded, 2)
    assert sorted(rig.gates.ran) == ["a", "b"]
    await rig.engine.close()
