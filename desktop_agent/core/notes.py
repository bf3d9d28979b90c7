"""Notes: all that reaches an agent from outside its own turn."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.ids import NoteId
from desktop_agent.core.messages import ImagePart, TextPart, Value

NoteKind = Literal["message", "steer", "task_edit", "report", "question", "notice"]

# These wait for the next step without starting a turn of their own.
QUIET_KINDS: frozenset[NoteKind] = frozenset({"task_edit", "notice"})

# `turn`: read when the turn would end. `step`: read before the next model request.
Delivery = Literal["turn", "step"]

ReturnReason = Literal["withdrawn", "finished", "stopped", "failed"]


class Note(Value, frozen=True):
    """Text queued for one agent. `attachments` follow the text in the message made of it.

    `skills` are names the person picked: their texts follow, loaded for sure.
    """

    id: NoteId
    text: str
    kind: NoteKind = "message"
    delivery: Delivery = "step"
    sender: str = "user"
    attachments: tuple[TextPart | ImagePart, ...] = ()
    created_at: float = 0.0
    skills: tuple[str, ...] = ()


# A subagent reads who speaks: its prompt apart, a user message may come from either.
FROM_USER = "[Note from the user]"
FROM_PARENT = "[Note from your parent]"


def framed(note: Note, parent_id: str | None) -> str:
    """Return a note as its agent reads it; without a parent it is a session's main agent."""
    if parent_id is None or note.kind not in {"message", "steer"} or not note.text:
        return note.text
    if note.sender == "user":
        return f"{FROM_USER}\n{note.text}"
    # The prompt is a message of the parent's, and needs no name.
    return f"{FROM_PARENT}\n{note.text}" if note.kind == "steer" else note.text


def unframed(text: str) -> str:
    """Return a note's own words."""
    for frame in (FROM_USER, FROM_PARENT):
        if text.startswith(f"{frame}\n"):
            return text[len(frame) + 1 :]
    return text
