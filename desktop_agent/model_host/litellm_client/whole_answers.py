"""Answers that came in one piece although a stream was asked for, as the events of that stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Event = dict[str, Any]

# Servers that put the provider's answer into one of their own.
_WRAPPERS = ("response", "data", "result", "body")
_DEEPEST = 3


def events_of(body: Any, depth: int = 0) -> list[Event]:
    """Return the events; none when the body is in no provider's form."""
    if isinstance(body, list):
        return [event for each in body for event in events_of(each, depth + 1)]
    if not isinstance(body, dict) or depth > _DEEPEST:
        return []
    if body.get("error") or body.get("candidates") or body.get("promptFeedback"):
        return [body]
    if isinstance(body.get("choices"), list):
        return _chat(body)
    if body.get("object") == "response" or isinstance(body.get("output"), list):
        return list(_responses(body))
    if isinstance(body.get("content"), list) and body.get("role") == "assistant":
        return list(_anthropic(body))
    if isinstance(body.get("message"), dict):
        return [body | {"done": True}]
    wrapped = (body[name] for name in _WRAPPERS if isinstance(body.get(name), dict | list))
    return next((found for each in wrapped if (found := events_of(each, depth + 1))), [])


def _chat(body: Event) -> list[Event]:
    choices = [c for c in body["choices"] if isinstance(c, dict) and c.get("index", 0) in (0, None)]
    if not choices or body.get("object") == "chat.completion.chunk":
        return [body]
    choice = choices[0]
    said = choice.get("message") or choice.get("delta")
    message = dict(said) if isinstance(said, dict) else {"content": choice.get("text")}
    message["content"] = _joined(message.get("content"))
    calls = message.get("tool_calls")
    if not calls and isinstance(message.get("function_call"), dict):
        calls = [{"id": "", "type": "function", "function": message["function_call"]}]
    message.pop("function_call", None)
    if isinstance(calls, list):
        message["tool_calls"] = [_call(call, n) for n, call in enumerate(calls)]
    kept = {name: body[name] for name in ("id", "created", "model") if name in body}
    chunk = kept | {"object": "chat.completion.chunk"}
    finish = choice.get("finish_reason") or ("tool_calls" if calls else "stop")
    last: Event = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    counts = {name: body[name] for name in ("usage", "x_groq") if body.get(name)}
    first: Event = {"choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    return [chunk | first, chunk | last | counts]


def _joined(content: Any) -> str:
    if isinstance(content, list):
        texts = (each.get("text") for each in content if isinstance(each, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _call(call: Any, index: int) -> Any:
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    if isinstance(function, dict) and isinstance(function.get("arguments"), dict | list):
        function = function | {"arguments": json.dumps(function["arguments"])}
    return call | {"index": index, "function": function}


def _responses(body: Event) -> Iterator[Event]:
    began = body | {"output": [], "status": "in_progress"}
    yield {"type": "response.created", "response": began}
    output = body.get("output")
    for index, item in enumerate(output if isinstance(output, list) else ()):
        if not isinstance(item, dict):
            continue
        place = {"output_index": index, "item_id": item.get("id") or f"item_{index}"}
        kind = item.get("type")
        if kind in {"function_call", "custom_tool_call"}:
            yield {"type": "response.output_item.done", "item": item} | place
        elif kind == "message" or (kind is None and "content" in item):
            for part, text in _texts(item.get("content"), ("text", "refusal")):
                spot = place | {"content_index": part, "delta": text, "logprobs": []}
                yield {"type": "response.output_text.delta"} | spot
        elif kind == "reasoning":
            for _, text in _texts(item.get("summary") or item.get("content"), ("text",)):
                spot = place | {"summary_index": 0, "delta": text}
                yield {"type": "response.reasoning_summary_text.delta"} | spot
    status = body.get("status")
    kind = status if status in {"incomplete", "failed"} else "completed"
    yield {"type": f"response.{kind}", "response": body}


def _texts(parts: Any, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    if isinstance(parts, str):
        parts = [{"text": parts}]
    for number, part in enumerate(parts if isinstance(parts, list) else ()):
        texts = (part.get(name) for name in names) if isinstance(part, dict) else ()
        text = next((each for each in texts if isinstance(each, str) and each), "")
        if text:
            yield number, text


def _anthropic(body: Event) -> Iterator[Event]:
    began = body | {"content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": began}
    for index, block in enumerate(body["content"]):
        if isinstance(block, dict):
            begin, deltas = _block(block)
            yield {"type": "content_block_start", "index": index, "content_block": begin}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
    reason = body.get("stop_reason") or "end_turn"
    delta = {"stop_reason": reason, "stop_sequence": body.get("stop_sequence")}
    yield {"type": "message_delta", "delta": delta, "usage": body.get("usage") or {}}
    yield {"type": "message_stop"}


def _block(block: Event) -> tuple[Event, list[Event]]:
    match block.get("type"):
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": block.get("text") or ""}]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block.get("thinking") or ""}
            signed = {"type": "signature_delta", "signature": block.get("signature") or ""}
            return block | {"thinking": "", "signature": ""}, [thought, signed]
        case "tool_use" | "server_tool_use":
            given = json.dumps(block.get("input") or {})
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": given}]
        case _:
            return block, []
