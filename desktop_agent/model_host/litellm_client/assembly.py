"""Puts litellm's chunks together into one Answer, and repairs what providers get wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from desktop_agent.core.ids import new_call_id
from desktop_agent.core.messages import TextPart, ThinkingPart, ToolCall
from desktop_agent.core.requests import Answer, Delta, FinishReason
from desktop_agent.core.usage import Usage
from desktop_agent.model_host.litellm_client.exchange import SIGNATURE_IN_ID
from desktop_agent.model_host.litellm_client.messages import Family, seal
from desktop_agent.model_host.litellm_client.responses_calls import NOT_RECEIVED
from desktop_agent.model_host.litellm_client.surrogates import joined, whole
from desktop_agent.model_host.litellm_client.tool_arguments import read_arguments

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "content_filter": "filtered",
    "content_filtered": "filtered",
    "refusal": "filtered",
    "sensitive": "filtered",
    "guardrail_intervened": "filtered",
    "prompt_blocked": "filtered",
    "model_context_window_exceeded": "length",
    "done": "stop",
    "complete": "stop",
}
_FILTERS = (
    "safety",
    "recitation",
    "blocklist",
    "prohibited",
    "spii",
    "model_armor",
    "language",
    "image_",
)

# Tools that a provider runs itself, and still reports like calls.
_SERVER_TOOLS = (
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search_tool",
    "nova_code_interpreter",
    "nova_grounding",
)


class _Call(msgspec.Struct):
    id: str
    name: str
    index: int
    arguments: list[str] = []
    signature: str = ""


class _Text(msgspec.Struct):
    kind: str  # text, thinking or redacted
    pieces: list[str] = []
    signature: str = ""
    half: str = ""  # of a character


class Assembly:
    """One answer being put together. `tools` are the names we registered."""

    def __init__(
        self, family: Family, tools: Iterable[str], used_ids: set[str], maker: str = ""
    ) -> None:
        """`maker` is who makes the signatures, the family itself where nobody is named."""
        self._family: Family = family
        self._maker = maker or family
        self._tools = frozenset(tools)
        self._used_ids = used_ids
        self._parts: list[_Text | _Call] = []
        self._reasoning_items: list[Any] = []
        # Some arguments can't be read: they may hold those of a call that has none.
        self._has_surplus = False
        # litellm's word for the end, which may be made up, and the provider's own.
        self.finish = self.reason = ""
        self.characters = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all has come yet."""
        return not self._parts

    def take(self, chunk: Any) -> list[Delta]:
        """Take one of litellm's chunks, return what there is to show."""
        deltas: list[Delta] = []
        for choice in getattr(chunk, "choices", None) or ():
            if getattr(choice, "index", 0) not in (0, None):
                continue
            self.finish = getattr(choice, "finish_reason", None) or self.finish
            delta = getattr(choice, "delta", None) or getattr(choice, "message", None)
            if delta is not None:
                self._take_delta(delta, deltas)
        return deltas

    def _take_delta(self, delta: Any, deltas: list[Delta]) -> None:
        blocks = getattr(delta, "thinking_blocks", None)
        thinking = getattr(delta, "reasoning_content", None)
        if blocks:
            for block in blocks:
                self._take_block(block, deltas)
        elif isinstance(thinking, str) and thinking:
            self._add_text("thinking", thinking, deltas)
        text = getattr(delta, "content", None)
        if isinstance(text, str) and text:
            self._add_text("text", text, deltas)
        for call in getattr(delta, "tool_calls", None) or ():
            self._take_call(call)
        items = getattr(delta, "reasoning_items", None)
        if items:
            self._reasoning_items += items
        fields = getattr(delta, "provider_specific_fields", None)
        if isinstance(fields, dict) and self._family == "gemini":
            for signature in fields.get("thought_signatures") or ():
                self._sign_thought(signature)

    def _take_block(self, block: Any, deltas: list[Delta]) -> None:
        block = block if isinstance(block, dict) else vars(block)
        if block.get("type") == "redacted_thinking":
            self._parts.append(_Text("redacted", signature=block.get("data") or ""))
            return
        text = block.get("thinking") or ""
        if text:
            self._add_text("thinking", text, deltas)
        signature = block.get("signature")
        if signature:
            last = self._parts[-1] if self._parts else None
            if not isinstance(last, _Text) or last.kind != "thinking":
                last = _Text("thinking")
                self._parts.append(last)
            last.signature += signature

    def _add_text(self, kind: str, text: str, deltas: list[Delta]) -> None:
        last = self._parts[-1] if self._parts else None
        # A signature ends a block of thinking: the next text belongs to another.
        if not isinstance(last, _Text) or last.kind != kind or last.signature:
            last = _Text(kind)
            self._parts.append(last)
        text, last.half = joined(last.half, text)
        if not text:
            return
        last.pieces.append(text)
        self.characters += len(text)
        deltas.append(Delta("thinking" if kind == "thinking" else "text", text))

    def _sign_thought(self, signature: str) -> None:
        for part in reversed(self._parts):
            if isinstance(part, _Text) and part.kind == "thinking":
                part.signature = signature
                return
        self._parts.append(_Text("thinking", signature=signature))

    def _take_call(self, piece: Any) -> None:
        function = getattr(piece, "function", None)
        name = getattr(function, "name", None) or ""
        arguments = getattr(function, "arguments", None) or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        id_, _, signature = str(getattr(piece, "id", None) or "").partition(SIGNATURE_IN_ID)
        call = self._open_call(getattr(piece, "index", None), id_, name)
        call.arguments.append(arguments)
        self.characters += len(arguments)
        fields = getattr(piece, "provider_specific_fields", None) or getattr(
            function, "provider_specific_fields", None
        )
        if isinstance(fields, dict):
            signature = fields.get("thought_signature") or signature
        call.signature = signature or call.signature

    def _open_call(self, index: int | None, id_: str, name: str) -> _Call:
        """Find the call that a piece belongs to, or begin one.

        Ollama gives every call the index 0; some servers repeat the id or the name in each
        piece, others send neither.
        """
        calls = [part for part in self._parts if isinstance(part, _Call)]
        if index is None:
            index = calls[-1].index if calls and not name else len(calls)
        same = next((call for call in reversed(calls) if call.index == index), None)
        if same is not None:
            is_other = bool(id_ and same.id and id_ != same.id and name)
            if not is_other and not id_ and name and same.name and _is_whole(same):
                is_other = True
            if not is_other:
                same.id = same.id or id_
                same.name = same.name or name
                return same
        call = _Call(id_, name, index)
        self._parts.append(call)
        return call

    def answer(self, usage: Usage) -> tuple[list[Delta], Answer]:
        """Return the whole answer, and what is still to be shown of it."""
        finish = finish_of(self.reason)
        deltas: list[Delta] = []
        parts: list[TextPart | ThinkingPart | ToolCall] = []
        calls = [part for part in self._parts if isinstance(part, _Call)]
        self._has_surplus = any(not _is_readable(call) for call in calls)
        for part in self._parts:
            made = (
                self._made_call(part, finish, deltas)
                if isinstance(part, _Call)
                else (self._made_text(part))
            )
            if made is not None:
                parts.append(made)
        if self._reasoning_items:
            parts = self._with_reasoning(parts)
        has_calls = any(isinstance(part, ToolCall) for part in parts)
        if has_calls and finish in {"stop", "unknown"}:
            finish = "tool_calls"
        elif finish == "tool_calls" and not has_calls:
            finish = "stop"
        return deltas, Answer(tuple(parts), finish, usage)

    def _made_text(self, part: _Text) -> TextPart | ThinkingPart:
        text = "".join(part.pieces)
        if part.kind == "text":
            return TextPart(text)
        is_redacted = part.kind == "redacted"
        return ThinkingPart(text, seal(self._maker, part.signature), is_redacted)

    def _made_call(
        self, call: _Call, finish: FinishReason, deltas: list[Delta]
    ) -> TextPart | ToolCall | None:
        text = whole("".join(call.arguments))
        arguments, raw = read_arguments(text)
        if call.name not in self._tools and _is_server_tool(call):
            note = f"\n\n*The provider ran its own tool {call.name}.*\n\n"
            deltas.append(Delta("text", note))
            return TextPart(note)
        is_missing = not text.strip()
        if (raw or is_missing) and finish in {"length", "filtered"}:
            return None  # cut off in the middle: it was never whole, and must not be run
        if not call.name:
            return None  # nobody could tell what to run
        if is_missing and (finish == "unknown" or self._has_surplus):
            raw = NOT_RECEIVED
        id_ = call.id
        if not id_ or id_ in self._used_ids:
            id_ = new_call_id()
        self._used_ids.add(id_)
        return ToolCall(id_, call.name, arguments, raw, seal(self._maker, call.signature))

    def _with_reasoning(
        self, parts: list[TextPart | ThinkingPart | ToolCall]
    ) -> list[TextPart | ThinkingPart | ToolCall]:
        signature = seal(self._maker, json.dumps(_plain(self._reasoning_items)))
        for position, part in enumerate(parts):
            if isinstance(part, ThinkingPart):
                parts[position] = ThinkingPart(part.text, signature)
                return parts
        return [ThinkingPart("", signature), *parts]


def _is_whole(call: _Call) -> bool:
    text = "".join(call.arguments)
    return bool(text.strip()) and not read_arguments(text)[1]


def _is_readable(call: _Call) -> bool:
    return not read_arguments(whole("".join(call.arguments)))[1]


def finish_of(reason: str) -> FinishReason:
    """Return why the answer ended; "unknown" for a reason that may be a failure."""
    name = reason.lower()
    return _FINISH.get(name) or ("filtered" if name.startswith(_FILTERS) else "unknown")


def _is_server_tool(call: _Call) -> bool:
    return call.id.startswith("srvtoolu_") or call.name.startswith(_SERVER_TOOLS)


def _plain(items: list[Any]) -> list[Any]:
    return [item.model_dump() if hasattr(item, "model_dump") else item for item in items]
