"""Everything a provider can do wrong ends in a fault with one action, or in an answer."""

from __future__ import annotations

import json
import re
import threading

import msgspec
import pytest

from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import new_message_id
from desktop_agent.core.messages import Message, TextPart, ToolCall, ToolResult
from desktop_agent.core.requests import Limits, ModelRequest
from tests.helpers.provider_wire import WRITERS
from tests.helpers.providers import (
    DIALECTS,
    BadJson,
    Calls,
    CutOffArguments,
    EmptyChoices,
    ErrorEvent,
    Fail,
    Finish,
    HalfEvent,
    LoopbackProvider,
    NeverEnding,
    Raw,
    Reset,
    Say,
    Stall,
    Wait,
    refused,
)
from tests.model_host.conftest import KEY, QUICK, Ask, hear, request_to, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)

NO_RETRY = Limits(connect_s=3, first_byte_s=3, idle_s=3, retry_total_s=0, max_retries=0)
IMPATIENT = Limits(connect_s=0.4, first_byte_s=0.3, idle_s=0.3, retry_total_s=0, max_retries=0)


def check_is_for_a_person(fault: Fault) -> None:
    """One line, a sentence, no classes, no tracebacks, no addresses of litellm, no key."""
    assert fault.message[0].isupper()
    assert fault.message[-1] in ".!?…"
    assert "\n" not in fault.message
    assert len(fault.message) < 400
    assert not re.search(r"Traceback|litellm|Exception|\w+Error\b|<html", fault.message)
    for text in (fault.message, fault.details):
        assert KEY not in text
        assert "Traceback" not in text


STATUSES = [
    (400, "bad_request", "switch_model"),
    (401, "auth", "edit_key"),
    (402, "billing", "settings"),
    (403, "auth", "edit_key"),
    (404, "not_found", "switch_model"),
    (408, "timeout", "retry"),
    (413, "too_large", "switch_model"),
    (429, "rate_limit", "retry"),
    (500, "server", "retry"),
    (503, "overloaded", "retry"),
    (529, "overloaded", "retry"),
]


@every_dialect
@pytest.mark.parametrize(("status", "kind", "action"), STATUSES)
async def test_an_error_status_says_what_to_do_in_the_providers_words(
    dialect, status, kind, action, ask: Ask
) -> None:
    step = Fail(status, message="These are the provider's own words")
    with LoopbackProvider(dialect, otherwise=step) as provider:
        heard = await ask(provider, limits=NO_RETRY)
    assert heard.fault is not None
    assert (heard.fault.kind, heard.fault.action) == (kind, action)
    assert "These are the provider's own words." in heard.fault.message
    assert heard.fault.status == status
    assert not heard.items
    check_is_for_a_person(heard.fault)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413])
async def test_what_will_fail_again_is_not_tried_again(status, ask: Ask) -> None:
    with LoopbackProvider("openai", [Fail(status)]) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert not heard.retries
    assert len(provider.requests) == 1


@every_dialect
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 503, 529])
async def test_a_passing_failure_is_tried_again_and_tells_so(dialect, status, ask: Ask) -> None:
    script = [Fail(status, {"retry-after": "0"}), Say("Here I am.")]
    with LoopbackProvider(dialect, script) as provider:
        heard = await ask(provider)
    assert heard.text == "Here I am."
    assert [(retry.attempt, retry.fault.status) for retry in heard.retries] == [(1, status)]
    assert len(provider.requests) == 2
    assert heard.accepted == 1


async def test_a_rate_limit_without_retry_after_waits_by_itself(ask: Ask) -> None:
    with LoopbackProvider("openai", [Fail(429), Say("Now.")]) as provider:
        heard = await ask(provider)
    assert heard.text == "Now."
    assert 0 <= heard.retries[0].delay_s <= 1


async def test_retry_after_is_honoured(ask: Ask) -> None:
    with LoopbackProvider("openai", [Fail(429, {"retry-after": "0.2"}), Say("Now.")]) as provider:
        heard = await ask(provider)
    assert heard.retries[0].delay_s == pytest.approx(0.2)
    assert heard.retries[0].fault.retry_after == pytest.approx(0.2)
    first, second = provider.requests
    assert second.arrived_at - first.arrived_at >= 0.2


async def test_a_long_retry_after_is_told_and_not_waited_for(ask: Ask) -> None:
    with LoopbackProvider("openai", [Fail(429, {"retry-after": "900"})]) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert heard.fault.retry_after == 900
    assert not heard.retries


async def test_a_retry_after_that_is_no_moment_is_as_if_there_were_none(ask: Ask) -> None:
    never = "Wed, 21 Oct 2026 07:28:00 +99999999999999999999"
    limits = msgspec.structs.replace(QUICK, max_retries=0)
    with LoopbackProvider("openai", [Fail(429, {"retry-after": never})]) as provider:
        heard = await ask(provider, limits=limits)
    assert heard.fault is not None
    assert (heard.fault.kind, heard.fault.retry_after) == ("rate_limit", None)


async def test_retries_end(ask: Ask) -> None:
    step = Fail(503, {"retry-after": "0"})
    with LoopbackProvider("openai", otherwise=step) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert heard.fault.kind == "overloaded"
    assert len(heard.retries) == QUICK.max_retries
    assert len(provider.requests) == QUICK.max_retries + 1


async def test_retries_end_after_their_total_time(ask: Ask) -> None:
    limits = Limits(first_byte_s=3, retry_total_s=0.5, max_retries=50)
    step = Fail(503, {"retry-after": "0.2"})
    with LoopbackProvider("openai", otherwise=step) as provider:
        heard = await ask(provider, limits=limits)
    assert heard.fault is not None
    assert 1 <= len(heard.retries) <= 2


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (429, "You exceeded your current quota, check your plan and billing", "billing"),
        (400, "Your credit balance is too low to access the API", "billing"),
        (400, "API key not valid. Please pass a valid API key.", "auth"),
        (400, "This model's maximum context length is 8192 tokens", "too_large"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "too_large"),
        (400, "input length and `max_tokens` exceed context limit: 170000 + 64000", "too_large"),
        (400, "This model's maximum prompt length is 131072 but the request has 5", "too_large"),
        (400, "Your request exceeded model token limit: 262144", "too_large"),
        (400, "Prompt exceeds max length", "too_large"),
        (400, "Range of input length should be [1, 129024]", "too_large"),
        (400, "Please reduce the length of the messages or completion.", "too_large"),
        (400, "prompt token count of 69000 exceeds the limit of 64000", "too_large"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 8193", "too_large"),
        (400, "The model `gpt-9` does not exist", "not_found"),
        (400, "blocked by the content_filter", "filtered"),
        (404, "model 'qwen9' not found, try pulling it first", "not_found"),
    ],
)
async def test_the_words_count_where_the_status_is_wrong(status, words, kind, ask: Ask) -> None:
    with LoopbackProvider("openai", [Fail(status, message=words)]) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert heard.fault.kind == kind
    assert not heard.retries
    check_is_for_a_person(heard.fault)


@every_dialect
async def test_a_refused_connection_says_that_nothing_answers(dialect, model) -> None:
    name, address = refused(dialect)
    request = ModelRequest("ag_1", name, "", (user("Hi"),), (), address, limits=NO_RETRY)
    heard = await hear(model, request)
    assert heard.fault is not None
    assert (heard.fault.kind, heard.fault.action) == ("refused", "settings")
    check_is_for_a_person(heard.fault)


async def test_an_unknown_host_name_says_so(model) -> None:
    request = ModelRequest(
        "ag_1", "openai/x", "", (user("Hi"),), (), "http://no.such.invalid/v1", limits=NO_RETRY
    )
    heard = await hear(model, request)
    assert heard.fault is not None
    assert heard.fault.kind == "refused"
    check_is_for_a_person(heard.fault)


@every_dialect
async def test_a_reset_before_the_answer_is_tried_again(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [Reset(), Say("Back.")]) as provider:
        heard = await ask(provider)
    assert heard.text == "Back."
    assert heard.retries[0].fault.kind == "reset"


@every_dialect
async def test_a_reset_in_the_middle_keeps_the_text_and_is_not_tried_again(
    dialect, ask: Ask
) -> None:
    with LoopbackProvider(dialect, [Reset(after_chunks=5)]) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert heard.fault.kind == "reset"
    assert heard.shown.startswith("piece 0")
    assert len(provider.requests) == 1
    check_is_for_a_person(heard.fault)


@every_dialect
async def test_half_an_event_is_a_broken_answer_and_not_a_finished_one(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [HalfEvent()]) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert heard.fault.kind in {"reset", "protocol"}
    assert "some text" in heard.shown
    check_is_for_a_person(heard.fault)


@every_dialect
@pytest.mark.parametrize("late", [True, False])
async def test_invalid_json_never_ends_as_a_finished_answer(dialect, late, ask: Ask) -> None:
    with LoopbackProvider(dialect, [BadJson(late=late)]) as provider:
        heard = await ask(provider, limits=NO_RETRY)
    assert heard.fault is not None
    assert heard.fault.kind == "protocol"
    assert heard.fault.message.endswith("it is not valid JSON.")
    check_is_for_a_person(heard.fault)


@every_dialect
@pytest.mark.parametrize("said", [b'{"broken": tru', b"upstream error 502"])
@pytest.mark.parametrize("at", range(2, 6))
async def test_calls_around_invalid_json_are_whole_or_not_in_an_answer(
    dialect, at, said, ask: Ask
) -> None:
    writer = WRITERS[dialect]("some-model")
    frames = [*writer.start(), *writer.text("Let me look. ")]
    for id_, arguments in (("call_a", {"path": "a.md"}), ("call_b", {"path": "b.md"})):
        frames += writer.call(id_, "read", json.dumps(arguments))
    frames += writer.finish(writer.default_reason())
    frames.insert(at, said + b"\n" if dialect == "ollama" else b"data: " + said + b"\n\n")
    with LoopbackProvider(dialect, [Raw([b"".join(frames)])]) as provider:
        heard = await ask(provider, limits=NO_RETRY)
    if heard.fault is None:
        assert [call.arguments for call in heard.calls] == [{"path": "a.md"}, {"path": "b.md"}]
    else:
        assert heard.fault.kind == "protocol"


async def test_a_web_page_instead_of_an_answer_is_told_in_plain_words(ask: Ask) -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head><body><p>nginx</p></body></html>"
    with LoopbackProvider("openai", [Fail(502, body=page)]) as provider:
        heard = await ask(provider, limits=NO_RETRY)
    assert heard.fault is not None
    assert heard.fault.kind == "server"
    assert "502 Bad Gateway" in heard.fault.message
    check_is_for_a_person(heard.fault)


@every_dialect
async def test_a_web_page_with_status_200_is_no_answer(dialect, ask: Ask) -> None:
    page = Raw([b"<html><body>Log in to the hotel's network</body></html>"], 200, "text/html")
    with LoopbackProvider(dialect, [page]) as provider:
        heard = await ask(provider, limits=NO_RETRY)
    assert heard.fault is not None
    check_is_for_a_person(heard.fault)


@every_dialect
async def test_an_error_inside_a_stream_is_the_providers_and_tried_again(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [ErrorEvent("Overloaded"), Say("Fine.")]) as provider:
        heard = await ask(provider)
    assert heard.text == "Fine."
    assert heard.retries[0].fault.kind == "overloaded"
    assert "Overloaded" in heard.retries[0].fault.message
    check_is_for_a_person(heard.retries[0].fault)


@every_dialect
async def test_an_error_after_text_keeps_the_text_and_is_not_tried_again(dialect, ask: Ask) -> None:
    step = [Say("I will now "), ErrorEvent("Overloaded")]
    with LoopbackProvider(dialect, [step]) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert heard.fault.kind == "overloaded"
    assert heard.shown == "I will now "
    assert len(provider.requests) == 1
    check_is_for_a_person(heard.fault)


@every_dialect
async def test_a_provider_that_never_answers_is_given_up(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [Stall(headers=False)]) as provider:
        heard = await ask(provider, limits=IMPATIENT)
        provider.wait_disconnected()
    assert heard.fault is not None
    assert heard.fault.kind == "timeout"
    check_is_for_a_person(heard.fault)


@every_dialect
@pytest.mark.parametrize("text", ["", "And then "])
async def test_a_silent_stream_is_given_up(dialect, text, ask: Ask) -> None:
    # A busy machine may need longer than the limit for what comes before the silence.
    for idle_s in (0.3, 3.0, 30.0):
        with LoopbackProvider(dialect, [Stall(text)]) as provider:
            limits = msgspec.structs.replace(IMPATIENT, first_byte_s=idle_s, idle_s=idle_s)
            heard = await ask(provider, limits=limits)
            provider.wait_disconnected()
        if heard.shown == text:
            break
    assert heard.fault is not None
    assert heard.fault.kind == "timeout"
    assert heard.shown == text
    check_is_for_a_person(heard.fault)


@every_dialect
@pytest.mark.parametrize("same", [True, False])
async def test_an_answer_without_end_is_cut(dialect, same, ask: Ask) -> None:
    with LoopbackProvider(dialect, [NeverEnding(same, 100_000)]) as provider:
        heard = await ask(provider)
        provider.wait_disconnected()
    assert heard.answer.finish == "length"
    assert 4_000_000 <= len(heard.text) < 6_000_000


@every_dialect
async def test_an_empty_answer_is_no_answer(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [EmptyChoices()]) as provider:
        heard = await ask(provider, limits=NO_RETRY)
    assert heard.fault is not None or not heard.answer.parts
    if heard.fault is not None:
        assert heard.fault.kind in {"protocol", "reset"}
        check_is_for_a_person(heard.fault)


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic"])
async def test_a_call_that_was_cut_off_is_not_in_the_answer(dialect, ask: Ask) -> None:
    with LoopbackProvider(dialect, [[Say("I read it."), CutOffArguments()]]) as provider:
        heard = await ask(provider)
    assert heard.answer.finish == "length"
    assert heard.answer.parts == (TextPart("I read it."),)


@every_dialect
@pytest.mark.parametrize(
    ("reason", "finish"), [("length", "length"), ("content_filter", "filtered")]
)
async def test_the_finish_reason_is_told(dialect, reason, finish, ask: Ask) -> None:
    if (dialect, reason) == ("ollama", "content_filter"):
        pytest.skip("Ollama has no filter")
    with LoopbackProvider(dialect, [[Say("Some of it"), Finish(reason)]]) as provider:
        heard = await ask(provider)
    assert heard.answer.finish == finish
    assert heard.text == "Some of it"


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic"])
async def test_two_calls_with_one_id_get_two(dialect, ask: Ask) -> None:
    calls = Calls(("read", {"path": "a"}), ("read", {"path": "b"}), ids=["same", "same"])
    with LoopbackProvider(dialect, [calls]) as provider:
        heard = await ask(provider)
    assert [call.arguments["path"] for call in heard.calls] == ["a", "b"]
    assert heard.calls[0].id != heard.calls[1].id


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic"])
async def test_an_id_of_an_earlier_call_is_not_used_again(dialect, ask: Ask) -> None:
    history = [
        user("Go"),
        Message(new_message_id(), "assistant", (ToolCall("call_1", "read", {"path": "a"}),)),
        Message(new_message_id(), "tool", (ToolResult("call_1", "text"),)),
    ]
    script = [Calls(("read", {"path": "b"}), ids=["call_1"])]
    with LoopbackProvider(dialect, script) as provider:
        heard = await ask(provider, history)
    assert heard.calls[0].id
    assert heard.calls[0].id != "call_1"


async def test_an_empty_id_is_replaced(ask: Ask) -> None:
    calls = Calls(("read", {"path": "a"}), ("read", {"path": "b"}), ids=["", ""])
    with LoopbackProvider("openai", [calls]) as provider:
        heard = await ask(provider)
    ids = [call.id for call in heard.calls]
    assert all(ids)
    assert len(set(ids)) == 2


async def test_a_key_that_the_provider_repeats_is_hidden(ask: Ask) -> None:
    step = Fail(401, message=f"Incorrect API key provided: {KEY}. Find yours at the console")
    with LoopbackProvider("openai", [step]) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert "[hidden]" in heard.fault.message
    check_is_for_a_person(heard.fault)


async def test_a_redirect_does_not_get_the_key(ask: Ask) -> None:
    with LoopbackProvider("openai") as other:
        step = Fail(307, {"location": f"{other.api_base}/chat/completions"}, body="")
        with LoopbackProvider("openai", [step]) as provider:
            heard = await ask(provider, limits=NO_RETRY)
        assert not other.requests
    assert heard.fault is not None
    assert "redirects" in heard.fault.message
    check_is_for_a_person(heard.fault)


@every_dialect
async def test_stop_closes_the_providers_answer(dialect, model) -> None:
    gate = threading.Event()
    with LoopbackProvider(dialect, [[Say("Started. ", chunks=1), Wait(gate)]]) as provider:
        stream = model.stream(request_to(provider))
        heard = ""
        async for item in stream:
            heard += getattr(item, "text", "")
            if getattr(item, "kind", ""):
                break
        await stream.aclose()
        provider.wait_disconnected()
        assert heard.startswith("Started")
        assert not gate.is_set(), "the provider still held its answer back"
