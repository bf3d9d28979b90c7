"""Every provider that the app offers can be talked to, through the real host and litellm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from desktop_agent.core.providers import PROVIDERS
from desktop_agent.core.requests import ToolSpec
from desktop_agent.model_host.litellm_client.model import address
from tests.helpers.providers import Calls, Fail, LoopbackProvider, Raw, Say
from tests.model_host.conftest import hear, request_to, said, user

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("offered", PROVIDERS, ids=lambda each: each.name)
async def test_a_provider_that_is_offered_streams_calls_tools_and_fails_in_words(
    offered, model
) -> None:
    script = [[Say("I look."), Calls(("read", {"path": "a.txt"}))], Say("Found it."), Fail(401)]
    with LoopbackProvider(offered.dialect, script) as provider:
        request = replace(request_to(provider), model=f"{offered.name}/some-model")
        called = await hear(model, request)
        assert [call.arguments for call in called.calls] == [{"path": "a.txt"}]
        assert called.shown == "I look."
        asked = (*request.messages, said(called.answer), user("Go on."))
        answered = await hear(model, replace(request, messages=asked))
        assert answered.text == "Found it."
        refused = await hear(model, request)
        assert refused.fault is not None
        assert refused.fault.kind == "auth"


async def test_cohere_is_asked_where_it_takes_tool_calls_and_not_for_what_it_refuses(model) -> None:
    with LoopbackProvider("openai", [Say("Found it.")]) as provider:
        request = replace(request_to(provider), model="cohere_chat/command-a")
        assert (await hear(model, request)).text == "Found it."
        body = provider.requests[0].body
    assert body["model"] == "command-a"
    assert "stream_options" not in body
    assert address("cohere/command-a", "", "key") == {
        "model": "openai/command-a",
        "api_base": "https://api.cohere.ai/compatibility/v1",
        "api_key": "key",
    }


def _cohere(finish: str | None = None, **delta: Any) -> bytes:
    """An event as Cohere's OpenAI-compatible address sends it: the counts come unasked."""
    event: dict[str, Any] = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    if finish:
        event["usage"] = {"prompt_tokens": 913, "completion_tokens": 83, "total_tokens": 996}
    return b"data: %s\n\n" % json.dumps(event).encode()


def _piece(index: int, arguments: str, name: str = "") -> bytes:
    head = {"id": f"{name}_{index}", "type": "function"} if name else {}
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return _cohere(tool_calls=[{"index": index, "function": function, **head}])


_COHERE_CALLS = (
    _piece(0, "", "read"),
    _piece(0, '{"path": '),
    _piece(0, '"a"}'),
    _piece(1, "", "read"),
    _piece(1, '{"path": "b"}'),
)


@pytest.mark.parametrize(
    ("calls", "finish", "paths"),
    [
        (_COHERE_CALLS, "tool_calls", ["a", "b"]),
        ((), "length", []),
        ((), "stop", []),
    ],
)
async def test_of_cohere_thinking_calls_counts_and_end_are_read(
    model, calls, finish, paths
) -> None:
    said_first = (_cohere(role="assistant", reasoning_content="Both."), _cohere(content="I read."))
    events = (*said_first, *calls, _cohere(finish), b"data: [DONE]\n\n")
    with LoopbackProvider("openai", [Raw(events)]) as provider:
        heard = await hear(model, replace(request_to(provider), model="cohere/command-a"))
    assert (heard.thought, heard.text) == ("Both.", "I read.")
    assert [call.arguments["path"] for call in heard.calls] == paths
    assert heard.answer.finish == finish
    assert (heard.answer.usage.input_tokens, heard.answer.usage.output_tokens) == (913, 83)


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (429, "rate_limit")])
async def test_an_error_of_cohere_is_told_as_what_it_is(model, status, kind) -> None:
    fails = Fail(status, {"retry-after": "900"}, body={"id": "x", "message": "no"})
    with LoopbackProvider("openai", [fails]) as provider:
        heard = await hear(model, replace(request_to(provider), model="cohere/command-a"))
    assert heard.fault is not None
    assert heard.fault.kind == kind


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("claude-of-next-year", 32_000),
        ("MiniMax-M2", 8_192),
        ("claude-sonnet-4-5", 64_000),
    ],
)
async def test_an_answer_in_anthropics_language_has_room_for_a_file(model, name, tokens) -> None:
    with LoopbackProvider("anthropic", [Say("Found it.")]) as provider:
        request = replace(request_to(provider), model=f"anthropic/{name}")
        assert (await hear(model, request)).text == "Found it."
        await hear(model, replace(request, max_output_tokens=300))
        asked = [one.body["max_tokens"] for one in provider.requests]
    assert asked == [tokens, 300]


@pytest.mark.parametrize(
    ("dialect", "name", "names"),
    [
        ("anthropic", "anthropic/claude-sonnet-4-5", {"table"}),
        ("openai", "openai/gpt-4o", {"table", "$filter", "page[size]"}),
    ],
)
async def test_a_name_of_an_argument_that_anthropic_refuses_stops_no_request(
    model, dialect, name, names
) -> None:
    text = {"type": "string"}
    properties = {"table": text, "$filter": text, "page[size]": text}
    schema = {"type": "object", "properties": properties, "required": ["$filter", "table"]}
    with LoopbackProvider(dialect, [Say("Found it.")]) as provider:
        request = request_to(provider, tools=(ToolSpec("query", "Ask.", schema),))
        assert (await hear(model, replace(request, model=name))).text == "Found it."
        (tool,) = provider.requests[0].body["tools"]
    sent = tool["input_schema"] if dialect == "anthropic" else tool["function"]["parameters"]
    assert set(sent["properties"]) == names
    assert set(sent["required"]) == names - {"page[size]"}
    told = json.dumps(tool)
    assert all(one in told for one in properties)
