"""What is told of the agents is what changed, and comes to the same as telling all of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.core.agents import AgentInfo, Budget
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.diffs.rows import with_rows
from desktop_agent.core.events import (
    AgentsChanged,
    ApprovalRequested,
    Event,
    SessionOpened,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.settings import Settings
from desktop_agent.engine.sessions import agent_rows
from desktop_agent.gui.bridge.engine_thread import newest_snapshots
from desktop_agent.gui.state.session_state import SessionState
from tests.engine.tree.tree_rig import TreeRig
from tests.helpers.scripted import calls, says

SESSION = SessionId("se_1")
_ROWS = st.builds(
    AgentInfo,
    id=st.integers(0, 12).map(lambda number: AgentId(f"sa_{number}")),
    session_id=st.just(SESSION),
    name=st.just("Helper"),
    status=st.sampled_from(["running", "paused", "completed"]),
    step=st.integers(0, 3),
)
_CHANGES = st.builds(
    AgentsChanged,
    session_id=st.just(SESSION),
    agents=st.lists(_ROWS, max_size=6, unique_by=lambda row: row.id).map(tuple),
    is_whole=st.booleans(),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(_CHANGES, max_size=12), st.integers(1, 5))
def test_a_window_that_gets_changes_in_batches_knows_what_one_knows_that_gets_each(
    changes: list[AgentsChanged], size: int
) -> None:
    each, batched = SessionState(), SessionState()
    for event in changes:
        each.apply(event)
    for start in range(0, len(changes), size):
        for event in newest_snapshots(list(changes[start : start + size])):
            batched.apply(event)

    assert batched.agents_of(SESSION) == each.agents_of(SESSION)


@settings(deadline=None)
@given(st.lists(_ROWS, max_size=9, unique_by=lambda row: row.id), st.lists(_ROWS, max_size=9))
def test_rows_replace_their_older_ones_where_these_stand(
    known: list[AgentInfo], rows: list[AgentInfo]
) -> None:
    result = with_rows(known, rows)

    newest = {row.id: row for row in (*known, *rows)}
    assert {row.id: row for row in result} == newest
    assert [row.id for row in result[: len(known)]] == [row.id for row in known]


@pytest.mark.parametrize("few", [0, 32])
async def test_what_was_told_of_a_team_is_what_opening_the_session_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    # With 0 only those that a change is about are looked at, as in a large team.
    monkeypatch.setattr(agent_rows, "_FEW", few)
    names = [f"job {number}" for number in range(6)]
    each = [("spawn", {"description": name, "prompt": name}) for name in names]
    rig = TreeRig(
        tmp_path,
        [calls(*each), *[says("They work.")] * 8],
        {name: [says(f"done {name}")] for name in names},
        settings=Settings(max_children=8),
    )
    told: list[AgentsChanged] = []
    repeated: list[AgentInfo] = []

    def hear(event: Event) -> None:
        if isinstance(event, AgentsChanged):
            told.append(event)
            known = rig.agents.get(event.session_id, ())
            repeated.extend(row for row in event.agents if row in known)
        keep(event)

    keep, rig.hear = rig.hear, hear
    rig.send("Start six.")
    for number in range(1, 7):
        await rig.ended(await rig.child(number))
    await rig.status(rig.agent_id, "idle")
    reduced = rig.agents[rig.session_id]
    rig.engine.open_session(rig.session_id)
    opened = rig.of(SessionOpened)[-1].agents
    assert [_lasting(row) for row in reduced] == [_lasting(row) for row in opened]
    assert {row.status for row in reduced[1:]} == {"completed"}
    assert not any(event.is_whole for event in told)
    assert not repeated


async def test_what_a_large_team_does_waits_but_its_requests_are_seen_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a team in which much changes within a moment: the moment does not end here.
    for name, value in (("_FEW", 0), ("_PACE_S", 1e6), ("_LATER_S", 1e6)):
        monkeypatch.setattr(agent_rows, name, value)
    works = [calls(("echo", {"text": "a"})), calls(("echo", {"text": "b"})), says("done")]
    script = {"a": list(works), "b": list(works), "c": [calls(("write", {"what": "x"})), *works]}
    each = [("spawn", {"description": name, "prompt": name}) for name in script]
    rig = TreeRig(tmp_path, [calls(*each), *[says("They work.")] * 4], script)
    rig.send("Start three.")
    request = await rig.until(ApprovalRequested)
    asking = rig.info(await rig.child(3)).status
    rig.engine.decide(request.request.id, AllowOnce())
    for number in (1, 2, 3):
        await rig.ended(await rig.child(number))

    assert asking == "waiting_approval"
    # What goes on, three new ones, one that waits, and does so no more.
    assert len(rig.of(AgentsChanged)) <= 6
    await rig.engine.close()


async def test_a_large_team_that_works_again_is_found_at_work_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_FEW", 0), ("_PACE_S", 0.0), ("_LATER_S", 1e6)):
        monkeypatch.setattr(agent_rows, name, value)
    rig = TreeRig(tmp_path, [says("One."), calls(("echo", {"text": "a"})), says("Two.")], {})
    kept: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, ToolStarted):
            # What the next start would read, had the app been killed here.
            kept.extend(info.status for info in rig.store.sessions())
        keep(event)

    keep, rig.hear = rig.hear, hear
    rig.send("Begin.")
    await rig.status(rig.agent_id, "idle")
    # It is told to be idle, and the moment in which what follows would wait does not end.
    monkeypatch.setattr(agent_rows, "_PACE_S", 1e6)
    rig.engine.set_budget(rig.agent_id, Budget(steps=50))
    rig.send("Go on.")
    await rig.once(lambda: len(rig.of(TurnEnded)) == 2)
    assert kept == ["running"]
    await rig.engine.close()


def _lasting(info: AgentInfo) -> AgentInfo:
    return msgspec.structs.replace(info, active_at=0.0)
