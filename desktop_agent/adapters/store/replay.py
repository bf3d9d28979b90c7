"""What a session's events add up to: each agent's history, inbox and step."""

from __future__ import annotations

from collections.abc import Container, Iterable

import msgspec

from desktop_agent.adapters.store.rows import decode
from desktop_agent.core.agents import AgentSpec, Budget
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    AgentSpawned,
    ApprovalResolved,
    BranchStarted,
    BudgetChanged,
    CompactionUndone,
    ContextCleared,
    ContextCompacted,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    QuestionAnswered,
    SideCallEnded,
    StepEnded,
    StepStarted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, CompactionId, NoteId
from desktop_agent.core.messages import Message, compacted
from desktop_agent.core.network.places import PlaceFollowed
from desktop_agent.core.notes import Note, is_written
from desktop_agent.core.usage import Usage, is_uncounted, is_unpriced
from desktop_agent.engine.base.places import FarRecord
from desktop_agent.engine.base.ports import AgentRecord

# What the tree of subagents is made of, without anybody's history.
TREE_KINDS = (AgentSpawned.__name__, AgentEnded.__name__, SideCallEnded.__name__)

# What counts of a branch that is not shown.
COUNTED_KINDS = tuple(
    kind.__name__ for kind in (SideCallEnded, StepEnded, StepStarted, ToolStarted, TurnEnded)
)

# The kinds that `reduce` looks at; all others are for the transcript only.
REDUCED_KINDS = tuple(
    kind.__name__
    for kind in (
        AgentEnded,
        AgentSpawned,
        ApprovalResolved,
        BranchStarted,
        BudgetChanged,
        CompactionUndone,
        ContextCleared,
        ContextCompacted,
        MessageAdded,
        NoteDelivered,
        NoteQueued,
        NoteReturned,
        NoteTaken,
        PlaceFollowed,
        QuestionAnswered,
        SideCallEnded,
        StepEnded,
        StepStarted,
        ToolStarted,
        TurnEnded,
        TurnStarted,
    )
)


def divide(
    rows: Iterable[tuple[bytes, int, str, str, int]], main: AgentId
) -> tuple[list[AgentEvent], list[AgentEvent], set[AgentId]]:
    """Return the events that hold on a path, what else the main agent used, and who is elsewhere.

    A row is an event's body, checksum, agent and kind, and whether it is on the path.
    """
    events: list[AgentEvent] = []
    aside: list[AgentEvent] = []
    elsewhere: set[AgentId] = set()
    for body, crc, agent, kind, is_on_path in rows:
        is_own = agent == main and not is_on_path and kind != BudgetChanged.__name__
        if is_own and kind not in COUNTED_KINDS:
            continue
        event = decode(body, crc)
        if event is not None:
            (aside if is_own else events).append(event)
            if isinstance(event, AgentSpawned) and not is_on_path:
                elsewhere.add(event.agent_id)
    return events, aside, elsewhere


class _Agent(msgspec.Struct):
    history: list[Message] = []
    inbox: dict[NoteId, Note] = {}
    unconfirmed: dict[NoteId, Note] = {}
    step: int = 0
    was_running: bool = False
    spec: AgentSpec | None = None
    end: AgentEnded | None = None
    usage: Usage = msgspec.field(default_factory=Usage)
    tools_run: int = 0
    budget: Budget | None = None
    seconds: float = 0.0
    unpriced: int = 0
    uncounted: int = 0
    left_out: list[Message] = []
    before: tuple[CompactionId, tuple[Message, ...]] | None = None
    far: FarRecord = msgspec.field(default_factory=FarRecord)
    # Subagents that had ended when it last said or read something, and those that have since.
    known_ends: set[AgentId] = set()
    new_ends: set[AgentId] = set()

    def apply(self, event: AgentEvent) -> None:
        """Apply one event."""
        match event:
            case MessageAdded():
                self.history.append(event.message)
                self.before = None
                self.known_ends |= self.new_ends
                self.new_ends.clear()
            case TurnStarted():
                self.was_running = True
            case TurnEnded():
                self.was_running = False
                self.count(event)
            case _:
                self.count(event)
                self._apply_tree(event)

    def record(self, agent_id: AgentId, *, is_elsewhere: bool, is_end_known: bool) -> AgentRecord:
        """Return what the engine is given of it."""
        return AgentRecord(
            agent_id,
            history=tuple(self.history),
            inbox=tuple(self.inbox.values()),
            step=self.step,
            was_running=self.was_running,
            unconfirmed=tuple(self.unconfirmed.values()),
            spec=self.spec,
            end=self.end,
            usage=self.usage,
            tools_run=self.tools_run,
            budget=self.budget,
            seconds=self.seconds,
            unpriced=self.unpriced,
            uncounted=self.uncounted,
            left_out=tuple(self.left_out),
            before_compaction=self.before,
            is_elsewhere=is_elsewhere,
            is_end_known=is_end_known,
            far=self.far,
        )

    def count(self, event: AgentEvent) -> None:
        """Count what was used by an event, whichever branch it is on."""
        match event:
            case StepStarted():
                self.step = max(self.step, event.step)
            case TurnEnded():
                self.seconds += event.seconds
            case StepEnded() | SideCallEnded():
                self.usage += event.usage
                self.unpriced += is_unpriced(event.usage)
                self.uncounted += is_uncounted(event.usage)
            case ToolStarted():
                self.tools_run += 1
            case _:
                pass

    def _apply_tree(self, event: AgentEvent) -> None:
        match event:
            case AgentSpawned():
                self.spec = event.spec
            case AgentEnded():
                self.end = event
                if event.usage != Usage():  # all of it, whether or not its steps were looked at
                    self.usage = event.usage
            case BudgetChanged():
                self.budget = event.budget
            case BranchStarted():
                self._branch_off()
            case ContextCompacted() | CompactionUndone() | ContextCleared():
                self._apply_compaction(event)
            case _:
                self._apply_note(event)

    def _branch_off(self) -> None:
        """Leave behind what the user wrote; what others told is to be read on this branch too.

        What stands in a message that the branches share was read before.
        """
        self.was_running = False
        said = {id_ for one in (*self.left_out, *self.history) for id_ in one.note_ids}
        waiting = {**self.unconfirmed, **self.inbox}
        self.unconfirmed = {id_: note for id_, note in waiting.items() if id_ in said}
        self.inbox = {
            id_: note for id_, note in waiting.items() if id_ not in said and not is_written(note)
        }

    def _apply_compaction(
        self, event: ContextCompacted | CompactionUndone | ContextCleared
    ) -> None:
        was, self.before = self.before, None
        match event:
            case ContextCompacted():
                self.before = event.compaction_id, tuple(self.history)
                self._go_on_with(compacted(self.history, event.aside, event.summary, event.kept))
            case CompactionUndone():
                if was is not None and was[0] == event.compaction_id:
                    self._go_on_with(list(was[1]))
            case ContextCleared():
                self._go_on_with([])

    def _go_on_with(self, history: list[Message]) -> None:
        stay = {message.id for message in history}
        gone = (message for message in self.history if message.id not in stay)
        self.left_out += [message for message in gone if message.role == "user"]
        self.history = history

    def _apply_note(self, event: AgentEvent) -> None:
        match event:
            case NoteQueued():
                self.unconfirmed.pop(event.note.id, None)
                self.inbox[event.note.id] = event.note  # an edited note keeps its place
            case NoteTaken():
                note = self.inbox.pop(event.note_id, None)
                if note is not None:
                    self.unconfirmed[note.id] = note
            case NoteDelivered() | NoteReturned():
                self.inbox.pop(event.note_id, None)
                self.unconfirmed.pop(event.note_id, None)
            case _:
                self.far.apply(event)


def reduce(
    events: Iterable[AgentEvent],
    main_agent: AgentId,
    *,
    aside: Iterable[AgentEvent] = (),
    elsewhere: Container[AgentId] = (),
) -> tuple[AgentRecord, ...]:
    """Return every agent that the events name, the main one first.

    `aside` are the main agent's events on other branches: what they used counts. `elsewhere` are
    the subagents that were started on one.
    """
    agents: dict[AgentId, _Agent] = {main_agent: _Agent()}
    for event in aside:
        agents[main_agent].count(event)
    for event in events:
        agent = agents.get(event.agent_id)
        if agent is None:
            agent = agents[event.agent_id] = _Agent()
        agent.apply(event)
        parent = agents.get(agent.spec.parent_id) if agent.spec is not None else None
        if isinstance(event, AgentEnded) and parent is not None:
            parent.new_ends.add(event.agent_id)
    known = {one for agent in agents.values() for one in agent.known_ends}
    return tuple(
        agent.record(agent_id, is_elsewhere=agent_id in elsewhere, is_end_known=agent_id in known)
        for agent_id, agent in agents.items()
    )
