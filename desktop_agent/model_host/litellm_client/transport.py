"""The HTTP transport put under litellm: notes what happens, joins text, refuses redirects."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx

from desktop_agent.model_host.litellm_client.exchange import CURRENT, Exchange
from desktop_agent.model_host.litellm_client.sse import EventJoiner

_ERROR_BODY_LIMIT = 1_000_000
_AHEAD_LIMIT = 256 * 1024
_DRAIN_S = 2.0
_AMAZON = "application/vnd.amazon.eventstream"
_LINES_PATH = "/api/chat"
_STREAM_FIELD = re.compile(rb'"stream"\s*:\s*true')
_STREAM_TYPES = ("text/event-stream", "application/x-ndjson", "application/ndjson")


class RedirectRefused(httpx.TransportError):
    """The address answered with a redirect; the key is not sent on to another place."""


class _Answer(httpx.Response):
    """An answer that ends with its last reader.

    httpx ties its stream back to it, to time it. Each would then hold all that its request said
    until Python looks for what holds itself, which is after hundreds of requests.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name != "stream" or not hasattr(self, name):
            super().__setattr__(name, value)


class WatchingTransport(httpx.AsyncBaseTransport):
    """Passes requests on and fills in the current Exchange."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self._draining: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; an error answer's body is read and kept."""
        exchange = CURRENT.get()
        if exchange is None:
            return await self._inner.handle_async_request(request)
        if exchange.broken is not None:
            # litellm sends a request again by itself after some failures: retrying is ours.
            raise exchange.broken
        limits = exchange.limits
        request.extensions["timeout"] = {"connect": limits.connect_s, "pool": limits.connect_s}
        # Events can only be read as they pass when they are not packed.
        request.headers["accept-encoding"] = "identity"
        try:
            response = await self._answer(request, exchange)
        except httpx.HTTPError as error:
            exchange.broken = error
            raise
        exchange.status = response.status_code
        exchange.headers = {name.lower(): value for name, value in response.headers.items()}
        exchange.note_bytes()
        if response.status_code >= 400:
            return await _with_body(request, response, exchange)
        if 300 <= response.status_code < 400:
            exchange.redirected_to = response.headers.get("location", "")
            await response.aclose()
            raise RedirectRefused("the address redirects", request=request)
        exchange.note_accepted()
        return self._watched(request, response, exchange)

    async def _answer(self, request: httpx.Request, exchange: Exchange) -> httpx.Response:
        if exchange.early is not None:
            response = await exchange.early.answer_to(request)
            if response is not None:
                return response
        return await self._inner.handle_async_request(request)

    def _watched(
        self, request: httpx.Request, response: httpx.Response, exchange: Exchange
    ) -> httpx.Response:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        # What a server calls its stream says little: some call it plain text, some answer in
        # one piece. Amazon's is in a form of its own.
        exchange.is_stream = kind in _STREAM_TYPES or (_asks_stream(request) and kind != _AMAZON)
        if not exchange.is_stream:
            stream = WatchedStream(response.stream, exchange, None, self._draining)
            exchange.close = stream.aclose
            return _Answer(
                response.status_code, headers=response.headers, stream=stream, request=request
            )
        is_lines = "ndjson" in kind or request.url.path.endswith(_LINES_PATH)
        joiner = EventJoiner(is_lines=is_lines)
        stream = WatchedStream(_Unpacked(response), exchange, joiner, self._draining)
        exchange.close = stream.aclose
        changed = {"content-encoding", "content-length"}
        headers = [(n, v) for n, v in response.headers.multi_items() if n.lower() not in changed]
        return _Answer(response.status_code, headers=headers, stream=stream, request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


async def _with_body(
    request: httpx.Request, response: httpx.Response, exchange: Exchange
) -> httpx.Response:
    body = bytearray()
    try:
        async for block in response.aiter_bytes():
            body += block
            if len(body) > _ERROR_BODY_LIMIT:
                break
    except httpx.HTTPError:
        pass  # what arrived of the body is reported; the status says the rest
    finally:
        await response.aclose()
    exchange.error_body = bytes(body)
    packed = {"content-encoding", "content-length", "transfer-encoding"}
    headers = [(n, v) for n, v in response.headers.multi_items() if n.lower() not in packed]
    return _Answer(response.status_code, headers=headers, content=bytes(body), request=request)


def _asks_stream(request: httpx.Request) -> bool:
    if "streamGenerateContent" in request.url.path:
        return True
    try:
        return _STREAM_FIELD.search(request.content) is not None
    except httpx.RequestNotRead:
        return False


class _Unpacked:
    """An answer's bytes as they were before the server packed them, asked to or not."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        if self._response.headers.get("content-encoding"):
            return self._response.aiter_bytes()
        return self._response.aiter_raw()

    async def aclose(self) -> None:
        """Close the connection."""
        await self._response.aclose()


class WatchedStream(httpx.AsyncByteStream):
    """An answer's bytes, read ahead by a job of their own so that text can be joined by clock."""

    def __init__(
        self,
        inner: Any,
        exchange: Exchange,
        joiner: EventJoiner | None,
        draining: set[asyncio.Task[None]],
    ) -> None:
        self._inner = inner
        self._draining = draining
        self._exchange = exchange
        self._joiner = joiner
        self._ready = bytearray()
        self._error: Exception | None = None
        self._is_done = False
        self._changed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._ready:
                block = bytes(self._ready)
                self._ready.clear()
                self._has_room.set()
                yield block
            elif self._error is not None:
                raise self._error
            elif self._is_done:
                return
            if self._is_done and not self._changed.is_set():
                self._changed.set()

    async def aclose(self) -> None:
        """Stop reading and close the connection, or keep it when the answer has ended."""
        self._stop_timer()
        reading, self._reading = self._reading, None
        if reading is None or reading.done():
            await self._inner.aclose()
        elif self._exchange.has_end:
            job = asyncio.create_task(self._drain(reading))
            self._draining.add(job)
            job.add_done_callback(self._draining.discard)
        else:
            await self._drop(reading)

    async def _drain(self, reading: asyncio.Task[None]) -> None:
        """Read the last bytes: only then is the connection good for the next request."""
        self._joiner = None
        self._has_room.set()
        await asyncio.wait({reading}, timeout=_DRAIN_S)
        await self._drop(reading)

    async def _drop(self, reading: asyncio.Task[None]) -> None:
        if not reading.done():
            reading.cancel()
            await asyncio.wait({reading})
        await self._inner.aclose()

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async for block in self._inner:
                self._exchange.note_bytes()
                self._take(block, loop)
                if len(self._ready) > _AHEAD_LIMIT:
                    self._has_room.clear()
                    await self._has_room.wait()
        except Exception as error:  # noqa: BLE001  (raised again where the answer is read)
            self._error = self._exchange.broken = error
        self._stop_timer()
        if self._joiner is not None:
            self._ready += self._joiner.finish(loop.time())
            self._tell(self._joiner)
        self._is_done = True
        self._exchange.over.set()
        self._changed.set()

    def _take(self, block: bytes, loop: asyncio.AbstractEventLoop) -> None:
        joiner = self._joiner
        if joiner is None:
            self._ready += block
            self._changed.set()
            return
        now = loop.time()
        ready = joiner.feed(block, now)
        self._tell(joiner)
        if joiner.waits_until is None:
            self._stop_timer()
        elif now >= joiner.waits_until:
            # A busy loop runs timers late: the clock is looked at here as well.
            ready += joiner.flush(now)
        elif self._timer is None:
            self._timer = loop.call_at(joiner.waits_until, self._flush)
        if ready:
            self._ready += ready
            self._changed.set()

    def _flush(self) -> None:
        self._timer = None
        if self._joiner is not None:
            self._ready += self._joiner.flush(asyncio.get_running_loop().time())
            self._changed.set()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self, joiner: EventJoiner) -> None:
        self._exchange.has_end = joiner.has_end
        self._exchange.is_damaged = joiner.is_damaged
        self._exchange.has_usage = joiner.has_usage
        self._exchange.finish = joiner.reason
        self._exchange.end_words = joiner.reason_words
        if joiner.has_held:
            # Of what is held back litellm tells nothing, and it is content all the same.
            joiner.has_held = False
            self._exchange.note_content()
        if joiner.is_over:
            self._exchange.over.set()
        self._exchange.stream_error = joiner.error
