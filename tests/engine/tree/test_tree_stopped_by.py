"""Who stopped an agent is said truly: the person, the agent above it, its end, or the app's."""

from __future__ import annotations

from pathlib import Path

from desktop_agent.core.events import AgentEnded, AgentOpened, NoteReturned, TurnEnded
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId
from tests.engine.tree.tree_rig import TreeRig, gate, spawns
from tests.helpers.scripted import Breaks, calls, says

SLOW = calls(("slow", {}))


def stopped_by(rig: TreeRig, agent_id: AgentId) -> tuple[str, str, str]:
    """What the turn's end, the agent's end and its snapshot say of who stopped it."""
    turn = next(e for e in reversed(rig.of(TurnEnded)) if e.agent_id == agent_id)
    end = next(e for e in rig.of(AgentEnded) if e.agent_id == agent_id)
    return turn.report.by if turn.report is not None else "", end.by, rig.info(agent_id).stopped_by


async def test_a_parent_that_stops_its_child_is_not_taken_for_the_person(tmp_path: Path) -> None:
    decides = gate()
    scripts = {"a": [spawns("b"), gate()], "b": [SLOW]}
    rig = TreeRig(tmp_path, [spawns("a"), decides, says("ok")], scripts)
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    await rig.gates.reached.wait()
    rig.send_to(outer, "and the notes")
    decides.answer = calls(("stop", {"agent_id": outer}))
    decides.gate.set()
    await rig.ended(outer)
    await rig.status(outer, "stopped")
    assert set(stopped_by(rig, outer)) == {rig.agent_id}
    assert set(stopped_by(rig, inner)) == {rig.agent_id}
    [back] = rig.of(NoteReturned)
    assert (back.why, back.by) == ("stopped", rig.agent_id)
    rig.send_to(outer, "too late")
    assert rig.of(NoteReturned)[-1].by == rig.agent_id
    await rig.engine.close()


async def test_what_the_person_stops_the_person_has_stopped_down_to_the_last(
    tmp_path: Path,
) -> None:
    scripts = {"a": [spawns("b"), gate()], "b": [SLOW]}
    rig = TreeRig(tmp_path, [spawns("a"), gate()], scripts)
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    await rig.gates.reached.wait()
    rig.engine.stop(rig.agent_id)
    await rig.ended(outer)
    await rig.status(outer, "stopped")
    assert set(stopped_by(rig, outer) + stopped_by(rig, inner)) == {"user"}
    assert rig.of(TurnEnded)[-1].report.by == "user"
    await rig.engine.close()


async def test_a_child_whose_parent_fails_was_stopped_by_that_end(tmp_path: Path) -> None:
    breaks = gate()
    fault = Fault("bad_request", "No such model.", "switch_model")
    scripts = {"a": [spawns("b"), breaks, Breaks(fault)], "b": [SLOW]}
    rig = TreeRig(tmp_path, [spawns("a"), says("ok"), says("noted")], scripts)
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    await rig.gates.reached.wait()
    breaks.answer = calls(("echo", {"what": "1"}))
    breaks.gate.set()
    assert (await rig.ended(outer)).status == "failed"
    await rig.status(inner, "stopped")
    assert set(stopped_by(rig, inner)) == {"ended"}
    assert stopped_by(rig, outer)[1:] == ("", "")
    await rig.engine.close()


async def test_what_ran_when_the_app_was_closed_says_so_after_the_next_start(
    tmp_path: Path,
) -> None:
    rig = TreeRig(tmp_path, [spawns("a"), gate()], {"a": [SLOW]})
    rig.send("go")
    child = await rig.child()
    await rig.gates.reached.wait()
    await rig.engine.close()
    again = TreeRig(tmp_path, [], {}, store=rig.store)
    again.engine.open_session(again.session_id)
    turn = next(e for e in reversed(again.opened.events) if isinstance(e, TurnEnded))
    assert turn.report is not None
    assert turn.report.by == "app"
    again.engine.open_agent(child)
    ended = [e for e in again.of(AgentOpened)[-1].events if isinstance(e, TurnEnded)]
    assert [e.report.by for e in ended if e.report is not None] == ["app"]
    await again.engine.close()


async def test_who_goes_on_after_a_stop_was_stopped_by_nobody(tmp_path: Path) -> None:
    held = gate()
    rig = TreeRig(tmp_path, [held, says("ok")], {})
    rig.send("go")
    await held.reached.wait()
    agent = rig.agent(rig.agent_id)
    rig.engine.stop(rig.agent_id)
    await rig.until(TurnEnded)
    assert agent.life.stopped_by == "user"
    rig.send("go on")
    assert agent.life.stopped_by == ""
    await rig.until(TurnEnded, 2)
    assert rig.of(TurnEnded)[-1].report is None
    await rig.engine.close()
