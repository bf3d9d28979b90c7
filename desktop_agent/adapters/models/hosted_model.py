"""The Model port over a pipe to the model host, the process in which litellm lives."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from desktop_agent.adapters.models.host_environment import provider_environment
from desktop_agent.adapters.models.host_process import HostProcess
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId, new_call_id
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.keys.redaction import redact
from desktop_agent.core.messages import Message, TextPart, ThinkingPart, ToolCall
from desktop_agent.core.models import DEMO_MODEL, ModelInfo
from desktop_agent.core.pipes import host_pipe
from desktop_agent.core.pipes.frames import deliver, frame
from desktop_agent.core.requests import Answer, Delta, ModelRequest, Retrying, StreamItem

_MOST_AGENTS = 256

_decoder = msgspec.msgpack.Decoder(host_pipe.FromHost)

_RESULTS: dict[str, Any] = {
    "price_map": dict[str, ModelInfo],
    "model_info": ModelInfo | None,
    "check_key": Fault | None,
}


class _Sent(NamedTuple):
    """What the host was given of one agent: its history then, converted for one model.

    At another address signatures are another one's, though the model has the same name.
    """

    place: tuple[str, str]
    messages: tuple[Message, ...]


class HostedModel:
    """All models, through one host process that is started when first needed.

    What comes back holds no key that was given out: this is the one place where they are hidden.

    `key_for` is asked with an address when the request names one, else with the model's
    name: a provider's key never goes to another address. `on_died` is called when the host
    ended by itself; the streams that ran fail, the next one starts a fresh host. `host` is the
    first one, if it was started before. To be used on one event loop.
    """

    def __init__(
        self,
        *,
        key_for: Callable[[str], str | None],
        on_died: Callable[[], None] | None = None,
        host: HostProcess | None = None,
    ) -> None:
        self._key_for = key_for
        self._begun = host
        self._on_died = on_died
        self._ids = itertools.count(1)
        self._connection: _Connection | None = None
        self._starting: asyncio.Future[_Connection] | None = None

    async def start(self) -> None:
        """Start the host process; does nothing when it runs."""
        await self._connected()

    async def close(self) -> None:
        """End the host process."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.pipe.close()
            await begun.ended()

    @property
    def pid(self) -> int | None:
        """The host's process id, when it runs."""
        return self._connection.process.pid if self._connection is not None else None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Yield Retrying*, Accepted, Delta*, then one Answer; raises ModelError."""
        connection = await self._connected()
        key = await self._key(request.model, request.api_base)
        id_ = next(self._ids)
        arrived = connection.listen(id_)
        redactor = _AnswerRedactor()
        try:
            connection.send_request(id_, request, key)
            while True:
                match await arrived.get():
                    case host_pipe.StreamAdvanced(_, items):
                        for item in items:
                            for shown in redactor.take(item):
                                yield shown
                        if isinstance(items[-1], Answer):
                            return
                    case host_pipe.StreamForgotten():
                        connection.forget(request.agent_id)
                        connection.send_request(id_, request, key)
                    case host_pipe.StreamFailed(_, fault) | host_pipe.CallFailed(_, fault):
                        for shown in redactor.rest():
                            yield shown
                        raise ModelError(_redact_fault(fault))
                    case host_pipe.CallAnswered():
                        pass
        finally:
            connection.hang_up(id_)

    def forget(self, agent_id: AgentId) -> None:
        """Drop what is kept of an agent's history, here and in the host, between its requests."""
        connection = self._connection
        if connection is not None and connection.forget(agent_id):
            connection.send(host_pipe.AgentForgotten(agent_id))

    async def is_priced(self, model: str) -> bool:
        """Whether the cost of requests to a model will be known."""
        try:
            info: ModelInfo | None = await self.call("model_info", model=model)
        except ModelError:
            return False
        return info is not None and None not in (info.input_price, info.output_price)

    async def call(self, method: str, **arguments: Any) -> Any:
        """Ask the host: `price_map`, `model_info` or `check_key`.

        Raises ModelError when the host can't answer.
        """
        KEYS.remember(arguments.get("key"))
        connection = await self._connected()
        id_ = next(self._ids)
        arrived = connection.listen(id_)
        try:
            connection.send(host_pipe.CallMade(id_, method, arguments))
            match await arrived.get():
                case host_pipe.CallAnswered(_, value):
                    result = msgspec.msgpack.decode(value, type=_RESULTS.get(method, Any))
                    return _redact_fault(result) if isinstance(result, Fault) else result
                case host_pipe.StreamFailed(_, fault) | host_pipe.CallFailed(_, fault):
                    raise ModelError(_redact_fault(fault))
                case other:
                    raise TypeError(f"a query was answered with {type(other).__name__}")
        finally:
            connection.hang_up(id_)

    async def _key(self, model: str, api_base: str) -> str:
        if model == DEMO_MODEL:
            return ""
        # A keyring may wait for the user's password.
        key = await asyncio.to_thread(self._key_for, api_base or model) or ""
        KEYS.remember(key)
        return key

    async def _connected(self) -> _Connection:
        if self._connection is not None and not self._connection.is_gone:
            return self._connection
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._connect())
            self._starting.add_done_callback(self._on_started)
        return await asyncio.shield(self._starting)

    async def _connect(self) -> _Connection:
        process, self._begun = self._begun, None
        try:
            process = process or HostProcess()
        except OSError as error:
            raise ModelError(
                Fault("host_died", "The model host could not be started.", details=str(error))
            ) from None
        connection = _Connection(process, self._on_gone)
        await connection.open()
        self._connection = connection
        return connection

    def _on_started(self, starting: asyncio.Future[_Connection]) -> None:
        self._starting = None
        if not starting.cancelled():
            starting.exception()  # raised in all who wait; here it only has to be retrieved

    def _on_gone(self) -> None:
        self._connection = None
        if self._on_died is not None:
            self._on_died()


class _Connection:
    """The pipe to one host process, shared by all streams and queries."""

    def __init__(self, process: HostProcess, on_gone: Callable[[], None]) -> None:
        self.process = process
        self.is_gone = False
        self._on_gone = on_gone
        self._is_closing = False
        self._listeners: dict[int, asyncio.Queue[host_pipe.FromHost]] = {}
        self._sent: dict[AgentId, _Sent] = {}

    async def open(self) -> None:
        reader, self._writer = await asyncio.open_connection(sock=self.process.pipe)
        self._reading = asyncio.create_task(self._read(reader))

    async def close(self) -> None:
        self._is_closing = True
        self._writer.close()
        await self._reading
        await self.process.ended()

    def listen(self, id_: int) -> asyncio.Queue[host_pipe.FromHost]:
        queue: asyncio.Queue[host_pipe.FromHost] = asyncio.Queue()
        self._listeners[id_] = queue
        if self.is_gone:
            queue.put_nowait(host_pipe.StreamFailed(id_, self.process.death()))
        return queue

    def hang_up(self, id_: int) -> None:
        """Stop listening; a stream that still runs is cancelled."""
        self._listeners.pop(id_, None)
        self.send(host_pipe.StreamCancelled(id_))

    def send(self, value: host_pipe.ToHost) -> None:
        if not self.is_gone and not self._writer.is_closing():
            self._writer.write(frame(value))

    def send_request(self, id_: int, request: ModelRequest, key: str) -> None:
        """Send what the host does not have yet of the agent's history."""
        sent = self._sent.pop(request.agent_id, None)
        kept, place = 0, (request.model, request.api_base)
        if sent is not None and sent.place == place:
            kept = host_pipe.kept(sent.messages, request.messages)
        self._sent[request.agent_id] = _Sent(place, request.messages)
        if len(self._sent) > _MOST_AGENTS:
            del self._sent[next(iter(self._sent))]
        fresh = msgspec.structs.replace(request, messages=request.messages[kept:])
        try:
            environment = provider_environment(request.model)
            self.send(host_pipe.StreamStarted(id_, fresh, kept, key, environment))
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            # The host knows nothing of this request: the next one has to tell all of it.
            self.forget(request.agent_id)
            message = "The conversation holds something that can't be sent."
            raise ModelError(Fault("internal", message, details=str(error))) from None

    def forget(self, agent_id: AgentId) -> bool:
        return self._sent.pop(agent_id, None) is not None

    def _take(self, body: bytes) -> None:
        value = _decoder.decode(body)
        listener = self._listeners.get(value.id)
        if listener is not None:
            listener.put_nowait(value)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        # A host that does not keep to the protocol is as good as dead: it is ended below.
        with contextlib.suppress(msgspec.DecodeError):
            await deliver(reader.read, self._take)
        self.is_gone = True
        self._writer.close()
        if self._is_closing:
            fault = Fault("host_died", "The app is closing.")
        else:
            await self.process.ended()
            fault = self.process.death()
        for id_, listener in self._listeners.items():
            listener.put_nowait(host_pipe.StreamFailed(id_, fault))
        if not self._is_closing:
            self._on_gone()


# -- keys --------------------------------------------------------------------------------


def _redact_fault(fault: Fault) -> Fault:
    """Return the fault without keys in the provider's words."""
    return msgspec.structs.replace(
        fault, message=redact(fault.message), details=redact(fault.details)
    )


class _AnswerRedactor:
    """Hides known keys in one stream. What only looks like a key is the model's to say."""

    def __init__(self) -> None:
        self._kind: Literal["text", "thinking"] = "text"
        self._stream = KEYS.stream()

    def take(self, item: StreamItem) -> Iterator[StreamItem]:
        """Yield the item without keys; text may come with a later item."""
        match item:
            case Delta(kind, text):
                if kind != self._kind:
                    yield from self.rest()
                    self._kind, self._stream = kind, KEYS.stream()
                yield from self._shown(self._stream.feed(text))
            case Answer(parts=parts):
                yield from self.rest()
                yield msgspec.structs.replace(item, parts=tuple(map(_part, parts)))
            case Retrying(fault=fault):
                yield msgspec.structs.replace(item, fault=_redact_fault(fault))
            case _:
                yield item

    def rest(self) -> Iterator[Delta]:
        """Yield the text that was held back: what follows it is no more of it."""
        yield from self._shown(self._stream.finish())

    def _shown(self, text: str) -> Iterator[Delta]:
        if text:
            yield Delta(self._kind, text)


def _part(part: TextPart | ThinkingPart | ToolCall) -> TextPart | ThinkingPart | ToolCall:
    match part:
        case TextPart(text):
            return TextPart(KEYS.hide(text))
        case ThinkingPart(text, signature):
            shown = KEYS.hide(text)
            # Providers refuse thinking that is not as they signed it.
            is_signed = shown == text and not KEYS.find(signature)
            return ThinkingPart(shown, signature if is_signed else "", part.is_redacted)
        case ToolCall():
            return _call(part)


def _call(call: ToolCall) -> ToolCall:
    return ToolCall(
        new_call_id() if KEYS.find(call.id) else call.id,
        KEYS.hide(call.name),
        KEYS.hide_all(call.arguments),
        KEYS.hide(call.raw),
        "" if KEYS.find(call.signature) else call.signature,
    )
