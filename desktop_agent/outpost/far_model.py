"""Models asked for from an outpost at home, over the stream: no key leaves home.

Nobody watches an answer grow there, so it is told whole, and asked for again when the stream was
cut before it came.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import msgspec

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.pipes import host_pipe
from desktop_agent.core.requests import Answer, ModelRequest, StreamItem

_ANSWERED = ("model_info",)


class FarModel(HostedModel):
    """A model whose host is at home; `send` drops what nobody is there to hear.

    An agent's request waits for `ready`.
    """

    def __init__(
        self,
        send: Callable[[host_pipe.ToHost], None],
        ready: Callable[[AgentId], Awaitable[None]],
    ) -> None:
        super().__init__(key_for=lambda _: None)
        self._send, self._ready = send, ready
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Queue[host_pipe.FromHost | None]] = {}
        self._known: dict[AgentId, tuple[Message, ...]] = {}

    def on_attached(self) -> None:
        """Ask again for all that is waited for: whoever is there now knows of nothing."""
        self._known.clear()
        for queue in self._waiting.values():
            queue.put_nowait(None)

    def take(self, value: host_pipe.FromHost) -> None:
        """Hand over what came from home."""
        if (queue := self._waiting.get(value.id)) is not None:
            queue.put_nowait(value)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Yield the items of one answer, all of them once it is whole. Raises ModelError."""
        await self._ready(request.agent_id)
        items: list[StreamItem] = []
        id_ = next(self._numbers)
        queue = self._waiting[id_] = asyncio.Queue()
        try:
            self._ask(id_, request)
            while not (items and isinstance(items[-1], Answer)):
                match await queue.get():
                    case host_pipe.StreamAdvanced(_, more):
                        items += more
                    case host_pipe.StreamFailed(_, fault) | host_pipe.CallFailed(_, fault):
                        raise ModelError(fault)
                    case host_pipe.StreamForgotten():
                        self._known.pop(request.agent_id, None)
                        self._ask(id_, request)
                    case _:
                        items.clear()
                        self._ask(id_, request)
        finally:
            del self._waiting[id_]
            self._send(host_pipe.StreamCancelled(id_))
        for item in items:
            yield item

    def forget(self, agent_id: AgentId) -> None:
        """Drop what is kept of an agent's history."""
        if self._known.pop(agent_id, None) is not None:
            self._send(host_pipe.AgentForgotten(agent_id))

    async def call(self, method: str, **arguments: Any) -> Any:
        """Ask home about a model. Raises ModelError."""
        if method not in _ANSWERED:
            raise ModelError(Fault("internal", f"an outpost does not ask for {method}"))
        id_ = next(self._numbers)
        queue = self._waiting[id_] = asyncio.Queue()
        asked = host_pipe.CallMade(id_, method, arguments)
        try:
            self._send(asked)
            while True:
                match await queue.get():
                    case host_pipe.CallAnswered(_, value):
                        return msgspec.msgpack.decode(value, type=ModelInfo | None)
                    case host_pipe.CallFailed(_, fault) | host_pipe.StreamFailed(_, fault):
                        raise ModelError(fault)
                    case _:
                        self._send(asked)
        finally:
            del self._waiting[id_]
            self._send(host_pipe.StreamCancelled(id_))

    async def start(self) -> None:
        """Nothing has to be started."""

    async def close(self) -> None:
        """Nothing has to be ended."""

    def _ask(self, id_: int, request: ModelRequest) -> None:
        known = self._known.get(request.agent_id, ())
        kept = host_pipe.kept(known, request.messages)
        self._known[request.agent_id] = request.messages
        fresh = msgspec.structs.replace(request, messages=request.messages[kept:])
        self._send(host_pipe.StreamStarted(id_, fresh, kept))
