"""Text in a stream of OpenAI's Responses API that comes only at its end."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]

_DELTA = "response.output_text.delta"
_NAMES = ("text", "refusal")


class ResponsesTexts:
    """Makes pieces of text that came in none: litellm reads the pieces alone.

    Servers say a text again when it ends, with its item, and in the whole answer. What says the
    first text of a stream is what is read in all of it, so that nothing is shown twice.
    """

    def __init__(self) -> None:
        self._source = ""

    def take(self, event: Event) -> list[Event]:
        """Return what is to be passed on before the event."""
        kind = str(event.get("type"))
        if kind == _DELTA:
            self._source = self._source or kind
        if self._source not in ("", kind) or not (texts := _texts(kind, event)):
            return []
        self._source = kind
        place = {"item_id": "", "output_index": 0, "content_index": 0, "logprobs": []}
        place |= {name: event[name] for name in place if name in event}
        return [place | {"type": _DELTA, "delta": text} for text in texts]


def _texts(kind: str, event: Event) -> list[str]:
    match event:
        case _ if kind in {"response.output_text.done", "response.refusal.done"}:
            parts: list[Any] = [event]
        case {"item": {"type": "message", "content": [*parts]}} if kind.endswith("item.done"):
            pass
        case {"response": {"output": [*items]}} if kind.endswith((".completed", ".incomplete")):
            messages = [one for one in items if isinstance(one, dict)]
            found = [one.get("content") for one in messages if one.get("type") == "message"]
            parts = [part for content in found if isinstance(content, list) for part in content]
        case _:
            return []
    said = [part.get(name) for part in parts if isinstance(part, dict) for name in _NAMES]
    return [text for text in said if isinstance(text, str) and text]
