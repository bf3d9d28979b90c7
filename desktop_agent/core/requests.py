"""What goes to a model and what comes back, on both sides of the pipe to the model host."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message, TextPart, ThinkingPart, ToolCall, Value
from desktop_agent.core.usage import Usage

# `length`: cut at the output limit. `filtered`: withheld by the provider.
FinishReason = Literal["stop", "tool_calls", "length", "filtered", "unknown"]


class ToolSpec(Value, frozen=True):
    """A tool as it is described to the model; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


# What is written by hand has to end.
_LONGEST_S = 100_000_000
_Seconds = Annotated[float, Meta(gt=0, le=_LONGEST_S)]


class Limits(Value, frozen=True):
    """How long a request may take before it counts as failed, in seconds, and how many tries."""

    connect_s: _Seconds = 10.0
    first_byte_s: _Seconds = 120.0
    idle_s: _Seconds = 120.0
    retry_total_s: Annotated[float, Meta(ge=0, le=_LONGEST_S)] = 120.0
    max_retries: Annotated[int, Meta(ge=0, le=1000)] = 5


class ModelRequest(Value, frozen=True):
    """One request: the whole history, always sendable. `model` is litellm's name, or `demo`.

    `agent_id` lets the adapter send only what is new since that agent's last request.
    """

    agent_id: AgentId
    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    api_base: str = ""
    max_output_tokens: int | None = None
    limits: Limits = Limits()


class Accepted(Value, frozen=True):
    """The provider took the request (its first 2xx byte)."""


class Delta(Value, frozen=True):
    """More text of the answer."""

    kind: Literal["text", "thinking"]
    text: str


class Retrying(Value, frozen=True):
    """The request failed before its first delta and is tried again in `delay_s` seconds."""

    attempt: int
    delay_s: float
    fault: Fault


class Answer(Value, frozen=True):
    """The whole answer, last of the stream. Tool-call ids are unique within the history.

    `reason` is what the provider says about an end that is not usual.
    """

    parts: tuple[TextPart | ThinkingPart | ToolCall, ...]
    finish: FinishReason = "stop"
    usage: Usage = Usage()
    reason: str = ""


StreamItem = Accepted | Delta | Retrying | Answer
