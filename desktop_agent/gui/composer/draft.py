"""What a person has typed and attached in one session and not sent yet."""

from __future__ import annotations

from collections.abc import Sequence

from desktop_agent.core.ids import NoteId
from desktop_agent.core.notes import Note
from desktop_agent.gui.composer.attachments import Attachment, AttachmentList

_MAX_SENT = 50


class Draft:
    """Text, attachments, skills by name, and the texts sent before, for Up and Down."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.attachments = AttachmentList()
        self.skills: list[str] = []
        self._sent: dict[NoteId, str] = {}
        self._place = 0

    def remember(self, note: Note) -> None:
        """Keep a sent text, under its id: an edited one replaces itself."""
        is_written = note.sender == "user" and note.kind in ("message", "steer")
        if not is_written or not note.text:
            return
        self._sent[note.id] = note.text
        while len(self._sent) > _MAX_SENT:
            del self._sent[next(iter(self._sent))]
        self._place = 0

    def take_back(self, note: Note, attached: Sequence[Attachment]) -> None:
        """Hold what was not sent again, before what was written since."""
        self.text = "\n\n".join(text for text in (note.text, self.text) if text)
        self.skills += [name for name in note.skills if name not in self.skills]
        for one in attached:
            self.attachments.add(one)

    def recall(self, step: int) -> str | None:
        """Return the text one older (-1) or newer (1); empty past the newest, None past the end."""
        sent = tuple(self._sent.values())
        place = self._place - step
        if place > len(sent):
            return None
        self._place = max(0, place)
        return sent[-place] if place > 0 else ""

    def stop_recalling(self) -> None:
        """Begin at the newest again."""
        self._place = 0
