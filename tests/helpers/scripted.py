"""The two honest fakes of the engine's tests: a scripted model and a store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from desktop_agent.core.approvals import Rule
from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.commands import EventPage
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    AgentSpawned,
    BudgetChanged,
    FilesChanged,
    ListChanged,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    SideCallEnded,
    StepEnded,
    StepStarted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.messages import TextPart, ToolCall
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import Accepted, Answer, Delta, ModelRequest, StreamItem
from desktop_agent.core.sessions import BranchPoint, SearchFound, SessionInfo
from desktop_agent.core.tasks import TaskState
from desktop_agent.core.usage import Usage, UsageReport
from desktop_agent.engine.base.ports import AgentRecord


def says(text: str, **kwargs: Any) -> Answer:
    """Return an answer of text."""
    return Answer((TextPart(text),), usage=Usage(10, 5), **kwargs)


_ids = iter(range(1, 1_000_000))


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> Answer:
    """Return an answer that calls tools: `calls(("read", {"path": "a"}))`."""
    parts: list[TextPart | ToolCall] = [TextPart(text)] if text else []
    parts += [ToolCall(f"call_{next(_ids)}", name, args) for name, args in wanted]
    return Answer(tuple(parts), "tool_calls", usage=Usage(10, 5))


@dataclass
class Waits:
    """A step of the script: shows `text`, then waits for `gate` before it answers."""

    gate: asyncio.Event
    text: str = ""
    answer: Answer | None = None
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    is_accepted: bool = True


@dataclass
class Breaks:
    """A step of the script: shows `text`, then fails."""

    fault: Fault
    text: str = ""
    is_accepted: bool = True


Script = Answer | Waits | Breaks | Callable[[ModelRequest], Answer]


class ScriptedModel:
    """Answers with the script's steps, one a request; a request too many fails the test."""

    def __init__(self, *script: Script) -> None:
        self.script = list(script)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        self.requests.append(request)
        step = self.script.pop(0)
        if callable(step):
            step = step(request)
        if isinstance(step, Answer):
            yield Accepted()
            for part in step.parts:
                if isinstance(part, TextPart):
                    yield Delta("text", part.text)
            yield step
            return
        if step.is_accepted:
            yield Accepted()
        if step.text:
            yield Delta("text", step.text)
        if isinstance(step, Breaks):
            raise ModelError(step.fault)
        step.reached.set()
        await step.gate.wait()
        yield step.answer or says(step.text or "done")


class MemoryStore:
    """Keeps everything in lists; `load_agents` rebuilds from events as a disk store must."""

    def __init__(self) -> None:
        self.events: dict[SessionId, list[AgentEvent]] = {}
        self.infos: dict[SessionId, SessionInfo] = {}
        self._rules: tuple[Rule, ...] = ()

    def copy(self) -> MemoryStore:
        """Return a store as it is when the app is killed now."""
        store = MemoryStore()
        store.events = {key: list(events) for key, events in self.events.items()}
        store.infos = dict(self.infos)
        return store

    def record(
        self, session_id: SessionId, *events: AgentEvent, info: SessionInfo | None = None
    ) -> None:
        self.events.setdefault(session_id, []).extend(events)
        if info is not None:
            self.save_session(info)

    def flush_pending(self) -> None:
        pass

    def save_session(self, info: SessionInfo) -> None:
        self.infos[info.id] = info

    def delete_session(self, session_id: SessionId) -> None:
        self.infos.pop(session_id, None)
        self.events.pop(session_id, None)

    def sessions(self) -> tuple[SessionInfo, ...]:
        return tuple(sorted(self.infos.values(), key=lambda i: i.updated_at, reverse=True))

    def page(
        self,
        session_id: SessionId,
        before_seq: int | None,
        count: int,
        agent_id: AgentId | None = None,
    ) -> EventPage:
        every = self.events.get(session_id, [])
        events = [e for e in every if agent_id is None or e.agent_id == agent_id]
        end = len(events) if before_seq is None else before_seq - 1
        start = max(0, end - count)
        return EventPage(tuple(events[start:end]), start + 1)

    def told_changes(self, session_id: SessionId) -> tuple[ChangeSet, ...]:
        told = self.events.get(session_id, [])
        return tuple(one.changes for one in told if isinstance(one, FilesChanged))

    def load_agents(
        self, session_id: SessionId, more: Sequence[AgentEvent] = ()
    ) -> tuple[AgentRecord, ...]:
        events = [*self.events.get(session_id, []), *more]
        agents = dict.fromkeys(event.agent_id for event in events)
        return tuple(self._record(events, agent_id) for agent_id in agents)

    def _record(  # noqa: C901, PLR0912 - one case for each event
        self, events: Sequence[AgentEvent], agent_id: AgentId
    ) -> AgentRecord:
        notes: dict[str, Note] = {}
        taken: dict[str, Note] = {}
        history = []
        step, running = 0, False
        spec, end, tools = None, None, 0
        usage, budget, seconds = Usage(), None, 0.0
        unpriced = 0
        for event in events:
            if event.agent_id != agent_id:
                continue
            match event:
                case MessageAdded(message=message):
                    history.append(message)
                case NoteQueued(note=note):
                    taken.pop(note.id, None)
                    notes[note.id] = note
                case NoteTaken(note_id=note_id):
                    taken[note_id] = notes.pop(note_id)
                case NoteDelivered(note_id=note_id) | NoteReturned(note_id=note_id):
                    notes.pop(note_id, None)
                    taken.pop(note_id, None)
                case StepStarted(step=number):
                    step = number
                case TurnStarted():
                    running = True
                case TurnEnded():
                    running = False
                    seconds += event.seconds
                case StepEnded() | SideCallEnded():
                    usage += event.usage
                    unpriced += event.usage.cost is None
                case BudgetChanged():
                    budget = event.budget
                case AgentSpawned(spec=given):
                    spec = given
                case AgentEnded():
                    end = event
                case ToolStarted():
                    tools += 1
                case _:
                    pass
        return AgentRecord(
            agent_id,
            tuple(history),
            tuple(notes.values()),
            step,
            running,
            tuple(taken.values()),
            spec,
            end,
            usage=usage,
            tools_run=tools,
            budget=budget,
            seconds=seconds,
            unpriced=unpriced,
        )

    def load_agent(
        self, session_id: SessionId, agent_id: AgentId, more: Sequence[AgentEvent] = ()
    ) -> AgentRecord:
        return self._record([*self.events.get(session_id, []), *more], agent_id)

    def load_tree(self, session_id: SessionId) -> tuple[AgentRecord, ...]:
        return tuple(r for r in self.load_agents(session_id) if r.spec is not None)

    def task_states(self, session_id: SessionId) -> dict[AgentId, TaskState]:
        return {
            event.agent_id: TaskState(event.tasks, event.next_id, event.revision)
            for event in self.events.get(session_id, [])
            if isinstance(event, ListChanged)
        }

    def branch_points(self, session_id: SessionId) -> tuple[tuple[BranchPoint, ...], int]:
        return (), 0

    def begin_branch(
        self, session_id: SessionId, before: str, *events: AgentEvent, info: object = None
    ) -> None:
        raise NotImplementedError("branches are tested with the real store")

    def switch_branch(self, session_id: SessionId, head: int, info: object = None) -> None:
        raise NotImplementedError("branches are tested with the real store")

    def branch_with(self, session_id: SessionId, seq: int) -> int | None:
        return None

    def notes_in(self, session_id: SessionId, message_id: str) -> tuple[Note, ...]:
        return ()

    def search(self, text: str, limit: int, hidden: Collection[SessionId] = ()) -> SearchFound:
        found = (i.id for i in self.infos.values() if text in i.title and i.id not in hidden)
        return SearchFound(tuple(found)[:limit])

    def usage(self, since: str) -> UsageReport:
        raise NotImplementedError("what was used is tested with the real store")

    def index_more(self) -> bool:
        return False

    def count_more(self) -> bool:
        return False

    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    def save_rules(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
