"""The host's side of the pipe: streams and queries, many at once, on one loop."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from collections import OrderedDict
from collections.abc import Coroutine
from contextlib import aclosing
from importlib import import_module
from typing import Any

import msgspec

from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.network.imports import import_httpx
from desktop_agent.core.pipes import host_pipe
from desktop_agent.core.pipes.frames import deliver, frame
from desktop_agent.core.requests import Delta, ModelRequest, StreamItem
from desktop_agent.model_host.litellm_client import price_list
from desktop_agent.model_host.litellm_client.messages import Conversation

_JOIN_S = 0.033
_MOST_CONVERSATIONS = 256

_decoder = msgspec.msgpack.Decoder(host_pipe.ToHost)


class Host:
    """Answers what comes out of the pipe until the other side has gone."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe
        self._conversations: OrderedDict[str, Conversation] = OrderedDict()
        self._streams: dict[int, asyncio.Task[None]] = {}
        self._jobs: set[asyncio.Task[None]] = set()
        self._litellm: asyncio.Future[Any] | None = None

    async def run(self) -> None:
        """Serve until the app ends, by itself or not."""
        reader, self._writer = await asyncio.open_connection(sock=self._pipe)
        loop = asyncio.get_running_loop()
        self._litellm = loop.run_in_executor(None, _import_litellm)
        await deliver(reader.read, lambda body: self._take(_decoder.decode(body)))

    def _take(self, wanted: host_pipe.ToHost) -> None:
        match wanted:
            case host_pipe.StreamStarted():
                self._start(wanted)
            case host_pipe.StreamCancelled(id_):
                stream = self._streams.pop(id_, None)
                if stream is not None:
                    stream.cancel()
            case host_pipe.AgentForgotten(agent_id):
                self._conversations.pop(agent_id, None)
            case host_pipe.CallMade():
                self._spawn(self._call(wanted))

    def _start(self, wanted: host_pipe.StreamStarted) -> None:
        request = wanted.request
        conversation = self._conversations.get(request.agent_id)
        if conversation is None:
            conversation = Conversation(request.model)
        if not conversation.has(request.model, wanted.kept):
            self.send(host_pipe.StreamForgotten(wanted.id))
            return
        # Here, not in the stream's job: what comes next over the pipe builds on it.
        conversation.advance(request, wanted.kept)
        self._conversations[request.agent_id] = conversation
        self._conversations.move_to_end(request.agent_id)
        if len(self._conversations) > _MOST_CONVERSATIONS:
            self._conversations.popitem(last=False)
        outlet = Outlet(self, wanted.id)
        if request.model == DEMO_MODEL:
            whole = msgspec.structs.replace(request, messages=conversation.history())
            work = self._demo(whole, outlet)
        else:
            # litellm looks for some providers' settings here, and nowhere else.
            os.environ.update(wanted.environment)
            work = self._ask(request, conversation, wanted.key, outlet)
        self._streams[wanted.id] = self._spawn(self._finish(wanted.id, work, outlet))

    async def _finish(self, id_: int, work: Coroutine[Any, Any, None], outlet: Outlet) -> None:
        try:
            await work
            outlet.flush()
        except ModelError as error:
            outlet.flush()
            self.send(host_pipe.StreamFailed(id_, error.fault))
        except asyncio.CancelledError:
            outlet.drop()
            raise
        except Exception as error:  # noqa: BLE001  (a stream must end with something)
            outlet.flush()
            self.send(host_pipe.StreamFailed(id_, _defect(error)))
        finally:
            self._streams.pop(id_, None)

    async def _demo(self, request: ModelRequest, outlet: Outlet) -> None:
        # Here, so that a request to a provider does not pay for the demo.
        demo_model = import_module("desktop_agent.model_host.demo.model")
        async with aclosing(demo_model.stream(request)) as items:
            async for item in items:
                outlet.put(item)

    async def _ask(
        self, request: ModelRequest, conversation: Conversation, key: str, outlet: Outlet
    ) -> None:
        # Here, because it imports httpx, which the demo does without.
        import_httpx()
        litellm_model = import_module("desktop_agent.model_host.litellm_client.model")
        fault = litellm_model.missing_key(request.model, request.api_base, key)
        if fault is not None:
            raise ModelError(fault)
        asked = litellm_model.asked(request, conversation, key)
        if self._litellm is not None and not self._litellm.done():
            asked = litellm_model.begun_early(asked)
        try:
            await litellm_model.answer(await self.litellm(), asked, outlet.put)
        finally:
            if asked.begun is not None:
                await asked.begun.close()

    async def litellm(self) -> Any:
        """Return litellm as soon as it is imported."""
        if self._litellm is None:
            raise RuntimeError("the host does not run")
        return await asyncio.shield(self._litellm)

    async def _call(self, call: host_pipe.CallMade) -> None:
        try:
            value = await self._called(call)
            encoded = msgspec.Raw(msgspec.msgpack.encode(value))
            self.send(host_pipe.CallAnswered(call.id, encoded))
        except Exception as error:  # noqa: BLE001  (a query must have an answer)
            self.send(host_pipe.CallFailed(call.id, _defect(error)))

    async def _called(self, call: host_pipe.CallMade) -> Any:
        match call.method:
            case "price_map":
                return {info.name: info for info in price_list.models()}
            case "model_info":
                return price_list.model_info(**call.arguments)
            case "check_key":
                queries = import_module("desktop_agent.model_host.litellm_client.queries")
                return await queries.check_key(await self.litellm(), **call.arguments)
            case _:
                raise ValueError(f"no such query: {call.method}")

    def send(self, value: host_pipe.FromHost) -> None:
        """Put a value into the pipe."""
        if not self._writer.is_closing():
            self._writer.write(frame(value))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        job = asyncio.create_task(work)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return job


class Outlet:
    """One stream's way into the pipe: deltas are joined for 33 ms, the rest goes at once."""

    def __init__(self, host: Host, id_: int) -> None:
        self._host = host
        self._id = id_
        self._loop = asyncio.get_running_loop()
        self._held: list[Delta] = []
        self._flushed_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def put(self, item: StreamItem) -> None:
        """Send an item, soon."""
        if not isinstance(item, Delta):
            self.flush(item)
            return
        self._held.append(item)
        due = self._flushed_at + _JOIN_S
        if self._loop.time() >= due:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_at(due, self.flush)

    def flush(self, *last: StreamItem) -> None:
        """Send what is held, and these items after it."""
        self._stop_timer()
        items = (*_joined(self._held), *last)
        self._held = []
        if items:
            self._flushed_at = self._loop.time()
            self._host.send(host_pipe.StreamAdvanced(self._id, items))

    def drop(self) -> None:
        """Forget what is held."""
        self._stop_timer()
        self._held = []

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _joined(deltas: list[Delta]) -> list[Delta]:
    joined: list[Delta] = []
    pieces: list[str] = []
    for position, delta in enumerate(deltas):
        pieces.append(delta.text)
        is_last = position + 1 == len(deltas)
        if is_last or deltas[position + 1].kind != delta.kind:
            joined.append(Delta(delta.kind, "".join(pieces)))
            pieces = []
    return joined


def _import_litellm() -> Any:
    # litellm's 2,600 modules are never garbage. Looking for some while they are imported takes
    # a fifth of the time, and later on it need not look at them again.
    gc.disable()
    try:
        import_httpx()
        return import_module("desktop_agent.model_host.litellm_client.setup").load()
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _defect(error: Exception) -> Fault:
    where = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        where = f"{code.co_name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    details = f"{type(error).__name__}: {error}\n{where}\nPython {sys.version.split()[0]}"
    return Fault("internal", "The app could not make the request.", "retry", details)
