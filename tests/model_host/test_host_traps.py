"""What litellm and its providers are known to get wrong, and a person must not notice."""

from __future__ import annotations

import json
import ssl
from typing import Any

import aiohttp
import httpx
import msgspec
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import new_agent_id, new_message_id
from desktop_agent.core.keys.known_keys import HIDDEN
from desktop_agent.core.keys.redaction import redact
from desktop_agent.core.messages import (
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.requests import Limits, ModelRequest
from desktop_agent.model_host.litellm_client.faults import explain
from desktop_agent.model_host.litellm_client.messages import convert, seal
from tests.helpers.providers import (
    DIALECTS,
    Calls,
    Finish,
    Interleaved,
    LoopbackProvider,
    NoUsage,
    Raw,
    Refusal,
    Say,
    ServerTool,
)
from tests.model_host.conftest import QUICK, READ, Ask, hear, request_to, said, sse, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


# 1. Calls with tools need the package mcp.
@every_dialect
async def test_a_request_with_tools_works_in_every_dialect(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect) as provider:
        heard = await ask(provider)
    assert heard.fault is None
    assert provider.requests[0].tool_names == ("read",)


# 3. A tokenizer is fetched for some models when the provider sends no usage.
@pytest.mark.parametrize("name", ["llama-3.1-8b", "llama-3-70b-instruct", "command-r"])
async def test_missing_usage_of_a_llama_fetches_no_tokenizer(name, ask: Ask) -> None:
    with LoopbackProvider("openai", [[NoUsage(), Say("Hi")]], name=name) as provider:
        heard = await ask(provider)
    assert heard.text == "Hi"
    assert heard.answer.usage.input_tokens is None


# 4. An Ollama server is asked about the model, in a way that blocks every other stream.
async def test_an_ollama_server_gets_nothing_but_the_chat(ask: Ask) -> None:
    with LoopbackProvider("ollama", name="new-model:7b") as provider:
        heard = await ask(provider)
        assert heard.text == "Done."
    assert [request.path for request in provider.requests] == ["/api/chat"]
    assert provider.other_paths == ()


# 5. Tools that the provider ran look like calls.
async def test_a_tool_that_the_provider_ran_is_shown_and_not_run(ask: Ask) -> None:
    script = [[ServerTool("web_search"), Say("It rains.")]]
    with LoopbackProvider("anthropic", script) as provider:
        heard = await ask(provider)
    assert not heard.calls
    assert "web_search" in heard.text
    assert "It rains." in heard.text
    assert heard.answer.finish == "stop"


# 6 and 8. Null arguments, and arguments that are free text.
async def test_null_arguments_are_no_arguments(ask: Ask) -> None:
    with LoopbackProvider("openai", [Calls(("read", "null"))]) as provider:
        heard = await ask(provider)
    assert heard.calls[0].arguments == {}
    assert heard.calls[0].raw == ""


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic"])
async def test_free_text_arguments_are_kept_and_can_go_back(dialect, ask: Ask) -> None:
    agent_id = new_agent_id()
    with LoopbackProvider(dialect, [Calls(("read", "*** Begin Patch"))]) as provider:
        history = [user("Go")]
        heard = await ask(provider, history, agent_id=agent_id)
        assert heard.calls[0].raw == "*** Begin Patch"
        assert heard.calls[0].arguments == {}
        result = ToolResult(heard.calls[0].id, "Not JSON.", is_error=True)
        history += [said(heard.answer), Message(new_message_id(), "tool", (result,))]
        assert (await ask(provider, history, agent_id=agent_id)).text == "Done."
    assert "*** Begin Patch" in json.dumps(provider.requests[1].body)


# 7. Models that litellm does not know are not streamed from the Responses API.
async def test_an_unknown_model_streams_from_the_responses_api(ask: Ask) -> None:
    with LoopbackProvider("responses", name="gpt-from-next-year") as provider:
        assert (await ask(provider)).text == "Done."
    assert provider.requests[0].body["stream"] is True


# 10. An empty finish reason, and a filtered choice without a message.
async def test_an_empty_finish_reason_is_no_failure(ask: Ask) -> None:
    frames = [*sse(chunk({"content": "Hi"}), chunk({}, "")), b"data: [DONE]\n\n"]
    with LoopbackProvider("openai", [Raw(frames)]) as provider:
        heard = await ask(provider)
    assert heard.text == "Hi"


@every_dialect
async def test_a_filtered_answer_without_text_is_told_as_filtered(dialect, ask: Ask) -> None:
    if dialect == "ollama":
        pytest.skip("Ollama has no filter")
    with LoopbackProvider(dialect, [Finish("content_filter")]) as provider:
        heard = await ask(provider, limits=Limits(retry_total_s=0, max_retries=0))
    if heard.fault is None:
        assert heard.answer.finish == "filtered"
    else:
        assert heard.fault.kind == "filtered"


# 12. Refusals are lost; `reasoning` has two names.
async def test_what_is_null_where_nothing_is_said_spoils_no_answer(ask: Ask) -> None:
    """As gateways send it that are written in Go: at the beginning, in an end, with the counts."""
    nothing, end = chunk({}), chunk({}, "stop")
    end["choices"][0]["delta"] = nothing["choices"] = None
    counts = nothing | {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    script = Raw(sse(nothing, chunk({"content": "Fine."}), end, counts))
    with LoopbackProvider("openai", [script]) as provider:
        answer = (await ask(provider)).answer
    assert (answer.parts, answer.finish) == ((TextPart("Fine."),), "stop")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (3, 4)


@pytest.mark.parametrize(
    ("counts", "known"),
    [
        ({"prompt_tokens": 3}, (3, None)),
        ({"completion_tokens": 4}, (None, 4)),
        ({"prompt_tokens": 3, "completion_tokens": None}, (3, None)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (None, None)),
    ],
)
async def test_usage_of_which_a_part_was_not_sent_is_unknown_in_that_part(
    counts, known, ask: Ask
) -> None:
    script = Raw(
        [*sse(chunk({"content": "Hi"}), chunk({}, "stop") | {"usage": counts}), b"data: [DONE]\n\n"]
    )
    with LoopbackProvider("openai", [script]) as provider:
        usage = (await ask(provider)).answer.usage
    assert (usage.input_tokens, usage.output_tokens) == known


_COUNTS = {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}


def piece(content: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": content, "index": 0, **more}]}


async def test_what_gemini_leaves_out_spoils_no_answer(ask: Ask) -> None:
    called = piece({"role": "model", "parts": [{"functionCall": {"name": "read"}}]})
    end = piece({"role": "model", "parts": None}, finishReason="STOP")
    script = Raw(sse(called | {"usageMetadata": None}, end | {"usageMetadata": _COUNTS}))
    with LoopbackProvider("gemini", [script]) as provider:
        heard = await ask(provider)
    assert [(call.name, call.arguments, call.raw) for call in heard.calls] == [("read", {}, "")]
    assert (heard.answer.usage.input_tokens, heard.answer.usage.output_tokens) == (3, 4)


async def test_counts_that_are_null_spoil_no_answer_of_one_that_speaks_as_anthropic(
    ask: Ask,
) -> None:
    start = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": None}
    text = {"type": "text_delta", "text": "Fine."}
    events = sse(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": text},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None},
        {"type": "message_stop"},
    )
    with LoopbackProvider("anthropic", [Raw(events)]) as provider:
        assert (await ask(provider)).answer.parts == (TextPart("Fine."),)


async def test_a_refusal_is_text_of_the_answer(ask: Ask) -> None:
    with LoopbackProvider("openai", [Refusal("I can't help with that.")]) as provider:
        heard = await ask(provider)
    assert heard.text == "I can't help with that."


async def test_a_refusal_in_the_responses_api_is_text_of_the_answer(ask: Ask) -> None:
    place = {"item_id": "m", "output_index": 0, "content_index": 0}
    events = sse(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.refusal.delta", "delta": "I can't help ", **place},
        {"type": "response.refusal.delta", "delta": "with that.", **place},
        {"type": "response.completed", "response": {"id": "r", "output": None}},
    )
    with LoopbackProvider("responses", [Raw(events)]) as provider:
        heard = await ask(provider)
    assert heard.text == heard.shown == "I can't help with that."


_TEXT = {"type": "output_text", "text": "All is well."}
_MESSAGE = {"type": "message", "id": "m", "role": "assistant", "content": [_TEXT]}
_PLACE = {"item_id": "m", "output_index": 0, "content_index": 0}
_SAID = {
    "pieces": {"type": "response.output_text.delta", "delta": "All is well.", **_PLACE},
    "text": {"type": "response.output_text.done", "text": "All is well.", **_PLACE},
    "item": {"type": "response.output_item.done", "output_index": 0, "item": _MESSAGE},
    "answer": {"type": "response.completed", "response": {"id": "r", "output": [_MESSAGE]}},
}


@pytest.mark.parametrize("first", range(len(_SAID)), ids=[*_SAID])
async def test_text_that_the_responses_api_says_only_at_the_end_is_shown_once(
    ask: Ask, first: int
) -> None:
    """A server may leave out what comes before: the answer was said to hold nothing."""
    events = sse({"type": "response.created", "response": {"id": "r"}}, *[*_SAID.values()][first:])
    with LoopbackProvider("responses", [Raw(events)]) as provider:
        heard = await ask(provider)
    assert heard.text == heard.shown == "All is well."


async def test_reasoning_under_its_other_name_is_thinking(ask: Ask) -> None:
    chunks = [chunk({"reasoning": "Hm."}), chunk({"content": "Yes."}), chunk({}, "stop")]
    with LoopbackProvider("openai", [Raw([*sse(*chunks), b"data: [DONE]\n\n"])]) as provider:
        heard = await ask(provider)
    assert heard.thought == "Hm."
    assert heard.text == "Yes."


# 13. Chunks of several choices.
async def test_a_second_choice_does_not_mix_into_the_first(ask: Ask) -> None:
    with LoopbackProvider("openai", [Interleaved("only this one", "NOT THIS")]) as provider:
        heard = await ask(provider)
    assert heard.text == "only this one"


# litellm's own: a hundred equal chunks are taken for a loop.
async def test_a_long_line_of_dashes_is_not_taken_for_a_loop(ask: Ask) -> None:
    with LoopbackProvider("openai", [Say("----" * 300, chunks=300)]) as provider:
        heard = await ask(provider)
    assert heard.text == "----" * 300


async def test_a_character_that_is_streamed_in_halves_arrives_whole(ask: Ask) -> None:
    halves = [chunk({"content": "Hi \ud83d"}), chunk({"content": "\ude00 there \udc00"})]
    arguments = '{"path": "\\ud83d\\ude00 \\ud800"}'
    call = {"index": 0, "id": "c", "function": {"name": "read", "arguments": arguments}}
    frames = sse(*halves, chunk({"tool_calls": [call]}, "tool_calls"))
    with LoopbackProvider("openai", [Raw([*frames, b"data: [DONE]\n\n"])]) as provider:
        heard = await ask(provider)
    assert heard.shown == heard.text == "Hi \U0001f600 there \ufffd"
    assert heard.calls[0].arguments == {"path": "\U0001f600 \ufffd"}


async def test_a_history_that_cannot_be_sent_is_a_fault_and_not_a_crash(ask: Ask) -> None:
    with LoopbackProvider("openai") as provider:
        agent_id = new_agent_id()
        heard = await ask(provider, [user("half \ud83d")], agent_id=agent_id)
        assert heard.fault is not None
        assert heard.fault.kind == "internal"
        assert (await ask(provider, [user("whole")], agent_id=agent_id)).text == "Done."


async def test_servers_that_send_no_done_mark_are_believed_by_their_finish_reason(
    ask: Ask,
) -> None:
    with LoopbackProvider("openai", [Raw(sse(chunk({"content": "Hi"}, "stop")))]) as provider:
        assert (await ask(provider)).text == "Hi"


async def test_pings_keep_a_slow_answer_alive_but_not_for_ever(ask: Ask) -> None:
    limits = Limits(connect_s=2, first_byte_s=2, idle_s=0.05, retry_total_s=0, max_retries=0)
    pings = [b": ping\n\n"] * 3
    with LoopbackProvider("openai", [Raw([*pings, *sse(chunk({"content": "x"}, "stop"))])]) as p:
        assert (await ask(p, limits=limits)).text == "x"


@every_dialect
async def test_the_kept_history_is_not_changed_by_sending_it(dialect, ask: Ask) -> None:
    """litellm changes messages that it is given; what the host keeps must stay as it is."""
    image = ImagePart("image/png", b"\x89PNG\r\n\x1a\n")
    parts = (
        ThinkingPart("Deep.", seal("anthropic", "c2ln")),
        TextPart("I read."),
        ToolCall("call_1", "read", {"path": "a"}, signature=seal("gemini", "c2ln")),
    )
    history = [
        user("Look", image),
        Message(new_message_id(), "assistant", parts),
        Message(new_message_id(), "tool", (ToolResult("call_1", "text", images=(image,)),)),
    ]
    agent_id = new_agent_id()
    with LoopbackProvider(dialect) as provider:
        for _ in range(3):
            assert (await ask(provider, history, agent_id=agent_id)).text == "Done."
    first, second, third = (request.body for request in provider.requests)
    assert first == second == third


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdef0123456789. Visit the console",
        "headers: {'Authorization': 'Bearer abc.def-ghi_123', 'x': 1}",
        "GET https://host/v1?key=AIzaSyA0123456789abcdefghij&alt=sse",
        '{"x-api-key": "secret-value-1"}',
        "x-goog-api-key=plainsecret99",
    ],
)
async def test_anything_in_the_shape_of_a_key_is_hidden(text) -> None:
    shown = redact(text)
    assert HIDDEN in shown
    for secret in ("abcdef0123", "abc.def", "AIzaSyA", "secret-value", "plainsecret"):
        assert secret not in shown


async def test_plain_words_are_not_taken_for_keys() -> None:
    for text in ("The key is missing.", "task-list of disk-usage", "Rate limit: 5 requests"):
        assert redact(text) == text


async def test_an_anthropic_prompt_is_marked_for_the_providers_cache(ask: Ask) -> None:
    with LoopbackProvider("anthropic") as provider:
        await ask(provider)
    body = provider.requests[0].body
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


async def test_a_failed_tool_says_so_to_the_model() -> None:
    message = Message(new_message_id(), "tool", (ToolResult("c", "no such file", is_error=True),))
    assert convert(message, "chat")[0]["content"] == "Error: no such file"


async def test_a_certificate_that_is_not_trusted_is_not_tried_again(tmp_path) -> None:
    error = httpx.ConnectError("certificate verify failed")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed certificate")
    ending = explain(error, None)
    assert not ending.is_retryable
    assert "certificate" in ending.fault.message
    assert isinstance(ending.fault, Fault)


async def test_an_address_that_speaks_no_tls_is_not_one_of_a_bad_certificate(model) -> None:
    with LoopbackProvider("openai") as provider:
        request = request_to(provider, limits=msgspec.structs.replace(QUICK, max_retries=0))
        address = provider.api_base.replace("http:", "https:")
        heard = await hear(model, msgspec.structs.replace(request, api_base=address))
    assert heard.fault is not None
    assert (heard.fault.kind, heard.fault.action) == ("refused", "settings")
    assert heard.fault.message.endswith(": no secure connection could be made.")


def _caused_by(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


_PROXY = URL("http://127.0.0.1:9")
_ASKED = aiohttp.RequestInfo(_PROXY, "CONNECT", CIMultiDictProxy(CIMultiDict()), _PROXY)
_SAID_NO = aiohttp.ClientHttpProxyError(_ASKED, (), status=403, message="Forbidden")


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (_caused_by(httpx.ConnectTimeout(""), ssl.SSLWantReadError()), "timeout", "no connection"),
        (_caused_by(httpx.ConnectError(""), ssl.SSLEOFError()), "refused", "Nothing answers"),
        (_caused_by(httpx.ReadError(""), ssl.SSLError("bad record mac")), "reset", "broke."),
        (httpx.ProxyError("407 Sign in"), "refused", ": the proxy said 407 Sign in."),
        (
            _caused_by(httpx.NetworkError(""), _SAID_NO),
            "refused",
            ": the proxy said 403 Forbidden.",
        ),
    ],
)
async def test_what_breaks_on_the_way_is_tried_again_and_called_by_its_name(
    error, kind, words
) -> None:
    ending = explain(error, None)
    assert ending.is_retryable
    assert ending.fault.kind == kind
    assert words in ending.fault.message


async def test_an_unknown_provider_is_told_in_plain_words(model) -> None:
    heard = await hear(
        model, ModelRequest(new_agent_id(), "no-such-provider/x", "", (user("Hi"),), (READ,))
    )
    assert heard.fault is not None
    assert heard.fault.message.endswith("no provider is known for no-such-provider/x.")
    assert heard.fault.action == "switch_model"
    assert "Traceback" not in heard.fault.details
    assert "\n" not in heard.fault.message
    assert "docs.litellm" not in heard.fault.message
