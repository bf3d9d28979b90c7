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
