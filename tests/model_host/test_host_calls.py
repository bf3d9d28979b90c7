"""No tool runs with arguments that were not seen whole, however a server sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.providers import LoopbackProvider, Raw
from tests.model_host.conftest import Ask, Heard, sse

pytestmark = pytest.mark.asyncio(loop_scope="session")

WANTED = {"path": "notes.md"}
TEXT = json.dumps(WANTED)


def chunk(delta: dict[str, Any], finish: str | None = None, **rest: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "choices": [choice]} | rest


def piece(arguments: str | None = None, **rest: Any) -> dict[str, Any]:
    function = ({} if arguments is None else {"arguments": arguments}) | rest.pop("function", {})
    return {"tool_calls": [{"index": 0, "type": "function", "function": function} | rest]}


def begun(index: int = 0, **rest: Any) -> dict[str, Any]:
    return piece(function={"name": "read"}, id=f"call_{index}") | rest


DONE = b"data: [DONE]\n\n"


def item(arguments: str | None = "", number: int = 0, status: str = "in_progress") -> Any:
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
    given = {} if arguments is None else {"arguments": arguments}
    return call | {"name": "read", "status": status} | given


def added(arguments: str | None = "", number: int = 0) -> Any:
    place = {"output_index": number, "item": item(arguments, number)}
    return {"type": "response.output_item.added"} | place


def args(kind: str, number: int = 0, **rest: Any) -> Any:
    kind = f"response.function_call_arguments.{kind}"
    return {"type": kind, "item_id": f"fc_{number}", "output_index": number} | rest


def item_done(arguments: str | None = "", number: int = 0) -> Any:
    place = {"output_index": number, "item": item(arguments, number, "completed")}
    return {"type": "response.output_item.done"} | place


def over(*output: Any, kind: str = "completed") -> Any:
    why = {"reason": "max_output_tokens"} if kind == "incomplete" else None
    response = {"id": "r", "object": "response", "created_at": 1, "status": kind}
    rest = {"output": list(output), "incomplete_details": why, "model": "m", "error": None}
    return {"type": f"response.{kind}", "response": response | rest}


async def hear(ask: Ask, dialect: Any, frames: list[bytes], **rest: Any) -> Heard:
    with LoopbackProvider(dialect, [Raw(frames, **rest)]) as provider:
        return await ask(provider)


def runnable(heard: Heard) -> list[dict[str, Any]]:
    """Return the arguments with which a tool would run."""
    return [] if heard.fault else [call.arguments for call in heard.calls if not call.raw]


@pytest.mark.parametrize(
    "events",
    [
        [added(), args("done", arguments=TEXT), item_done(), over()],
        [added(), args("done", arguments=TEXT), item_done(None), over()],
        [added(), args("delta", delta=""), args("done", arguments=TEXT), item_done(TEXT), over()],
        [added(), args("done", arguments=""), item_done(TEXT), over()],
        [added(), item_done(TEXT), over()],
        [item_done(TEXT), over()],
        [added(), item_done(""), over(item(TEXT))],
        [added(), over(item(TEXT))],
        [over(item(TEXT))],
        [added(TEXT), item_done(None), over()],
        [added(TEXT), args("delta", delta=TEXT), args("done", arguments=TEXT), over(item(TEXT))],
        [added(), args("delta", delta=TEXT[:5]), args("done", arguments=TEXT), over()],
        [added(), args("delta", delta=TEXT[:5]), args("delta", delta=TEXT[5:]), over()],
        [added(), args("delta", delta=TEXT), item_done(""), over()],
        [added("{}"), args("done", arguments=TEXT), over()],
    ],
    ids=str,
)
async def test_arguments_are_found_wherever_a_responses_server_puts_them(events, ask: Ask) -> None:
    heard = await hear(ask, "responses", sse(*events))
    assert runnable(heard) == [WANTED]
    assert heard.answer.finish == "tool_calls"


async def test_two_calls_of_a_responses_server_keep_their_arguments_apart(ask: Ask) -> None:
    other = json.dumps({"path": "b"})
    events = [added(), added(number=1)]
    events += [args("done", 1, arguments=other), args("done", arguments=TEXT)]
    heard = await hear(ask, "responses", sse(*events, over()))
    assert runnable(heard) == [WANTED, {"path": "b"}]


async def test_a_call_that_needs_no_arguments_runs_when_its_end_says_so(ask: Ask) -> None:
    for end in ([args("done", arguments="")], [item_done("")], [args("done", arguments="{}")]):
        heard = await hear(ask, "responses", sse(added(), *end, over()))
        assert runnable(heard) == [{}]


@pytest.mark.parametrize(
    "events",
    [
        [added(), over()],
        [added(None), item_done(None), over()],
        [added(), args("delta", delta=TEXT[:9]), over()],
        [added(), args("delta", delta=TEXT[:9]), over(kind="incomplete")],
        [added(), over(kind="incomplete")],
        [added(), over(item(""), kind="incomplete")],
        [added(), args("delta", delta=TEXT), args("done", arguments="{}"), over()],
        [added(), args("done", arguments=TEXT), over(item('{"path": "/etc/passwd"}'))],
        [added(), args("delta", delta=TEXT[:9])],
        [added()],
    ],
    ids=str,
)
async def test_a_responses_call_without_its_whole_arguments_does_not_run(events, ask: Ask) -> None:
    assert runnable(await hear(ask, "responses", sse(*events))) == []


@pytest.mark.parametrize(
    "frames",
    [
        [*sse(chunk(begun()), chunk({}, "length")), DONE],
        [*sse(chunk(begun()), chunk({}, "content_filter")), DONE],
        [*sse(chunk(begun()), chunk({}, "error")), DONE],
        [*sse(chunk(begun()), chunk({}, "network_error")), DONE],
        [*sse(chunk(begun()), chunk({}, "")), DONE],
        [*sse(chunk(begun())), DONE],
        [*sse(chunk(begun()))],
        [*sse(chunk(begun()), chunk(piece(TEXT[:9]))), DONE],
        [*sse(chunk(begun()), chunk(piece(TEXT[:9]), "tool_calls")), DONE],
        [*sse(chunk(begun()), chunk(piece(TEXT + TEXT[:9]), "tool_calls")), DONE],
    ],
    ids=lambda frames: b"".join(frames).decode()[-120:],
)
@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/octet-stream"])
async def test_a_chat_call_without_its_whole_arguments_does_not_run(frames, kind, ask: Ask) -> None:
    assert runnable(await hear(ask, "openai", frames, content_type=kind)) == []


async def test_arguments_that_went_to_another_call_leave_neither_to_run(ask: Ask) -> None:
    """A server that sends two names, and then both arguments as if they were of the second."""
    calls = {"tool_calls": [begun()["tool_calls"][0], begun(1)["tool_calls"][0] | {"index": 1}]}
    both = {"tool_calls": [piece(TEXT + '{"path": "b"}')["tool_calls"][0] | {"index": 1}]}
    frames = [*sse(chunk(calls), chunk(both), chunk({}, "tool_calls")), DONE]
    assert runnable(await hear(ask, "openai", frames)) == []


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
async def test_an_anthropic_call_that_was_cut_before_its_arguments_does_not_run(
    reason, ask: Ask
) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1}}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    assert runnable(await hear(ask, "anthropic", sse(*events))) == []


async def test_an_empty_custom_call_beside_a_function_makes_no_call_without_a_name(
    ask: Ask,
) -> None:
    empty = {"custom": {"name": "", "input": ""}}
    first, second = begun(), piece(TEXT)
    first["tool_calls"][0] |= empty
    second["tool_calls"][0] |= empty
    frames = [*sse(chunk(first), chunk(second), chunk({}, "tool_calls")), DONE]
    heard = await hear(ask, "openai", frames)
    assert [(call.name, call.arguments) for call in heard.calls] == [("read", WANTED)]


async def test_a_call_without_a_name_is_an_answer_that_nobody_understands(ask: Ask) -> None:
    frames = [*sse(chunk(piece(TEXT, id="call_1")), chunk({}, "tool_calls")), DONE]
    heard = await hear(ask, "openai", frames)
    assert heard.fault is not None
    assert heard.fault.action == "retry"


@pytest.mark.parametrize("pieces", [(), ('{"path"', ':"a"}')])
async def test_arguments_that_come_with_an_anthropic_call_are_not_lost(pieces, ask: Ask) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    events = [
        {"type": "message_start", "message": message | {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    heard = await hear(ask, "anthropic", sse(*events))
    assert [(call.name, call.arguments, call.raw) for call in heard.calls] == [
        ("read", {"path": "a"}, "")
    ]
