"""What the engine adds to each step: from the end of a response to the next request.

The whole engine without a window: model host, litellm, store and a real shell. The provider
keeps the times, on the one clock that all processes share.

With `--beside PEER` the app's and the peer's command lines take turns: each answers one message,
with a command in each step. npm installs the peer into a folder that is deleted afterwards.
Compared are also the start to the first request, and the processor time of all processes, which
a busy machine distorts least.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from desktop_agent import __version__
from desktop_agent.compose import compose
from desktop_agent.core.events import Event, TurnEnded
from desktop_agent.core.ids import new_note_id, new_session_id
from desktop_agent.core.notes import Note
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from tests.bench.provider import ProviderProcess
from tests.bench.report import report
from tests.bench.sessions import Opened

_STEPS = 305
_ROUNDS = 2
_INSTALL_S, _RUN_S = 400, 500
_PACKAGE = "@mariozechner/pi-coding-agent"
_Program = tuple[Sequence[str], Mapping[str, str]]


async def _run(folder: Path, api_base: str) -> float:
    """Do all the steps; return when the message was sent."""
    ended = asyncio.Event()
    opened = Opened()

    def hear(event: Event) -> None:
        opened.hear(event)
        if isinstance(event, TurnEnded):
            ended.set()

    backend = await compose(
        hear, data_dir=folder, config_dir=folder, settings=Settings(max_steps=_STEPS + 10)
    )
    try:
        session = new_session_id()
        backend.engine.new_session(
            session, Workspace(str(folder)), model=f"openai/steps-{_STEPS}", api_base=api_base
        )
        sent = time.perf_counter()
        backend.engine.send(opened.agents[session], Note(new_note_id(), "Go."))
        async with asyncio.timeout(300):
            await ended.wait()
        return sent
    finally:
        await backend.close()


def _around(overheads: list[float], step: int, width: int) -> float:
    """Return the median of the steps near one, so that a single hiccup says nothing."""
    return statistics.median(overheads[max(0, step - width) : step + width])


def _pi(folder: Path, api_base: str) -> tuple[str, _Program]:
    words = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder)]
    subprocess.run([*words, _PACKAGE], check=True, timeout=_INSTALL_S)
    package = folder / "node_modules" / _PACKAGE / "package.json"
    version = json.loads(package.read_text(encoding="utf-8"))["version"]
    model = {"id": f"steps-{_STEPS}", "contextWindow": 10**6, "maxTokens": 4096}
    provider = {"baseUrl": api_base, "apiKey": "none", "api": "openai-completions"}
    places = {"providers": {"bench": {**provider, "models": [model]}}}
    (folder / "settings").mkdir()
    models = folder / "settings" / "models.json"
    models.write_text(json.dumps(places), encoding="utf-8")
    program = str(folder / "node_modules" / ".bin" / "pi")
    words = [program, "--provider", "bench", "--model", model["id"], "--print", "Go."]
    # It would wait for the network at its start, which is nothing that we compare.
    settings = {"PI_CODING_AGENT_DIR": str(folder / "settings"), "PI_OFFLINE": "1"}
    return f"pi {version}", (words, settings)


def _own(folder: Path, api_base: str) -> tuple[str, _Program]:
    words = [sys.executable, "-m", "desktop_agent", "run", "Go.", "--workspace", str(folder)]
    words += ["--model", f"openai/steps-{_STEPS}", "--api-base", api_base]
    words += ["--mode", "free", "--max-steps", str(_STEPS + 5)]
    return f"desktop-agent {__version__}", (words, {})


PEERS: dict[str, Callable[[Path, str], tuple[str, _Program]]] = {"pi": _pi}


def _run_beside(peer: str) -> None:
    """Print a line for each program and round, as they take turns."""
    with ProviderProcess() as provider, tempfile.TemporaryDirectory() as scratch:
        places = [Path(scratch, name) for name in ("peer", "own")]
        for place in places:
            place.mkdir()
        programs = [
            PEERS[peer](places[0], provider.api_base),
            _own(places[1], provider.api_base),
        ]
        for _ in range(_ROUNDS):
            for (name, program), place in zip(programs, places, strict=True):
                print(json.dumps(_measured(name, program, place, provider)), flush=True)


def _measured(
    name: str, program: _Program, place: Path, provider: ProviderProcess
) -> dict[str, str | float]:
    words, environment = program
    before = len(provider.timings()["arrivals"])
    used, began = _processor_s(), time.perf_counter()
    subprocess.run(
        words,
        cwd=place,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=_RUN_S,
    )
    timings = provider.timings()
    arrivals, ends = timings["arrivals"][before:], timings["ends"][before:]
    overheads = [(next_ - end) * 1000 for end, next_ in zip(ends[:-1], arrivals[1:], strict=True)]
    assert len(overheads) >= _STEPS, f"{name} made only {len(overheads)} steps"
    return {
        "program": name,
        "first_request_s": round(arrivals[0] - began, 2),
        "overhead_step_50_ms": round(statistics.median(overheads[42:58]), 1),
        "overhead_step_300_ms": round(statistics.median(overheads[290:305]), 1),
        "processor_ms_a_step": round((_processor_s() - used) * 1000 / len(overheads), 1),
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
    }


def _processor_s() -> float:
    """Return the processor time of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    if sys.argv[1:]:
        _run_beside(sys.argv[1])
        return
    with ProviderProcess() as provider, tempfile.TemporaryDirectory() as folder:
        sent = asyncio.run(_run(Path(folder).resolve(), provider.api_base))
        timings = provider.timings()
    arrivals, ends = timings["arrivals"], timings["ends"]
    overheads = [(start - end) * 1000 for end, start in zip(ends[:-1], arrivals[1:], strict=True)]
    assert len(overheads) >= _STEPS, f"only {len(overheads)} steps were made"
    report("first_request", (arrivals[0] - sent) * 1000)
    early = _around(overheads, 5, 3)
    late = _around(overheads, 298, 7)
    report("overhead_step_5", early)
    report("overhead_step_50", _around(overheads, 50, 5))
    report("overhead_step_300", late)
    report("overhead_growth", late / early)


if __name__ == "__main__":
    main()
