"""What the model sees: messages and their parts, and the rules a history must keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from desktop_agent.core.ids import MessageId, NoteId, new_message_id
from desktop_agent.core.parts.containment import Containment
from desktop_agent.core.parts.facts import CutShort, Facts
from desktop_agent.core.parts.origins import Origin
from desktop_agent.core.parts.values import Value

Role = Literal["user", "assistant", "tool"]

UNKNOWN_OUTCOME = (
    "The app ended while this tool was running, so its outcome is unknown. "
    "Check what was done before doing it again."
)


class TextPart(Value, frozen=True):
    """Plain text, Markdown by convention.

    `origin` says what it is in a user message; an answer, and a message of before there were
    origins, has none.
    """

    text: str
    origin: Origin | None = None


class ThinkingPart(Value, frozen=True):
    """A model's reasoning. `signature` goes back to the provider unchanged."""

    text: str
    signature: str = ""
    is_redacted: bool = False


class ImagePart(Value, frozen=True):
    """An image, as the bytes of its file."""

    media_type: str
    data: bytes
    name: str = ""


class ToolCall(Value, frozen=True):
    """A model's request to run a tool.

    `raw` holds the provider's text when it was not a JSON object; `arguments` is then empty.
    `signature` goes back to the provider unchanged (Gemini's thought signature).
    """

    id: str
    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    raw: str = ""
    signature: str = ""


class DiffDisplay(Value, frozen=True):
    """A change of one file, as a unified diff; in its place may stand why there is none."""

    path: str
    patch: str
    added: int
    removed: int
    is_new: bool = False

    @property
    def is_patch(self) -> bool:
        """Whether it is a diff, which even an empty one is not."""
        return self.patch.startswith("--- ")

    @property
    def is_counted(self) -> bool:
        """Whether its lines are known."""
        return self.is_patch or not self.patch or bool(self.added or self.removed)


class CommandDisplay(Value, frozen=True):
    """A command as it will be run, and where; without `containment` there is no sandbox."""

    command: str
    directory: str
    parts: tuple[str, ...] = ()
    containment: Containment | None = None


class OutputDisplay(Value, frozen=True):
    """What a command printed, already bounded; `file` has the whole of it when it was cut."""

    text: str
    exit_code: int | None = None
    seconds: float = 0.0
    file: str = ""


class FilesDisplay(Value, frozen=True):
    """Files that were read or found, with a word on the result such as `84 lines`."""

    paths: tuple[str, ...]
    summary: str = ""


class UrlDisplay(Value, frozen=True):
    """An address that will be, or was, fetched."""

    url: str
    method: str = "GET"


Display = DiffDisplay | CommandDisplay | OutputDisplay | FilesDisplay | UrlDisplay


class ToolResult(Value, frozen=True):
    """What a tool call gave. `display` is for the user and never goes to the model; `facts` say
    the same as the text, as values, for code that must not parse it.
    """

    call_id: str
    text: str
    is_error: bool = False
    display: Display | None = None
    images: tuple[ImagePart, ...] = ()
    facts: Facts | None = None


Part = TextPart | ThinkingPart | ImagePart | ToolCall | ToolResult


class Message(Value, frozen=True):
    """One entry of a history. `note_ids` names the notes that a user message was made of."""

    id: MessageId
    role: Role
    parts: tuple[Part, ...]
    sender: str = ""
    note_ids: tuple[NoteId, ...] = ()
    created_at: float = 0.0

    @property
    def text(self) -> str:
        """The words of all text parts; those of a user message are of several, so apart."""
        texts = (part.text for part in self.parts if isinstance(part, TextPart))
        return ("\n\n" if self.role == "user" else "").join(texts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls in this message, in the model's order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results in this message."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def owes_reply(history: Sequence[Message]) -> bool:
    """Whether the model has to speak next: the last message is a user's or a tool's."""
    return bool(history) and history[-1].role != "assistant"


def open_calls(history: Iterable[Message]) -> tuple[ToolCall, ...]:
    """Return the calls that have no result yet, in order."""
    calls: dict[str, ToolCall] = {}
    for message in history:
        for call in message.tool_calls:
            calls[call.id] = call
        for result in message.results:
            calls.pop(result.call_id, None)
    return tuple(calls.values())


def close_open_calls(history: Sequence[Message], text: str = UNKNOWN_OUTCOME) -> list[Message]:
    """Return the history with every tool call answered, so that any provider accepts it.

    A missing result becomes an error result in the tool message that follows the call; where
    there is none, in a new one.
    """
    answered = {result.call_id for message in history for result in message.results}
    closed: list[Message] = []
    pending: list[ToolResult] = []
    for message in history:
        if pending and message.role == "tool":
            merged = (*message.parts, *pending)
            message = msgspec.structs.replace(message, parts=merged)
            pending = []
        elif pending:
            closed.append(_results_message(pending))
            pending = []
        closed.append(message)
        pending = [
            ToolResult(call.id, text, is_error=True, facts=CutShort())
            for call in message.tool_calls
            if call.id not in answered
        ]
    if pending:
        closed.append(_results_message(pending))
    return closed


def _results_message(results: Sequence[ToolResult]) -> Message:
    return Message(new_message_id(), "tool", tuple(results))


class PutAside(Value, frozen=True):
    """A tool result's text was replaced by this one; what it gave beside text is gone with it."""

    call_id: str
    text: str


def with_aside(history: Sequence[Message], aside: Iterable[PutAside]) -> list[Message]:
    """Return the history with those results replaced; messages without one stay the same values."""
    texts = {one.call_id: one.text for one in aside}
    return [_replaced(message, texts) for message in history] if texts else list(history)


def compacted(
    history: Sequence[Message],
    aside: Iterable[PutAside],
    summary: Message | None,
    kept: Iterable[MessageId],
) -> list[Message]:
    """Return the history after a compaction.

    With a summary only the messages `kept` stay, and it stands where the first of the others was.
    """
    shorter = with_aside(history, aside)
    if summary is None:
        return shorter
    wanted = frozenset(kept)
    place = next((at for at, one in enumerate(shorter) if one.id not in wanted), len(shorter))
    rest = (message for message in shorter[place:] if message.id in wanted)
    return [*shorter[:place], summary, *rest]


def _replaced(message: Message, texts: Mapping[str, str]) -> Message:
    if message.role != "tool" or not any(one.call_id in texts for one in message.results):
        return message
    parts = tuple(_part(part, texts) for part in message.parts)
    return msgspec.structs.replace(message, parts=parts)


def _part(part: Part, texts: Mapping[str, str]) -> Part:
    if not isinstance(part, ToolResult) or part.call_id not in texts:
        return part
    return msgspec.structs.replace(part, text=texts[part.call_id], images=(), display=None)
