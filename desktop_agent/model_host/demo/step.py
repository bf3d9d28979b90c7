"""What the demo model does next, and how slowly."""

from __future__ import annotations

import os
from dataclasses import dataclass

from desktop_agent.core.messages import ToolCall

# `slow` is for a person, and set by the start of a window unless the person set it to something
# else; all else is quick: runs without a window, `--demo-run`, tests.
VARIABLE = "DESKTOP_AGENT_DEMO_PACE"
_QUICK = 0.12

# A survey is over once an answer ends with this; one that was stopped on the way does not.
CLOSING = (
    "Ask me for more with “list files”, “read FILE”, “search for WORDS”, “run COMMAND”, "
    "“ask me something” or “look around”."
)


@dataclass(frozen=True, slots=True)
class Step:
    """One answer: what is said, and calls (their ids come later) after a pause to be watched."""

    text: str
    wants: tuple[ToolCall, ...] = ()
    thinking: str = ""
    pause_s: float = 0.0


def call(name: str, /, **arguments: object) -> ToolCall:
    """Return a tool call without an id."""
    return ToolCall("", name, arguments)


def seconds(leisurely: float) -> float:
    """Return how long a pause is at the pace that holds."""
    return leisurely if os.environ.get(VARIABLE) == "slow" else leisurely * _QUICK
