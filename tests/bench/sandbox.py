"""What the sandbox adds to a command: 200 in it and 200 without, in turns, one after the other.

Between them runs bubblewrap with nothing to protect: what of it is the system's own share. The
shell does nothing, so what is measured is the way there and back: finding what must be
protected, starting, ending, looking at what was left.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox, Programs
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Boundary
from tests.bench.report import report

COMMANDS = 200
FILES = 1000
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
    boundary = Boundary(SessionId("bench"), (str(work),), (str(work),))
    bare: list[float] = []
    barest: list[float] = []
    inside: list[float] = []
    for _ in range(COMMANDS):
        bare.append(_timed(_SHELL, work))
        barest.append(_timed((*_BAREST, *_SHELL), work))
        inside.append(await _enclosed(sandbox, boundary, work))
    await sandbox.forget(boundary.session_id)
    report("sandbox_check", checked * 1000)
    report("sandbox_barest_p50", (_at(barest, 50) - _at(bare, 50)) * 1000)
    report("sandbox_added_p50", (_at(inside, 50) - _at(bare, 50)) * 1000)
    report("sandbox_added_p95", (_at(inside, 95) - _at(bare, 95)) * 1000)
    report("sandbox_ratio_p50", _at(inside, 50) / _at(bare, 50))


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
