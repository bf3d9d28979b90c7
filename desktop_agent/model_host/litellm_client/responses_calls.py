"""Tool calls in a stream of OpenAI's Responses API: each is passed on once, when it is whole."""

from __future__ import annotations

import json
from typing import Any

import msgspec

Event = dict[str, Any]

# What stands for arguments that the provider never sent; it is no JSON, so no tool runs with it.
NOT_RECEIVED = "(the provider did not send the arguments)"
OTHER_SENT = "(the provider sent other arguments before)"
HELD_LIMIT = 4_000_000

_CALLS = frozenset({"function_call", "custom_tool_call"})
_PIECES = frozenset(
    {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}
)
_ENDS = frozenset({"response.function_call_arguments.done", "response.custom_tool_call_input.done"})
_OVER = frozenset({"response.completed", "response.incomplete"})


class _Call(msgspec.Struct):
    index: Any
    item_id: Any
    early: str = ""
    pieces: list[str] = []
    size: int = 0
    has_end: bool = False
    passed: str = ""


class ResponsesCalls:
    """Holds the pieces of arguments back until the provider says which they are.

    Servers send them as pieces, with the call, only at its end, or in the whole answer; litellm
    reads the pieces alone.
    """

    def __init__(self) -> None:
        self._calls: dict[Any, _Call] = {}

    def take(self, event: Event) -> list[Event] | None:
        """Return what is to be passed on in the event's place; None: the event as it is."""
        kind = event.get("type")
        found = event.get("item")
        item: Event = found if isinstance(found, dict) else {}
        is_call = item.get("type") in _CALLS
        if kind in _PIECES:
            return self._add(event)
        if kind in _ENDS:
            text = event.get("arguments", event.get("input"))
            return self._finish(self._find(event), text) if isinstance(text, str) else []
        if kind == "response.output_item.added" and is_call:
            return [self._begin(event, dict(item))]
        if kind == "response.output_item.done" and is_call:
            return [*self._whole({"item_id": item.get("id")} | event, item), event]
        if kind in _OVER:
            return [*self._rest(event), event]
        return None

    def _find(self, event: Event) -> _Call | None:
        found = self._calls.get(event.get("output_index"))
        if found is None:
            same = (c for c in self._calls.values() if c.item_id == event.get("item_id"))
            found = next(same, None)
        return found

    def _begin(self, event: Event, item: Event) -> Event:
        index = event.get("output_index", len(self._calls))
        text = _text_of(item) or event.get("arguments")
        call = _Call(index, item.get("id"), text if isinstance(text, str) else "")
        self._calls[index] = call
        name = "input" if item.get("type") == "custom_tool_call" else "arguments"
        begun = {key: value for key, value in event.items() if key != "arguments"}
        return begun | {"output_index": index, "item": item | {name: ""}}

    def _add(self, event: Event) -> list[Event]:
        call, piece = self._find(event), event.get("delta")
        if call is None or not isinstance(piece, str) or not piece:
            return []
        call.pieces.append(piece)
        call.size += len(piece)
        # Arguments of that length are the end of the answer, whatever they say.
        return self._pass(call, "".join(call.pieces)) if call.size > HELD_LIMIT else []

    def _whole(self, event: Event, item: Event) -> list[Event]:
        call = self._find(event)
        begun: list[Event] = []
        if call is None:
            added = event | {"type": "response.output_item.added"}
            begun = [self._begin(added, dict(item))]
            call = self._calls[begun[0]["output_index"]]
        return [*begun, *self._finish(call, _text_of(item))]

    def _finish(self, call: _Call | None, text: str | None) -> list[Event]:
        """Pass on the arguments, as soon as the provider said which they are.

        `text` is what it says at the end; None when it says nothing. What disagrees with what
        came before is not JSON any more when it is passed on.
        """
        if call is None:
            return []
        call.has_end = call.has_end or text is not None
        earlier = call.passed or "".join(call.pieces) or call.early
        if text and earlier not in {"", "{}"} and not _is_same(text, earlier):
            return self._pass(call, f"{text} {OTHER_SENT}")
        return self._pass(call, text or earlier) if text or (earlier and call.has_end) else []

    def _rest(self, event: Event) -> list[Event]:
        response = event.get("response")
        output = response.get("output") if isinstance(response, dict) else None
        passed: list[Event] = []
        for position, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict) and item.get("type") in _CALLS:
                passed += self._whole(_place(event, position, item), item)
        for call in self._calls.values():
            said = "".join(call.pieces) or call.early
            if not call.passed and (said or not call.has_end):
                passed += self._pass(call, said or NOT_RECEIVED)
        return passed

    def _pass(self, call: _Call, text: str) -> list[Event]:
        if call.passed and not text.endswith(OTHER_SENT):
            return []
        call.passed += text
        return [
            {
                "type": "response.function_call_arguments.delta",
                "item_id": call.item_id,
                "output_index": call.index,
                "delta": text,
            }
        ]


def _place(event: Event, position: int, item: Event) -> Event:
    return {
        "type": event.get("type"),
        "output_index": position,
        "item_id": item.get("id"),
        "item": item,
    }


def _is_same(one: str, other: str) -> bool:
    if one.startswith(other):
        return True  # some pieces were left out, and the end makes up for them
    try:
        return json.loads(one) == json.loads(other)
    except (ValueError, RecursionError):
        return False


def _text_of(item: Event) -> str | None:
    text = item.get("arguments", item.get("input"))
    return text if isinstance(text, str) else None
