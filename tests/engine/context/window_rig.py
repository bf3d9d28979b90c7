"""A model with a context window: it counts what it is sent and refuses what is longer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.messages import Message, TextPart, ToolResult
from desktop_agent.core.requests import Accepted, Answer, ModelRequest, StreamItem
from desktop_agent.core.tool import ToolContext, ToolOutput
from desktop_agent.core.usage import Usage
from desktop_agent.engine.base.ports import AgentRecord
from tests.engine.rig import Rig, tool
from tests.helpers.scripted import says

SUMMARY = "They want the lighthouse painted; the ladder is in the shed."
Reply = Answer | ModelError | Callable[[ModelRequest], Answer]


def tokens_of(request: ModelRequest) -> int:
    """Count as the provider does: a token for four characters."""
    words = [request.system, *map(str, request.tools)]
    for message in request.messages:
        for part in message.parts:
            words.append(part.text if isinstance(part, TextPart | ToolResult) else str(part))
    return sum(map(len, words)) // 4


class WindowModel:
    """Plays its script to requests that fit; then it says that it is done."""

    def __init__(self, window: int, *script: Reply, summary: Any = SUMMARY) -> None:
        self.window = window
        self.script = list(script)
        self.summary = summary
        self.requests: list[ModelRequest] = []
        self.summaries: list[ModelRequest] = []
        self.refused: list[ModelRequest] = []

    def count(self, request: ModelRequest) -> int:
        """Return what a request takes of its window."""
        return tokens_of(request)

    def told(self, taken: int, cost: float) -> Usage:
        """Return what it says of that."""
        return Usage(taken, 20, cost=cost)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        taken = self.count(request)
        if taken > self.window:
            self.refused.append(request)
            words = f"This model's maximum context length is {self.window} tokens."
            raise ModelError(Fault("too_large", words, "switch_model"))
        if request.agent_id.endswith("/compact"):
            self.summaries.append(request)
            if isinstance(self.summary, ModelError):
                raise self.summary
            yield Answer((TextPart(self.summary),), usage=self.told(taken, 0.5))
            return
        self.requests.append(request)
        reply = self.script.pop(0) if self.script else says("Done.")
        if isinstance(reply, ModelError):
            raise reply
        answer = reply(request) if callable(reply) else reply
        yield Accepted()
        yield Answer(answer.parts, usage=self.told(taken, 0.0))


async def dump(args: Any, _: ToolContext) -> ToolOutput:
    """Give so many characters, which say whose they are."""
    text = f"{args.get('what', 'x')} "
    return ToolOutput((text * (args["size"] // len(text) + 1))[: args["size"]])


class LongRig(Rig):
    """A session on a disk, with a model that has a window."""

    def __init__(self, tmp_path: Path, model: WindowModel, **more: Any) -> None:
        self.file = tmp_path / "sessions.db"
        given = more.pop("tools", ())
        store: Any = more.pop("store", None) or SqliteStore(self.file)
        tools = [tool("dump", dump), *given]
        super().__init__(tmp_path, model=model, store=store, tools=tools, **more)

    @property
    def history(self) -> tuple[Message, ...]:
        """What the next request would send."""
        return self.agent(self.agent_id).history

    def stored(self) -> AgentRecord:
        """What is on disk of the main agent."""
        return self.store.load_agent(self.session_id, self.agent_id)

    async def end(self) -> None:
        """Close the app."""
        await self.engine.close()
        with closing(self.store):  # type: ignore[type-var]
            pass


def texts(messages: Sequence[Message]) -> list[str]:
    """Every text of messages, results included."""
    parts = [part for message in messages for part in message.parts]
    return [part.text for part in parts if isinstance(part, TextPart | ToolResult)]
