"""A subagent's own limit is taken out of its parent's, and what it leaves comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from desktop_agent.core.agents import Budget
from desktop_agent.core.events import AgentEnded, AgentSpawned, BudgetReached, TurnEnded
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from tests.engine.tree.test_tree_budgets import echoes
from tests.engine.tree.tree_rig import WAIT, TreeRig, gate, spawns
from tests.helpers.scripted import calls, says

STEP = Usage(60, 40, cost=0.1)


def limits_of(rig: TreeRig) -> list[Budget]:
    return [event.spec.budget for event in rig.of(AgentSpawned)]


async def test_a_hundred_children_are_not_each_given_the_whole_rest(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(100)]
    many = calls(*(("spawn", {"description": name, "prompt": name}) for name in names))
    rig = TreeRig(
        tmp_path,
        [many, gate()],
        {name: [gate()] for name in names},
        settings=Settings(
            max_children=100,
            max_agents=100,
            budget=Budget(steps=21),
            subagent_budget=Budget(steps=8),
        ),
    )
    rig.send("go")
    await rig.once(lambda: len(rig.tool_texts(rig.agent_id)) == 100)
    assert limits_of(rig) == [Budget(steps=8), Budget(steps=8), Budget(steps=4)]
    refused = rig.tool_texts(rig.agent_id)[3:]
    assert all("set aside for your running subagents" in text for text in refused)
    await rig.engine.close()


async def test_a_parent_waits_for_what_its_child_holds_and_goes_on_with_what_comes_back(
    tmp_path: Path,
) -> None:
    """Nobody is asked: the child works, and leaves one of the two steps."""
    held = gate(answer=says("found it"))
    rig = TreeRig(
        tmp_path,
        [spawns("a"), says("the end")],
        {"a": [held]},
        settings=Settings(budget=Budget(steps=3), subagent_budget=Budget(steps=2)),
    )
    rig.send("go")
    await held.reached.wait()
    waits = await rig.status(rig.agent_id, "queued")
    assert (waits.doing, waits.used) == (
        "waiting for what is set aside for subagents",
        pytest.approx(2 / 3),
    )
    held.gate.set()
    ended = await rig.until(TurnEnded, 2)
    assert (ended.agent_id, ended.reason) == (rig.agent_id, "finished")
    assert rig.of(BudgetReached) == []
    await rig.engine.close()


async def test_a_parent_that_waits_for_its_childs_rest_can_be_stopped_and_given_more(
    tmp_path: Path,
) -> None:
    rig = TreeRig(
        tmp_path,
        [spawns("a"), says("with more")],
        {"a": [gate()]},
        settings=Settings(budget=Budget(steps=3), subagent_budget=Budget(steps=2)),
    )
    rig.send("go")
    await rig.status(rig.agent_id, "queued")
    rig.engine.set_budget(rig.agent_id, Budget(steps=9))
    await rig.once(lambda: rig.messages_of(rig.agent_id)[-1].text == "with more")
    rig.engine.stop(rig.agent_id)
    ended = await rig.until(AgentEnded)
    assert ended.status == "stopped", "the child works on although its parent was stopped"
    assert rig.of(BudgetReached) == []
    await rig.engine.close()


async def test_when_all_that_hold_the_rest_are_paused_the_person_is_asked(tmp_path: Path) -> None:
    held = gate(answer=calls(("echo", {"what": "x"})))
    rig = TreeRig(
        tmp_path,
        [spawns("a"), says("the end")],
        {"a": [held, says("done")]},
        settings=Settings(budget=Budget(steps=4), subagent_budget=Budget(steps=3)),
    )
    rig.send("go")
    await held.reached.wait()
    child = await rig.child()
    rig.engine.pause(child)
    held.gate.set()
    reached = await rig.until(BudgetReached)
    assert (reached.agent_id, reached.owner_id) == (rig.agent_id, rig.agent_id)
    assert (reached.spent.steps, reached.set_aside.steps) == (2, 2)
    # The person lets the child go on: its end returns what its parent needs.
    rig.engine.resume(child)
    ended = await rig.until(TurnEnded, 2)
    assert (ended.agent_id, ended.reason) == (rig.agent_id, "finished")
    await rig.engine.close()


async def test_a_child_without_a_limit_of_its_own_leaves_alone_what_its_sibling_was_given(
    tmp_path: Path,
) -> None:
    """The main agent has 7 steps: 3 are given to `a`, so `b` and the main agent share 4."""
    first = gate(answer=calls(("echo", {"what": "x"})))
    rig = TreeRig(
        tmp_path,
        [spawns("a"), spawns("b"), WAIT],
        {"a": [first, *echoes(1), says("a is done")], "b": echoes(9)},
        settings=Settings(budget=Budget(steps=7), subagent_budget=Budget(steps=3)),
    )
    rig.send("go")
    first_child = await rig.child(1)
    rig.engine.apply_settings(Settings(budget=Budget(steps=7)))
    second = await rig.child(2)
    await rig.status(second, "queued")
    first.gate.set()
    assert (await rig.ended(first_child)).text == "a is done"
    await rig.once(lambda: second in {e.agent_id for e in rig.of(BudgetReached)})
    taken = len(rig.model.main_requests) + len(rig.model.requests_of("b"))
    assert (len(rig.model.requests_of("a")), taken) == (3, 4)
    await rig.engine.close()


async def test_what_was_set_aside_is_set_aside_again_after_a_restart(tmp_path: Path) -> None:
    limits = Settings(budget=Budget(steps=9), subagent_budget=Budget(steps=4))
    held = gate()
    first = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [*echoes(1), held]}, settings=limits)
    first.send("go")
    await held.reached.wait()
    store = first.store.copy()
    await first.engine.close()
    rig = TreeRig(tmp_path, [spawns("b"), WAIT], {"b": [gate()]}, store=store, settings=limits)
    rig.engine.open_session(rig.session_id)
    rig.send("one more")
    await rig.until(AgentSpawned)
    # Of 9 steps the main agent took 3, and 4 are of `a`, whatever it used of them.
    assert limits_of(rig) == [Budget(steps=2)]
    await rig.engine.close()
