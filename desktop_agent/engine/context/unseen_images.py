"""Images that a provider refuses: the history goes on without them, else nothing would any more."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import MessageId
from desktop_agent.core.messages import ImagePart, Message, Part, TextPart, ToolResult
from desktop_agent.core.parts.origins import AppNotice
from desktop_agent.core.requests import ModelRequest

_KINDS = frozenset({"bad_request", "server", "not_found", "too_large"})
# "This model does not support image input", "image exceeds 5 MB maximum", "unknown variant
# `image_url`", and Groq's "messages.3.content: value must be a string".
_ABOUT_IMAGES = re.compile(r"image|mmproj|multi-?modal|content\b.{0,60}must be a string", re.I)
_READ = 4_000
_NOTE = "[An image was here. The model's provider refused it, so you do not see it.]"


class UnseenImages:
    """Of one agent's history; another model may see what one does not."""

    def __init__(self) -> None:
        self._asked = ("", "")
        # What stands for each of these messages, and of which value that was made.
        self._without: dict[MessageId, tuple[Message, Message]] = {}

    def left_out(self, request: ModelRequest) -> ModelRequest:
        """Return the request without the images that were refused."""
        if self._asked != (request.model, request.api_base):
            self._asked = (request.model, request.api_base)
            self._without.clear()
        if not self._without:
            return request
        return msgspec.structs.replace(request, messages=tuple(map(self._shown, request.messages)))

    def refused(self, request: ModelRequest, fault: Fault) -> bool:
        """Leave out all images of a request if it was refused for one; False if it was not."""
        words = f"{fault.message[:_READ]}\n{fault.details[:_READ]}"
        if fault.kind not in _KINDS or not _ABOUT_IMAGES.search(words):
            return False
        seen = [message for message in request.messages if _images(message)]
        if not seen:  # it was about something else, and they may be seen after all
            self._without.clear()
        for message in seen:
            self._without[message.id] = (message, _blind(message))
        return bool(seen)

    def _shown(self, message: Message) -> Message:
        known = self._without.get(message.id)
        if known is None:
            return message
        if known[0] is not message:  # a compaction has changed it
            known = self._without[message.id] = (message, _blind(message))
        return known[1]


def _images(message: Message) -> Sequence[Part]:
    return [
        part
        for part in message.parts
        if isinstance(part, ImagePart) or (isinstance(part, ToolResult) and part.images)
    ]


def _blind(message: Message) -> Message:
    return msgspec.structs.replace(message, parts=tuple(map(_without_image, message.parts)))


def _without_image(part: Part) -> Part:
    if isinstance(part, ImagePart):
        return TextPart(_NOTE, AppNotice())
    if isinstance(part, ToolResult) and part.images:
        text = f"{part.text}\n\n{_NOTE}" if part.text else _NOTE
        return msgspec.structs.replace(part, text=text, images=())
    return part
