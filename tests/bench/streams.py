"""32 answers at once, 100 chunks a second each, one of them on screen, for 20 seconds."""

from __future__ import annotations

import sys
import time

from desktop_agent.core.events import Event, PartDelta, TurnEnded
from desktop_agent.core.ids import AgentId
from desktop_agent.core.settings import Settings
from tests.bench.processes import rss_mb
from tests.bench.provider import WORD_LENGTH, ProviderProcess
from tests.bench.report import report
from tests.bench.stage import Stage, pause, run

_STREAMS, _RATE, _SECONDS = 32, 100, 20
_MARGIN_S = 8


class _Counter:
    """How much text came of each agent, and whose turn is over."""

    def __init__(self) -> None:
        self.lengths: dict[AgentId, int] = {}
        self.ended: dict[AgentId, float] = {}

    def hear(self, event: Event) -> None:
        if isinstance(event, PartDelta):
            before = self.lengths.get(event.agent_id, 0)
            self.lengths[event.agent_id] = before + len(event.text)
        elif isinstance(event, TurnEnded):
            self.ended[event.agent_id] = time.perf_counter()
            if event.reason != "finished":
                sys.stderr.write(f"a stream ended with {event.reason}: {event.fault}\n")

    @property
    def chunks(self) -> float:
        return sum(self.lengths.values()) / WORD_LENGTH


async def _play(stage: Stage) -> None:
    counter = _Counter()
    stage.heard.append(counter.hear)
    with ProviderProcess() as provider:
        # The first request pays for the import of litellm; it is measured elsewhere.
        first = await stage.new_session("openai/plain", provider.api_base)
        stage.send(first, "Hello")
        await stage.until(lambda: first in counter.ended)
        model = f"openai/stream-{_RATE}-{_SECONDS + _MARGIN_S}"
        agents = [await stage.new_session(model, provider.api_base) for _ in range(_STREAMS)]
        counter.lengths.clear()
        for agent in agents:
            stage.send(agent, "Tell me.")
        await stage.until(lambda: len(counter.lengths) == _STREAMS)
        await _measure(stage, counter)
        await stage.until(lambda: all(agent in counter.ended for agent in agents))
        last_sent = max(provider.timings()["ends"])
    report("streams_backlog", max(counter.ended.values()) - last_sent)


async def _measure(stage: Stage, counter: _Counter) -> None:
    stage.meter.start()
    start, before = time.perf_counter(), counter.chunks
    await pause(_SECONDS)
    seconds, chunks = time.perf_counter() - start, counter.chunks - before
    stage.meter.stop()
    report("streams_gap_p99", stage.meter.percentile(0.99))
    report("streams_gap_max", max(stage.meter.gaps_ms))
    report("streams_chunks_per_s", chunks / seconds)
    report("streams_rss_window", rss_mb())


if __name__ == "__main__":
    run(_play, Settings(model="demo"))
