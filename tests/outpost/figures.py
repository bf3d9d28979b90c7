"""Figures of a subagent behind a real sshd on loopback: `python -m tests.outpost.figures 200`.

The number is of notes. It prints seconds of: attaching again to an outpost that runs, a note until
it is on disk there while a tool runs, a stop until the report, a step there and here.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core.events import ToolEnded
from desktop_agent.core.notes import NoteArrived
from desktop_agent.tools.files.reading import read
from tests.engine.tree.tree_rig import WAIT, spawns
from tests.helpers.scripted import calls, says
from tests.outpost.rig import far
from tests.outpost.sshd import loopback_ssh
from tests.outpost.test_far_agents import SPAWN, WORKS, FarRig

_STEPS = 40
_FILES = ("beds.txt", "staged.txt")
_READS = [calls(("read", {"path": _FILES[number % 2]})) for number in range(_STEPS)]


async def _until(rig: FarRig, holds: Callable[[], bool]) -> float:
    await rig.once(holds)
    return time.perf_counter()


async def _notes_and_stop(place: Path, command: str, count: int) -> None:
    child = [calls(("shell", {"command": "echo begun; sleep 600"}))]
    rig = FarRig(place, [SPAWN, WAIT, says("Thanks.")], child, command=command)
    agent_id = await rig.begun()
    await rig.command_runs(agent_id)
    took: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        note = rig.send_to(agent_id, f"note {number}")
        # The first note there is the prompt.
        took.append(await _until(rig, lambda n=number: len(rig.of(NoteArrived)) > n + 1) - began)
        assert rig.of(NoteArrived)[-1].note_id == note.id
    took.sort()
    print(f"note: median {statistics.median(took):.4f}, p99 {took[int(count * 0.99)]:.4f}")
    began = time.perf_counter()
    rig.engine.stop(agent_id)
    await rig.ended(agent_id)
    print(f"stop to report: {time.perf_counter() - began:.3f}")
    await rig.engine.close()


async def _steps(place: Path, command: str, *, is_far: bool) -> None:
    spawn = SPAWN if is_far else spawns(WORKS)
    rig = FarRig(place, [spawn, WAIT, says("Thanks.")], [*_READS, says("Read.")], command=command,
                 tools=(read,))  # fmt: skip
    if is_far:
        agent_id = await rig.begun()
    else:
        rig.send("go")
        agent_id = await rig.child()

    def ended() -> int:
        return len([one for one in rig.of(ToolEnded) if one.agent_id == agent_id])

    began = await _until(rig, lambda: ended() >= 1)
    over = await _until(rig, lambda: ended() >= _STEPS)
    where = "there" if is_far else "here"
    print(f"step {where}: {(over - began) / (_STEPS - 1):.4f}")
    await rig.ended(agent_id)
    await rig.engine.close()


async def _main(count: int) -> None:
    print(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, loopback_ssh(Path(folder)) as ssh:
        place = Path(folder)
        command = f"{ssh} {shlex.quote(far(place / 'there'))}"
        for number in range(3):
            (place / f"notes-{number}").mkdir()
        await _notes_and_stop(place / "notes-0", command, count)
        await _steps(place / "notes-1", command, is_far=True)
        await _steps(place / "notes-2", command, is_far=False)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
