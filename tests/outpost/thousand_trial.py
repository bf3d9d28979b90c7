"""Many agents in a few outposts: `python -m tests.outpost.thousand_trial [AGENTS] [OUTPOSTS]`.

All wait at once for the first answer of their model, which is when the memory is read; then each
takes its steps and ends. Prints memory and processor time of the outposts alone: of two counts of
agents, the difference is what one takes.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.bench.processes import pss_mb
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say, Wait
from tests.outpost.rig import ROOT, far, garden, results, write_jobs

_STEPS = 4
_LONG_S = 3600.0


def main(agents: int, outposts: int) -> int:
    """Run them; return the exit code."""
    release = threading.Event()

    def answer(request: Received) -> Any:
        if len(request.results) < _STEPS - 1:
            reads = Calls(("read", {"path": "beds.txt"}))
            return reads if request.results else [Wait(release), reads]
        return Say("Done.")

    with (
        tempfile.TemporaryDirectory(prefix="t") as name,
        LoopbackProvider("openai", otherwise=answer) as provider,
    ):
        folder = Path(name)
        said = {"workspace": str(garden(folder / "garden")), "model": provider.model}
        said["api_base"] = provider.api_base
        each = agents // outposts
        with_one = [_batch(folder, number, said, each) for number in range(outposts)]
        provider.wait_for(agents, _LONG_S)
        there = _outposts()
        memory = sum(pss_mb(one) for one in there)
        last = {one: _seconds(one) for one in there}
        before = sum(last.values())
        release.set()
        while any(batch.poll() is None for batch in with_one):
            for one in there:
                with contextlib.suppress(OSError):  # it has ended
                    last[one] = _seconds(one)
            threading.Event().wait(0.05)
        codes = [batch.returncode for batch in with_one]
        ended = [one for number in range(outposts) for one in results(folder / f"out-{number}")]
    finished = sum(one["reason"] == "finished" for one in ended)
    seconds = sum(last.values()) - before
    print(f"{finished} of {agents} agents finished in {len(there)} outposts, {codes=}")
    print(f"memory of the outposts {memory:.0f} MB, {memory * 1e3 / agents:.0f} KB an agent")
    print(f"{seconds / (agents * _STEPS) * 1e3:.1f} ms of processor time a step")
    return int(finished != agents)


def _batch(folder: Path, number: int, said: dict[str, Any], count: int) -> subprocess.Popen[bytes]:
    wanted = ({"prompt": f"read {number} {job}", **said} for job in range(count))
    jobs = write_jobs(folder / f"jobs-{number}.jsonl", *wanted)
    home = folder / f"home-{number}"
    home.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "desktop_agent", "batch", jobs, "--out", folder / f"out-{number}",
         "--on", f"command: {far(folder / f'there-{number}')}", "--at-most", str(min(count, 256))],
        cwd=ROOT, env={**os.environ, "DESKTOP_AGENT_HOME": str(home)},
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def _seconds(pid: int) -> float:
    """Return the processor time of a process until now. Raises OSError."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _outposts() -> list[int]:
    found = subprocess.run(["pgrep", "-f", "desktop_agent.outpost batch-"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    return [int(pid) for pid in found.stdout.split()]


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:3]]
    raise SystemExit(main(*given, *(1000, 8)[len(given) :]))
