"""Limits of money: what is not known does not count as nothing, and every request counts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from desktop_agent.core.agents import Budget
from desktop_agent.core.events import BudgetReached, SideCallEnded, StepEnded, TurnEnded
from desktop_agent.core.faults import Fault
from desktop_agent.core.messages import TextPart
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.requests import Answer
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from tests.engine.rig import Rig
from tests.engine.tree.tree_rig import WAIT, TreeRig, gate, spawns
from tests.helpers.scripted import Breaks, Waits, calls, says

ECHO = ("echo", {"what": "x"})


def costs(dollars: float | None, text: str = "") -> Answer:
    answer = says(text) if text else calls(ECHO)
    return Answer(answer.parts, answer.finish, Usage(10, 5, cost=dollars))


async def test_a_request_of_unknown_cost_is_not_taken_for_a_free_one(tmp_path: Path) -> None:
    script = [costs(None), costs(None), costs(0.01, "All done.")]
    rig = TreeRig(tmp_path, script, {}, settings=Settings(budget=Budget(cost=5.0)))
    rig.send("go")
    held = await rig.until(BudgetReached)
    assert held.spent.unmeasured(held.budget) == ("cost",)
    assert len(rig.model.main_requests) == 1
    assert rig.info(held.agent_id).unmeasured == ("cost",)
    # Half as much again could not be measured either: the limit goes, and the others stay.
    rig.engine.extend_budget(held.agent_id)
    await rig.until(TurnEnded)
    assert len(rig.model.main_requests) == 3
    assert rig.info(held.agent_id).budget == Budget()
    await rig.engine.close()


async def test_a_request_without_counts_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    silent = Answer(calls(ECHO).parts, "tool_calls", Usage())
    settings = Settings(budget=Budget(tokens=1_000, steps=50))
    rig = TreeRig(tmp_path, [silent, says("All done.")], {}, settings=settings)
    rig.send("go")
    held = await rig.until(BudgetReached)
    assert held.spent.unmeasured(held.budget) == ("tokens",)
    rig.engine.extend_budget(held.agent_id)
    await rig.until(TurnEnded)
    assert rig.info(held.agent_id).budget == Budget(steps=50)
    await rig.engine.close()


async def test_an_unknown_cost_below_counts_against_the_limit_above(tmp_path: Path) -> None:
    settings = Settings(budget=Budget(cost=5.0))
    main = [
        Answer(spawns("a").parts, "tool_calls", Usage(10, 5, cost=0.01)),
        Answer(WAIT.parts, "tool_calls", Usage(10, 5, cost=0.01)),
        costs(0.01, "All done."),
    ]
    rig = TreeRig(tmp_path, main, {"a": [costs(None), says("a is done")]}, settings=settings)
    rig.send("go")
    child = await rig.child()

    def holders() -> list[str]:
        return [held.owner_id for held in rig.of(BudgetReached) if held.agent_id == child]

    # It has no limit of its own: it draws from the one above, which is asked about.
    await rig.once(lambda: holders() == [rig.agent_id])
    assert len(rig.model.requests_of("a")) == 1
    rig.engine.extend_budget(child)
    assert (await rig.ended(child)).text == "a is done"
    await rig.engine.close()


async def test_a_limit_that_can_not_be_measured_is_remembered_after_a_restart(
    tmp_path: Path,
) -> None:
    rig = TreeRig(tmp_path, [costs(None, "First."), costs(0.1, "Second.")], {})
    rig.send("go")
    main = (await rig.until(TurnEnded)).agent_id
    await rig.engine.close()
    again = TreeRig(tmp_path, [costs(0.1, "Second.")], {}, store=rig.store)
    again.engine.open_session(rig.session_id)
    again.engine.set_budget(main, Budget(cost=5.0))
    again.session_id = rig.session_id
    again.send("and on")
    held = await again.until(BudgetReached)
    assert held.spent.unmeasured(held.budget) == ("cost",)
    await again.engine.close()


async def test_a_question_aside_is_charged_to_child_session_and_parent(tmp_path: Path) -> None:
    aside = Answer((TextPart("Half way."),), usage=Usage(100, 20, cost=0.5))
    free = Answer(spawns("a").parts, "tool_calls", Usage(10, 5, cost=0.0))
    rig = TreeRig(tmp_path, [free, gate()], {"a": [gate("x"), aside]})
    rig.send("go")
    child = await rig.child()
    await rig.status(child, "running")
    await rig.once(lambda: len(rig.model.requests_of("a")) == 1)
    before = rig.store.infos[rig.session_id].usage.cost or 0.0
    assert await rig.engine.ask_aside(child, "How far?") == "Half way."
    ended = await rig.until(SideCallEnded)
    assert (ended.usage.cost, ended.model) == (0.5, "m")
    assert rig.info(child).usage.cost == 0.5
    assert rig.store.infos[rig.session_id].usage.cost == before + 0.5
    # It is the parent's money too.
    rig.engine.set_budget(rig.agent_id, Budget(cost=1.0))
    assert rig.info(rig.agent_id).used == 0.5
    await rig.engine.close()


async def test_an_ended_child_answers_from_what_the_store_has_and_is_charged(
    tmp_path: Path,
) -> None:
    aside = Answer((TextPart("I saw a fox."),), usage=Usage(100, 20, cost=0.5))
    told: list[str] = []

    def answer(request):
        told.extend(part.text for m in request.messages for part in m.parts if m.role != "tool")
        return aside

    story = "A long story of a fox. " * 1000
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, gate()], {"a": [says(story), answer]})
    rig.send("go")
    child = await rig.child()
    await rig.ended(child)
    assert await rig.engine.ask_aside(child, "What did you see?") == "I saw a fox."
    assert told[:2] == ["a", story]
    assert await rig.engine.result_of(child) == story.strip()
    assert rig.info(child).usage.cost == 0.5
    assert rig.info(child).status == "completed"
    await rig.engine.close()


async def _priced(name: str) -> ModelInfo:
    return ModelInfo(name, input_price=1_000.0, output_price=2_000.0)


@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "broken off"])
async def test_an_answer_that_did_not_end_counts_towards_the_limit(
    tmp_path: Path, is_stopped
) -> None:
    """A provider charges what it read and wrote; an agent that is cut off again and again costs."""
    text = "Once upon a time there was a fox. " * 10
    lost = Fault("reset", "The connection was lost.", "retry")
    step = Waits(asyncio.Event(), text) if is_stopped else Breaks(lost, text)
    rig = Rig(tmp_path, step, says("So."), describe_model=_priced)
    rig.send("Tell me of foxes.")
    if isinstance(step, Waits):
        await step.reached.wait()
        rig.engine.stop(rig.agent_id)
    await rig.until(TurnEnded)
    assert rig.of(SideCallEnded)[-1].model == "m"
    usage = rig.of(SideCallEnded)[-1].usage
    assert usage.output_tokens is not None
    assert usage.output_tokens >= len(text.split())
    assert usage.input_tokens is not None
    wanted = (usage.input_tokens * 1_000 + usage.output_tokens * 2_000) / 1_000_000
    assert usage.cost == pytest.approx(wanted)
    rig.engine.set_budget(rig.agent_id, Budget(cost=wanted / 2))
    rig.send("And then?")
    assert (await rig.until(BudgetReached)).spent.cost == pytest.approx(wanted)
    await rig.engine.close()


async def test_a_step_names_the_model_that_was_asked_though_another_was_chosen_meanwhile(
    tmp_path: Path,
) -> None:
    step = Waits(asyncio.Event(), "Well,")
    rig = Rig(tmp_path, step, says("So."))
    rig.send("Tell me of foxes.")
    await step.reached.wait()
    rig.engine.set_model(rig.session_id, "other")
    step.gate.set()
    await rig.until(TurnEnded)
    await rig.run("And of hares.")
    assert [one.model for one in rig.of(StepEnded)] == ["m", "other"]
    await rig.engine.close()


async def test_an_answer_that_did_not_begin_costs_nothing(tmp_path: Path) -> None:
    lost = Fault("reset", "The connection was lost.", "retry")
    rig = Rig(tmp_path, Breaks(lost), describe_model=_priced)
    await rig.run("Tell me of foxes.")
    assert not rig.of(SideCallEnded)
    await rig.engine.close()
