"""A thousand steps in a window of 32,768 tokens: the session goes on, and forgets nothing it must.

`LONG_STEPS` sets how many steps there are, `LONG_REPORT` where the figures are written.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from desktop_agent.compose import compose
from desktop_agent.core.events import ContextCompacted, MessageAdded
from desktop_agent.core.settings import Settings
from tests.e2e.desk import Desk
from tests.helpers.engines import history_of
from tests.helpers.forked import FORKS
from tests.helpers.provider_script import Reply
from tests.helpers.providers import Calls, Counts, Fail, LoopbackProvider, Received, Say

STEPS = int(os.environ.get("LONG_STEPS", "120"))
WINDOW = 32_768
FIRST = "Go through all the logs, one after the other. Never delete any."
SUBJECT = "Write down what the logs have in common"
SKILL = "code-review"
_SIZES = (400, 900, 1_600, 3_000)


@dataclass
class Tally:
    """What the provider saw."""

    step: int = 0
    refused: int = 0
    summaries: int = 0
    pairs: int = 0
    same_prefix: int = 0
    faults: list[str] = field(default_factory=list)
    skill: str = ""
    before: list[str] = field(default_factory=list)
    history: list[int] = field(default_factory=list)
    rss: list[int] = field(default_factory=list)

    def answer(self, request: Received) -> Reply:
        """Refuse what is longer than the window; else take the next step."""
        tokens = request.size // 4
        if tokens > WINDOW:
            self.refused += 1
            words = f"This model's maximum context length is {WINDOW} tokens."
            return Fail(400, message=f"{words} However, your messages resulted in {tokens}.")
        if request.system.startswith("You write down"):
            self.summaries += 1
            return [Say(f"{self.step} logs were read."), Counts(tokens, 0, 20)]
        self.look_at(request.body["messages"])
        self.step += 1
        return [self.act(request), Counts(tokens, 0, 20)]

    def act(self, request: Received) -> Say | Calls:
        if self.step == 1:
            return Calls(("TaskCreate", {"subject": SUBJECT}))
        if self.step == 2:
            return Calls(("skill", {"name": SKILL}))
        if self.step == 3:
            self.skill = request.results[-1]
        if self.step < STEPS:
            return Calls(("read", {"path": f"log{self.step % 40}.txt"}))
        return Say("All logs are read.")

    def look_at(self, messages: list[dict[str, Any]]) -> None:
        texts = [json.dumps(message) for message in messages]
        self.rss.append(resident())
        self.history.append(sum(map(len, texts)))
        called = [call["id"] for one in messages for call in one.get("tool_calls") or ()]
        answered = {one.get("tool_call_id") for one in messages}
        if open_ones := set(called) - answered:
            self.faults.append(f"{self.step}: unanswered {open_ones}")
        if messages[1]["content"] != FIRST:
            self.faults.append(f"{self.step}: the first message is {messages[1]['content'][:80]}")
        if self.step > 1 and not any(SUBJECT in text for text in texts[2:]):
            self.faults.append(f"{self.step}: no open task")
        if self.step > 3 and json.dumps(self.skill)[1:-1] not in "".join(texts):
            self.faults.append(f"{self.step}: no skill")
        if self.before:
            self.pairs += 1
            self.same_prefix += texts[: len(self.before)] == self.before
        self.before = texts


def resident() -> int:
    """Return the memory of this process, in bytes; 0 where it can't be told."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for n in range(40):
        line = f"{n:02} gulls were seen at the lighthouse; the paint is dry.\n"
        size = _SIZES[n % len(_SIZES)]
        (tmp_path / f"log{n}.txt").write_text((line * (size // len(line) + 1))[:size])
    return tmp_path


@pytest_asyncio.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    desk = Desk()
    desk.backend = await compose(
        desk.hear,
        data_dir=tmp_path / ".home" / "data",
        config_dir=tmp_path / ".home" / "config",
        settings=Settings(max_steps=STEPS + 10),
        is_warmed=False,
    )
    with FORKS.hosts():
        yield desk
        await desk.backend.close()


async def test_a_session_goes_on_for_as_many_steps_as_it_takes_in_a_small_window(
    desk: Desk, logs: Path
) -> None:
    tally = Tally()
    with LoopbackProvider("openai", otherwise=tally.answer, most_kept=1) as provider:
        talk = await desk.session(logs, provider.model, provider.api_base)
        talk.send(FIRST)
        ended = await talk.ended()
    if report := os.environ.get("LONG_REPORT"):
        Path(report).write_text(json.dumps(vars(tally)))
    assert (ended.reason, ended.fault) == ("finished", None)
    assert tally.step == STEPS
    assert not tally.faults
    # The window is learned from one refusal, and no request is longer after that.
    assert tally.refused == 1
    compactions = [one for one in desk.events if isinstance(one, ContextCompacted)]
    assert compactions[0].reason == "refused"
    assert tally.same_prefix >= 0.95 * tally.pairs, (tally.same_prefix, tally.pairs)
    assert max(tally.history) < 4 * WINDOW
    # Once it is warm, a step leaves next to nothing in the memory.
    assert max(tally.rss) - tally.rss[min(100, STEPS // 2)] <= 20 * 2**20
    # What is left out of requests is still in the transcript, and what goes on is on disk.
    said = [one.message for one in talk.events if isinstance(one, MessageAdded)]
    assert len(said) == 2 * STEPS
    assert talk.history == history_of(talk.engine, talk.agent)
