"""How a run is followed to its end: real engines, and a model that is scripted."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from desktop_agent.core.events import (
    AgentEvent,
    ApprovalResolved,
    CommandRefused,
    EngineFailed,
    Event,
    QuestionAnswered,
    TurnEnded,
)
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.headless.follow import Follower
from desktop_agent.headless.output import Text
from tests.engine.tree.tree_rig import TreeRig, gate, spawns
from tests.helpers.scripted import MemoryStore, calls, says


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


class RefusingStore(MemoryStore):
    """Refuses to keep the first answer to a request or a question."""

    has_refused = False

    def record(
        self, session_id: SessionId, *events: AgentEvent, info: SessionInfo | None = None
    ) -> None:
        kept = [event for event in events if isinstance(event, ApprovalResolved | QuestionAnswered)]
        if kept and not self.has_refused:
            self.has_refused = True
            raise StoreError("The disk is full.")
        super().record(session_id, *events, info=info)


@pytest.mark.parametrize("asks", ["write", "ask"])
async def test_a_run_whose_refusal_the_disk_does_not_take_ends_and_waits_for_nobody(
    tmp_path: Path, asks: str
) -> None:
    store = RefusingStore()
    rig = TreeRig(tmp_path, [calls((asks, {"what": "a"}))], {}, store=store)
    follower = followed(rig)
    rig.send("go")
    await rig.until(CommandRefused)
    await follower.idle.wait()
    assert (follower.reason, rig.gates.ran) == ("error", [])
    await rig.engine.close()


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
