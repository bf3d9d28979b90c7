"""A fast loopback provider in a process of its own, so that it is never the slow part.

It speaks OpenAI's chat completions. The model's name says what it answers:
`steps-N` calls the shell in each of N answers, then ends; `stream-RATE-SECONDS` streams
numbered words; `line-BYTES` answers with one line; `shell` runs the command in the prompt.
`team-N-RATE-SECONDS` starts N subagents: each streams as above, or runs what stands behind
`run:` in its prompt, which is the message's own text.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

# Each chunk of a stream is this long, so that chunks can be counted by their text.
WORD_LENGTH = 8
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class _Provider:
    """`arrivals` and `ends` are per request, on time.perf_counter's clock."""

    def __init__(self) -> None:
        self.arrivals: list[float] = []
        self.ends: list[float] = []

    async def serve(self) -> None:
        server = await asyncio.start_server(self._on_connection, "127.0.0.1", 0, limit=2**26)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        # Whoever started this holds the other end of standard input: its end is ours, without
        # goodbyes to the connections.
        await asyncio.to_thread(sys.stdin.read)
        os._exit(0)

    async def _on_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head, reader, writer)
        writer.close()

    async def _answer(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        arrived = time.perf_counter()
        if head.startswith(b"GET /timings"):
            body = json.dumps({"arrivals": self.arrivals, "ends": self.ends}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()
            return
        if head.startswith(b"GET "):  # how large its window is, and what else a server here tells
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            return
        length = next(
            int(line.split(b":")[1])
            for line in head.splitlines()
            if line.lower().startswith(b"content-length:")
        )
        request = json.loads(await reader.readexactly(length))
        self.arrivals.append(arrived)
        writer.write(_HEAD)
        async for delta, finish in _answers(request):
            payload = _chunk(delta, finish)
            writer.write(b"%x\r\n%s\r\n" % (len(payload), payload))
            if finish is None:
                await writer.drain()
        end = b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(end), end))
        await writer.drain()
        self.ends.append(time.perf_counter())


def _chunk(delta: dict[str, Any], finish: str | None) -> bytes:
    body = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    if finish:
        body["usage"] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return b"data: %s\n\n" % json.dumps(body).encode()


async def _answers(
    request: dict[str, Any],
) -> AsyncIterator[tuple[dict[str, Any], str | None]]:
    kind, *numbers = request["model"].split("-")
    messages = request["messages"]
    yield {"role": "assistant", "content": ""}, None
    if kind == "team":
        async for answer in _team(int(numbers[0]), numbers[1:], messages):
            yield answer
        return
    if kind == "steps":
        count = sum(message["role"] == "assistant" for message in messages)
        if count < int(numbers[0]):
            yield _call(f"echo ok {count}", count, _shell_of(request)), "tool_calls"
            return
        yield {"content": "Done."}, None
    elif kind == "shell" and messages[-1]["role"] == "user":
        yield _call(_text(messages[-1]), len(messages)), "tool_calls"
        return
    elif kind == "stream":
        async for word in _words(int(numbers[0]), float(numbers[1])):
            yield {"content": word}, None
    elif kind == "line":
        for piece in _line(int(numbers[0])):
            yield {"content": piece}, None
    else:
        yield {"content": "Done."}, None
    yield {}, "stop"


async def _team(
    count: int, pace: list[str], messages: list[dict[str, Any]]
) -> AsyncIterator[tuple[dict[str, Any], str | None]]:
    said = _text(next(message for message in messages if message["role"] == "user"))
    number, _, order = said.partition(" of the team: ")
    if order.startswith("run:") and messages[-1]["role"] == "user":
        yield _call(order.removeprefix("run:").replace("NAME", number), 0), "tool_calls"
        return
    elif order:
        async for word in _words(int(pace[0]), float(pace[1])):
            yield {"content": word}, None
    elif messages[-1]["role"] == "user" and len(messages) < 4:
        prompts = [f"{one} of the team: {said}" for one in range(count)]
        spawned = [
            _function("spawn", n, description=p[:1], prompt=p) for n, p in enumerate(prompts)
        ]
        yield {"tool_calls": spawned}, "tool_calls"
    else:
        yield {"content": "They work."}, None


def _function(name: str, index: int, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": index, "id": f"call_{index}", "type": "function", "function": function}


def _call(command: str, number: int, shell: str = "shell") -> dict[str, Any]:
    return {"tool_calls": [{**_function(shell, 0, command=command), "id": f"call_{number}"}]}


def _shell_of(request: dict[str, Any]) -> str:
    """Return what the tool that runs commands is called: here, or in a peer."""
    names = {tool["function"]["name"] for tool in request.get("tools", ())}
    return "shell" if "shell" in names or "bash" not in names else "bash"


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else content[0]["text"]


async def _words(rate: int, seconds: float) -> AsyncIterator[str]:
    """Yield words by the clock: one that comes late does not move the next one."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    for number in range(int(rate * seconds)):
        due = loop.create_future()
        loop.call_at(start + number / rate, due.set_result, None)
        await due
        end = "\n\n" if number % 90 == 89 else "  "
        yield f"w{number:05d}{end}"


def _line(count: int) -> Iterator[str]:
    step = 4096
    for start in range(0, count, step):
        yield f"{start:08d}".ljust(min(step, count - start), "x")


class ProviderProcess:
    """The provider as a child of the benchmark. `with ProviderProcess() as provider: ...`"""

    def __enter__(self) -> ProviderProcess:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.provider"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.api_base = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def timings(self) -> dict[str, list[float]]:
        """Return arrivals and ends of all requests so far."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/timings")
        return json.loads(connection.getresponse().read())


if __name__ == "__main__":
    asyncio.run(_Provider().serve())
