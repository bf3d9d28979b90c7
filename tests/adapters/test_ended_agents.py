"""Agents that ended leave their histories on disk, not in memory: a day's work has hundreds."""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import AgentEnded, AgentOpened, Event, MessageAdded, TurnEnded
from desktop_agent.core.faults import ModelError
from desktop_agent.core.ids import (
    AgentId,
    new_agent_id,
    new_message_id,
    new_note_id,
    new_session_id,
)
from desktop_agent.core.messages import Message, TextPart, ToolCall
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import Accepted, Answer, ModelRequest, StreamItem
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.engine import Engine
from desktop_agent.tools.agents import agent_tools
from tests.helpers.scripted import calls, says

CHARACTERS = 1_000_000
COUNT = 12
HELD = COUNT * CHARACTERS  # at least: what all of them said, a byte each character


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def in_use() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def long_text(number: int) -> str:
    return f"finding {number} " * (CHARACTERS // 10)


class Talkative:
    """The main agent starts one child after the other; each says and reports a lot."""

    def __init__(self) -> None:
        self.forgotten: set[AgentId] = set()
        self.asked: list[ModelRequest] = []

    async def is_priced(self, model: str) -> bool:
        return True

    def forget(self, agent_id: AgentId) -> None:
        self.forgotten.add(agent_id)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        yield Accepted()
        words = request.messages[0].text.split()
        if request.agent_id.endswith("/probe"):
            self.asked.append(request)
            yield says("I found it.")
        elif words[0] == "child":
            yield self._child(int(words[1]), len(request.messages))
        else:
            yield self._main(sum(len(message.results) for message in request.messages))

    def _child(self, number: int, messages: int) -> Answer:
        said = TextPart(long_text(number))
        if messages > 1:
            return Answer((said,), usage=Usage(10, 5))
        call = ToolCall(f"call_{number}", "no_such_tool", {"text": long_text(number)})
        return Answer((said, call), "tool_calls", usage=Usage(10, 5))

    def _main(self, answered: int) -> Answer:
        if answered == 2 * COUNT:
            return says("All done.")
        if answered % 2:
            return calls(("wait", {}))
        task = {"description": "Look", "prompt": f"child {answered // 2}"}
        return calls(("spawn", task))


class Work:
    """An engine with a real store; `memory` is what was in use at each end of a child."""

    def __init__(self, folder: Path, store: SqliteStore) -> None:
        self.model = Talkative()
        self.memory: list[int] = []
        self.ended: list[AgentId] = []
        self.heard: asyncio.Queue[Event] = asyncio.Queue()
        self.engine = Engine(
            model=self.model,
            store=store,
            tools=agent_tools(),
            settings=Settings(),
            emit=self._hear,
            spill_dir=folder / "outputs",
        )
        self.engine.start()
        session = new_session_id()
        self.engine.new_session(session, Workspace(str(folder)), model="m")
        (info,) = store.sessions()
        self.main = info.main_agent
        self.engine.send(self.main, Note(new_note_id(), "Begin"))

    def _hear(self, event: Event) -> None:
        if isinstance(event, AgentEnded):
            self.ended.append(event.agent_id)
            if tracemalloc.is_tracing():
                self.memory.append(in_use())
        is_end = isinstance(event, TurnEnded) and event.agent_id == self.main
        if is_end or isinstance(event, AgentOpened):
            self.heard.put_nowait(event)


async def test_an_ended_agent_holds_next_to_nothing(tmp_path: Path, traced: None) -> None:
    with closing(SqliteStore(tmp_path / "sessions.db")) as store:
        work = Work(tmp_path, store)
        await work.heard.get()
        assert len(work.ended) == COUNT
        # The second is compared with the last: what is loaded once is there by then.
        assert work.memory[-1] - work.memory[1] < HELD / 5
        assert set(work.ended) <= work.model.forgotten
        await work.engine.close()


async def test_what_an_ended_agent_said_is_there_for_all_who_want_it(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "sessions.db")) as store:
        work = Work(tmp_path, store)
        await work.heard.get()
        third = work.ended[3]
        assert await work.engine.result_of(third) == long_text(3).strip()
        work.engine.open_agent(third)
        opened = await work.heard.get()
        assert isinstance(opened, AgentOpened)
        texts = [e.message.text for e in opened.events if isinstance(e, MessageAdded)]
        assert texts.count(long_text(3)) == 2
        assert await work.engine.ask_aside(third, "What did you find?") == "I found it."
        (asked,) = work.model.asked
        assert [message.text for message in asked.messages if message.role == "assistant"] == [
            long_text(3)
        ] * 2
        assert f"{third}/probe" in work.model.forgotten
        await work.engine.close()


def resident(pid: int) -> int:
    """Return the bytes of memory that a process has."""
    line = next(
        line
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        if line.startswith("VmRSS:")
    )
    return int(line.split()[1]) * 1024


async def _ask_and_forget(hosted: HostedModel, number: int, *, is_forgotten: bool) -> None:
    agent = new_agent_id()
    text = TextPart(f"{number} " + long_text(number) * 4)
    message = Message(new_message_id(), "user", (text,))
    # Refused for want of a key, once the host has the whole of the history.
    with pytest.raises(ModelError):
        async for _ in hosted.stream(ModelRequest(agent, "openai/gpt-4o", "", (message,))):
            pass
    if is_forgotten:
        hosted.forget(agent)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
async def test_neither_the_app_nor_its_host_keeps_a_history_that_is_forgotten(
    traced: None,
) -> None:
    hosted = HostedModel(key_for=lambda _name: None)
    try:
        growth: dict[bool, tuple[int, int]] = {}
        # The import of litellm, which takes memory too, is over when this is answered.
        await hosted.call("check_key", model="openai/gpt-4o")
        for is_forgotten in (True, False):
            await _ask_and_forget(hosted, 0, is_forgotten=is_forgotten)
            await hosted.call("model_info", model="demo")
            assert hosted.pid is not None
            before = in_use(), resident(hosted.pid)
            for number in range(COUNT):
                await _ask_and_forget(hosted, number, is_forgotten=is_forgotten)
            await hosted.call("model_info", model="demo")
            growth[is_forgotten] = (
                in_use() - before[0],
                resident(hosted.pid) - before[1],
            )
    finally:
        await hosted.close()
    for kept, grown in zip(growth[False], growth[True], strict=True):
        assert kept > HELD * 3, "the trial itself shows nothing"
        assert grown < kept / 4
