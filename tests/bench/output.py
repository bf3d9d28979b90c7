"""Floods: an answer that is one line of 1 MB, and a command that prints 10 GB."""

from __future__ import annotations

import time

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import ApprovalRequested, Event, ToolEnded, TurnEnded
from desktop_agent.core.ids import AgentId
from desktop_agent.core.settings import Settings
from tests.bench.processes import forget_peak, peak_rss_mb, rss_mb
from tests.bench.provider import ProviderProcess
from tests.bench.report import report
from tests.bench.stage import Stage, run

_LINE = 1_000_000
_OUTPUT = 10_000_000_000


class _Follower:
    """Allows what is asked, and notes which turns and calls are over."""

    def __init__(self, stage: Stage) -> None:
        self.ended: set[AgentId] = set()
        self.calls: list[ToolEnded] = []
        self._stage = stage

    def hear(self, event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            self._stage.bridge.engine.decide(event.request.id, AllowOnce())
        elif isinstance(event, ToolEnded):
            self.calls.append(event)
        elif isinstance(event, TurnEnded):
            self.ended.add(event.agent_id)


async def _flood(stage: Stage, follower: _Follower, name: str, agent: AgentId, text: str) -> None:
    before = rss_mb()
    forget_peak()
    stage.meter.start()
    stage.send(agent, text)
    await stage.until(lambda: agent in follower.ended, timeout_s=300)
    stage.meter.stop()
    report(f"{name}_gap_max", max(stage.meter.gaps_ms))
    report(f"{name}_rss_growth", peak_rss_mb() - before)


async def _play(stage: Stage) -> None:
    follower = _Follower(stage)
    stage.heard.append(follower.hear)
    with ProviderProcess() as provider:
        warm = await stage.new_session("openai/plain", provider.api_base)
        stage.send(warm, "Hello")
        await stage.until(lambda: warm in follower.ended)
        agent = await stage.new_session(f"openai/line-{_LINE}", provider.api_base)
        await _flood(stage, follower, "line", agent, "One line, please.")
        agent = await stage.new_session("openai/shell", provider.api_base)
        start = time.perf_counter()
        await _flood(stage, follower, "output", agent, f"yes 0123456789 | head -c {_OUTPUT}")
        report("output_seconds", time.perf_counter() - start)
        assert follower.calls, "the command was not run"


if __name__ == "__main__":
    run(_play, Settings(model="demo", shell_timeout_s=290))
