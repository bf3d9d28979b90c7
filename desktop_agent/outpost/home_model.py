"""Answers an outpost's requests to models, with the keys that stay here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message
from desktop_agent.core.pipes.host_pipe import (
    AgentForgotten,
    CallAnswered,
    CallFailed,
    CallMade,
    FromHost,
    StreamAdvanced,
    StreamCancelled,
    StreamFailed,
    StreamForgotten,
    StreamStarted,
    ToHost,
)
from desktop_agent.core.requests import Answer, Delta
from desktop_agent.core.usage import Usage

_NOT_OURS = "The outpost asked for a model that none of the jobs names."


class HomeModel:
    """One stream's requests. Only the models of the jobs are asked, each at its own address.

    `send` writes to the stream; `used` hears what each answer used.
    """

    def __init__(
        self,
        model: HostedModel,
        allowed: frozenset[tuple[str, str]],
        send: Callable[[FromHost], None],
        used: Callable[[Usage], None],
    ) -> None:
        self._model, self._allowed = model, allowed
        self._send, self._used = send, used
        self._known: dict[AgentId, tuple[Message, ...]] = {}
        self._running: dict[int, asyncio.Task[None]] = {}

    def take(self, value: ToHost) -> None:
        """Carry out what the outpost asks for."""
        match value:
            case StreamStarted(id=id_):
                self._begin(id_, self._stream(value))
            case CallMade(id=id_):
                self._begin(id_, self._call(value))
            case StreamCancelled(id=id_):
                if (task := self._running.pop(id_, None)) is not None:
                    task.cancel()
            case AgentForgotten(agent_id=agent_id):
                self._known.pop(agent_id, None)
                self._model.forget(agent_id)

    def close(self) -> None:
        """Let go of what is under way: the outpost asks again."""
        for task in self._running.values():
            task.cancel()
        self._running.clear()

    def _begin(self, id_: int, work: Coroutine[Any, Any, None]) -> None:
        if (before := self._running.pop(id_, None)) is not None:
            before.cancel()
        self._running[id_] = asyncio.create_task(work)

    async def _stream(self, started: StreamStarted) -> None:
        request, id_ = started.request, started.id
        if (request.model, request.api_base) not in self._allowed:
            self._send(StreamFailed(id_, Fault("internal", _NOT_OURS)))
            return
        known = self._known.get(request.agent_id, ())
        if len(known) < started.kept:
            self._send(StreamForgotten(id_))
            return
        messages = known[: started.kept] + request.messages
        self._known[request.agent_id] = messages
        whole = msgspec.structs.replace(request, messages=messages)
        try:
            async for item in self._model.stream(whole):
                if isinstance(item, Answer):
                    self._used(item.usage)
                if not isinstance(item, Delta):  # nobody watches it grow there
                    self._send(StreamAdvanced(id_, (item,)))
        except ModelError as error:
            self._send(StreamFailed(id_, error.fault))

    async def _call(self, made: CallMade) -> None:
        name = made.arguments.get("model")
        if made.method != "model_info" or name not in {model for model, _ in self._allowed}:
            self._send(CallFailed(made.id, Fault("internal", _NOT_OURS)))
            return
        try:
            found = await self._model.call("model_info", model=name)
        except ModelError as error:
            self._send(CallFailed(made.id, error.fault))
        else:
            raw = msgspec.Raw(msgspec.msgpack.encode(found))
            self._send(CallAnswered(made.id, raw))
