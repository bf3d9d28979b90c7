"""How many tokens a request takes: the provider's last count, and an estimate of what is new."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from desktop_agent.core.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCall
from desktop_agent.core.requests import ModelRequest, ToolSpec
from desktop_agent.core.usage import Calibration

# Of UTF-8, for a token: prose has about 4.2, code and JSON 3 to 3.5, Chinese 3.
_BYTES_PER_TOKEN = 3
_IMAGE_TOKENS = 1_500
_MESSAGE_TOKENS = 8
# A provider that counts less than this share of the estimate, or more than that, is not believed.
_LOWEST, _HIGHEST = 0.5, 4.0


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too many than too few."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size // _BYTES_PER_TOKEN + 1


def message_tokens(message: Message) -> int:
    """Estimate the tokens of a message."""
    return _MESSAGE_TOKENS + sum(map(part_tokens, message.parts))


def tools_tokens(tools: Sequence[ToolSpec]) -> int:
    """Estimate the tokens of what tools are described with."""
    return text_tokens(msgspec.json.encode(tools).decode("utf-8"))


def part_tokens(part: Part) -> int:
    """Estimate the tokens of a part of a message."""
    match part:
        case TextPart():
            return text_tokens(part.text)
        case ThinkingPart():
            return text_tokens(part.text) + text_tokens(part.signature)
        case ImagePart():
            return _IMAGE_TOKENS
        case ToolCall():
            words = part.raw or json.dumps(part.arguments, ensure_ascii=False)
            return _MESSAGE_TOKENS + text_tokens(words) + text_tokens(part.signature)
        case _:
            pictures = len(part.images) * _IMAGE_TOKENS
            return _MESSAGE_TOKENS + text_tokens(part.text) + pictures


class _Measured(NamedTuple):
    """What was measured last: the next request mostly adds to it, and has the same tools."""

    messages: tuple[Message, ...] = ()
    said: int = 0
    tools: tuple[ToolSpec, ...] = ()
    for_tools: int = 0


_NOTHING = _Measured(for_tools=tools_tokens(()))


class Estimate:
    """Of one agent's requests. `factor` is what the provider counts for an estimated token."""

    def __init__(self, calibration: Calibration | None = None) -> None:
        """`calibration` is what was learned with this model before, in whatever bounds."""
        known = calibration or Calibration()
        self.model, self.api_base = known.model, known.api_base
        self._lowest = min(1.0, max(_LOWEST, known.lowest))
        self.factor = min(max(known.factor, self._lowest), _HIGHEST)
        # The last request that was counted, as long as the next one only adds to it.
        self._counted: tuple[int, int] | None = None
        self._known = _NOTHING

    @property
    def calibration(self) -> Calibration:
        """What was learned by now."""
        return Calibration(self.model, self.api_base, self.factor, self._lowest)

    def is_of(self, request: ModelRequest) -> bool:
        """Whether it is about the model that a request is for."""
        return (self.model, self.api_base) == (request.model, request.api_base)

    def tokens(self, request: ModelRequest) -> int:
        """Return what a request will take."""
        raw = self._raw(request)
        if self._counted is None:
            return math.ceil(raw * self.factor)
        known, tokens = self._counted
        more = raw - known
        return tokens + math.ceil(more * (max(1.0, self.factor) if more > 0 else self.factor))

    def of_message(self, message: Message) -> int:
        """Return what a message of the history takes."""
        return math.ceil(message_tokens(message) * self.factor)

    def of_part(self, part: Part) -> int:
        """Return what a part of a message takes."""
        return math.ceil(part_tokens(part) * self.factor)

    def of_text(self, text: str) -> int:
        """Return what a text takes."""
        return math.ceil(text_tokens(text) * self.factor)

    def counted(self, request: ModelRequest, tokens: int | None) -> None:
        """Take what the provider counted for a request, if it did."""
        if tokens is None:
            return
        raw = self._raw(request)
        # Some count wrongly, or without what they had in their cache.
        believed = min(max(float(tokens), raw * self._lowest), raw * _HIGHEST)
        self.factor = believed / raw
        self._counted = (raw, math.ceil(believed))

    def refused(self, request: ModelRequest, window: int, counted: int | None = None) -> None:
        """A request was too long for this window: whatever was estimated, it took more.

        What the provider `counted` is believed within the usual bounds.
        """
        raw = self._raw(request)
        share = window / raw
        self._lowest = min(1.0, max(self._lowest, share))
        if counted is not None and counted > window:
            share = self.factor = counted / raw
        self.factor = min(max(self.factor, share, self._lowest), _HIGHEST)
        self._counted = None

    def forget_count(self) -> None:
        """What was counted last is not the beginning of the next request any more."""
        self._counted = None
        self._known = _NOTHING

    def _raw(self, request: ModelRequest) -> int:
        known, count = self._known, len(self._known.messages)
        if request.messages[:count] == known.messages:
            said = known.said + sum(map(message_tokens, request.messages[count:]))
        else:
            said = sum(map(message_tokens, request.messages))
        is_same = request.tools == known.tools
        tools = known.for_tools if is_same else tools_tokens(request.tools)
        self._known = _Measured(request.messages, said, request.tools, tools)
        return text_tokens(request.system) + tools + said
