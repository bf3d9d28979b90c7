"""Where each note to one agent stands, and what that agent does now. No Qt."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from copy import copy
from typing import Literal

import msgspec
from msgspec.structs import replace

from desktop_agent.core.agents import AgentInfo, AgentStatus
from desktop_agent.core.events import (
    BranchStarted,
    Event,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, NoteId
from desktop_agent.core.notes import Note, NoteArrived

NoteState = Literal["queued", "taken", "delivered", "finished", "stopped", "failed"]
NoteEvent = NoteQueued | NoteArrived | NoteTaken | NoteDelivered | NoteReturned
TurnEvent = TurnStarted | TurnEnded | StepStarted | ToolStarted | ToolEnded

# So many notes that wait no more are kept; older ones stand in the transcript.
DONE_KEPT = 3
_WAITING = ("queued", "taken")


class NoteRow(msgspec.Struct, frozen=True):
    """One note. `is_quiet`: it woke an idle agent, so it needs no row unless it comes back.
    `by` and `stopper`: who stopped the agent that has not read it, and that one's name.

    `is_in_history`: the request that held it failed; the next one holds it again.
    `is_folded`: the message box shows it no more, as the transcript tells of it. `place` is where
    its agent works, if not here, and `is_there` tells that it is queued there.
    """

    note: Note
    state: NoteState = "queued"
    step: int = 0
    at: float = 0.0
    words: str = ""
    is_quiet: bool = False
    is_in_history: bool = False
    is_folded: bool = False
    by: str = ""
    stopper: str = ""
    place: str = ""
    is_there: bool = False

    @property
    def can_change(self) -> bool:
        """Whether the text can still be edited or withdrawn."""
        return self.state == "queued" and self.is_written and not self.place

    @property
    def is_written(self) -> bool:
        """Whether the user typed it; the app itself tells of edits of the task list."""
        return self.note.kind in ("message", "steer")


class RunningTool(msgspec.Struct, frozen=True):
    """A tool call that is running, as the user knows it."""

    doing: str
    at: float


class AgentNotes:
    """The notes to one agent, its turn and its tools. `turn` differs from turn to turn."""

    def __init__(self, agent_id: AgentId | None = None) -> None:
        self.agent_id = agent_id or AgentId("")
        self.turn: int = 0
        self._clear()

    def _clear(self) -> None:
        self.status: AgentStatus = "idle"
        self.step: int = 0
        self.place: str = ""
        # Between NoteQueued and TurnStarted an idle agent is about to run.
        self.is_running: bool = False
        self._rows: dict[NoteId, NoteRow] = {}
        self._tools: dict[str, RunningTool] = {}
        self._fault_text: str = ""
        self._edit: NoteId | None = None

    def copied(self) -> AgentNotes:
        """Return the same, to go on from by itself."""
        twin = copy(self)
        twin._rows, twin._tools = dict(self._rows), dict(self._tools)
        return twin

    @property
    def rows(self) -> tuple[NoteRow, ...]:
        """The notes that the message box tells of, in the order they were queued."""
        return tuple(row for row in self._rows.values() if not (row.is_quiet or row.is_folded))

    @property
    def recent(self) -> tuple[NoteRow, ...]:
        """What the user wrote that waits, and the newest of what waits no more, as sent."""
        written = [row for row in self._rows.values() if row.is_written]
        done = [row for row in written if row.state not in _WAITING]
        old = {row.note.id for row in done[:-DONE_KEPT]}
        return tuple(row for row in written if row.note.id not in old)

    @property
    def edit(self) -> NoteRow | None:
        """The newest note of edits of the task list, unless it is old news or came back."""
        row = self._rows.get(self._edit) if self._edit is not None else None
        if row is None or row.state in ("finished", "stopped"):
            return None
        return row if row.state != "failed" or row.is_in_history else None

    @property
    def tools(self) -> tuple[RunningTool, ...]:
        """The calls that run now, oldest first."""
        return tuple(self._tools.values())

    def row(self, note_id: NoteId) -> NoteRow | None:
        """Return one note, quiet or not."""
        return self._rows.get(note_id)

    def forget(self, note_id: NoteId) -> None:
        """Drop a note that the user is done with."""
        self._rows.pop(note_id, None)

    def fold(self, note_id: NoteId) -> None:
        """Tell of a note no more over the message box."""
        row = self._rows.get(note_id)
        if row is not None:
            self._rows[note_id] = replace(row, is_folded=True)
            self._drop_old()

    def follow(self, info: AgentInfo, *, is_starting: bool = False) -> None:
        """Take over how the agent stands; a crash leaves a turn without an end.

        One that `is_starting` is idle still, and about to read what is queued.
        """
        self.status, self.place = info.status, info.place
        self.step = max(self.step, info.step)
        self.is_running = info.is_in_turn
        if not self.is_running:
            self._tools.clear()
            if not is_starting:
                self._wake_quiet()

    def replay(
        self,
        events: Sequence[Event],
        names: dict[AgentId, AgentInfo],
        waiting: Sequence[NoteQueued] = (),
    ) -> None:
        """Begin anew with what the newest page of the history holds; old news is folded.

        Of what is `waiting` some may have been queued before that page.
        """
        self._clear()
        self.turn += 1
        self.is_running = self._begins_in_turn(events, names)
        self._queue_older(events, waiting)
        said: set[NoteId] = set()
        for event in events:
            if getattr(event, "agent_id", None) != self.agent_id:
                continue
            if isinstance(event, TurnEvent):
                self.apply_turn(event)
            elif isinstance(event, NoteEvent):
                self.apply_note(event, names)
            elif isinstance(event, MessageAdded):
                said.update(event.message.note_ids)
            elif isinstance(event, BranchStarted):
                self._branch_off(said)
            if isinstance(event, NoteDelivered):
                self.fold(event.note_id)
            elif isinstance(event, TurnStarted):
                self._fold_returned()
        edit = self.edit
        if edit is None or edit.state not in _WAITING:
            self._edit = None

    def _begins_in_turn(self, events: Iterable[Event], names: dict[AgentId, AgentInfo]) -> bool:
        """Whether a page of the history begins in the middle of a turn."""
        for event in events:
            if isinstance(event, TurnEvent) and event.agent_id == self.agent_id:
                return not isinstance(event, TurnStarted)
        return self.agent_id in names and names[self.agent_id].is_in_turn

    def _queue_older(self, events: Iterable[Event], waiting: Iterable[NoteQueued]) -> None:
        newer = {event.note.id for event in events if isinstance(event, NoteQueued)}
        for event in waiting:
            if event.agent_id == self.agent_id and event.note.id not in newer:
                self._queue(event.note)
                self._wake_quiet()

    def apply_note(self, event: NoteEvent, names: dict[AgentId, AgentInfo]) -> None:
        """Take in what became of a note; `names` tell who stopped the agent."""
        if isinstance(event, NoteQueued):
            self._queue(event.note)
            return
        row = self._rows.get(event.note_id)
        if row is None:
            return
        if isinstance(event, NoteArrived):
            self._rows[event.note_id] = replace(row, is_there=True)
        elif isinstance(event, NoteTaken):
            self._rows[event.note_id] = replace(
                row, state="taken", step=self.step, is_in_history=True, is_folded=False
            )
        elif isinstance(event, NoteDelivered):
            self._rows[event.note_id] = replace(
                row, state="delivered", step=event.step, at=event.at, is_folded=row.is_quiet
            )
            self._drop_old()
        else:
            self._return(row, event, names)

    def apply_turn(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted():
                self.turn += 1
                self.is_running = True
                self.status = "running"
                self._fault_text = ""
            case StepStarted():
                self.step = event.step
            case ToolStarted():
                doing = event.doing or event.call.name
                self._tools[event.call.id] = RunningTool(doing, event.at)
            case ToolEnded():
                self._tools.pop(event.result.call_id, None)
            case TurnEnded():
                self._end(event)

    def _branch_off(self, said: Container[NoteId]) -> None:
        """Leave what the user wrote on the other branch; their edits of the list come along.

        Those that no message before the branch has `said` wait again.
        """
        self.is_running = False
        self._tools.clear()
        self._rows = {
            id_: row if row.state == "delivered" or id_ in said else replace(row, state="queued")
            for id_, row in self._rows.items()
            if not row.is_written
        }

    def _queue(self, note: Note) -> None:
        if note.sender != "user":
            return
        if note.kind == "task_edit":
            self._edit = note.id
        known = self._rows.get(note.id)
        is_quiet = known.is_quiet if known else not self.is_running
        if known and known.state != "queued":
            is_quiet = False  # it came back to the inbox
        self._rows[note.id] = NoteRow(note, is_quiet=is_quiet, place=self.place)

    def _return(self, row: NoteRow, event: NoteReturned, names: dict[AgentId, AgentInfo]) -> None:
        if event.why == "withdrawn":
            self.forget(event.note_id)
            return
        text = self._fault_text if event.why == "failed" else ""
        changed = replace(row, state=event.why, words=text, is_quiet=False, is_folded=False)
        stopper = names[AgentId(event.by)].name if event.by in names else ""
        self._rows[event.note_id] = replace(changed, by=event.by, stopper=stopper)

    def _end(self, event: TurnEnded) -> None:
        self.turn += 1
        self.is_running = False
        self.status = "idle"
        self._tools.clear()
        self._fault_text = event.fault.message if event.fault else ""
        for note_id, row in self._rows.items():
            is_lost = row.state == "taken" and not row.is_quiet and event.fault is not None
            if is_lost or (row.state == "failed" and not row.words):
                self._rows[note_id] = replace(row, state="failed", words=self._fault_text)
        self._wake_quiet()

    def _wake_quiet(self) -> None:
        for note_id, row in self._rows.items():
            if row.is_quiet and row.state == "queued":
                self._rows[note_id] = replace(row, is_quiet=False)

    def _fold_returned(self) -> None:
        # The user went on after these came back: they saw them then.
        for note_id, row in self._rows.items():
            if row.state in ("finished", "stopped", "failed"):
                self._rows[note_id] = replace(row, is_folded=True)

    def _drop_old(self) -> None:
        """Let go of what nobody shows any more; a note may hold pictures."""
        kept = {row.note.id for row in self.recent}
        for note_id, row in tuple(self._rows.items()):
            is_shown = not row.is_folded or note_id in kept or note_id == self._edit
            if not is_shown and row.state not in _WAITING:
                del self._rows[note_id]
