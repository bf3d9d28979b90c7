"""The same work in five dialects, through the real host and litellm."""

from __future__ import annotations

import base64
import json

import pytest

from desktop_agent.core.ids import new_agent_id, new_message_id
from desktop_agent.core.messages import (
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from tests.helpers.providers import (
    CACHED_TOKENS,
    DIALECTS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Calls,
    LoopbackProvider,
    NoUsage,
    Pace,
    RedactedThink,
    Say,
    SlowEnd,
    Think,
)
from tests.model_host.conftest import KEY, Ask, said, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)

# A red dot of one pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJg"
    "gg=="
)


@every_dialect
async def test_text_arrives_whole_and_in_order(dialect, ask: Ask) -> None:
    text = "The quick brown fox, naïve and 狐, jumps over the lazy dog. " * 20
    with LoopbackProvider(dialect, [Say(text, chunks=40)]) as provider:
        heard = await ask(provider)
    assert heard.shown == text
    assert heard.text == text
    assert heard.answer.finish == "stop"
    assert heard.accepted == 1


@every_dialect
async def test_the_answer_streams_and_is_not_kept_back_to_its_end(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [Pace(12, per_second=60)]) as provider:
        heard = await ask(provider)
    deltas = [item for item in heard.items if hasattr(item, "kind")]
    assert len(deltas) >= 3
    assert provider.requests[0].body.get("stream", True) is True


@every_dialect
async def test_thinking_is_shown_apart_from_the_answer(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [[Think("First I look."), Say("Found it.")]]) as provider:
        heard = await ask(provider)
    assert heard.thought == "First I look."
    assert heard.shown == "Found it."
    first = heard.answer.parts[0]
    assert isinstance(first, ThinkingPart)
    assert first.text == "First I look."


@every_dialect
async def test_parallel_calls_keep_their_names_arguments_and_order(dialect, ask: Ask) -> None:
    wanted = [("read", {"path": "a.txt"}), ("read", {"path": "ü b.txt"}), ("read", {"path": "c"})]
    with LoopbackProvider(dialect, [[Say("I read three."), Calls(*wanted)]]) as provider:
        heard = await ask(provider)
    assert [(call.name, call.arguments) for call in heard.calls] == wanted
    assert not any(call.raw for call in heard.calls)
    assert len({call.id for call in heard.calls}) == 3
    assert heard.answer.finish == "tool_calls"
    assert heard.text == "I read three."


@every_dialect
async def test_a_tool_loop_goes_back_and_forth(dialect, ask: Ask) -> None:
    agent_id = new_agent_id()
    script = [
        [Think("Which file?"), Calls(("read", {"path": "a"}), ("read", {"path": "b"}))],
        Calls(("read", {"path": "c"})),
        lambda request: Say(f"{len(request.results)} results"),
    ]
    with LoopbackProvider(dialect, script) as provider:
        history = [user("Read the files")]
        for number in range(3):
            heard = await ask(provider, history, agent_id=agent_id)
            history.append(said(heard.answer))
            if not heard.calls:
                break
            results = tuple(
                ToolResult(call.id, f"text {number} of {call.arguments['path']}", number == 1)
                for call in heard.calls
            )
            history.append(Message(new_message_id(), "tool", results))
    assert heard.text == "3 results"
    last = provider.requests[-1]
    assert [("text 0 of a" in r, "text 0 of b" in r) for r in last.results[:2]] == [
        (True, False),
        (False, True),
    ]
    assert "Error: text 1 of c" in last.results[2]
    assert last.user_texts[0] == "Read the files"
    assert last.tool_names == ("read",)
    assert "careful assistant" in last.system


@every_dialect
async def test_an_image_reaches_the_provider_byte_for_byte(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect) as provider:
        heard = await ask(provider, [user("What is this?", ImagePart("image/png", PNG, "a.png"))])
    assert heard.text == "Done."
    assert base64.b64encode(PNG).decode() in json.dumps(provider.requests[0].body)


@every_dialect
async def test_a_tools_image_reaches_the_provider(dialect, ask: Ask) -> None:
    call = ToolCall("call_9", "read", {"path": "a.png"})
    history = [
        user("Look at a.png"),
        Message(new_message_id(), "assistant", (call,)),
        Message(
            new_message_id(),
            "tool",
            (ToolResult("call_9", "an image", images=(ImagePart("image/png", PNG),)),),
        ),
    ]
    with LoopbackProvider(dialect) as provider:
        heard = await ask(provider, history)
    assert heard.text == "Done."
    assert base64.b64encode(PNG).decode() in json.dumps(provider.requests[0].body)


@every_dialect
async def test_usage_is_what_the_provider_counted(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [Say("Hi")]) as provider:
        usage = (await ask(provider)).answer.usage
    assert usage.input_tokens == INPUT_TOKENS
    assert usage.output_tokens == OUTPUT_TOKENS
    assert usage.cached_tokens == (None if dialect == "ollama" else CACHED_TOKENS)
    assert usage.cost is None


@every_dialect
async def test_usage_that_comes_late_is_counted(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [[Think("Hm."), Say("Hello."), SlowEnd()]]) as provider:
        usage = (await ask(provider)).answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)


async def test_a_server_that_keeps_its_answer_open_does_not_hold_the_work_up(ask: Ask) -> None:
    with LoopbackProvider("openai", [[Say("Hello."), SlowEnd(None)]]) as provider:
        heard = await ask(provider)
        provider.wait_disconnected()
    assert heard.text == "Hello."
    assert heard.answer.finish == "stop"
    assert heard.answer.usage.output_tokens is None


@pytest.mark.parametrize("dialect", ["openai", "responses", "gemini", "ollama"])
async def test_usage_that_was_not_sent_is_unknown_and_not_zero(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [[NoUsage(), Say("Hi there")]]) as provider:
        usage = (await ask(provider)).answer.usage
    assert usage.input_tokens is None
    assert usage.output_tokens is None
    assert usage.cost is None


async def test_the_cost_is_known_for_a_model_with_a_price(ask: Ask) -> None:
    with LoopbackProvider("openai", [Say("Hi")], name="gpt-4o") as provider:
        usage = (await ask(provider)).answer.usage
    # 60 fresh, 40 cached and 20 written tokens at 2.50, 1.25 and 10 dollars a million.
    assert usage.cost == pytest.approx(60 * 2.5e-6 + 40 * 1.25e-6 + 20 * 10e-6)


async def test_signed_thinking_goes_back_to_anthropic_unchanged(ask: Ask) -> None:
    agent_id = new_agent_id()
    script = [
        [Think("Deep.", "c2lnLTE="), RedactedThink("aGlkZGVu"), Calls(("read", {"path": "a"}))],
        Say("End."),
    ]
    with LoopbackProvider("anthropic", script) as provider:
        history = [user("Think")]
        heard = await ask(provider, history, agent_id=agent_id)
        result = ToolResult(heard.calls[0].id, "text")
        history += [said(heard.answer), Message(new_message_id(), "tool", (result,))]
        await ask(provider, history, agent_id=agent_id)
    blocks = provider.requests[-1].body["messages"][1]["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "Deep.", "signature": "c2lnLTE="}
    assert blocks[1] == {"type": "redacted_thinking", "data": "aGlkZGVu"}
    assert blocks[2]["type"] == "tool_use"


async def test_a_thought_signature_goes_back_to_gemini_unchanged(ask: Ask) -> None:
    agent_id = new_agent_id()
    script = [Calls(("read", {"path": "a"}), signature="dGhvdWdodA=="), Say("End.")]
    with LoopbackProvider("gemini", script) as provider:
        history = [user("Think")]
        heard = await ask(provider, history, agent_id=agent_id)
        assert "__thought__" not in heard.calls[0].id
        result = ToolResult(heard.calls[0].id, "text")
        history += [said(heard.answer), Message(new_message_id(), "tool", (result,))]
        await ask(provider, history, agent_id=agent_id)
    parts = provider.requests[-1].body["contents"][1]["parts"]
    signatures = [p.get("thoughtSignature") or p.get("thought_signature") for p in parts]
    assert "dGhvdWdodA==" in signatures


async def test_reasoning_items_go_back_to_the_responses_api(ask: Ask) -> None:
    agent_id = new_agent_id()
    script = [[Think("Deep."), Calls(("read", {"path": "a"}))], Say("End.")]
    with LoopbackProvider("responses", script) as provider:
        history = [user("Think")]
        heard = await ask(provider, history, agent_id=agent_id)
        result = ToolResult(heard.calls[0].id, "text")
        history += [said(heard.answer), Message(new_message_id(), "tool", (result,))]
        await ask(provider, history, agent_id=agent_id)
    kinds = [item.get("type") for item in provider.requests[-1].body["input"]]
    assert kinds.index("reasoning") < kinds.index("function_call")
    assert kinds[-1] == "function_call_output"


@every_dialect
async def test_another_models_signatures_are_not_sent(dialect, ask: Ask) -> None:
    parts = (
        ThinkingPart("Elsewhere.", "elsewhere:c2VjcmV0"),
        TextPart("I look."),
        ToolCall("call_1", "read", {"path": "a"}, signature="elsewhere:c2VjcmV0"),
    )
    history = [
        user("Go"),
        Message(new_message_id(), "assistant", parts),
        Message(new_message_id(), "tool", (ToolResult("call_1", "text"),)),
    ]
    with LoopbackProvider(dialect) as provider:
        heard = await ask(provider, history)
    assert heard.text == "Done."
    assert "c2VjcmV0" not in json.dumps(provider.requests[0].body)


@pytest.mark.parametrize("dialect", ["anthropic", "responses"])
async def test_what_one_address_signed_is_not_sent_to_another_of_the_same_model(
    dialect, ask: Ask
) -> None:
    agent_id = new_agent_id()
    history = [user("Go")]
    with LoopbackProvider(dialect, [[Think("Deep.", "c2VjcmV0"), Say("Hi.")]]) as one:
        history += [said((await ask(one, history, agent_id=agent_id)).answer), user("On")]
        await ask(one, history, agent_id=agent_id)
    with LoopbackProvider(dialect) as other:
        heard = await ask(other, history, agent_id=agent_id)
    kept, moved = (json.dumps(each.requests[-1].body) for each in (one, other))
    assert heard.text == "Done."
    assert other.requests[0].user_texts == ("Go", "On")
    assert ("Deep." in kept, "Deep." in moved) == (True, False)


@every_dialect
async def test_the_key_goes_with_the_request(dialect, ask: Ask) -> None:
    if dialect == "ollama":
        pytest.skip("Ollama takes no key")
    with LoopbackProvider(dialect, key=KEY) as provider:
        assert (await ask(provider)).text == "Done."


@every_dialect
async def test_a_long_history_is_sent_whole_though_the_pipe_carries_only_news(
    dialect, ask: Ask
) -> None:
    agent_id = new_agent_id()
    history = [user("first")]
    with LoopbackProvider(dialect) as provider:
        for number in range(4):
            heard = await ask(provider, history, agent_id=agent_id)
            history += [said(heard.answer), user(f"more {number}")]
        history = [history[0], said(heard.answer), user("instead")]
        await ask(provider, history, agent_id=agent_id)
    assert provider.requests[3].user_texts == ("first", "more 0", "more 1", "more 2")
    assert provider.requests[4].user_texts == ("first", "instead")
