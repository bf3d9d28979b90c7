"""What the engine adds to each step: from the end of a response to the next request.

The whole engine without a window: model host, litellm, store and a real shell. The provider
keeps the times, on the one clock that all processes share.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from desktop_agent.compose import compose
from desktop_agent.core.events import Event, TurnEnded
from desktop_agent.core.ids import new_note_id, new_session_id
from desktop_agent.core.notes import Note
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from tests.bench import beside
from tests.bench.provider import ProviderProcess
from tests.bench.report import report
from tests.bench.sessions import Opened

_STEPS = 305


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


def main() -> None:
    if sys.argv[1:]:
        beside.run(sys.argv[1])
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
