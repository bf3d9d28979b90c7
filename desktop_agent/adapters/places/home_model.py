"""Answers an outpost's requests to models, with the keys that stay here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec

from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.pipes import host_pipe
from desktop_agent.core.requests import Answer, Delta, ModelRequest
from desktop_agent.core.usage import Usage
from desktop_agent.engine.base.ports import Model

_log = logging.getLogger(__name__)
_NOT_OURS = "The outpost asked for a model that none of the jobs names."


class HomeServices(msgspec.Struct, frozen=True):
    """What answers are made with.

    `admit` returns a request as it is made, when it is its turn, or None if it is not one of ours;
    `describe` what is known of a model, `forget` drops what is kept of an agent's history. `used`
    hears what each answer used.
    """

    model: Model
    admit: Callable[[ModelRequest], Awaitable[ModelRequest | None]]
    describe: Callable[[str], Awaitable[ModelInfo | None]]
    forget: Callable[[AgentId], None]
    used: Callable[[Usage], None] = lambda _: None


class HomeModel:
    """One stream's requests; `send` writes to the stream."""

    def __init__(self, services: HomeServices, send: Callable[[host_pipe.FromHost], None]) -> None:
        self._services, self._send = services, send
        self._known: dict[AgentId, tuple[Message, ...]] = {}
        self._running: dict[int, asyncio.Task[None]] = {}

    def take(self, value: host_pipe.ToHost) -> None:
        """Carry out what the outpost asks for."""
        match value:
            case host_pipe.StreamStarted(id=id_):
                self._begin(id_, self._stream(value))
            case host_pipe.CallMade(id=id_):
                self._begin(id_, self._call(value))
            case host_pipe.StreamCancelled(id=id_):
                if (task := self._running.pop(id_, None)) is not None:
                    task.cancel()
            case host_pipe.AgentForgotten(agent_id=agent_id):
                self._known.pop(agent_id, None)
                self._services.forget(agent_id)

    def close(self) -> None:
        """Let go of what is under way: the outpost asks again."""
        for task in self._running.values():
            task.cancel()
        self._running.clear()

    def _begin(self, id_: int, work: Coroutine[Any, Any, None]) -> None:
        if (before := self._running.pop(id_, None)) is not None:
            before.cancel()
        self._running[id_] = asyncio.create_task(work)

    async def _stream(self, started: host_pipe.StreamStarted) -> None:
        request, id_ = started.request, started.id
        known = self._known.get(request.agent_id, ())
        if len(known) < started.kept:
            self._send(host_pipe.StreamForgotten(id_))
            return
        messages = known[: started.kept] + request.messages
        self._known[request.agent_id] = messages
        try:
            whole = await self._services.admit(msgspec.structs.replace(request, messages=messages))
            if whole is None:
                raise ModelError(Fault("internal", _NOT_OURS))
            async for item in self._services.model.stream(whole):
                if isinstance(item, Answer):
                    self._services.used(item.usage)
                if not isinstance(item, Delta):  # nobody watches it grow there
                    self._send(host_pipe.StreamAdvanced(id_, (item,)))
        except ModelError as error:
            self._send(host_pipe.StreamFailed(id_, error.fault))
        except Exception as error:  # noqa: BLE001  (else the agent there waits for ever)
            self._send(host_pipe.StreamFailed(id_, _defect(error)))

    async def _call(self, made: host_pipe.CallMade) -> None:
        name = made.arguments.get("model")
        try:
            if made.method != "model_info" or not isinstance(name, str):
                raise ModelError(Fault("internal", _NOT_OURS))
            found = await self._services.describe(name)
        except ModelError as error:
            self._send(host_pipe.CallFailed(made.id, error.fault))
        except Exception as error:  # noqa: BLE001  (as above)
            self._send(host_pipe.CallFailed(made.id, _defect(error)))
        else:
            raw = msgspec.Raw(msgspec.msgpack.encode(found))
            self._send(host_pipe.CallAnswered(made.id, raw))


def _defect(error: Exception) -> Fault:
    """Log it here; its words, which may hold anything, stay on this computer."""
    _log.error("A request of an outpost was not made", exc_info=error)
    kind = type(error).__name__
    return Fault("internal", "The app could not make the request.", "retry", kind)
