"""The app is quit and started again while a subagent works at a place: real outpost, real store."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_agent.adapters.places.agents import PlacesOfAgents
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import (
    AgentEnded,
    ApprovalRequested,
    NoteDelivered,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.network.places import Place
from desktop_agent.core.notes import NoteArrived
from desktop_agent.core.requests import ModelRequest
from desktop_agent.engine.base.places import FarStart
from tests.engine.tree.tree_rig import WAIT, TreeModel, gate
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import calls, says
from tests.outpost.resume_trial import main as killed_again_and_again
from tests.outpost.rig import far
from tests.outpost.test_far_agents import SPAWN, FarRig

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no outposts on Windows")
MAIN = [SPAWN, WAIT, says("Thanks.")]


class Computer:
    """One computer of the person's: the app is started and quit on it, and its place goes on."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.starts = folder, 0
        self.rig: FarRig | None = None
        self.store: SqliteStore | None = None

    def start(self, main: list[Any], child: list[Any], *, command: str = "") -> FarRig:
        """Start the app on what is on its disk."""
        self.starts += 1
        self.store = SqliteStore(self.folder / "sessions.db")
        command = command or far(self.folder / "there")
        rig = FarRig(
            self.folder / f"start-{self.starts}", main, child, command=command, store=self.store,
            is_back=True, home=self.folder / "home",
        )  # fmt: skip
        self.rig = rig
        return rig

    async def quit(self) -> None:
        """Quit it."""
        assert self.rig is not None
        assert self.store is not None
        await self.rig.engine.close()
        self.store.close()
        self.rig = None


@pytest.fixture
async def computer(tmp_path: Path) -> AsyncIterator[Computer]:
    """A computer on which nothing is left at the end, at its place neither."""
    one = Computer(tmp_path)
    yield one
    if one.rig is None:
        one.start([says("Bye.")] * 4, [says("Bye.")] * 4)
    rig = one.rig
    assert rig is not None
    rig.places.goes_on = False
    await one.quit()


def of_agent(rig: FarRig, agent_id: AgentId, kind: type) -> list[Any]:
    """What is on disk of an agent, of one kind."""
    page = rig.store.page(rig.session_id, None, 100_000, agent_id)
    return [event for event in page.events if isinstance(event, kind)]


async def test_what_works_at_a_place_goes_on_while_the_app_is_away_and_all_of_it_arrives_once(
    computer: Computer,
) -> None:
    runs = calls(("shell", {"command": "sleep 1; echo through"}))
    first = computer.start(MAIN, [runs])
    agent_id = await first.begun()
    await first.command_runs(agent_id)
    await computer.quit()

    rig = computer.start([says("I see.")], [says("Done there.")])
    end = await rig.ended(agent_id)
    assert (end.status, end.text) == ("completed", "Done there.")
    (ended,) = of_agent(rig, agent_id, ToolEnded)
    assert "through" in ended.result.text
    for kind in (TurnStarted, TurnEnded, AgentEnded):
        assert len(of_agent(rig, agent_id, kind)) == 1
    assert [one.reason for one in of_agent(rig, agent_id, TurnEnded)] == ["finished"]
    # The report is there, and who started it rests until the person's word.
    assert rig.notes_to(rig.agent_id, "report")
    assert not rig.played.main_requests


async def test_a_note_and_a_stop_that_were_on_their_way_are_sent_again(computer: Computer) -> None:
    """The stream goes only while a file is there: the orders can't have arrived before."""
    door, gone = computer.folder / "open", computer.folder / "gone.py"
    door.touch()
    gone.write_text(
        "import os, subprocess, sys, time\n"
        "if not os.path.exists(sys.argv[1]): sys.exit('nobody is there')\n"
        "there = subprocess.Popen(sys.argv[2:])\n"
        "while os.path.exists(sys.argv[1]) and there.poll() is None: time.sleep(0.01)\n"
        "there.kill()\n"
    )
    command = f"{sys.executable} {gone} {door} {far(computer.folder / 'there')}"
    first = computer.start(MAIN, [calls(("shell", {"command": "sleep 600"}))], command=command)
    agent_id = await first.begun()
    await first.command_runs(agent_id)
    door.unlink()
    await first.once(lambda: first.info(agent_id).away_since > 0.0)
    note = first.send_to(agent_id, "are you there?")
    first.engine.stop(agent_id)
    await first.status(agent_id, "stopping")
    await computer.quit()

    rig = computer.start([says("I see.")], [says("Never said.")], command=command)
    info = await rig.status(agent_id, "stopping")
    assert info.away_since > 0.0, "nothing was heard of it since"
    assert not of_agent(rig, agent_id, NoteArrived) or note.id not in {
        one.note_id for one in of_agent(rig, agent_id, NoteArrived)
    }
    assert not of_agent(rig, agent_id, TurnEnded)
    door.touch()
    end = await rig.ended(agent_id)
    assert end.status == "stopped"
    (over,) = of_agent(rig, agent_id, TurnEnded)
    assert over.report is not None
    assert over.report.by == "user"
    assert note.id not in {one.note_id for one in of_agent(rig, agent_id, NoteDelivered)}


async def test_what_it_asks_waits_for_the_person_again_at_the_next_start(
    computer: Computer,
) -> None:
    writes = calls(("write", {"path": "far.txt", "content": "far\n"}))
    first = computer.start(MAIN, [writes])
    first.engine.set_mode(first.session_id, "ask")
    agent_id = await first.begun()
    before = (await first.until(ApprovalRequested, 2)).request
    assert before.agent_id == agent_id
    await computer.quit()

    rig = computer.start([says("I see.")], [says("Allowed.")])
    again = (await rig.until(ApprovalRequested)).request
    assert (again.title, again.there) == (before.title, before.there)
    assert again.id != before.id, "an id is never used again"
    rig.engine.decide(again.id, AllowOnce())
    assert (await rig.ended(agent_id)).text == "Allowed."


async def test_an_answer_that_was_asked_for_is_asked_for_again(computer: Computer) -> None:
    step = gate(answer=says("Never heard."))
    first = computer.start(MAIN, [step])
    agent_id = await first.begun()
    await asyncio.wait_for(step.reached.wait(), HANG_S)
    await computer.quit()
    rig = computer.start([says("I see.")], [says("Heard.")])
    assert (await rig.ended(agent_id)).text == "Heard."


async def test_it_is_followed_over_many_restarts_without_a_gap(computer: Computer) -> None:
    files = ("beds.txt", "staged.txt", "new.txt")
    rounds = 4
    step = gate()
    rig = computer.start(MAIN, [step])
    agent_id = await rig.begun()
    await asyncio.wait_for(step.reached.wait(), HANG_S)
    for number in range(rounds):
        await computer.quit()
        step = gate()
        reads = calls(("read", {"path": files[number % 3]}))
        rig = computer.start([says("I see.")], [reads, step])
        await asyncio.wait_for(step.reached.wait(), HANG_S)
        rig.send_to(agent_id, f"note {number}")
    await computer.quit()
    rig = computer.start([says("I see.")], [says("Read."), says("Read."), says("Read.")])
    end = await rig.ended(agent_id)
    assert end.text == "Read."
    results = [one.result.call_id for one in of_agent(rig, agent_id, ToolEnded)]
    assert len(results) == len(set(results)) == rounds
    delivered = [one.note_id for one in of_agent(rig, agent_id, NoteDelivered)]
    assert len(delivered) == len(set(delivered)) == rounds + 1, "the prompt and each note"
    assert end.steps >= rounds + 1


def test_after_kills_nothing_is_missing_and_nothing_there_twice() -> None:
    assert killed_again_and_again(3, 0.0) == 0


async def test_a_computer_that_is_called_otherwise_than_before_finds_what_works_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a laptop is in another network, on macOS above all."""
    os.mkfifo(tmp_path / "asked")
    command = f"sh -c 'echo \"$@\" > {tmp_path / 'asked'}' sh"
    start = FarStart(
        AgentId("a-1"), "Weeder", Place("box", "command", command), str(tmp_path / "none"), "ask",
        "demo", "",
    )  # fmt: skip
    asked: list[bytes] = []
    for host in ("desk", "dhcp-7.example.org"):
        monkeypatch.setattr(platform, "node", lambda host=host: host)
        places = PlacesOfAgents(TreeModel([], {}), _unpriced, lambda _: None, tmp_path)
        begun = places.begin(start, _admitted, lambda: None)
        asked.append(await asyncio.to_thread((tmp_path / "asked").read_bytes))
        followed = msgspec.structs.replace(begun.followed, there=AgentId("there"), epoch="epoch")
        start = msgspec.structs.replace(start, followed=followed)
        await places.close()
    assert asked[0] == asked[1]
    assert b"--name agents-" in asked[0]


async def _admitted(request: ModelRequest) -> ModelRequest:
    return request


async def _unpriced(_: str) -> ModelInfo | None:
    return None
