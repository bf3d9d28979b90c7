"""Loopback model providers: real HTTP servers that speak five dialects and follow a script.

    from tests.helpers.providers import Calls, Fail, LoopbackProvider, Say

    with LoopbackProvider("openai", [
        [Think("Let me look."), Calls(("read", {"path": "a.txt"}))],   # first request
        Fail(429, {"retry-after": "0"}),                                # second
        lambda request: Say(f"It says {request.results[-1]}"),          # third
    ]) as provider:
        ...  model=provider.model, api_base=provider.api_base, any key

- `dialect`: "openai" (chat completions), "responses" (OpenAI Responses), "anthropic",
  "gemini", "ollama". `DIALECTS` has all five, for `pytest.mark.parametrize`.
- `script`: one entry per model request, in order of arrival. An entry is one action, a list
  of actions that make up one answer, or a function of the request (`Received`) that gives
  either; a function runs on the server's thread. After the last entry `otherwise` answers
  (default: `Say("Done.")`). `provider.push(step, ...)` adds entries later.
- Actions: `Say Think RedactedThink Calls ServerTool Refusal Finish NoUsage Counts Fail
  ErrorEvent
  Reset HalfEvent BadJson Stall NeverEnding EmptyChoices CutOffArguments Interleaved Wait Pace
  Raw`; see provider_script.py. An answer ends by itself with the fitting finish reason.
- The server has its own thread and loop, so it serves Qt, asyncio and plain tests, and a
  child process, alike. All attributes may be used from any thread:
  `.requests` (tuple of `Received`: `.body` as parsed JSON, `.headers`, and, whatever the
  dialect, `.results`, `.user_texts`, `.system`, `.tool_names`), `.wait_for(count, timeout)`
  (requests arrived), `.wait_answered(count, timeout)` (answers sent to the end),
  `.wait_disconnected(timeout)` (until clients have closed all answers under way),
  `.timings` (arrival and end of each answered request on `time.perf_counter`'s clock).
- `most_kept`: of more requests than this only the newest are kept.
- `key`: when given, a request without it gets 401 in the dialect's form.
- Nothing listens at `refused(dialect)`: a (model, api_base) pair for refused connections.
"""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Self

from aiohttp import web

from tests.adapters.loopback import listening
from tests.helpers.patience import HANG_S
from tests.helpers.provider_script import (
    BadJson,
    Calls,
    Counts,
    CutOffArguments,
    EmptyChoices,
    ErrorEvent,
    Fail,
    Finish,
    HalfEvent,
    Interleaved,
    NeverEnding,
    NoUsage,
    Pace,
    Raw,
    Received,
    RedactedThink,
    Refusal,
    Reset,
    Say,
    ServerTool,
    SlowEnd,
    Stall,
    Step,
    Think,
    Wait,
)
from tests.helpers.provider_wire import (
    CACHED_TOKENS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    WRITERS,
    DialectName,
    OpenAIWriter,
    Writer,
    cut,
    error_body,
    read_request,
)

__all__ = [
    "CACHED_TOKENS",
    "DIALECTS",
    "INPUT_TOKENS",
    "OUTPUT_TOKENS",
    "BadJson",
    "Calls",
    "Counts",
    "CutOffArguments",
    "DialectName",
    "EmptyChoices",
    "ErrorEvent",
    "Fail",
    "Finish",
    "HalfEvent",
    "Interleaved",
    "LoopbackProvider",
    "NeverEnding",
    "NoUsage",
    "Pace",
    "Raw",
    "Received",
    "RedactedThink",
    "Refusal",
    "Reset",
    "Say",
    "ServerTool",
    "SlowEnd",
    "Stall",
    "Step",
    "Think",
    "Wait",
    "refused",
]

DIALECTS: tuple[DialectName, ...] = ("openai", "responses", "anthropic", "gemini", "ollama")

MODEL_PREFIX: dict[str, str] = {
    "openai": "openai/",
    "responses": "openai/responses/",
    "anthropic": "anthropic/",
    "gemini": "gemini/",
    "ollama": "ollama_chat/",
}
_BASE_PATH: dict[str, str] = {
    "openai": "/v1",
    "responses": "/v1",
    "anthropic": "",
    "gemini": "/v1beta",
    "ollama": "",
}
_CHAT_PATH: dict[str, str] = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "ollama": "/api/chat",
}


async def _pass(seconds: float) -> None:
    """Let time pass as a provider does that thinks."""
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, passed.set)
    await passed.wait()


@functools.cache
def _refusing() -> socket.socket:
    """A port that is taken, so that nobody else gets it, and does not listen."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken


def refused(dialect: DialectName = "openai") -> tuple[str, str]:
    """Return a model name and an address of this computer at which nothing listens."""
    port = _refusing().getsockname()[1]
    return f"{MODEL_PREFIX[dialect]}loopback", f"http://127.0.0.1:{port}{_BASE_PATH[dialect]}"


async def _end(runner: web.AppRunner) -> None:
    """Close what is open, also what a client no longer reads."""
    server = runner.server
    open_ones = list(server.connections) if server is not None else []
    await runner.cleanup()
    open_ones += server.connections if server is not None else []
    for connection in open_ones:
        if connection.transport is not None:
            connection.transport.abort()
    await asyncio.sleep(0)  # the loop closes the sockets


class LoopbackProvider:
    """A scripted provider on 127.0.0.1; see the module's docstring. Use it as a context."""

    def __init__(
        self,
        dialect: DialectName = "openai",
        script: Iterable[Step] = (),
        *,
        otherwise: Step = Say("Done."),  # noqa: B008  (frozen)
        key: str = "",
        name: str = "loopback",
        context_length: int = 32768,
        most_kept: int | None = None,
    ) -> None:
        self.dialect: DialectName = dialect
        self.model = MODEL_PREFIX[dialect] + name
        self.api_base = ""
        self.port = 0
        self._name = name
        self._script: deque[Step] = deque(script)
        self._otherwise = otherwise
        self._key = key
        self._context_length = context_length
        self._most_kept = most_kept
        self._requests: list[Received] = []
        self._other_paths: list[str] = []
        self._timings: list[tuple[float, float]] = []
        self._disconnected = 0
        self._failures: list[BaseException] = []
        self._changed = threading.Condition()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"provider {dialect}", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None

    # -- used from any thread

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(HANG_S):
            raise TimeoutError("the loopback provider did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Self:
        """Start without a `with` block; call `close` at the end."""
        return self.__enter__()

    def close(self) -> None:
        """Drop all connections and end the server's thread."""
        if self._loop is not None and self._closing is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(HANG_S)
        if self._failures:
            raise self._failures[0]

    def push(self, *steps: Step) -> None:
        """Add entries to the end of the script."""
        with self._changed:
            self._script.extend(steps)

    @property
    def requests(self) -> tuple[Received, ...]:
        """The model requests so far, in order of arrival."""
        with self._changed:
            return tuple(self._requests)

    @property
    def other_paths(self) -> tuple[str, ...]:
        """What was asked for besides answers: model lists and the like."""
        with self._changed:
            return tuple(self._other_paths)

    @property
    def timings(self) -> tuple[tuple[float, float], ...]:
        """(arrival, end of the answer) of each request that was answered to its end."""
        with self._changed:
            return tuple(self._timings)

    def wait_for(self, count: int, timeout: float = HANG_S) -> tuple[Received, ...]:
        """Wait until so many requests have arrived; raises TimeoutError."""
        self._wait(lambda: len(self._requests) >= count, timeout, f"{count} requests")
        return self.requests

    def wait_answered(self, count: int, timeout: float = HANG_S) -> None:
        """Wait until so many answers were sent to their end; raises TimeoutError."""
        self._wait(lambda: len(self._timings) >= count, timeout, f"{count} answers")

    def wait_disconnected(self, timeout: float = HANG_S) -> None:
        """Wait until all answers under way were closed by their clients; raises TimeoutError.

        A client that gave up before its request was read has none.
        """

        def is_met() -> bool:
            ended = self._disconnected + len(self._timings) + len(self._failures)
            return ended >= len(self._requests)

        self._wait(is_met, timeout, "disconnects")

    def _wait(self, is_met: Any, timeout: float, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(is_met, timeout):
                raise TimeoutError(f"{what} expected at the {self.dialect} provider")

    # -- the server's thread

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        app = web.Application(client_max_size=256 * 1024 * 1024)
        app.router.add_get("/{path:.*}", self._on_get)
        app.router.add_post("/{path:.*}", self._on_post)
        runner = web.AppRunner(
            app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None
        )
        await runner.setup()
        async with listening(runner) as self.port:
            self.api_base = f"http://127.0.0.1:{self.port}{_BASE_PATH[self.dialect]}"
            self._ready.set()
            await self._closing.wait()
        await _end(runner)

    async def _on_get(self, request: web.Request) -> web.StreamResponse:
        self._note_path(request.path)
        lists: dict[str, Any] = {
            "/v1/models": {"object": "list", "data": [{"id": self._name, "object": "model"}]},
            "/v1beta/models": {"models": [{"name": f"models/{self._name}"}]},
            "/api/tags": {"models": [{"name": self._name, "model": self._name}]},
            "/api/version": {"version": "0.13.0"},
        }
        body = lists.get(request.path)
        return web.json_response(body) if body is not None else self._failed(404, "not found")

    async def _on_post(self, request: web.Request) -> web.StreamResponse:
        arrived = time.perf_counter()
        raw = await request.read()
        if self.dialect == "ollama" and request.path == "/api/show":
            self._note_path(request.path)
            return web.json_response(self._shown())
        is_gemini = self.dialect == "gemini" and ":" in request.path
        # Azure has an address for each model.
        is_azure = self.dialect == "openai" and "/openai/deployments/" in request.path
        if not is_gemini and not is_azure and request.path != _CHAT_PATH.get(self.dialect):
            return self._failed(404, f"no such path: {request.path}")
        if self._key and self._key not in self._given_key(request):
            return self._failed(401, "Incorrect API key provided.")
        try:
            received, step = self._take(request, raw, arrived)
            reply = step(received) if callable(step) else step
        except Exception as error:  # noqa: BLE001  (raised again in the test, by close)
            self._failures.append(error)
            return self._failed(500, f"script failed: {error!r}")
        actions = list(reply) if isinstance(reply, Sequence) else [reply]
        answering = _Answering(request, received.body, self.dialect)
        try:
            response = await answering.answer(actions)
        except (asyncio.CancelledError, ConnectionError):
            with self._changed:
                self._disconnected += 1
                self._changed.notify_all()
            raise
        with self._changed:
            self._timings.append((arrived, time.perf_counter()))
            self._changed.notify_all()
        return response

    def _note_path(self, path: str) -> None:
        with self._changed:
            self._other_paths.append(path)

    def _take(self, request: web.Request, raw: bytes, arrived: float) -> tuple[Received, Step]:
        body = json.loads(raw)
        results, users, system, names = read_request(self.dialect, body)
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = Received(
            request.path, headers, body, len(raw), arrived, results, users, system, names
        )
        with self._changed:
            self._requests.append(received)
            if self._most_kept is not None:
                del self._requests[: -self._most_kept]
            step = self._script.popleft() if self._script else self._otherwise
            self._changed.notify_all()
        return received, step

    def _given_key(self, request: web.Request) -> str:
        names = ("authorization", "x-api-key", "x-goog-api-key")
        return " ".join(request.headers.get(name, "") for name in names)

    def _shown(self) -> dict[str, Any]:
        return {
            "capabilities": ["completion", "tools", "vision"],
            "details": {"family": "llama", "parameter_size": "8B"},
            "model_info": {"llama.context_length": self._context_length},
            "parameters": f"num_ctx {self._context_length}",
            "template": "{{ .Tools }}",
        }

    def _failed(self, status: int, message: str) -> web.Response:
        return web.json_response(error_body(self.dialect, status, message), status=status)


class _Answering:
    """One request being answered."""

    def __init__(self, request: web.Request, body: dict[str, Any], dialect: DialectName) -> None:
        self._request = request
        self._dialect: DialectName = dialect
        if dialect == "gemini":
            self._is_streaming = "streamGenerateContent" in request.path
        else:
            self._is_streaming = bool(body.get("stream", dialect == "ollama"))
        self._writer: Writer = WRITERS[dialect](str(body.get("model", "gemini")))
        if dialect == "openai" and self._is_streaming:
            options = body.get("stream_options") or {}
            self._writer.with_usage = bool(options.get("include_usage"))
        self._response: web.StreamResponse | None = None
        self._reason = ""
        self._is_ended = False
        self._end_pause_s: float | None = 0.0

    async def answer(self, actions: Sequence[Any]) -> web.StreamResponse:
        first = actions[0]
        while isinstance(first, Wait):
            await self._hold(first.event)
            actions = actions[1:]
            first = actions[0]
        if isinstance(first, Fail):
            return self._fail(first)
        if isinstance(first, Raw):
            return await self._raw(first)
        if isinstance(first, Reset) and not first.after_chunks:
            self._abort()
        if isinstance(first, Stall) and not first.headers:
            await asyncio.Event().wait()
        for action in actions:
            await self._act(action)
            if self._is_ended:
                break
        return await self._end()

    def _fail(self, step: Fail) -> web.Response:
        body = step.body
        if body is None:
            body = error_body(self._dialect, step.status, step.message)
        if isinstance(body, dict):
            return web.json_response(body, status=step.status, headers=step.headers)
        raw = body.encode() if isinstance(body, str) else body
        return web.Response(body=raw, status=step.status, headers=step.headers)

    async def _raw(self, step: Raw) -> web.StreamResponse:
        kind = step.content_type or self._writer.content_type
        response = web.StreamResponse(
            status=step.status, headers={"content-type": kind} | step.headers
        )
        await response.prepare(self._request)
        for frame in step.frames:
            await response.write(frame)
        await response.write_eof()
        return response

    async def _begin(self) -> web.StreamResponse:
        if self._response is None:
            headers = {"content-type": self._writer.content_type, "cache-control": "no-cache"}
            self._response = web.StreamResponse(headers=headers)
            await self._response.prepare(self._request)
            await self._write(self._writer.start())
        return self._response

    async def _write(self, frames: Sequence[bytes]) -> None:
        if not self._is_streaming:
            return
        response = await self._begin()
        for frame in frames:
            await response.write(frame)

    async def _act(self, action: Any) -> None:  # noqa: C901, PLR0912  (one line per action)
        writer = self._writer
        match action:
            case Say(text, chunks):
                for piece in cut(text, chunks):
                    await self._write(writer.text(piece))
            case Think(text, signature, chunks):
                for piece in cut(text, chunks):
                    await self._write(writer.think(piece, signature))
            case RedactedThink(payload):
                await self._write(writer.redacted(payload))
            case Calls():
                await self._call(action)
            case ServerTool(name, arguments):
                await self._write(writer.server_tool(name, arguments))
            case Refusal(text):
                await self._write(writer.refusal(text))
            case Finish(reason):
                self._reason = reason
            case NoUsage():
                writer.with_usage = False
            case Counts():
                writer.counts = action
            case SlowEnd(pause_s):
                self._end_pause_s = pause_s
            case Wait(event):
                await self._begin()
                await self._hold(event)
            case Pace():
                await self._pace(action)
            case Interleaved(first, second):
                await self._interleave(first, second)
            case _:
                await self._break(action)

    async def _call(self, action: Calls) -> None:
        for index, (name, arguments) in enumerate(action.calls):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            id_ = f"call_{self._writer.serial}_{index}"
            if action.ids is not None:
                id_ = action.ids[index]
            await self._write(self._writer.call(id_, name, text, action.signature))

    async def _interleave(self, first: str, second: str) -> None:
        pairs = zip(cut(first, 4), cut(second, 4), strict=False)
        for mine, other in pairs:
            if isinstance(self._writer, OpenAIWriter):
                await self._write(self._writer.second_choice(other))
            await self._write(self._writer.text(mine))

    async def _break(self, action: Any) -> None:  # noqa: C901  (one line per action)
        """Do one of the things a provider must not do."""
        writer = self._writer
        match action:
            case EmptyChoices():
                await self._write(writer.empty())
            case ErrorEvent(message, kind):
                await self._write(writer.error(message, kind))
            case CutOffArguments(name, text):
                await self._write(writer.call(f"call_{writer.serial}", name, text))
                await self._write(writer.finish("length"))
            case BadJson(late):
                if late:
                    await self._write(writer.text("some text "))
                await self._write([self._damaged(b'{"broken": tru')])
            case Reset(after_chunks):
                for number in range(after_chunks):
                    await self._write(writer.text(f"piece {number} "))
                self._abort()
            case HalfEvent():
                await self._half_event()
            case Stall(text):
                await self._begin()
                if text:
                    await self._write(writer.text(text))
                await asyncio.Event().wait()
            case NeverEnding(same, size):
                await self._never_end(same, size)
            case Fail() | Raw():
                raise AssertionError(f"{action} must be the only action of its answer")
        self._is_ended = True

    def _damaged(self, text: bytes) -> bytes:
        return text + b"\n" if self._dialect == "ollama" else b"data: " + text + b"\n\n"

    async def _half_event(self) -> None:
        await self._write(self._writer.text("some text "))
        (whole,) = self._writer.text("the second half of this event is lost")
        await self._write([whole[: len(whole) // 2]])
        if self._request.transport is not None:
            self._request.transport.close()
        raise ConnectionResetError("half an event was sent")

    async def _never_end(self, same: bool, size: int) -> None:
        number = 0
        while True:
            text = "x" * size if same else f"{number:08d} ".ljust(size, "x")
            await self._write(self._writer.text(text))
            number += 1
            await asyncio.sleep(0)

    async def _pace(self, step: Pace) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        for number in range(step.count):
            late = started + number / step.per_second - loop.time()
            if late > 0:
                await _pass(late)
            await self._write(self._writer.text(step.text))

    async def _hold(self, event: threading.Event) -> None:
        while not event.is_set():  # it is set from another thread
            await _pass(0.005)

    async def _finish(self, frames: Sequence[bytes]) -> None:
        for number, frame in enumerate(frames):
            if number and self._end_pause_s is None:
                await self._hold(threading.Event())
            elif number and self._end_pause_s:
                await _pass(self._end_pause_s)
            await self._write([frame])

    def _abort(self) -> None:
        transport = self._request.transport
        if transport is not None:
            tcp = transport.get_extra_info("socket")
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        raise ConnectionResetError("the script resets the connection")

    async def _end(self) -> web.StreamResponse:
        writer = self._writer
        if not self._is_streaming:
            writer.reason = writer.reason or self._reason or writer.default_reason()
            body: Any = writer.whole()
            response = web.json_response(body)
            await response.prepare(self._request)
            await response.write_eof()
            return response
        if not self._is_ended:
            await self._finish(writer.finish(self._reason or writer.default_reason()))
        stream = await self._begin()
        await stream.write_eof()
        return stream
