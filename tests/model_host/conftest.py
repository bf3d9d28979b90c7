"""One host process and one event loop for all tests of this directory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId, new_agent_id, new_message_id
from desktop_agent.core.messages import Message, Part, TextPart, ToolCall
from desktop_agent.core.requests import (
    Accepted,
    Answer,
    Delta,
    Limits,
    ModelRequest,
    Retrying,
    StreamItem,
    ToolSpec,
)
from tests.helpers.forked import FORKS
from tests.helpers.providers import LoopbackProvider

KEY = "sk-canary-0123456789abcdef"

READ = ToolSpec(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)

QUICK = Limits(connect_s=5.0, first_byte_s=5.0, idle_s=5.0, retry_total_s=10.0, max_retries=3)


@dataclass
class Heard:
    """All that one request gave."""

    items: list[StreamItem] = field(default_factory=list)
    fault: Fault | None = None

    @property
    def answer(self) -> Answer:
        assert self.fault is None, self.fault
        assert isinstance(self.items[-1], Answer)
        return self.items[-1]

    @property
    def shown(self) -> str:
        return "".join(i.text for i in self.items if isinstance(i, Delta) and i.kind == "text")

    @property
    def thought(self) -> str:
        return "".join(i.text for i in self.items if isinstance(i, Delta) and i.kind != "text")

    @property
    def retries(self) -> list[Retrying]:
        return [item for item in self.items if isinstance(item, Retrying)]

    @property
    def accepted(self) -> int:
        return sum(isinstance(item, Accepted) for item in self.items)

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.answer.parts if isinstance(part, ToolCall)]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.answer.parts if isinstance(part, TextPart))


def user(*parts: Part | str) -> Message:
    whole = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
    return Message(new_message_id(), "user", whole)


def said(answer: Answer) -> Message:
    return Message(new_message_id(), "assistant", answer.parts)


def request_to(
    provider: LoopbackProvider,
    messages: Sequence[Message] = (),
    *,
    agent_id: AgentId | None = None,
    limits: Limits = QUICK,
    tools: tuple[ToolSpec, ...] = (READ,),
    system: str = "You are a careful assistant.",
) -> ModelRequest:
    return ModelRequest(
        agent_id or new_agent_id(),
        provider.model,
        system,
        tuple(messages) or (user("Hello"),),
        tools,
        provider.api_base,
        limits=limits,
    )


async def hear(model: HostedModel, request: ModelRequest) -> Heard:
    heard = Heard()
    try:
        async for item in model.stream(request):
            heard.items.append(item)
    except ModelError as error:
        heard.fault = error.fault
    return heard


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def model() -> AsyncIterator[HostedModel]:
    hosted = HostedModel(key_for=lambda _name: KEY)
    with FORKS.hosts():
        await hosted.start()
    yield hosted
    await hosted.close()


Ask = Callable[..., Awaitable[Heard]]


@pytest.fixture
def ask(model: HostedModel) -> Ask:
    async def ask_provider(
        provider: LoopbackProvider, messages: Sequence[Message] = (), **rest: object
    ) -> Heard:
        return await hear(model, request_to(provider, messages, **rest))  # type: ignore[arg-type]

    return ask_provider


def sse(*bodies: Any) -> list[bytes]:
    return [b"data: " + json.dumps(body).encode() + b"\n\n" for body in bodies]
