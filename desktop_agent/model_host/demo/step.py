"""What the demo model can do next, and the words that end a survey."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# What the survey may write, in this order; the second name is for folders whose first is taken.
TARGETS = ("OVERVIEW.md", "OVERVIEW-demo.md")

# A survey is over once an answer ends with this; one that was stopped on the way does not.
CLOSING = (
    "Ask me for more with “list files”, “read FILE”, “search for WORDS”, “run COMMAND”, "
    "“ask me something” or “look around”."
)


@dataclass(frozen=True, slots=True)
class Want:
    """A tool call to be made; the id comes later."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Step:
    """One answer: what is said, and the calls that follow it, after a pause to be watched.

    `pause_s` is that at leisure; where nobody watches it is shorter.
    """

    text: str
    wants: tuple[Want, ...] = ()
    thinking: str = ""
    pause_s: float = 0.0


def joined(*parts: str) -> str:
    """Return the paragraphs that are not empty, joined."""
    return "\n\n".join(part for part in parts if part)
