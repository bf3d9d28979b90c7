"""An agent's inbox: notes that wait for the top of a step, and what became of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence

import msgspec

from desktop_agent.core.agents import EndStatus
from desktop_agent.core.events import (
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    StepStarted,
)
from desktop_agent.core.ids import AgentId, NoteId, new_message_id, new_note_id
from desktop_agent.core.messages import ImagePart, Message, TextPart
from desktop_agent.core.notes import QUIET_KINDS, Note, ReturnReason, origin_of
from desktop_agent.core.parts.origins import AttachedFile, EditLine, TaskEdits
from desktop_agent.engine.base.ports import AgentRecord
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.tasks.user_edits import MoreParts, edits_text, with_edit


def _no_more(_: Note) -> Sequence[TextPart]:
    return ()


_MOST_WORDS = 4_000


class NoteGone(Exception):
    """The note is on its way to the model, or came back."""


class InboxClosed(Exception):
    """The agent has ended: nothing reaches it any more."""


class Inbox:
    """Notes in the order they came; edits keep the place.

    Each change is on disk first: StoreError is raised, and then nothing changed. Only what tells of
    what has happened is told in any case: the report of an agent that ended, the notes it did not
    read, an edit of the task list.
    """

    def __init__(self, record: AgentRecord, session: Session) -> None:
        self._agent_id = record.agent_id
        self._session = session
        self._notes: list[Note] = list(record.inbox)
        self._undelivered: list[Note] = list(record.unconfirmed)
        self._came = asyncio.Event()
        self._is_closed = record.end is not None
        # Notes that are on their way to where the agent works: they can't be changed here.
        self.sent: set[NoteId] = set()
        self._parent_id = record.spec.parent_id if record.spec is not None else None
        self._show_waking()

    def __len__(self) -> int:
        return len(self._notes)

    @property
    def waiting(self) -> tuple[Note, ...]:
        """What is not read yet."""
        return tuple(self._notes)

    @property
    def is_waking(self) -> bool:
        """Whether a note starts a turn of its own; quiet ones wait for the next step."""
        return any(note.kind not in QUIET_KINDS for note in self._notes)

    @property
    def has_news(self) -> bool:
        """Whether a note is there that wants to be read at the next step."""
        return self._came.is_set()

    async def waking_note(self) -> None:
        """Wait until a note is there that wants to be read at the next step."""
        await self._came.wait()

    def put(self, note: Note) -> None:
        """Queue a note; one with the same id is replaced where it stands.

        Raises InboxClosed once the agent has ended.
        """
        if self._is_closed:
            raise InboxClosed
        self._session.emit(NoteQueued(self._agent_id, note))
        self._hold(note)

    def put_report(self, note: Note) -> None:
        """Queue what must reach the agent whatever the disk says: of what has happened already."""
        if self._is_closed:
            raise InboxClosed
        self._session.conclude(NoteQueued(self._agent_id, note))
        self._hold(note)

    def put_both(self, note: Note, other: Inbox, told: Note) -> None:
        """Queue a note here and one in another inbox of the session, both or none."""
        if self._is_closed:
            raise InboxClosed
        self._session.emit(NoteQueued(self._agent_id, note), NoteQueued(other._agent_id, told))
        self._hold(note)
        other._hold(told)

    def _hold(self, note: Note) -> None:
        for place, waiting in enumerate(self._notes):
            if waiting.id == note.id:
                self._notes[place] = note
                break
        else:
            self._notes.append(note)
        self._show_waking()

    def put_edit(self, edit: EditLine) -> None:
        """Tell of an edit of the task list, in the one note of edits that waits."""
        note_id, earlier = new_note_id(), TaskEdits()
        for note in self._notes:
            if isinstance(note.origin, TaskEdits):
                note_id, earlier = note.id, note.origin
        edits = with_edit(earlier, edit)
        now = time.time()
        # The list is changed, and on disk: what tells of that is told in any case.
        self.put_report(Note(note_id, edits_text(edits), "task_edit", created_at=now, origin=edits))

    def edit(self, note_id: NoteId, text: str) -> None:
        """Change a note that still waits. Raises NoteGone, with the words, for another."""
        note = self._find(note_id)
        if note is None:
            raise NoteGone(f"It was read just before. You wrote: “{text[:_MOST_WORDS]}”")
        self.put(msgspec.structs.replace(note, text=text))

    def withdraw(self, note_id: NoteId) -> None:
        """Take back a note that still waits."""
        note = self._find(note_id)
        if note is not None:
            self._session.emit(NoteReturned(self._agent_id, note_id, "withdrawn"))
            self._notes.remove(note)
            self._show_waking()

    def to_read(self, *, in_turn: bool) -> list[Note]:
        """Return what `take` would take now."""
        return [note for note in self._notes if not in_turn or note.delivery == "step"]

    def take(
        self, started: StepStarted, *, in_turn: bool, more_parts: MoreParts = _no_more
    ) -> Message | None:
        """Begin a step: drain the inbox into one user message; None when nothing is to be read.

        In the middle of a turn only the notes that want the next step are taken. What
        `more_parts` gives for a note follows its text and attachments. The step, the notes and
        their message are one transaction: no note is taken that no message holds.
        """
        taken = self.to_read(in_turn=in_turn)
        if not taken:
            self._session.emit(started)
            return None
        message = _as_message(taken, more_parts, self._parent_id)
        notes = [NoteTaken(self._agent_id, note.id, message.id) for note in taken]
        self._session.emit(started, *notes, MessageAdded(self._agent_id, message))
        self._notes = [note for note in self._notes if note not in taken]
        self._undelivered.extend(taken)
        self._show_waking()
        return message

    def confirm(self, step: int) -> None:
        """The provider accepted the request that held what was taken."""
        now = time.time()
        if self._undelivered:
            self._session.emit(
                *(NoteDelivered(self._agent_id, n.id, step, at=now) for n in self._undelivered)
            )
        self._undelivered.clear()

    def mirror(self, event: NoteTaken | NoteDelivered) -> None:
        """Take over what became of a note where the agent works; it is on disk."""
        if isinstance(event, NoteTaken):
            taken = [note for note in self._notes if note.id == event.note_id]
            self._notes = [note for note in self._notes if note not in taken]
            self._undelivered.extend(taken)
            self._show_waking()
        else:
            self._undelivered = [n for n in self._undelivered if n.id != event.note_id]

    def give_back(self, why: ReturnReason, by: str = "") -> tuple[Note, ...]:
        """Empty the inbox for good: the agent has ended. Returns what was never delivered."""
        returned = (*self._undelivered, *self._notes)
        self._session.conclude(
            *(NoteReturned(self._agent_id, note.id, why, by) for note in returned)
        )
        self._undelivered.clear()
        self._notes.clear()
        self._is_closed = True
        self._show_waking()
        return returned

    def _find(self, note_id: NoteId) -> Note | None:
        if note_id in self.sent:
            return None
        return next((note for note in self._notes if note.id == note_id), None)

    def _show_waking(self) -> None:
        is_for_step = any(
            note.delivery == "step" and note.kind not in QUIET_KINDS for note in self._notes
        )
        (self._came.set if is_for_step else self._came.clear)()


def _as_message(notes: Iterable[Note], more_parts: MoreParts, parent_id: AgentId | None) -> Message:
    """Join notes into one user message, the person's last: a model weighs the end most."""
    ordered = sorted(notes, key=_weight)
    parts: list[TextPart | ImagePart] = []
    for note in ordered:
        if note.text or note.origin is not None:
            parts.append(TextPart(note.text, origin_of(note, parent_id)))
        parts.extend(_attached(part) for part in note.attachments)
        parts.extend(more_parts(note))
    return Message(
        new_message_id(),
        "user",
        tuple(parts),
        sender=ordered[-1].sender,
        note_ids=tuple(note.id for note in ordered),
        created_at=time.time(),
    )


def _attached(part: TextPart | ImagePart) -> TextPart | ImagePart:
    # One that waited while the app was brought up to date has no origin, and its path inside.
    if isinstance(part, TextPart) and part.origin is None:
        return TextPart(part.text, AttachedFile(""))
    return part


def _weight(note: Note) -> int:
    return 2 if note.sender == "user" and note.kind not in QUIET_KINDS else 1


def why_unread(status: EndStatus) -> ReturnReason:
    """Return why a note comes back from an agent that ended so."""
    match status:
        case "completed":
            return "finished"
        case "stopped":
            return "stopped"
        case _:
            return "failed"
