"""What goes over the pipe between the app and its model host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message, Value
from desktop_agent.core.requests import ModelRequest, StreamItem


class StreamStarted(Value, frozen=True):
    """Begin a model request.

    `request.messages` holds only what is new; the first `kept` messages are those that the
    host has of this agent's last request. The key is used for this request and not kept.
    `environment` are variables that the provider needs beside it.
    """

    id: int
    request: ModelRequest
    kept: int = 0
    key: str = ""
    environment: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class StreamCancelled(Value, frozen=True):
    """Close the provider's answer; nothing more is wanted of this stream."""

    id: int


class AgentForgotten(Value, frozen=True):
    """Drop what is kept of an agent's history: it ended, or was asked only once."""

    agent_id: AgentId


class CallMade(Value, frozen=True):
    """A query with one answer."""

    id: int
    method: str
    arguments: dict[str, Any]


class StreamAdvanced(Value, frozen=True):
    """The next items of a stream; after an Answer there are none."""

    id: int
    items: tuple[StreamItem, ...]


class StreamFailed(Value, frozen=True):
    """The stream failed for good."""

    id: int
    fault: Fault


class StreamForgotten(Value, frozen=True):
    """The host does not have the `kept` messages any more: send the whole request again."""

    id: int


class CallAnswered(Value, frozen=True):
    """The answer to a query, still encoded: the caller knows its type."""

    id: int
    value: msgspec.Raw


class CallFailed(Value, frozen=True):
    """The query failed."""

    id: int
    fault: Fault


ToHost = StreamStarted | StreamCancelled | AgentForgotten | CallMade
FromHost = StreamAdvanced | StreamFailed | StreamForgotten | CallAnswered | CallFailed


def kept(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Count the messages at the start that are the very same values: they need not be sent."""
    # A long turn asks this of hundreds of messages at each step.
    for count, (one, other) in enumerate(zip(before, now, strict=False)):
        if one is not other:
            return count
    return min(len(before), len(now))
