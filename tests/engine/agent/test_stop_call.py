"""One tool call can be stopped by itself: the agent hears of it, and the others go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from desktop_agent.core.events import ApprovalRequested, ToolEnded, ToolStarted, TurnEnded
from desktop_agent.core.tool import Tool, ToolOutput
from desktop_agent.engine.agent.tool_batch import CANCELLED, NOT_EXECUTED, STOPPED, STOPPED_BEFORE
from tests.engine.rig import Rig, tool
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


class LastWords(Rig):
    """Its tool has something to say of its end, however it ends."""

    def _tools(self) -> list[Tool]:
        async def run(args: object, _: object) -> ToolOutput:
            self.gates.reached.set()
            try:
                await self.gates.open.wait()
            except BaseException as stopped:
                stopped.add_note("[A file was set aside.]")
                raise
            return ToolOutput("done")

        return [tool("run", run)]


@pytest.mark.parametrize("is_whole_turn", [True, False])
async def test_what_a_stopped_call_has_to_say_reaches_the_agent(
    tmp_path: Path, is_whole_turn: bool
) -> None:
    rig = LastWords(tmp_path, calls(("run", {})), says("done"))
    rig.send("go")
    await rig.gates.reached.wait()
    started = next(e for e in rig.events if isinstance(e, ToolStarted))
    if is_whole_turn:
        rig.engine.stop(started.agent_id)
    else:
        rig.engine.stop_call(started.agent_id, started.call.id)
    await rig.until(TurnEnded)
    expected = CANCELLED if is_whole_turn else STOPPED
    assert [result.text for result in rig.results] == [f"{expected}\n[A file was set aside.]"]


async def test_a_call_that_waited_for_approval_when_the_turn_was_stopped_was_not_executed(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path, calls(("write", {"what": "x"}), ("write", {"what": "y"})))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rig.engine.stop(asked.agent_id)
    ended = await rig.until(TurnEnded)
    assert [result.text for result in rig.results] == [NOT_EXECUTED] * 2
    assert ended.report is not None
    assert ended.report.cancelled == ()
    assert ended.report.not_executed == ("write x", "write y")


async def test_a_call_that_waited_for_approval_when_it_was_stopped_was_not_executed(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path, calls(("write", {"what": "x"})), says("done"))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rig.engine.stop_call(asked.agent_id, asked.request.call.id)
    assert (await rig.until(TurnEnded)).reason == "finished"
    assert [result.text for result in rig.results] == [STOPPED_BEFORE]
    assert rig.gates.ran == []


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
