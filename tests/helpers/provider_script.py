"""What a loopback provider answers: the steps that a script is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Say:
    """Answer with text, cut into `chunks` deltas of about equal length."""

    text: str
    chunks: int = 3


@dataclass(frozen=True)
class Think:
    """Reason first. The signature goes with dialects that have one (Anthropic, Gemini)."""

    text: str
    signature: str = "c2lnbmF0dXJl"
    chunks: int = 2


@dataclass(frozen=True)
class RedactedThink:
    """Anthropic's `redacted_thinking` block; shown as nothing in the other dialects."""

    data: str = "ZW5jcnlwdGVk"


class Calls:
    """Call tools in parallel: `Calls(("read", {"path": "a"}), ("shell", {"command": "ls"}))`.

    `ids` sets the calls' ids (an empty one is sent as such). Arguments given as a string are
    sent as they are, JSON or not. `signature` is Gemini's thought signature of each call.
    """

    def __init__(
        self,
        *calls: tuple[str, dict[str, Any] | str],
        ids: Sequence[str] | None = None,
        signature: str = "",
    ) -> None:
        self.calls = calls
        self.ids = ids
        self.signature = signature


@dataclass(frozen=True)
class ServerTool:
    """Anthropic's `server_tool_use` with its result: a tool that the provider ran itself."""

    name: str = "web_search"
    arguments: dict[str, Any] = field(default_factory=lambda: {"query": "weather"})


@dataclass(frozen=True)
class Refusal:
    """OpenAI's `refusal` text instead of content; plain text in the other dialects."""

    text: str


@dataclass(frozen=True)
class Finish:
    """End with this reason: stop, tool_calls, length, content_filter, or any other text."""

    reason: str


@dataclass(frozen=True)
class NoUsage:
    """Leave the token counts out."""


@dataclass(frozen=True)
class Counts:
    """Tell these token counts: `input` is all of it, what was cached and written included."""

    input: int = 100
    cached: int = 40
    output: int = 20
    written: int = 0
    written_1h: int = 0


@dataclass(frozen=True)
class SlowEnd:
    """Pause before each event after the finish; None sends none and keeps the connection."""

    pause_s: float | None = 0.05


@dataclass(frozen=True)
class Fail:
    """Answer with an HTTP error. A body of None gives the dialect's own error body."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: str | bytes | dict[str, Any] | None = None
    message: str = "The loopback provider refused this."


@dataclass(frozen=True)
class ErrorEvent:
    """An error inside a stream that began with status 200."""

    message: str = "Overloaded"
    kind: str = "overloaded_error"


@dataclass(frozen=True)
class Reset:
    """Break the connection hard (RST): before any answer, or after some text deltas."""

    after_chunks: int = 0


@dataclass(frozen=True)
class HalfEvent:
    """Some text, then half an event, then the connection is closed in the middle of it."""


@dataclass(frozen=True)
class BadJson:
    """Some text when `late`, then an event that is not JSON, then the end."""

    late: bool = True


@dataclass(frozen=True)
class Stall:
    """Send `text` (none: only the headers when `headers`), then nothing until closed."""

    text: str = ""
    headers: bool = True


@dataclass(frozen=True)
class NeverEnding:
    """Send text as fast as it is read until the client closes; `same` repeats one chunk."""

    same: bool = False
    size: int = 1000


@dataclass(frozen=True)
class EmptyChoices:
    """An answer without any choice or content."""


@dataclass(frozen=True)
class CutOffArguments:
    """A tool call whose arguments stop in the middle, with finish reason `length`."""

    name: str = "read"
    text: str = '{"path": "notes.m'


@dataclass(frozen=True)
class Interleaved:
    """Chunks of two choices, mixed (OpenAI chat): only `first` belongs to choice 0."""

    first: str = "the first choice"
    second: str = "SECOND"


@dataclass(frozen=True)
class Wait:
    """Hold the answer until the event is set (or the client has gone)."""

    event: threading.Event


@dataclass(frozen=True)
class Pace:
    """Stream `count` deltas of `text`, `per_second` of them, on a steady clock."""

    count: int
    per_second: float = 100.0
    text: str = "token "


@dataclass(frozen=True)
class Raw:
    """Send these bytes as they are (each item one write), with the status and type given."""

    frames: Sequence[bytes]
    status: int = 200
    content_type: str = ""
    headers: dict[str, str] = field(default_factory=dict)


Action = (
    Say
    | Think
    | RedactedThink
    | Calls
    | ServerTool
    | Refusal
    | Finish
    | NoUsage
    | Counts
    | SlowEnd
    | Fail
    | ErrorEvent
    | Reset
    | HalfEvent
    | BadJson
    | Stall
    | NeverEnding
    | EmptyChoices
    | CutOffArguments
    | Interleaved
    | Wait
    | Pace
    | Raw
)


@dataclass(frozen=True)
class Received:
    """One request as it arrived. `body` is the parsed JSON; headers have lower-case names."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    size: int
    arrived_at: float
    results: tuple[str, ...]
    user_texts: tuple[str, ...]
    system: str
    tool_names: tuple[str, ...]


# One entry of a script is one answer: an action, several in order, or a function of the
# request that gives either.
Reply = Action | Sequence[Action]
Step = Reply | Callable[[Received], Reply]
