"""How a run is followed to its end: real engines, and a model that is scripted."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from desktop_agent.core.events import EngineFailed, Event, TurnEnded
from desktop_agent.core.settings import Settings
from desktop_agent.headless.follow import Follower
from desktop_agent.headless.output import Text
from tests.engine.tree.tree_rig import TreeRig, gate, spawns
from tests.helpers.scripted import calls, says


def followed(rig: TreeRig) -> Follower:
    """Follow a session from its first message on, as a run does."""
    follower, hear = Follower(Text(io.StringIO(), io.StringIO())), rig.hear

    def both(event: Event) -> None:
        hear(event)
        follower.hear(event)

    rig.hear = both
    follower.attach(rig.engine)
    follower.hear(rig.opened)
    return follower


@pytest.mark.parametrize("where", ["sessions", "undo"])
async def test_a_run_does_its_work_after_what_is_told_of_earlier_work(
    tmp_path: Path, where: str
) -> None:
    rig = TreeRig(tmp_path, [says("Done.")], {})
    follower = followed(rig)
    follower.hear(EngineFailed(where, "The file of your sessions was damaged."))
    assert not follower.idle.is_set()
    rig.send("go")
    await follower.idle.wait()
    assert (follower.reason, follower.text) == ("finished", "Done.")
    await rig.engine.close()


async def test_no_report_of_a_subagent_lets_a_run_go_on_past_its_limit_of_steps(
    tmp_path: Path,
) -> None:
    held = gate(answer=says("a is done"))
    main = [spawns("a"), calls(("echo", {"what": "1"})), says("past the limit")]
    rig = TreeRig(tmp_path, main, {"a": [held]}, settings=Settings(max_steps=2))
    follower = followed(rig)
    rig.send("go")
    await held.reached.wait()
    await rig.until(TurnEnded)
    held.gate.set()
    await follower.idle.wait()
    assert (follower.reason, len(rig.model.main_requests)) == ("step_limit", 2)
    await rig.engine.close()
