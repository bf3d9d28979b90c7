"""Tool calls in a stream as Anthropic's whose arguments came with the call, not in pieces."""

from __future__ import annotations

import json
from typing import Any

Event = dict[str, Any]


class AnthropicCalls:
    """Makes a piece of the arguments that came with a call alone: litellm reads the pieces alone.

    The call would run without arguments.
    """

    def __init__(self) -> None:
        self._given: dict[int, dict[str, Any]] = {}

    def take(self, event: Event) -> list[Event] | None:
        """Return what is to be passed on in the event's place; None: the event as it is."""
        if not isinstance(index := event.get("index"), int):
            return None
        match event:
            case {"type": "content_block_start", "content_block": {"type": "tool_use", **block}}:
                if isinstance(given := block.get("input"), dict) and given:
                    self._given[index] = given
            case {"type": "content_block_delta", "delta": {"partial_json": str(text)}} if text:
                self._given.pop(index, None)
            case {"type": "content_block_stop"} if index in self._given:
                text = json.dumps(self._given.pop(index))
                piece = {"type": "input_json_delta", "partial_json": text}
                return [{"type": "content_block_delta", "index": index, "delta": piece}, event]
        return None
