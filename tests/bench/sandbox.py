"""What the sandbox adds to a command: 200 in it and 200 without, in turns, one after the other.

Between them runs bubblewrap with nothing to protect: what of it is the system's own share. The
shell does nothing, so what is measured is the way there and back: finding what must be
protected, starting, ending, looking at what was left.

Before that, how long it takes to find one part of it broken: each in turn, the slowest counts.

Then what the start alone takes of the processor in a process as large as the app with long
sessions, against what it takes in this one: a start that copies page tables shows.

Then ten agents run a test suite each at once, with the sandbox and without: how late the event
loop comes that they share. What it is late without the sandbox is the floor.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox, Programs
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import ToolContext
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.agent.read_files import FilesSeen
from desktop_agent.engine.workspace.output_files import OutputFiles
from desktop_agent.tools.shell.jobs import Jobs
from desktop_agent.tools.shell.output import Output
from desktop_agent.tools.shell.running import Launch, RunningCommand
from desktop_agent.tools.shell.shell import shell
from tests.adapters.sandbox.broken_programs import PARTS, broken
from tests.bench.report import report

COMMANDS = 200
FILES = 1000
STARTS, LARGE_MB = 50, 400
AGENTS, SUITES, TICK_S = 10, 4, 0.005
_SUITE = """
import hashlib, unittest

class Test(unittest.TestCase):
    def test_work(self):
        self.assertTrue(hashlib.sha256(b"x" * 50_000_000).hexdigest())

    def test_sum(self):
        self.assertEqual(sum(range(1_000_000)), 499999500000)
"""
_SHELL = ("bash", "--noprofile", "--norc", "-c", "true")
_BAREST = (
    Programs.find().bwrap, "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc",
    "--unshare-net", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev",
    "--proc", "/proc", "--",
)  # fmt: skip


async def measure(folder: Path) -> None:
    work = folder / "work"
    for number in range(FILES):
        path = work / f"part{number % 20}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    sandbox = BubblewrapSandbox(folder / "data")
    began = time.perf_counter()
    state = await sandbox.check()
    checked = time.perf_counter() - began
    if not state.holds:
        sys.stdout.write(f"The sandbox doesn't hold here: {state.reason}\n")
        return
    report("sandbox_check_broken_max", max([await _find_broken(name) for name in PARTS]) * 1000)
    boundary = Boundary(SessionId("bench"), Workspace(str(work)))
    bare: list[float] = []
    barest: list[float] = []
    inside: list[float] = []
    for _ in range(COMMANDS):
        bare.append(_timed(_SHELL, work))
        barest.append(_timed((*_BAREST, *_SHELL), work))
        inside.append(await _enclosed(sandbox, boundary, work))
    report("sandbox_check", checked * 1000)
    report("sandbox_barest_p50", (_at(barest, 50) - _at(bare, 50)) * 1000)
    report("sandbox_added_p50", (_at(inside, 50) - _at(bare, 50)) * 1000)
    report("sandbox_added_p95", (_at(inside, 95) - _at(bare, 95)) * 1000)
    report("sandbox_ratio_p50", _at(inside, 50) / _at(bare, 50))
    small = await _start_cpu(sandbox, boundary, work)
    ballast = bytearray(os.urandom(1 << 20)) * LARGE_MB
    report("sandbox_start_large", await _start_cpu(sandbox, boundary, work) / small)
    del ballast
    await _measure_ten(sandbox, work)
    await sandbox.forget(boundary.session_id)


async def _find_broken(name: str) -> float:
    """Return the seconds in which a sandbox that lacks one part is found not to hold."""
    with tempfile.TemporaryDirectory() as place:
        programs = broken(Path(place), name)
        sandbox = BubblewrapSandbox(Path(place) / "data", programs=programs)
        began = time.perf_counter()
        state = await sandbox.check()
        taken = time.perf_counter() - began
    assert name in [probe.name for probe in state.probes if not probe.held], state
    return taken


async def _start_cpu(sandbox: BubblewrapSandbox, boundary: Boundary, work: Path) -> float:
    """Return the seconds of this thread's processor time that a start takes, as commands start."""
    outputs = OutputFiles(work.parent / "outputs").of(boundary.session_id)
    taken: list[float] = []
    for number in range(STARTS):
        enclosure = await sandbox.enclose(boundary, str(work), os.environ)
        launch = Launch("true", str(work), os.environ, f"start-{number}", enclosure=enclosure)
        began = time.thread_time()
        command = RunningCommand(launch, Output(outputs), lambda _: None)
        taken.append(time.thread_time() - began)
        assert await command.wait() == 0
        await command.settle()
    return statistics.median(taken)


async def _measure_ten(sandbox: BubblewrapSandbox, work: Path) -> None:
    (work / "test_it.py").write_text(_SUITE)
    free, contained = await _suites(None, work), await _suites(sandbox, work)
    for name, percent in (("p99", 99), ("max", 100)):
        gaps = [_worst(run.gaps, percent) * 1000 for run in (contained, free)]
        report(f"sandbox_ten_gap_{name}", gaps[0], floor=gaps[1])
    report("sandbox_ten_seconds", contained.seconds, floor=free.seconds)


@dataclass(frozen=True, slots=True)
class _Run:
    """How long it took, and the seconds between one turn of the loop and the next."""

    seconds: float
    gaps: list[float]


async def _suites(sandbox: BubblewrapSandbox | None, work: Path) -> _Run:
    gaps: list[float] = []
    began = time.perf_counter()
    ticks = asyncio.create_task(_tick(gaps))
    async with asyncio.TaskGroup() as agents:
        for number in range(AGENTS):
            agents.create_task(_run_suites(sandbox, work, number))
    ticks.cancel()
    return _Run(time.perf_counter() - began, gaps)


async def _tick(gaps: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await asyncio.sleep(TICK_S)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now


async def _run_suites(sandbox: BubblewrapSandbox | None, work: Path, number: int) -> None:
    """Run them as an agent does: by the tool, from its preview to its result."""

    async def answer(_: str, options: tuple[str, ...]) -> str:
        return options[0]

    jobs = Jobs()
    context = ToolContext(
        agent_id=AgentId(f"ag_{number}"),
        call_id=f"call_{number}",
        boundary=Boundary(SessionId("bench"), Workspace(str(work))),
        report=lambda _: None,
        ask_user=answer,
        files=FilesSeen(),
        outputs=OutputFiles(work.parent / "outputs").of(SessionId("bench")),
        jobs=jobs,
        sandbox=sandbox,
        environment={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    arguments = shell.parse({"command": "python3 -m unittest -q test_it"})
    assert shell.preview is not None
    for _ in range(SUITES):
        judged = await shell.preview(arguments, context)
        done = await shell.run(arguments, replace(context, judged=judged))
        assert "[Exit code 0, " in done.text, done.text
    await jobs.close()


def _worst(times: list[float], percent: int) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def _at(times: list[float], percent: int) -> float:
    return statistics.quantiles(times, n=100)[percent - 1]


def _timed(words: tuple[str, ...], work: Path) -> float:
    began = time.perf_counter()
    subprocess.run(words, cwd=work, stdin=subprocess.DEVNULL, check=True, start_new_session=True)
    return time.perf_counter() - began


async def _enclosed(sandbox: BubblewrapSandbox, boundary: Boundary, work: Path) -> float:
    began = time.perf_counter()
    enclosure = await sandbox.enclose(boundary, str(work), os.environ)
    process = subprocess.Popen(
        [*enclosure.words, *_SHELL],
        cwd=work,
        env={**os.environ, **enclosure.environment},
        stdin=subprocess.DEVNULL,
        pass_fds=enclosure.descriptors,
        start_new_session=True,
    )
    enclosure.close()
    code = process.wait()
    await enclosure.finished()
    assert code == 0
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(os.path.realpath(folder))))


if __name__ == "__main__":
    main()
