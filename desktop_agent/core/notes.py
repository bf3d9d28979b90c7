"""Notes: all that reaches an agent from outside its own turn."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.ids import AgentId, NoteId
from desktop_agent.core.messages import ImagePart, TextPart
from desktop_agent.core.parts.origins import (
    AppNotice,
    ChildQuestion,
    Origin,
    Report,
    Spoken,
    TaskEdits,
)
from desktop_agent.core.parts.values import Value

NoteKind = Literal["message", "steer", "task_edit", "report", "question", "notice"]

# These wait for the next step without starting a turn of their own.
QUIET_KINDS: frozenset[NoteKind] = frozenset({"task_edit", "notice"})

# `turn`: read when the turn would end. `step`: read before the next model request.
Delivery = Literal["turn", "step"]

ReturnReason = Literal["withdrawn", "finished", "stopped", "failed"]


class Note(Value, frozen=True):
    """Text queued for one agent. `attachments` follow the text in the message made of it.

    `skills` are names the user picked: their texts follow, loaded for sure. `origin` says what
    it is; words of the user's and of the parent's have none, the sender tells.
    """

    id: NoteId
    text: str
    kind: NoteKind = "message"
    delivery: Delivery = "step"
    sender: str = "user"
    attachments: tuple[TextPart | ImagePart, ...] = ()
    created_at: float = 0.0
    skills: tuple[str, ...] = ()
    origin: Origin | None = None


class NoteArrived(Value, frozen=True):
    """The note is on disk at the place where its agent works, and in the inbox there."""

    agent_id: AgentId
    note_id: NoteId


def is_written(note: Note) -> bool:
    """Whether the user typed it; the app tells in their name of edits of the task list."""
    return note.sender == "user" and note.kind in ("message", "steer")


def origin_of(note: Note, parent_id: str | None) -> Origin:
    """Return what a note is to its agent; without a parent that is a session's main agent."""
    if note.origin is not None:
        return note.origin
    sender = AgentId(note.sender)
    match note.kind:
        # Notes that were queued by an older version of the app have no origin.
        case "report":
            return Report(sender)
        case "question":
            return ChildQuestion(sender)
        case "task_edit":
            return TaskEdits()
        case "notice":
            return AppNotice()
        case "message" | "steer":
            is_parents = parent_id is not None and note.sender != "user"
            # What a subagent is started with is a plain message of its parent's.
            is_named = parent_id is not None and not (is_parents and note.kind == "message")
            return Spoken("parent" if is_parents else "user", is_named)
