"""Takes keys out of what comes from a model, before anybody keeps or shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import new_call_id
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.keys.redaction import redact
from desktop_agent.core.messages import TextPart, ThinkingPart, ToolCall
from desktop_agent.core.requests import Answer, Delta, Retrying, StreamItem


def redact_fault(fault: Fault) -> Fault:
    """Return the fault without keys in the provider's words."""
    return msgspec.structs.replace(
        fault, message=redact(fault.message), details=redact(fault.details)
    )


class AnswerRedactor:
    """Hides known keys in one stream. What only looks like a key is the model's to say."""

    def __init__(self) -> None:
        self._kind: Literal["text", "thinking"] = "text"
        self._stream = KEYS.stream()

    def take(self, item: StreamItem) -> Iterator[StreamItem]:
        """Yield the item without keys; text may come with a later item."""
        match item:
            case Delta(kind, text):
                if kind != self._kind:
                    yield from self.rest()
                    self._kind, self._stream = kind, KEYS.stream()
                yield from self._shown(self._stream.feed(text))
            case Answer(parts=parts):
                yield from self.rest()
                yield msgspec.structs.replace(item, parts=tuple(map(_part, parts)))
            case Retrying(fault=fault):
                yield msgspec.structs.replace(item, fault=redact_fault(fault))
            case _:
                yield item

    def rest(self) -> Iterator[Delta]:
        """Yield the text that was held back: what follows it is no more of it."""
        yield from self._shown(self._stream.finish())

    def _shown(self, text: str) -> Iterator[Delta]:
        if text:
            yield Delta(self._kind, text)


def _part(part: TextPart | ThinkingPart | ToolCall) -> TextPart | ThinkingPart | ToolCall:
    match part:
        case TextPart(text):
            return TextPart(KEYS.hide(text))
        case ThinkingPart(text, signature):
            shown = KEYS.hide(text)
            # Providers refuse thinking that is not as they signed it.
            is_signed = shown == text and not KEYS.find(signature)
            return ThinkingPart(shown, signature if is_signed else "", part.is_redacted)
        case ToolCall():
            return _call(part)


def _call(call: ToolCall) -> ToolCall:
    return ToolCall(
        new_call_id() if KEYS.find(call.id) else call.id,
        KEYS.hide(call.name),
        KEYS.hide_all(call.arguments),
        KEYS.hide(call.raw),
        "" if KEYS.find(call.signature) else call.signature,
    )
