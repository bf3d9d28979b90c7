"""One tool call can be stopped by itself: the agent hears of it, and the others go on."""

from __future__ import annotations

from pathlib import Path

from desktop_agent.core.events import ToolEnded, ToolStarted, TurnEnded
from desktop_agent.engine.agent.tool_batch import STOPPED
from tests.engine.rig import Rig
from tests.helpers.scripted import calls, says


async def test_a_stopped_call_tells_the_agent_and_its_turn_goes_on(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("slow", {}), ("echo", {"what": "b"})), says("done"))
    rig.send("go")
    await rig.gates.reached.wait()
    started = next(e for e in rig.events if isinstance(e, ToolStarted) and e.call.name == "slow")
    rig.engine.stop_call(started.agent_id, started.call.id)
    rig.engine.stop_call(started.agent_id, started.call.id)
    rig.engine.stop_call(started.agent_id, "no such call")
    ended = await rig.until(TurnEnded)
    assert ended.reason == "finished"
    assert [result.text for result in rig.results] == [STOPPED, "echo b"]
    outcomes = [e.outcome for e in rig.events if isinstance(e, ToolEnded)]
    assert sorted(outcomes) == ["cancelled", "ok"]
    assert rig.model.requests[1].messages[2].results[0].is_error


async def test_a_stop_of_the_turn_wins_over_a_stop_of_its_call(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("slow", {})), says("never"))
    rig.send("go")
    await rig.gates.reached.wait()
    started = next(e for e in rig.events if isinstance(e, ToolStarted))
    rig.engine.stop_call(started.agent_id, started.call.id)
    rig.engine.stop(started.agent_id)
    rig.engine.stop(started.agent_id)
    ended = await rig.until(TurnEnded)
    assert ended.reason == "cancelled"
    assert len(rig.model.requests) == 1
    # Nothing runs any more: there is nothing to stop.
    rig.engine.stop_call(started.agent_id, started.call.id)
