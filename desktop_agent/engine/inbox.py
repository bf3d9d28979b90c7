"""An agent's inbox: notes that wait for the top of a step."""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec

from desktop_agent.core.ids import NoteId, new_message_id
from desktop_agent.core.messages import ImagePart, Message, TextPart
from desktop_agent.core.notes import Note


class Inbox:
    """Notes in the order they came. Reordering never happens; edits keep the place."""

    def __init__(self, notes: Iterable[Note] = ()) -> None:
        self._notes: list[Note] = list(notes)

    def __len__(self) -> int:
        return len(self._notes)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What waits, oldest first."""
        return tuple(self._notes)

    def has_for_step(self) -> bool:
        """Whether a note wants to be read before the turn ends."""
        return any(note.delivery == "step" for note in self._notes)

    def put(self, note: Note) -> None:
        """Queue a note; one with the same id is replaced where it stands."""
        for place, waiting in enumerate(self._notes):
            if waiting.id == note.id:
                self._notes[place] = note
                return
        self._notes.append(note)

    def edit(self, note_id: NoteId, text: str) -> Note | None:
        """Change the text of a waiting note; None when it has left the inbox."""
        for place, note in enumerate(self._notes):
            if note.id == note_id:
                self._notes[place] = msgspec.structs.replace(note, text=text)
                return self._notes[place]
        return None

    def withdraw(self, note_id: NoteId) -> Note | None:
        """Take a waiting note back out; None when it has left the inbox."""
        for note in self._notes:
            if note.id == note_id:
                self._notes.remove(note)
                return note
        return None

    def take(self, *, in_turn: bool) -> tuple[Note, ...]:
        """Drain the inbox; in the middle of a turn, only of the notes that want the next step."""
        taken = tuple(n for n in self._notes if not in_turn or n.delivery == "step")
        self._notes = [note for note in self._notes if note not in taken]
        return taken


def as_message(notes: Iterable[Note]) -> Message:
    """Join notes into one user message, the person's last: a model weighs the end most."""
    ordered = sorted(notes, key=lambda note: note.sender == "user")
    parts: list[TextPart | ImagePart] = []
    for note in ordered:
        if note.text:
            parts.append(TextPart(note.text if not parts else f"\n\n{note.text}"))
        parts.extend(note.attachments)
    return Message(
        new_message_id(),
        "user",
        tuple(parts),
        sender=ordered[-1].sender,
        note_ids=tuple(note.id for note in ordered),
        created_at=time.time(),
    )
