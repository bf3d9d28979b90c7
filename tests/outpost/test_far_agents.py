"""Subagents at a place: a real outpost behind a real stream, seen from here as any subagent."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.files.file_lock import FileLock, StoreLocked
from desktop_agent.adapters.places import link
from desktop_agent.adapters.places.agents import PlacesOfAgents
from desktop_agent.core.approvals import AllowOnce, Rule
from desktop_agent.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    NoteDelivered,
    NoteQueued,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, RequestId
from desktop_agent.core.messages import TextPart
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.network.places import Place
from desktop_agent.core.notes import NoteArrived
from desktop_agent.core.settings import Settings
from tests.engine.tree.test_tree_restart import killed
from tests.engine.tree.tree_rig import WAIT, TreeModel, TreeRig, gate, spawns
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import calls, says
from tests.outpost.rig import far, garden, git, state

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no outposts on Windows")
WORKS = "work"


async def _unpriced(_: str) -> ModelInfo | None:
    return None


class FarRig(TreeRig):
    """A session in a garden whose person has one place, `box`."""

    def __init__(
        self,
        tmp_path: Path,
        main: list[Any],
        child: list[Any],
        *,
        command: str = "",
        has_ray: bool = False,
        is_back: bool = False,
        home: Path | None = None,
        **kwargs: Any,
    ) -> None:
        self.played = model = TreeModel(main, {WORKS: child})
        self.there = tmp_path / "there"
        box = Place("box", "command", command or far(self.there), has_ray)
        kwargs = {"mode": "free", "settings": Settings(places=(box,)), **kwargs}
        home = home or tmp_path / "home"
        self.places = PlacesOfAgents(model, _unpriced, lambda _: None, home, goes_on=is_back)
        tmp_path.mkdir(exist_ok=True)
        folder = garden(tmp_path / "garden")
        super().__init__(
            folder, main, {WORKS: child}, **{"model": model, "places": self.places, **kwargs}
        )

    async def begun(self) -> AgentId:
        """Start the subagent, once the person agreed; return its id."""
        self.send("go")
        asked = (await self.until(ApprovalRequested)).request
        assert asked.title == "Start a subagent on box?"
        self.engine.decide(asked.id, AllowOnce())
        return await self.child()

    async def command_runs(self, agent_id: AgentId, number: int = 1) -> None:
        """Wait until its n-th call, a command, runs; without a sandbox there it is asked about."""

        def runs() -> bool:
            return len([one for one in self.of(ToolStarted) if one.agent_id == agent_id]) >= number

        def asked() -> list[RequestId]:
            requests = (one.request for one in self.of(ApprovalRequested))
            return [one.id for one in requests if one.agent_id == agent_id]

        await self.once(lambda: runs() or bool(asked()))
        if not runs():
            self.engine.decide(asked()[0], AllowOnce())
            await self.once(runs)


SPAWN = spawns(WORKS, place="box")


async def test_it_works_in_a_copy_there_and_its_changes_come_back_as_a_patch(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    child = [calls(("write", {"path": "far.txt", "content": "far\n"})), says("Written there.")]
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], child)
    closing.append(rig)
    rig.engine.add_rule(Rule("read", "beds.txt", "everywhere", is_deny=True))
    before = state(rig.store and Path(rig.workspace.root))
    agent_id = await rig.begun()
    end = await rig.ended(agent_id)
    assert (end.status, end.text) == ("completed", "Written there.")
    assert rig.info(agent_id).place == "box"
    assert rig.info(agent_id).tools_run == 1
    told = [one.result.is_error for one in rig.of(ToolEnded) if one.agent_id == agent_id]
    assert told == [False]
    (report,) = rig.notes_to(rig.agent_id, "report")
    assert "1 file" in report
    assert "Not sent to box, for rules, keys in them, or their size: beds.txt." in report
    patch = Path(next(word for word in report.split() if ".outputs" in word).rstrip(".;"))
    folder = Path(rig.workspace.root)
    after = {path: text for path, text in state(folder).items() if ".outputs" not in path}
    assert after == before
    git(folder, "apply", str(patch))
    assert (folder / "far.txt").read_text() == "far\n"


async def test_a_note_is_queued_there_and_read_at_its_next_step(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    step = gate(answer=calls(("read", {"path": "beds.txt"})))
    child = [step, says("Read.")]
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], child)
    closing.append(rig)
    agent_id = await rig.begun()
    await asyncio.wait_for(step.reached.wait(), HANG_S)
    note = rig.send_to(agent_id, "mind the roses")
    await rig.once(lambda: any(one.note_id == note.id for one in rig.of(NoteArrived)))
    assert not [one for one in rig.of(NoteDelivered) if one.note_id == note.id]
    # What is there already can be neither changed nor taken back here.
    rig.engine.edit_note(agent_id, note.id, "mind the tulips")
    rig.engine.withdraw_note(agent_id, note.id)
    step.gate.set()
    await rig.ended(agent_id)
    (delivered,) = [one for one in rig.of(NoteDelivered) if one.note_id == note.id]
    assert delivered.step == 2
    assert [one.note.text for one in rig.of(NoteQueued) if one.note.id == note.id] == [note.text]
    said = [one.text for one in rig.messages_of(agent_id) if one.role == "user"]
    assert said[0] == WORKS
    assert "mind the roses" in said[1]
    assert "thirteen" in rig.messages_of(agent_id)[2].results[0].text
    read = rig.played.requests_of(WORKS)[1].messages
    assert "mind the roses" in read[-1].text, "the model read it too"


async def test_what_it_asks_there_is_on_the_one_list_here_and_names_the_place(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    writes = calls(("write", {"path": "far.txt", "content": "far\n"}))
    child = [writes, says("Allowed."), writes, says("Refused.")]
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], child, mode="ask")
    closing.append(rig)
    agent_id = await rig.begun()
    asked = (await rig.until(ApprovalRequested, 2)).request
    assert asked.agent_id == agent_id
    assert asked.stakes[0] == "on box"
    assert asked.rules == asked.refusals == (), "a rule would be about a folder there"
    await rig.status(agent_id, "waiting_approval")
    rig.engine.decide(asked.id, AllowOnce())
    end = await rig.ended(agent_id)
    assert end.text == "Allowed."
    settled = [one for one in rig.of(ApprovalResolved) if one.request_id == asked.id]
    assert [one.decision for one in settled] == [AllowOnce()]


# Begins as an outpost does.
_BEGINS = """
import itertools, os, sys, time
from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.events import ApprovalRequested, MessageAdded
from desktop_agent.core.ids import AgentId, MessageId, RequestId
from desktop_agent.core.messages import Message, TextPart, ToolCall
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.pipes.frames import frame
os.write(1, pipe.MARK + frame(pipe.Hello(pipe.PROTOCOL, "1", "epoch")))
def order():
    body = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(4), "big"))
    return pipe.to_outpost().decode(body)
while not isinstance(start := order(), pipe.StartAgent):
    pass
mine = AgentId("ag_there")
os.write(1, frame(pipe.AgentBegun(1, start.key, mine)))
"""
# Says that its agent asks under the id of what it finds in a file.
_TAKES_ANOTHERS_ID = """
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
taken = RequestId(open(sys.argv[1]).read())
asked = ApprovalRequest(taken, mine, ToolCall("c", "read", {}), "Read it?", None)
os.write(1, frame(pipe.AgentWorked(2, start.key, (ApprovalRequested(mine, asked),))))
sys.stdin.buffer.read()
"""
_NEVER_ENDS = """
for number in itertools.count(2):
    said = Message(MessageId(f"ms_{number}"), "assistant", (TextPart("on and on"),))
    os.write(1, frame(pipe.AgentWorked(number, start.key, (MessageAdded(mine, said),))))
    time.sleep(0.05)
"""


async def test_a_place_can_not_take_the_place_of_what_waits_for_a_word_here(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    hostile, file = tmp_path / "hostile.py", tmp_path / "id"
    hostile.write_text(_BEGINS + _TAKES_ANOTHERS_ID)
    main = [SPAWN, calls(("write", {"what": "x"})), says("Thanks.")]
    command = f"{sys.executable} {hostile} {file}"
    rig = FarRig(tmp_path, main, [], command=command, mode="ask")
    closing.append(rig)
    agent_id = await rig.begun()
    here = (await rig.until(ApprovalRequested, 2)).request
    file.with_suffix(".new").write_text(here.id)
    file.with_suffix(".new").rename(file)
    there = (await rig.until(ApprovalRequested, 3)).request
    assert (here.agent_id, there.agent_id) == (rig.agent_id, agent_id)
    assert here.id != there.id
    rig.engine.decide(here.id, AllowOnce())
    await rig.once(lambda: rig.gates.ran == ["x"])
    settled = [one.request_id for one in rig.of(ApprovalResolved)]
    assert there.id not in settled


async def test_a_place_that_talks_on_and_on_does_not_keep_the_app_open(tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.py"
    hostile.write_text(_BEGINS + _NEVER_ENDS)
    command = f"{sys.executable} {hostile}"
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], [], command=command)
    agent_id = await rig.begun()
    await rig.once(lambda: len(rig.messages_of(agent_id)) > 2)
    await rig.engine.close()
    (over,) = [one for one in rig.of(TurnEnded) if one.agent_id == agent_id]
    assert over.reason == "cancelled"


async def test_when_the_session_may_do_less_it_may_do_less_there_as_well(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    step = gate(answer=calls(("read", {"path": "beds.txt"})))
    writes = calls(("write", {"path": "far.txt", "content": "far\n"}))
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], [step, writes, says("Refused.")])
    closing.append(rig)
    agent_id = await rig.begun()
    await asyncio.wait_for(step.reached.wait(), HANG_S)
    rig.engine.set_mode(rig.session_id, "look")
    step.gate.set()
    end = await rig.ended(agent_id)
    assert end.text == "Refused."
    told = [one.result for one in _ended_calls(rig, agent_id)]
    assert not told[0].is_error
    assert "Look only" in told[-1].text or "refused by the mode" in told[-1].text
    (report,) = rig.notes_to(rig.agent_id, "report")
    assert "patch" not in report


async def test_a_stop_is_over_when_the_place_says_so(tmp_path: Path, closing: list[FarRig]) -> None:
    child = [calls(("shell", {"command": "echo begun; sleep 600"}))]
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], child)
    closing.append(rig)
    agent_id = await rig.begun()
    await rig.command_runs(agent_id)
    rig.engine.stop(agent_id)
    assert rig.info(agent_id).status == "stopping"
    end = await rig.ended(agent_id)
    assert end.status == "stopped"
    (over,) = [one for one in rig.of(TurnEnded) if one.agent_id == agent_id]
    assert over.reason == "cancelled"
    assert over.report is not None
    assert over.report.by == "user"
    assert over.report.killed or over.report.cancelled, over.report


CUTS = """\
import os, random, subprocess, sys
there = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
left = random.randint(50_000, 70_000)
while left > 0 and (piece := os.read(there.stdout.fileno(), left)):
    left -= len(piece)
    os.write(1, piece)
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT), b"x")
there.kill()
"""


async def test_when_the_stream_is_cut_again_and_again_nothing_is_lost_or_told_twice(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    cut, cuts = tmp_path / "cut.py", tmp_path / "cuts"
    cut.write_text(CUTS)
    count = 8
    # One that is read three times in a row is asked about; an answer that was cut is asked for
    # again, and the script is then one step further.
    files = ("beds.txt", "staged.txt", "new.txt")
    child = [calls(("read", {"path": files[number % 3]})) for number in range(2 * count)]
    rig = FarRig(
        tmp_path,
        [SPAWN, WAIT, says("Thanks.")],
        # A note that comes during the last answer gets one more.
        [*child, *(says("Read.") for _ in range(count))],
        command=f"{sys.executable} {cut} {cuts} {far(tmp_path / 'there')}",
    )
    closing.append(rig)
    agent_id = await rig.begun()
    notes = []
    for number in range(1, count):
        await rig.once(lambda n=number: len(_ended_calls(rig, agent_id)) >= n)
        notes.append(rig.send_to(agent_id, f"note {number}"))
    end = await rig.ended(agent_id)
    assert end.text == "Read."
    assert cuts.stat().st_size > 1
    read = [one for one in rig.messages_of(agent_id) if one.role == "user"]
    texts = [part.text for one in read for part in one.parts if isinstance(part, TextPart)]
    for number in range(1, count):
        assert sum(text == f"note {number}" for text in texts) == 1
    delivered = [one.note_id for one in rig.of(NoteDelivered) if one.agent_id == agent_id]
    assert sorted(delivered) == sorted(set(delivered))
    assert {note.id for note in notes} <= set(delivered)
    ended = [one.result.call_id for one in _ended_calls(rig, agent_id)]
    assert len(ended) == len(set(ended)) >= count - 1
    ids = [one.id for one in rig.messages_of(agent_id)]
    assert len(ids) == len(set(ids))


def _ended_calls(rig: FarRig, agent_id: AgentId) -> list[ToolEnded]:
    return [one for one in rig.of(ToolEnded) if one.agent_id == agent_id]


async def test_while_the_place_is_away_a_stop_is_on_its_way_and_the_row_says_since_when(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    """The stream goes only while a file is there; what runs does not end by a word from here."""
    door, gone = tmp_path / "door", tmp_path / "gone.py"
    door.touch()
    gone.write_text(
        "import os, subprocess, sys, threading, time\n"
        "if not os.path.exists(sys.argv[1]): sys.exit('nobody is there')\n"
        "there = subprocess.Popen(sys.argv[2:])\n"
        "while os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
        "there.kill()\n"
    )
    step = gate(answer=says("Never heard."))
    command = f"{sys.executable} {gone} {door} {far(tmp_path / 'there')}"
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], [step], command=command)
    closing.append(rig)
    agent_id = await rig.begun()
    await asyncio.wait_for(step.reached.wait(), HANG_S)
    assert rig.info(agent_id).away_since == 0.0
    door.unlink()
    await rig.once(lambda: rig.info(agent_id).away_since > 0.0)
    note = rig.send_to(agent_id, "are you there?")
    rig.engine.stop(agent_id)
    await rig.status(agent_id, "stopping")
    assert not [one for one in rig.of(TurnEnded) if one.agent_id == agent_id]
    assert not [one for one in rig.of(NoteArrived) if one.note_id == note.id]
    door.touch()
    end = await rig.ended(agent_id)
    assert end.status == "stopped"


async def test_a_place_that_can_not_be_reached_ends_it_with_the_reason(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    command = "sh -c 'echo no such host >&2; exit 255'"
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("I see.")], [], command=command)
    closing.append(rig)
    end = await rig.ended(await rig.begun())
    assert (end.status, end.text) == ("failed", "box can't be reached: no such host.")


async def test_a_place_that_says_nothing_is_not_waited_for_for_ever(
    tmp_path: Path, closing: list[FarRig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "GREETING_S", 0.0)
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("I see.")], [], command="sh -c 'sleep 3600'")
    closing.append(rig)
    end = await rig.ended(await rig.begun())
    assert end.status == "failed"
    assert end.text == "box can't be reached: it did not answer within 0 s."


async def test_its_budget_and_pace_are_held_here(tmp_path: Path, closing: list[FarRig]) -> None:
    first = gate(answer=calls(("read", {"path": "beds.txt"})))
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], [first, says("Read.")])
    closing.append(rig)
    agent_id = await rig.begun()
    await asyncio.wait_for(first.reached.wait(), HANG_S)
    rig.engine.pause(agent_id)
    first.gate.set()
    await rig.status(agent_id, "paused")
    assert len(rig.played.requests_of(WORKS)) == 1
    rig.engine.resume(agent_id)
    end = await rig.ended(agent_id)
    assert end.text == "Read."
    assert end.usage.input_tokens == 20, "what it used is counted here"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"place": "attic"}, "there is no place 'attic'; the person's are: box"),
        ({"place": "box", "write": ["."]}, "leave read and write out"),
    ],
)
async def test_a_model_can_name_no_place_but_the_persons(
    tmp_path: Path, closing: list[FarRig], arguments: dict[str, Any], words: str
) -> None:
    rig = FarRig(tmp_path, [spawns(WORKS, **arguments), says("I see.")], [])
    closing.append(rig)
    await rig.run("go")
    assert words in rig.results[0].text


async def test_places_are_spoken_of_only_where_the_person_has_some(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    rig = FarRig(tmp_path, [says("Hm."), says("Hm.")], [])
    closing.append(rig)
    await rig.run("go")
    rig.engine.apply_settings(Settings())
    await rig.run("go")
    offered = [
        next(tool.schema for tool in request.tools if tool.name == "spawn")["properties"]
        for request in rig.played.main_requests
    ]
    assert offered[0]["place"]["enum"] == ["", "box"]
    assert "place" not in offered[1]


async def test_what_ran_there_when_the_app_was_killed_is_not_taken_for_going_on(
    tmp_path: Path, closing: list[FarRig]
) -> None:
    step = gate(answer=says("Never heard."))
    first = FarRig(
        tmp_path, [SPAWN, WAIT, says("Thanks.")], [calls(("read", {"path": "beds.txt"})), step]
    )
    closing.append(first)
    agent_id = await first.begun()
    await asyncio.wait_for(step.reached.wait(), HANG_S)
    store = killed(first)
    rig = FarRig(tmp_path / "again", [says("I see.")], [], store=store)
    closing.append(rig)
    rig.engine.open_session(rig.session_id)
    info = next(one for one in rig.opened.agents if one.id == agent_id)
    assert (info.status, info.place) == ("paused", "box")
    rig.engine.resume(agent_id)
    end = await rig.ended(agent_id)
    assert end.status == "failed"
    assert end.text == "What it did on box was cut off when the app ended."
    assert "cut off" in rig.notes_to(rig.agent_id, "report")[0]


async def test_when_the_app_is_quit_nothing_goes_on_there(tmp_path: Path) -> None:
    child = [calls(("shell", {"command": "echo begun; sleep 600"}))]
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], child)
    agent_id = await rig.begun()
    await rig.command_runs(agent_id)
    outposts = rig.there / "data" / "outposts"
    (name,) = [path.name for path in outposts.iterdir() if path.suffix != ".lock"]
    await rig.engine.close()
    (over,) = [one for one in rig.of(TurnEnded) if one.agent_id == agent_id]
    assert over.reason == "cancelled"
    # Whoever gets the lock knows that the outpost has ended.
    lock = await asyncio.to_thread(_locked, outposts / f"{name}.lock")
    lock.release()


def _locked(path: Path) -> FileLock:
    """Wait until nobody holds a lock; return it."""
    until = time.monotonic() + HANG_S
    while time.monotonic() < until:
        with contextlib.suppress(StoreLocked):
            return FileLock(path)
        os.sched_yield()
    raise TimeoutError(f"{path} is still held")
