"""A conversation that goes on with another provider: calls and thinking in the form it takes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from desktop_agent.core.ids import new_message_id
from desktop_agent.core.messages import ImagePart, Message, TextPart, ToolCall, ToolResult
from desktop_agent.model_host.litellm_client.messages import convert
from tests.helpers.providers import Calls, LoopbackProvider, RedactedThink, Think
from tests.model_host.conftest import hear, request_to, said, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

# As OpenAI, Anthropic, vLLM and Kimi give them out, this app, and Mistral itself.
IDS = (
    "call_9pw1qnYScqvGrCH58HWCvFH6",
    "toolu_01A09q90qw90lq917835lq9",
    "chatcmpl-tool-0123456789abcdef0123456789abcdef",
    "chatcmpl-tool-0123456789abcdef0123456789abcdee",
    "functions.read:0",
    "call_0123456789abcdef",
    "D681PevKs",
)


def history() -> tuple[Message, ...]:
    """Return a turn that was stopped after its calls, and what the person says then."""
    calls = tuple(ToolCall(id_, "read", {"path": id_}) for id_ in IDS)
    image = ImagePart("image/png", b"x")
    results = tuple(ToolResult(id_, f"of {id_}", images=(image,)) for id_ in IDS)
    return (
        user("Go"),
        Message(new_message_id(), "assistant", (TextPart("I look."), *calls)),
        Message(new_message_id(), "tool", results),
        user("Go on"),
    )


async def messages_sent(model: Any, name: str) -> list[dict[str, Any]]:
    with LoopbackProvider("openai") as provider:
        request = replace(request_to(provider, history()), model=name)
        assert (await hear(model, request)).text == "Done."
        return provider.requests[0].body["messages"]


def answered(sent: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the calls; each has the result that is its own."""
    calls = [call for one in sent for call in one.get("tool_calls") or ()]
    results = {one["tool_call_id"]: one["content"] for one in sent if one["role"] == "tool"}
    for call, id_ in zip(calls, IDS, strict=True):
        assert f"of {id_}" in str(results[call["id"]])
    assert len(results) == len(calls)
    return [call["id"] for call in calls]


async def test_ids_are_no_longer_than_openai_takes_them(model) -> None:
    ids = answered(await messages_sent(model, "openai/gpt-4o"))
    assert max(map(len, ids)) <= 40
    assert [id_ for id_ in ids if id_ in IDS] == [id_ for id_ in IDS if len(id_) <= 40]


@pytest.mark.parametrize(
    "name", ["mistral/mistral-large-latest", "openrouter/mistralai/devstral", "openai/Ministral-8B"]
)
async def test_ids_and_order_are_those_that_mistral_takes(model, name) -> None:
    sent = await messages_sent(model, name)
    ids = answered(sent)
    assert all(re.fullmatch("[A-Za-z0-9]{9}", id_) for id_ in ids)
    assert ids[-1] == IDS[-1]
    roles = [one["role"] for one in sent]
    assert ("tool", "user") not in list(pairwise(roles))
    assert "Go on" in str(sent[-1])


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("mcp__shop__list-all", "mcp__shop__list-all"),
        ("read<|channel|>commentary", "read__channel__commentary"),
        ("functions.read file", "functions_read_file"),
        ("7ü", "_7_"),
        ("x" * 70, "x" * 64),
    ],
)
async def test_a_name_that_a_model_made_up_goes_on_as_one_that_every_provider_takes(
    name, plain
) -> None:
    call = Message(new_message_id(), "assistant", (ToolCall("call_1", name, {}),))
    (sent,) = convert(call, "chat")
    assert sent["tool_calls"][0]["function"]["name"] == plain


@pytest.mark.parametrize(
    ("first", "then", "is_sent"),
    [
        ("anthropic/MiniMax-M2", "anthropic/claude-sonnet-4-5", False),
        ("anthropic/claude-sonnet-4-5", "anthropic/MiniMax-M2", False),
        ("anthropic/MiniMax-M2", "anthropic/MiniMax-M2", True),
        ("anthropic/claude-opus-4-1", "anthropic/claude-sonnet-4-5", True),
    ],
)
async def test_what_one_signed_is_not_sent_to_another_that_speaks_as_anthropic(
    model, first, then, is_sent
) -> None:
    thoughts = [Think("Which?"), RedactedThink()]
    with LoopbackProvider("anthropic", [[*thoughts, Calls(("read", {"path": "a"}))]]) as provider:
        request = replace(request_to(provider), model=first)
        heard = await hear(model, request)
        results = tuple(ToolResult(call.id, "text") for call in heard.calls)
        result = Message(new_message_id(), "tool", results)
        messages = (*request.messages, said(heard.answer), result)
        assert (await hear(model, replace(request, model=then, messages=messages))).text == "Done."
        sent = provider.requests[-1].body["messages"][1]["content"]
    kinds = [block["type"] for block in sent]
    thinking = ["thinking", "redacted_thinking"] if is_sent else []
    assert kinds == [*thinking, "tool_use"]


async def test_what_ones_own_server_reasoned_is_not_sent_to_another(model) -> None:
    script = [[Think("Which?"), Calls(("read", {"path": "a"}))]]
    with LoopbackProvider("responses", script) as first, LoopbackProvider("responses") as other:
        request = request_to(first)
        heard = await hear(model, request)
        results = tuple(ToolResult(call.id, "text") for call in heard.calls)
        result = Message(new_message_id(), "tool", results)
        messages = (*request.messages, said(heard.answer), result)
        for provider in (first, other):
            elsewhere = replace(request_to(provider), messages=messages)
            assert (await hear(model, elsewhere)).text == "Done."
        kinds = [
            [item["type"] for item in provider.requests[-1].body["input"]]
            for provider in (first, other)
        ]
    assert "reasoning" in kinds[0]
    assert "reasoning" not in kinds[1]


@pytest.mark.parametrize(
    ("name", "is_sent", "is_needed"),
    [
        ("openai/kimi-k2.5", True, True),
        ("moonshot/kimi-of-next-year", True, True),
        ("openrouter/moonshotai/kimi-k2.5", False, False),
        ("openai/deepseek-chat", True, False),
        ("groq/moonshotai/kimi-k2-instruct", False, False),
        ("openai/gpt-4o", False, False),
    ],
)
async def test_calls_go_back_to_kimi_with_what_was_thought_before_them(
    model, name, is_sent, is_needed
) -> None:
    script = [[Think("Which?"), Calls(("read", {"path": "a"}))], Calls(("read", {"path": "b"}))]
    with LoopbackProvider("openai", script) as provider:
        request = replace(request_to(provider), model=name)
        messages = list(request.messages)
        for _ in script:
            heard = await hear(model, replace(request, messages=tuple(messages)))
            results = tuple(ToolResult(call.id, "text") for call in heard.calls)
            messages += [said(heard.answer), Message(new_message_id(), "tool", results)]
        assert (await hear(model, replace(request, messages=tuple(messages)))).text == "Done."
        sent = provider.requests[-1].body["messages"]
    thought = [one.get("reasoning_content") for one in sent if one["role"] == "assistant"]
    assert thought == ["Which?" if is_sent else None, " " if is_needed else None]
