"""The wire formats of the five dialects, written as their providers write them."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from tests.helpers.provider_script import Counts

DialectName = Literal["openai", "responses", "anthropic", "gemini", "ollama"]

INPUT_TOKENS, OUTPUT_TOKENS, CACHED_TOKENS = 100, 20, 40

_serial = itertools.count(1)


def _sse(body: Any, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(body)}\n\n".encode()


def _line(body: Any) -> bytes:
    return (json.dumps(body) + "\n").encode()


@dataclass
class Writer:
    """One answer under way. Each method gives the bytes to send; `whole` gives it at once."""

    model: str
    with_usage: bool = True
    counts: Counts = Counts()  # noqa: RUF009  (frozen)
    serial: int = field(default_factory=lambda: next(_serial))
    content_type: str = "text/event-stream"
    text_so_far: str = ""
    thinking: str = ""
    signature: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""
    is_open: str = ""
    position: int = -1

    def start(self) -> list[bytes]:
        return []

    def text(self, text: str) -> list[bytes]:
        raise NotImplementedError

    def think(self, text: str, signature: str = "") -> list[bytes]:
        raise NotImplementedError

    def redacted(self, payload: str) -> list[bytes]:
        return []

    def call(self, id_: str, name: str, arguments: str, signature: str = "") -> list[bytes]:
        raise NotImplementedError

    def server_tool(self, name: str, arguments: dict[str, Any]) -> list[bytes]:
        return []

    def refusal(self, text: str) -> list[bytes]:
        return self.text(text)

    def finish(self, reason: str) -> list[bytes]:
        raise NotImplementedError

    def empty(self) -> list[bytes]:
        raise NotImplementedError

    def error(self, message: str, kind: str) -> list[bytes]:
        raise NotImplementedError

    def whole(self) -> dict[str, Any]:
        raise NotImplementedError

    def default_reason(self) -> str:
        return "tool_calls" if self.calls else "stop"

    def note_call(self, id_: str, name: str, arguments: str, signature: str = "") -> int:
        call = {"id": id_, "name": name, "arguments": arguments, "signature": signature}
        self.calls.append(call)
        return len(self.calls) - 1


class OpenAIWriter(Writer):
    def _chunk(self, delta: dict[str, Any], reason: str | None = None, index: int = 0) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _sse(self._envelope([choice]))

    def _envelope(self, choices: list[Any]) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.serial}",
            "object": "chat.completion.chunk",
            "created": 1760000000,
            "model": self.model,
            "system_fingerprint": "fp_1",
            "choices": choices,
        }

    def start(self) -> list[bytes]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def text(self, text: str) -> list[bytes]:
        self.text_so_far += text
        return [self._chunk({"content": text})]

    def second_choice(self, text: str) -> list[bytes]:
        return [self._chunk({"content": text}, index=1)]

    def think(self, text: str, signature: str = "") -> list[bytes]:
        self.thinking += text
        return [self._chunk({"reasoning_content": text})]

    def call(self, id_: str, name: str, arguments: str, signature: str = "") -> list[bytes]:
        index = self.note_call(id_, name, arguments)
        head = {
            "index": index,
            "id": id_,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        frames = [self._chunk({"tool_calls": [head]})]
        for piece in cut(arguments, 3):
            delta = {"index": index, "function": {"arguments": piece}}
            frames.append(self._chunk({"tool_calls": [delta]}))
        return frames

    def refusal(self, text: str) -> list[bytes]:
        return [self._chunk({"refusal": text})]

    def usage(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.counts.input,
            "completion_tokens": self.counts.output,
            "total_tokens": self.counts.input + self.counts.output,
            "prompt_tokens_details": {"cached_tokens": self.counts.cached},
        }

    def finish(self, reason: str) -> list[bytes]:
        frames = [self._chunk({}, reason)]
        if self.with_usage:
            frames.append(_sse(self._envelope([]) | {"usage": self.usage()}))
        return [*frames, b"data: [DONE]\n\n"]

    def empty(self) -> list[bytes]:
        return [_sse(self._envelope([])), b"data: [DONE]\n\n"]

    def error(self, message: str, kind: str) -> list[bytes]:
        return [_sse({"error": {"message": message, "type": kind, "code": None}})]

    def whole(self) -> dict[str, Any]:
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in self.calls
        ]
        message: dict[str, Any] = {"role": "assistant", "content": self.text_so_far or None}
        if calls:
            message["tool_calls"] = calls
        if self.thinking:
            message["reasoning_content"] = self.thinking
        choice = {"index": 0, "message": message, "finish_reason": self.reason}
        whole = self._envelope([choice]) | {"object": "chat.completion"}
        return whole | ({"usage": self.usage()} if self.with_usage else {})


class AnthropicWriter(Writer):
    _reasons: ClassVar[dict[str, str]] = {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "refusal",
    }

    def _event(self, kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, **fields}, kind)

    def _message(self) -> dict[str, Any]:
        return {
            "id": f"msg_{self.serial}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self._usage(1),
        }

    def _usage(self, output: int) -> dict[str, Any]:
        counts = self.counts
        written = counts.written + counts.written_1h
        return {
            "input_tokens": counts.input - counts.cached - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": counts.cached,
            "cache_creation": {
                "ephemeral_5m_input_tokens": counts.written,
                "ephemeral_1h_input_tokens": counts.written_1h,
            },
            "output_tokens": output,
        }

    def start(self) -> list[bytes]:
        return [self._event("message_start", message=self._message()), self._event("ping")]

    def _open(self, kind: str, block: dict[str, Any]) -> list[bytes]:
        if self.is_open == kind:
            return []
        frames = self._close()
        self.is_open = kind
        self.position += 1
        start = self._event("content_block_start", index=self.position, content_block=block)
        return [*frames, start]

    def _close(self) -> list[bytes]:
        if not self.is_open:
            return []
        frames: list[bytes] = []
        if self.is_open == "thinking" and self.signature:
            frames += self._delta({"type": "signature_delta", "signature": self.signature})
        self.is_open = ""
        return [*frames, self._event("content_block_stop", index=self.position)]

    def _delta(self, delta: dict[str, Any]) -> list[bytes]:
        return [self._event("content_block_delta", index=self.position, delta=delta)]

    def text(self, text: str) -> list[bytes]:
        self.text_so_far += text
        frames = self._open("text", {"type": "text", "text": ""})
        return frames + self._delta({"type": "text_delta", "text": text})

    def think(self, text: str, signature: str = "") -> list[bytes]:
        self.thinking += text
        self.signature = signature
        frames = self._open("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        return frames + self._delta({"type": "thinking_delta", "thinking": text})

    def redacted(self, payload: str) -> list[bytes]:
        frames = self._open("redacted", {"type": "redacted_thinking", "data": payload})
        return frames + self._close()

    def call(self, id_: str, name: str, arguments: str, signature: str = "") -> list[bytes]:
        self.note_call(id_, name, arguments)
        return self._tool("tool_use", id_, name, arguments)

    def _tool(self, kind: str, id_: str, name: str, arguments: str) -> list[bytes]:
        block = {"type": kind, "id": id_, "name": name, "input": {}}
        frames = self._close() + self._open(f"{kind} {self.position}", block)
        frames += self._delta({"type": "input_json_delta", "partial_json": ""})
        for piece in cut(arguments, 3):
            frames += self._delta({"type": "input_json_delta", "partial_json": piece})
        return frames + self._close()

    def server_tool(self, name: str, arguments: dict[str, Any]) -> list[bytes]:
        id_ = f"srvtoolu_{self.serial}"
        frames = self._tool("server_tool_use", id_, name, json.dumps(arguments))
        result = {"type": "web_search_result", "url": "https://example.org", "title": "Example"}
        block = {
            "type": "web_search_tool_result",
            "tool_use_id": id_,
            "content": [result | {"encrypted_content": "e", "page_age": None}],
        }
        return frames + self._open("result", block) + self._close()

    def finish(self, reason: str) -> list[bytes]:
        frames = self._close()
        delta = {"stop_reason": self._reasons.get(reason, reason), "stop_sequence": None}
        usage = {"output_tokens": self.counts.output} if self.with_usage else {"output_tokens": 0}
        frames.append(self._event("message_delta", delta=delta, usage=usage))
        return [*frames, self._event("message_stop")]

    def empty(self) -> list[bytes]:
        return self.finish("stop")

    def error(self, message: str, kind: str) -> list[bytes]:
        return [self._event("error", error={"type": kind, "message": message})]

    def whole(self) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if self.thinking:
            block = {"type": "thinking", "thinking": self.thinking, "signature": self.signature}
            content.append(block)
        if self.text_so_far:
            content.append({"type": "text", "text": self.text_so_far})
        content += [
            {
                "type": "tool_use",
                "id": call["id"],
                "name": call["name"],
                "input": as_object(call["arguments"]),
            }
            for call in self.calls
        ]
        reason = self._reasons.get(self.reason, self.reason)
        usage = self._usage(self.counts.output)
        return self._message() | {"content": content, "stop_reason": reason, "usage": usage}


class GeminiWriter(Writer):
    _reasons: ClassVar[dict[str, str]] = {
        "stop": "STOP",
        "tool_calls": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
    }

    def _chunk(self, parts: list[dict[str, Any]], reason: str = "") -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0}
        if parts:
            candidate["content"] = {"role": "model", "parts": parts}
        if reason:
            candidate["finishReason"] = self._reasons.get(reason, reason)
        body = {"candidates": [candidate], "modelVersion": self.model}
        body["responseId"] = f"gemini-{self.serial}"
        if self.with_usage:
            body["usageMetadata"] = {
                "promptTokenCount": self.counts.input,
                "candidatesTokenCount": self.counts.output,
                "totalTokenCount": self.counts.input + self.counts.output,
                "cachedContentTokenCount": self.counts.cached,
            }
        return body

    def text(self, text: str) -> list[bytes]:
        self.text_so_far += text
        return [_sse(self._chunk([{"text": text}]))]

    def think(self, text: str, signature: str = "") -> list[bytes]:
        self.thinking += text
        self.signature = signature
        return [_sse(self._chunk([{"text": text, "thought": True}]))]

    def _call_part(self, call: dict[str, Any]) -> dict[str, Any]:
        arguments = as_object(call["arguments"])
        part: dict[str, Any] = {"functionCall": {"name": call["name"], "args": arguments}}
        if call["signature"]:
            part["thoughtSignature"] = call["signature"]
        return part

    def call(self, id_: str, name: str, arguments: str, signature: str = "") -> list[bytes]:
        if as_object(arguments) is None:
            self.reason = "MALFORMED_FUNCTION_CALL"
            return []
        self.note_call(id_, name, arguments, signature)
        return [_sse(self._chunk([self._call_part(self.calls[-1])]))]

    def finish(self, reason: str) -> list[bytes]:
        return [_sse(self._chunk([{"text": ""}], self.reason or reason))]

    def empty(self) -> list[bytes]:
        body = self._chunk([])
        return [_sse(body | {"candidates": []})]

    def error(self, message: str, kind: str) -> list[bytes]:
        return [_sse({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}})]

    def whole(self) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        if self.thinking:
            parts.append({"text": self.thinking, "thought": True})
        if self.text_so_far:
            parts.append({"text": self.text_so_far})
        parts += [self._call_part(call) for call in self.calls]
        return self._chunk(parts, self.reason)


class OllamaWriter(Writer):
    _reasons: ClassVar[dict[str, str]] = {"tool_calls": "stop"}

    def __init__(self, model: str, with_usage: bool = True) -> None:
        super().__init__(model, with_usage, content_type="application/x-ndjson")

    def _chunk(self, message: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {
            "model": self.model,
            "created_at": "2026-11-21T10:00:00.000000Z",
            "message": {"role": "assistant", "content": "", **message},
            "done": False,
            **fields,
        }

    def text(self, text: str) -> list[bytes]:
        self.text_so_far += text
        return [_line(self._chunk({"content": text}))]

    def think(self, text: str, signature: str = "") -> list[bytes]:
        self.thinking += text
        return [_line(self._chunk({"thinking": text}))]

    def _call_body(self, call: dict[str, Any]) -> dict[str, Any]:
        arguments = as_object(call["arguments"])
        arguments = call["arguments"] if arguments is None else arguments
        return {"function": {"name": call["name"], "arguments": arguments}}

    def call(self, id_: str, name: str, arguments: str, signature: str = "") -> list[bytes]:
        self.note_call(id_, name, arguments)
        return [_line(self._chunk({"tool_calls": [self._call_body(self.calls[-1])]}))]

    def _end(self, reason: str) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "done": True,
            "done_reason": self._reasons.get(reason, reason),
            "total_duration": 1_000_000,
        }
        if self.with_usage:
            fields |= {"prompt_eval_count": self.counts.input, "eval_count": self.counts.output}
        return fields

    def finish(self, reason: str) -> list[bytes]:
        return [_line(self._chunk({}, **self._end(reason)))]

    def empty(self) -> list[bytes]:
        return [_line({"model": self.model, "done": True, "done_reason": "stop"})]

    def error(self, message: str, kind: str) -> list[bytes]:
        return [_line({"error": message})]

    def whole(self) -> dict[str, Any]:
        message: dict[str, Any] = {"content": self.text_so_far}
        if self.thinking:
            message["thinking"] = self.thinking
        if self.calls:
            message["tool_calls"] = [self._call_body(call) for call in self.calls]
        return self._chunk(message, **self._end(self.reason))


class ResponsesWriter(Writer):
    def __init__(self, model: str, with_usage: bool = True) -> None:
        super().__init__(model, with_usage)
        self.output: list[dict[str, Any]] = []
        self.sequence = itertools.count()

    def _event(self, kind: str, **fields: Any) -> bytes:
        body = {"type": kind, "sequence_number": next(self.sequence), **fields}
        return _sse(body, kind)

    def _response(self, status: str) -> dict[str, Any]:
        usage = {
            "input_tokens": self.counts.input,
            "input_tokens_details": {"cached_tokens": self.counts.cached},
            "output_tokens": self.counts.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.counts.input + self.counts.output,
        }
        is_done = status in {"completed", "incomplete"}
        return {
            "id": f"resp_{self.serial}",
            "object": "response",
            "created_at": 1760000000,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "model": self.model,
            "output": self.output if is_done else [],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "metadata": {},
            "usage": usage if is_done and self.with_usage else None,
        }

    def start(self) -> list[bytes]:
        response = self._response("in_progress")
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
        ]

    def _open(self, kind: str, item: dict[str, Any]) -> list[bytes]:
        if self.is_open == kind:
            return []
        frames = self._close()
        self.is_open = kind
        self.output.append(item)
        position = len(self.output) - 1
        added = item | {"status": "in_progress"}
        return [
            *frames,
            self._event("response.output_item.added", output_index=position, item=added),
        ]

    def _close(self) -> list[bytes]:
        if not self.is_open:
            return []
        position, item = len(self.output) - 1, self.output[-1]
        frames: list[bytes] = []
        place = {"item_id": item["id"], "output_index": position}
        if self.is_open == "message":
            part = item["content"][0]
            frames.append(
                self._event(
                    "response.output_text.done", **place, content_index=0, text=part["text"]
                )
            )
            frames.append(
                self._event("response.content_part.done", **place, content_index=0, part=part)
            )
        elif self.is_open == "reasoning":
            text = item["summary"][0]["text"]
            frames.append(
                self._event(
                    "response.reasoning_summary_text.done", **place, summary_index=0, text=text
                )
            )
        self.is_open = ""
        return [
            *frames,
            self._event("response.output_item.done", output_index=position, item=item),
        ]

    def text(self, text: str) -> list[bytes]:
        self.text_so_far += text
        frames: list[bytes] = []
        if self.is_open != "message":
            part = {"type": "output_text", "text": "", "annotations": []}
            item = {
                "id": f"msg_{self.serial}_{len(self.output)}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
            frames = self._open("message", item | {"content": []})
            self.output[-1] = item
            frames.append(
                self._event(
                    "response.content_part.added",
                    item_id=item["id"],
                    output_index=len(self.output) - 1,
                    content_index=0,
                    part=dict(part),
                )
            )
        item = self.output[-1]
        item["content"][0]["text"] += text
        delta = self._event(
            "response.output_text.delta",
            item_id=item["id"],
            output_index=len(self.output) - 1,
            content_index=0,
            delta=text,
            logprobs=[],
        )
        return [*frames, delta]

    def think(self, text: str, signature: str = "") -> list[bytes]:
        self.thinking += text
        frames: list[bytes] = []
        if self.is_open != "reasoning":
            item = {
                "id": f"rs_{self.serial}_{len(self.output)}",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": ""}],
            }
            frames = self._open("reasoning", item | {"summary": []})
            self.output[-1] = item
            frames.append(
                self._event(
                    "response.reasoning_summary_part.added",
                    item_id=item["id"],
                    output_index=len(self.output) - 1,
                    summary_index=0,
                    part={"type": "summary_text", "text": ""},
                )
            )
        item = self.output[-1]
        item["summary"][0]["text"] += text
        delta = self._event(
            "response.reasoning_summary_text.delta",
            item_id=item["id"],
            output_index=len(self.output) - 1,
            summary_index=0,
            delta=text,
        )
        return [*frames, delta]

    def call(self, id_: str, name: str, arguments: str, signature: str = "") -> list[bytes]:
        index = self.note_call(id_, name, arguments)
        item = {
            "id": f"fc_{self.serial}_{index}",
            "type": "function_call",
            "status": "completed",
            "call_id": id_,
            "name": name,
            "arguments": "",
        }
        frames = self._open(f"call {index}", dict(item))
        place = {"item_id": item["id"], "output_index": len(self.output) - 1}
        for piece in cut(arguments, 3):
            frames.append(
                self._event("response.function_call_arguments.delta", **place, delta=piece)
            )
        self.output[-1] = item | {"arguments": arguments}
        frames.append(
            self._event("response.function_call_arguments.done", **place, arguments=arguments)
        )
        return frames + self._close()

    def finish(self, reason: str) -> list[bytes]:
        frames = self._close()
        why = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(reason)
        if why is None:
            response = self._response("completed")
            return [*frames, self._event("response.completed", response=response)]
        response = self._response("incomplete") | {"incomplete_details": {"reason": why}}
        return [*frames, self._event("response.incomplete", response=response)]

    def empty(self) -> list[bytes]:
        return self.finish("stop")

    def error(self, message: str, kind: str) -> list[bytes]:
        response = self._response("failed") | {"error": {"code": kind, "message": message}}
        return [self._event("response.failed", response=response)]

    def whole(self) -> dict[str, Any]:
        self._close()
        return self._response("completed")


WRITERS: dict[str, type[Writer]] = {
    "openai": OpenAIWriter,
    "responses": ResponsesWriter,
    "anthropic": AnthropicWriter,
    "gemini": GeminiWriter,
    "ollama": OllamaWriter,
}


def error_body(dialect: DialectName, status: int, message: str) -> dict[str, Any]:
    """The body of an HTTP error, in the dialect's own form."""
    if dialect == "anthropic":
        kinds = {
            401: "authentication_error",
            402: "billing_error",
            403: "permission_error",
            404: "not_found_error",
            413: "request_too_large",
            429: "rate_limit_error",
            529: "overloaded_error",
        }
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
        error = {"type": kind, "message": message}
        return {"type": "error", "error": error, "request_id": "req_1"}
    if dialect == "gemini":
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED"}
        names |= {404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        name = names.get(status, "INTERNAL")
        return {"error": {"code": status, "message": message, "status": name}}
    if dialect == "ollama":
        return {"error": message}
    return {"error": {"message": message, "type": "error", "param": None, "code": None}}


def cut(text: str, pieces: int) -> list[str]:
    """Cut the text into about as many pieces; none of them empty."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[start : start + size] for start in range(0, len(text), size)]


def as_object(text: str) -> Any:
    """Parse the text when it is a JSON object; None otherwise."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def read_request(
    dialect: DialectName, body: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...], str, tuple[str, ...]]:
    """Tool results, user texts, system text and tool names, whatever the dialect."""
    reader = {
        "openai": _read_chat,
        "ollama": _read_chat,
        "anthropic": _read_anthropic,
        "gemini": _read_gemini,
        "responses": _read_responses,
    }[dialect]
    return reader(body)


def _read_chat(body: dict[str, Any]) -> Any:
    messages = body.get("messages", [])

    def of(role: str) -> tuple[str, ...]:
        return tuple(_texts(m.get("content")) for m in messages if m.get("role") == role)

    names = tuple(tool["function"]["name"] for tool in body.get("tools") or [])
    return of("tool"), of("user"), "".join(of("system")), names


def _read_anthropic(body: dict[str, Any]) -> Any:
    results: list[str] = []
    users: list[str] = []
    for message in body.get("messages", []):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_result":
                results.append(_texts(block.get("content")))
            elif block["type"] == "text" and message["role"] == "user":
                users.append(block["text"])
    names = tuple(tool.get("name", "") for tool in body.get("tools") or [])
    return tuple(results), tuple(users), _texts(body.get("system", "")), names


def _read_gemini(body: dict[str, Any]) -> Any:
    results: list[str] = []
    users: list[str] = []
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            answer = part.get("functionResponse") or part.get("function_response")
            if answer:
                results.append(json.dumps(answer.get("response")))
            elif content.get("role") == "user" and part.get("text"):
                users.append(part["text"])
    system = body.get("systemInstruction") or body.get("system_instruction") or {}
    names = [
        declared["name"]
        for tool in body.get("tools") or []
        for declared in tool.get("functionDeclarations") or tool.get("function_declarations") or []
    ]
    return tuple(results), tuple(users), _texts(system.get("parts")), tuple(names)


def _read_responses(body: dict[str, Any]) -> Any:
    given = body.get("input", [])
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    results = tuple(
        _texts(item.get("output")) for item in items if item.get("type") == "function_call_output"
    )
    users = tuple(_texts(item.get("content")) for item in items if item.get("role") == "user")
    system = str(body.get("instructions") or "")
    system += "".join(_texts(i.get("content")) for i in items if i.get("role") == "system")
    names = tuple(tool.get("name", "") for tool in body.get("tools") or [])
    return results, users, system, names
