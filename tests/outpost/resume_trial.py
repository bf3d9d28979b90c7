"""Kill the app while a subagent works at a place: `python -m tests.outpost.resume_trial 50`.

Each start is a process of its own on one disk, killed while a call runs, a note is under way or a
request waits. At the end what is on disk here is compared with what the outpost's agent did.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import (
    AgentEnded,
    ApprovalRequested,
    ApprovalResolved,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    StepStarted,
    ToolEnded,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import ToolCall
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.core.usage import Usage
from tests.engine.tree.tree_rig import WAIT
from tests.helpers.scripted import says
from tests.outpost.rig import far
from tests.outpost.test_far_agents import SPAWN, FarRig

_ASKED = 5


def _step(request: ModelRequest) -> Answer:
    """Read, now and then ask to write; end once the person said so."""
    said = [one for one in request.messages if one.role == "user"]
    if any("that is all" in one.text for one in said):
        return says("Done.")
    count = len(request.messages)
    if count % (2 * _ASKED) == 1:
        return _calls("write", {"path": f"n{count}.txt", "content": "x"})
    return _calls("shell", {"command": f"echo {count}"})


def _calls(tool: str, arguments: dict[str, str]) -> Answer:
    # Not numbered: each start would begin to count anew.
    call = ToolCall(f"call_{secrets.token_hex(6)}", tool, arguments)
    return Answer((call,), "tool_calls", usage=Usage(10, 5))


def _rig(folder: Path, number: int) -> FarRig:
    store = SqliteStore(folder / "sessions.db")
    # After a kill the main agent rests. A note that is read with the prompt hides whose it is.
    main = [SPAWN, WAIT] if number == 0 else []
    steps = [_step] * 10_000
    return FarRig(
        folder / f"start-{number}", [*main, *steps], steps,
        command=far(folder / "there"), store=store, is_back=True, home=folder / "home",
        mode="ask",
    )  # fmt: skip


async def _live(folder: Path, number: int, *, is_last: bool) -> None:
    """Be one start of the app; says `up` once the subagent is there, and lives until killed."""
    rig = _rig(folder, number)
    agent_id = await rig.begun() if number == 0 else _child(rig)
    # What no place has begun is held after a crash until the person lets it go on, as any other.
    if number == 0:
        await rig.once(lambda: any(one.agent_id == agent_id for one in rig.of(StepStarted)))
    print(f"up {agent_id}", flush=True)
    allowed: set[str] = set()
    if is_last:
        rig.send_to(agent_id, "that is all")
    note = 0
    while not any(one.agent_id == agent_id for one in rig.of(AgentEnded)):
        for one in rig.of(ApprovalRequested):
            if one.agent_id == agent_id and one.request.id not in allowed:
                allowed.add(one.request.id)
                rig.engine.decide(one.request.id, AllowOnce())
        if not is_last and len(rig.of(ToolEnded)) > 2 * note + 1:
            note += 1
            rig.send_to(agent_id, f"note {number}.{note}")
        await asyncio.sleep(0.01)
    await rig.engine.close()


def _child(rig: FarRig) -> AgentId:
    tree = rig.store.load_tree(rig.session_id)
    return next(one.agent_id for one in tree)


def _verdict(folder: Path) -> list[str]:
    """Return what is wrong with what is on disk at the end."""
    with closing(SqliteStore(folder / "sessions.db")) as store:
        (info,) = store.sessions()
        agent_id = store.load_tree(info.id)[0].agent_id
        events = store.page(info.id, None, 1_000_000, agent_id).events
    wrong: list[str] = []

    def once(what: str, found: list[str]) -> None:
        twice = [one for one, count in Counter(found).items() if count > 1]
        if twice:
            wrong.append(f"{what} twice: {twice[:3]}")

    notes = [one.note.id for one in events if isinstance(one, NoteQueued)]
    delivered = [one.note_id for one in events if isinstance(one, NoteDelivered)]
    returned = [one.note_id for one in events if isinstance(one, NoteReturned)]
    once("notes", list(notes))
    once("delivered", [*delivered, *returned])
    once("taken", [one.note_id for one in events if isinstance(one, NoteTaken)])
    once("messages", [one.message.id for one in events if isinstance(one, MessageAdded)])
    once("calls", [one.result.call_id for one in events if isinstance(one, ToolEnded)])
    if set(notes) != {*delivered, *returned}:
        wrong.append("a note is neither delivered nor returned")
    steps = [one.step for one in events if isinstance(one, StepStarted)]
    if steps != list(range(1, len(steps) + 1)):
        wrong.append(f"steps have a gap or come twice: {steps}")
    requests = {one.request.id for one in events if isinstance(one, ApprovalRequested)}
    settled = [one.request_id for one in events if isinstance(one, ApprovalResolved)]
    once("settled", list(settled))
    if requests != set(settled):
        wrong.append("a request is not settled")
    for kind in (TurnStarted, TurnEnded, AgentEnded):
        if sum(isinstance(one, kind) for one in events) != 1:
            wrong.append(f"not one {kind.__name__}")
    results = sum(isinstance(one, ToolEnded) for one in events)
    print(f"{len(steps)} steps, {results} calls, {len(notes)} notes, {len(requests)} requests")
    return wrong


def main(kills: int, longest_s: float = 1.0) -> int:
    """Return 0 if nothing is missing and nothing there twice; each start lives so long at most."""
    chance, began = random.Random(1), time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        for number in range(kills + 1):
            is_last = number == kills
            command = [sys.executable, "-m", "tests.outpost.resume_trial", place, str(number)]
            with subprocess.Popen(
                [*command, *(["last"] if is_last else [])], stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout is not None
                if not process.stdout.readline().startswith("up"):
                    print(f"start {number} failed")
                    return 1
                if not is_last:
                    if longest_s:
                        time.sleep(chance.uniform(0.0, longest_s))
                    os.kill(process.pid, signal.SIGKILL)
        wrong = _verdict(Path(place))
    print(f"killed {kills} times in {time.monotonic() - began:.0f} s: {wrong or 'nothing wrong'}")
    return int(bool(wrong))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(main(int(sys.argv[1])))
    asyncio.run(_live(Path(sys.argv[1]), int(sys.argv[2]), is_last=len(sys.argv) > 3))
