"""Where each note to one agent stands, folded from events. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from desktop_agent.core.agents import ENDED, AgentInfo, AgentStatus
from desktop_agent.core.events import (
    AgentsChanged,
    Event,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    SessionOpened,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, NoteId
from desktop_agent.core.notes import Note
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.state.agent_tree import live_below

NoteState = Literal["queued", "taken", "delivered", "finished", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class NoteRow:
    """One note. `is_quiet`: it woke an idle agent, so it needs no row unless it comes back.
    `by` and `stopper`: who stopped the agent that has not read it, and that one's name.

    `is_in_history`: the request that held it failed; the next one holds it again.
    """

    note: Note
    state: NoteState = "queued"
    step: int = 0
    at: float = 0.0
    words: str = ""
    is_quiet: bool = False
    is_in_history: bool = False
    by: str = ""
    stopper: str = ""

    @property
    def can_change(self) -> bool:
        """Whether the text can still be edited or withdrawn."""
        return self.state == "queued" and self.is_written

    @property
    def is_written(self) -> bool:
        """Whether the person typed it; the app itself tells of edits of the task list."""
        return self.note.kind in ("message", "steer")


@dataclass(frozen=True, slots=True)
class RunningTool:
    """A tool call that is running, as the person knows it."""

    call_id: str
    doing: str
    at: float


class NoteTracker:
    """The state of one agent that the composer speaks of: its notes, its turn, its tools."""

    def __init__(self) -> None:
        self._reset(None)

    def _reset(self, agent_id: AgentId | None) -> None:
        self.agent_id = agent_id
        self.status: AgentStatus = "idle"
        self.step: int = 0
        # Who a stop would stop: the agent by its name, and how many live ones below it.
        self.name: str = ""
        self.below: int = 0
        self._is_child = False
        self._agents: tuple[AgentInfo, ...] = ()
        self._rows: dict[NoteId, NoteRow] = {}
        self._tools: dict[str, RunningTool] = {}
        self._fault_words: str = ""
        # Between NoteQueued and TurnStarted an idle agent is about to run.
        self._in_turn: bool = False

    @property
    def rows(self) -> tuple[NoteRow, ...]:
        """The notes that need a row, in the order they were queued."""
        return tuple(row for row in self._rows.values() if not row.is_quiet)

    @property
    def tools(self) -> tuple[RunningTool, ...]:
        """The calls that run now, oldest first."""
        return tuple(self._tools.values())

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way, waiting for the person included."""
        return self._in_turn

    @property
    def is_ended(self) -> bool:
        """Whether the agent takes no more notes."""
        return self.status in ENDED

    @property
    def scope(self) -> str:
        """The name of who would be stopped; empty for a main agent that works alone."""
        return plain(self.name) if self.below or self._is_child else ""

    def row(self, note_id: NoteId) -> NoteRow | None:
        """Return one note, quiet or not."""
        return self._rows.get(note_id)

    def forget(self, note_id: NoteId) -> None:
        """Drop a row that has nothing more to say."""
        self._rows.pop(note_id, None)

    def apply(self, event: Event) -> None:
        """Fold one event; those of other agents are passed over."""
        match event:
            case SessionOpened():
                self._open(event)
            case AgentsChanged():
                self._follow(event)
            case _ if getattr(event, "agent_id", None) != self.agent_id:
                return
            case NoteQueued() | NoteTaken() | NoteDelivered() | NoteReturned():
                self._apply_note(event)
            case TurnStarted() | TurnEnded() | StepStarted() | ToolStarted() | ToolEnded():
                self._apply_turn(event)
            case _:
                return

    def _open(self, opened: SessionOpened) -> None:
        self._reset(opened.info.main_agent)
        self._agents = opened.agents
        self._replay(opened.events)
        self._follow_tree(opened.agents)
        # Agents in the snapshot are the truth; a crash leaves a turn without an end.
        agents = [agent for agent in opened.agents if agent.id == self.agent_id]
        self.status = agents[0].status if agents else "idle"
        self._in_turn = any(agent.is_in_turn for agent in agents)
        if not self._in_turn:
            self._tools.clear()
            self._wake_quiet()

    def _replay(self, events: Iterable[Event]) -> None:
        for event in events:
            self.apply(event)
            if isinstance(event, NoteDelivered):
                self.forget(event.note_id)
            elif isinstance(event, TurnStarted) and event.agent_id == self.agent_id:
                self._drop_returned()

    def _drop_returned(self) -> None:
        # The person went on after these came back: they saw them then.
        for note_id, row in tuple(self._rows.items()):
            if row.state in ("finished", "stopped", "failed"):
                del self._rows[note_id]

    def _follow_tree(self, agents: tuple[AgentInfo, ...]) -> None:
        self._agents = agents
        for agent in agents:
            if agent.id == self.agent_id:
                self.name, self._is_child = agent.name, agent.parent_id is not None
        self.below = live_below(agents, self.agent_id) if self.agent_id is not None else 0

    def _follow(self, event: AgentsChanged) -> None:
        self._follow_tree(event.agents)
        for agent in event.agents:
            if agent.id == self.agent_id:
                self.status = agent.status
                self.step = max(self.step, agent.step)
                self._in_turn = agent.is_in_turn

    def _apply_note(self, event: NoteQueued | NoteTaken | NoteDelivered | NoteReturned) -> None:
        if isinstance(event, NoteQueued):
            self._queue(event.note)
            return
        row = self._rows.get(event.note_id)
        if row is None:
            return
        if isinstance(event, NoteTaken):
            taken = replace(row, state="taken", step=self.step, is_in_history=True)
            self._rows[event.note_id] = taken
        elif isinstance(event, NoteReturned):
            self._return(row, event)
        elif row.is_quiet:
            self.forget(event.note_id)
        else:
            changed = replace(row, state="delivered", step=event.step, at=event.at)
            self._rows[event.note_id] = changed

    def _queue(self, note: Note) -> None:
        if note.sender != "user":
            return
        known = self._rows.get(note.id)
        is_quiet = known.is_quiet if known else not self._in_turn
        if known and known.state != "queued":
            is_quiet = False  # it came back to the inbox
        self._rows[note.id] = NoteRow(note, is_quiet=is_quiet)

    def _return(self, row: NoteRow, event: NoteReturned) -> None:
        if event.why == "withdrawn":
            self.forget(event.note_id)
            return
        words = self._fault_words if event.why == "failed" else ""
        changed = replace(row, state=event.why, words=words, is_quiet=False)
        name = next((one.name for one in self._agents if one.id == event.by), "")
        self._rows[event.note_id] = replace(changed, by=event.by, stopper=name)

    def _apply_turn(
        self, event: TurnStarted | TurnEnded | StepStarted | ToolStarted | ToolEnded
    ) -> None:
        match event:
            case TurnStarted():
                self._in_turn = True
                self.status = "running"
                self._fault_words = ""
            case StepStarted():
                self.step = event.step
            case ToolStarted():
                doing = event.doing or event.call.name
                self._tools[event.call.id] = RunningTool(event.call.id, doing, event.at)
            case ToolEnded():
                self._tools.pop(event.result.call_id, None)
            case TurnEnded():
                self._end(event)

    def _end(self, event: TurnEnded) -> None:
        self._in_turn = False
        self.status = "idle"
        self._tools.clear()
        self._fault_words = event.fault.message if event.fault else ""
        for note_id, row in tuple(self._rows.items()):
            is_lost = row.state == "taken" and not row.is_quiet and event.fault is not None
            if is_lost or (row.state == "failed" and not row.words):
                self._rows[note_id] = replace(row, state="failed", words=self._fault_words)
        self._wake_quiet()

    def _wake_quiet(self) -> None:
        for note_id, row in tuple(self._rows.items()):
            if row.is_quiet and row.state == "queued":
                self._rows[note_id] = replace(row, is_quiet=False)
