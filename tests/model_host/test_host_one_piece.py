"""Servers and proxies that answer a request for a stream in one piece."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from desktop_agent.core.requests import Limits
from tests.helpers.provider_script import Raw
from tests.helpers.provider_wire import WRITERS
from tests.helpers.providers import DIALECTS, LoopbackProvider
from tests.model_host.conftest import Ask, Heard

pytestmark = pytest.mark.asyncio(loop_scope="session")

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
every_type = pytest.mark.parametrize(
    "kind", ["application/json", "text/event-stream", "text/plain; charset=utf-8"]
)
NO_RETRY = Limits(retry_total_s=0, max_retries=0)
TEXT = "The answer is naïve: 狐."
CALLS = [("read", {"path": "a b"}), ("read", {"path": "c"})]


def body_of(dialect: str, *, with_calls: bool) -> Any:
    writer = WRITERS[dialect]("m")
    writer.start()
    writer.text(TEXT)
    for number, (name, arguments) in enumerate(CALLS if with_calls else ()):
        writer.call(f"call_{number}", name, json.dumps(arguments))
    writer.reason = writer.default_reason()
    return writer.whole()


async def hear(ask: Ask, dialect: Any, raw: bytes, kind: str = "application/json") -> Heard:
    with LoopbackProvider(dialect, [Raw([raw[:40], raw[40:]], content_type=kind)]) as provider:
        return await ask(provider, limits=NO_RETRY)


@every_dialect
@every_type
@pytest.mark.parametrize("indent", [None, 2])
async def test_a_whole_answer_is_read_like_a_stream(dialect, kind, indent, ask: Ask) -> None:
    raw = json.dumps(body_of(dialect, with_calls=True), indent=indent).encode()
    heard = await hear(ask, dialect, raw, kind)
    assert heard.text == heard.shown == TEXT
    assert [(call.name, call.arguments) for call in heard.calls] == CALLS
    assert heard.answer.finish == "tool_calls"
    assert heard.answer.usage.output_tokens == 20


@every_dialect
@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: b"\n \n" + text + b"\n\n",
        lambda text: b'{"data": ' + text + b"}",
    ],
    ids=["mark", "blanks", "wrapped"],
)
async def test_a_whole_answer_is_read_in_whatever_it_is_wrapped(dialect, wrap, ask: Ask) -> None:
    heard = await hear(ask, dialect, wrap(json.dumps(body_of(dialect, with_calls=False)).encode()))
    assert heard.text == TEXT
    assert heard.answer.finish == "stop"


@every_dialect
async def test_an_answer_that_was_packed_unasked_is_unpacked(dialect, ask: Ask) -> None:
    raw = gzip.compress(json.dumps(body_of(dialect, with_calls=False)).encode())
    with LoopbackProvider(dialect, [Raw([raw], headers={"content-encoding": "gzip"})]) as provider:
        heard = await ask(provider)
    assert heard.text == TEXT


async def test_geminis_stream_as_a_list_is_read(ask: Ask) -> None:
    bodies = [body_of("gemini", with_calls=False)] * 2
    bodies[0] = json.loads(json.dumps(bodies[0]))
    del bodies[0]["candidates"][0]["finishReason"]
    heard = await hear(ask, "gemini", json.dumps(bodies).encode())
    assert heard.text == TEXT * 2


@every_dialect
async def test_an_error_in_one_piece_with_status_200_is_told(dialect, ask: Ask) -> None:
    body = {"error": {"message": "The quota is used up.", "code": 400}}
    heard = await hear(ask, dialect, json.dumps(body).encode())
    assert heard.fault is not None
    assert "The quota is used up." in heard.fault.message


@every_dialect
@pytest.mark.parametrize("raw", [b'{"ok": true}', b"[]", b"<html>hi</html>", b'{"choices'])
async def test_what_is_no_answer_is_never_silent(dialect, raw, ask: Ask) -> None:
    heard = await hear(ask, dialect, raw)
    assert heard.fault is not None
    assert heard.fault.action == "retry"


async def test_events_without_an_empty_line_between_them_are_read(ask: Ask) -> None:
    chunks = [{"content": "Hel"}, {"content": "lo."}]
    lines = [{"choices": [{"index": 0, "delta": each, "finish_reason": None}]} for each in chunks]
    lines.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    raw = b"".join(b"data: " + json.dumps(line).encode() + b"\n" for line in lines)
    heard = await hear(ask, "openai", raw + b"data: [DONE]\n", "text/event-stream")
    assert heard.text == "Hello."


@pytest.mark.parametrize("where", ["x_groq", "usage"])
async def test_counts_are_read_where_the_data_is_not_last(where, ask: Ask) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    counts = {"x_groq": {"id": "r", "usage": usage}} if where == "x_groq" else {"usage": usage}
    said = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}]}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]} | counts
    raw = b"".join(
        b"id: 1\ndata: " + json.dumps(each).encode() + b"\nevent: chunk\nretry: 5\n\n"
        for each in (said, last)
    )
    heard = await hear(ask, "openai", raw + b"data: [DONE]\n\n", "text/event-stream")
    assert heard.text == "Hi"
    assert heard.answer.usage.input_tokens == 7
    assert heard.answer.usage.output_tokens == 5
