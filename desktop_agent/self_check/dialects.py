"""One tool call and one line of text, as each of the five kinds of providers streams them."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

Name = Literal["openai", "responses", "anthropic", "gemini", "ollama"]

_CALL_ID = "call_1"
_SSE = "text/event-stream"
_LINES = "application/x-ndjson"


class Dialect(msgspec.Struct, frozen=True):
    """How one kind of provider is addressed: its model's prefix and its own paths."""

    name: Name
    title: str
    prefix: str
    base: str
    path: str
    content_type: str = _SSE


DIALECTS = (
    Dialect("openai", "Chat completions", "openai/", "/v1", "/v1/chat/completions"),
    Dialect("responses", "Responses", "openai/responses/", "/v1", "/v1/responses"),
    Dialect("anthropic", "Anthropic", "anthropic/", "", "/v1/messages"),
    Dialect("gemini", "Gemini", "gemini/", "/v1beta", ":streamGenerateContent"),
    Dialect("ollama", "Ollama", "ollama_chat/", "", "/api/chat", _LINES),
)


def call(name: Name, tool: str, arguments: dict[str, Any]) -> bytes:
    """Return the answer that calls a tool."""
    return _WRITERS[name](tool, arguments, "")


def say(name: Name, text: str) -> bytes:
    """Return the answer that is this text."""
    return _WRITERS[name]("", {}, text)


def _events(*bodies: dict[str, Any], end: bytes = b"") -> bytes:
    frames = [
        (f"event: {body['type']}\n" if "type" in body else "").encode()
        + b"data: "
        + json.dumps(body).encode()
        + b"\n\n"
        for body in bodies
    ]
    return b"".join(frames) + end


def _openai(tool: str, arguments: dict[str, Any], text: str) -> bytes:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _completion([choice])

    if tool:
        function = {"name": tool, "arguments": json.dumps(arguments)}
        made = [{"index": 0, "id": _CALL_ID, "type": "function", "function": function}]
        chunks = [chunk({"role": "assistant", "tool_calls": made}), chunk({}, "tool_calls")]
    else:
        chunks = [chunk({"role": "assistant", "content": text}), chunk({}, "stop")]
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    return _events(*chunks, _completion([]) | {"usage": usage}, end=b"data: [DONE]\n\n")


def _completion(choices: list[Any]) -> dict[str, Any]:
    kind = "chat.completion.chunk"
    return {"id": "1", "object": kind, "created": 1, "model": "check", "choices": choices}


def _responses(tool: str, arguments: dict[str, Any], text: str) -> bytes:
    item: dict[str, Any] = {"id": "item_1", "status": "completed"}
    place = {"item_id": "item_1", "output_index": 0}
    if tool:
        words = json.dumps(arguments)
        item |= {"type": "function_call", "call_id": _CALL_ID, "name": tool, "arguments": words}
        begun = item | {"arguments": "", "status": "in_progress"}
        kind = "response.function_call_arguments.delta"
        middle = [{"type": kind, **place, "delta": words}]
    else:
        part = {"type": "output_text", "text": text, "annotations": []}
        item |= {"type": "message", "role": "assistant", "content": [part]}
        begun = item | {"content": [], "status": "in_progress"}
        kind = "response.output_text.delta"
        middle = [{"type": kind, **place, "content_index": 0, "delta": text, "logprobs": []}]
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    return _numbered(
        {"type": "response.created", "response": _response("in_progress", [])},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        *middle,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": _response("completed", [item]) | {"usage": usage},
        },
    )


def _numbered(*bodies: dict[str, Any]) -> bytes:
    return _events(*({**body, "sequence_number": n} for n, body in enumerate(bodies)))


def _response(status: str, output: list[Any]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": "check",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
        "metadata": {},
        "usage": None,
    }


def _anthropic(tool: str, arguments: dict[str, Any], text: str) -> bytes:
    if tool:
        block = {"type": "tool_use", "id": _CALL_ID, "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": text}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "check",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    reason = "tool_use" if tool else "end_turn"
    return _events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    )


def _gemini(tool: str, arguments: dict[str, Any], text: str) -> bytes:
    part = {"functionCall": {"name": tool, "args": arguments}} if tool else {"text": text}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12}
    candidate = {"index": 0, "content": content, "finishReason": "STOP"}
    return _events({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "check"})


def _ollama(tool: str, arguments: dict[str, Any], text: str) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tool:
        message["tool_calls"] = [{"function": {"name": tool, "arguments": arguments}}]
    said = {"model": "check", "created_at": "2026-01-01T00:00:00Z", "message": message}
    ended = {"done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3}
    last = said | {"message": {"role": "assistant", "content": ""}, "done": True} | ended
    return b"".join(json.dumps(line).encode() + b"\n" for line in (said | {"done": False}, last))


_WRITERS = {
    "openai": _openai,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
