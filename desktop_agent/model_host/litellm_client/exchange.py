"""What one attempt put on and took off the wire, noted below litellm, which loses some of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import msgspec

from desktop_agent.core.requests import Limits

if TYPE_CHECKING:
    from desktop_agent.model_host.litellm_client.early import EarlyRequest

_PATIENCE = 5
SIGNATURE_IN_ID = "__thought__"


class Exchange(msgspec.Struct):
    """The true status, headers, error body and end of an answer; the transport fills it in.

    litellm swaps statuses, wraps errors in other errors and takes a stream that broke off
    for a finished one, so faults are classified here first.
    """

    limits: Limits
    clock: asyncio.Timeout
    status: int | None = None
    headers: dict[str, str] = {}
    error_body: bytes = b""
    stream_error: dict[str, Any] | None = None
    broken: Exception | None = None
    redirected_to: str = ""
    on_accepted: Callable[[], None] | None = None
    has_end: bool = False
    has_usage: bool = False
    is_damaged: bool = False
    # The provider's own reason for the end, which litellm makes a "stop" when it is new.
    finish: str = ""
    end_words: str = ""
    is_stream: bool = False
    # An id of a call in the history holds a signature, as litellm gives those of Gemini out.
    has_signed_ids: bool = True
    # What is asked for: litellm would ask for many models unstreamed.
    is_streaming: bool = False
    # The same request, if it was sent before litellm was there.
    early: EarlyRequest | None = None
    # Nothing more will be read: the last event, or the last byte, is there.
    over: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    close: Callable[[], Awaitable[None]] | None = None
    content_at: float = 0.0
    clock_started_at: float = msgspec.field(
        default_factory=lambda: asyncio.get_running_loop().time()
    )

    def note_accepted(self) -> None:
        """The provider took the request: its first byte says 2xx."""
        if self.on_accepted is not None:
            self.on_accepted()

    def note_bytes(self) -> None:
        """The provider is alive: it may be silent for `idle_s` from now.

        Signs of life without content, such as pings, are believed for a while only.
        """
        now = asyncio.get_running_loop().time()
        latest = max(self.content_at, self.clock_started_at) + _PATIENCE * self.limits.idle_s
        self._give_time_until(min(now + self.limits.idle_s, latest))

    def note_content(self) -> None:
        """Something of the answer has come."""
        self.content_at = asyncio.get_running_loop().time()
        self._give_time_until(self.content_at + self.limits.idle_s)

    async def end(self) -> None:
        """Close what is left of the answer, whose stream and this one refer to each other."""
        close, self.close = self.close, None
        if close is not None:
            await close()

    def _give_time_until(self, moment: float) -> None:
        if not self.clock.expired():
            self.clock.reschedule(moment)


CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
