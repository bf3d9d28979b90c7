"""What the window knows of sessions and their agents: one reducer, which all panels show. No Qt.

The window reads this and never makes an event. Which session and agent are shown is the
window's own choice: see `SessionState.show`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from enum import Flag, auto
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.changes import SessionChanges
from desktop_agent.core.events import (
    AgentEvent,
    AgentOpened,
    AgentsChanged,
    ApprovalRequested,
    ApprovalResolved,
    BudgetChanged,
    BudgetReached,
    Event,
    ListChanged,
    MachineSandboxChanged,
    McpChanged,
    NoteQueued,
    QuestionAnswered,
    QuestionAsked,
    SandboxChanged,
    SessionOpened,
    SessionsChanged,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, NoteId, SessionId
from desktop_agent.core.mcp import McpState
from desktop_agent.core.questions import Question
from desktop_agent.core.sandbox import SandboxState
from desktop_agent.core.sessions import BranchPoint, SessionInfo
from desktop_agent.core.tasks import Task
from desktop_agent.gui.state.agent_notes import AgentNotes, NoteEvent, TurnEvent
from desktop_agent.gui.state.pending_request import PendingRequest

RequestEvent = ApprovalRequested | ApprovalResolved | QuestionAsked | QuestionAnswered | TurnEnded


class Facet(Flag):
    """What of the session that is shown may differ now."""

    SESSION = auto()  # a session was opened, perhaps the same one again
    SHOWN = auto()  # an agent's transcript came to the front, perhaps the same one again
    AGENTS = auto()
    TASKS = auto()
    NOTES = auto()  # and turns, steps and running tools
    REQUESTS = auto()
    BUDGETS = auto()
    SANDBOX = auto()  # the same for all sessions
    CHANGES = auto()  # of files
    WRITER = auto()  # which window changes it: see `is_read_only`


NOTHING = Facet(0)
EVERYTHING = ~NOTHING
_NO_CHANGES = SessionChanges()
_OF_SESSION = EVERYTHING & ~(Facet.SESSION | Facet.SHOWN)


class AgentPage(msgspec.Struct, frozen=True):
    """What it takes to show one agent's transcript: a session's main agent, or a subagent.

    `info` is the session's, `model` the agent's. The rest is as in SessionOpened.
    """

    info: SessionInfo
    agent_id: AgentId
    model: str
    agents: tuple[AgentInfo, ...] = ()
    events: tuple[AgentEvent, ...] = ()
    first_seq: int = 1
    branches: tuple[BranchPoint, ...] = ()
    path: int = 0

    @classmethod
    def of_main(cls, opened: SessionOpened) -> AgentPage:
        info, first = opened.info, opened.first_seq
        page = cls(info, info.main_agent, info.model, opened.agents, opened.events, first)
        return replace(page, branches=opened.branches, path=opened.path)


class SessionState:
    """Sessions, agents, task lists, notes, pending requests and held budgets."""

    def __init__(self) -> None:
        self.session_id: SessionId | None = None
        self.shown: AgentId | None = None
        self.sessions: dict[SessionId, SessionInfo] = {}
        # None until it is known.
        self.sandbox: SandboxState | None = None
        # What other windows have for writing.
        self.elsewhere: frozenset[SessionId] = frozenset()
        self._machine_sessions: tuple[SessionId, ...] = ()
        self._servers: dict[str, tuple[McpState, ...]] = {}
        self._agents: dict[SessionId, tuple[AgentInfo, ...]] = {}
        self._infos: dict[AgentId, AgentInfo] = {}
        self._owners: dict[AgentId, SessionId] = {}
        self._lists: dict[AgentId, tuple[Task, ...]] = {}
        self._changes: dict[SessionId, SessionChanges] = {}
        self._notes: dict[AgentId, AgentNotes] = {}
        self._replaced: dict[str, tuple[AgentId, NoteId]] = {}
        # Those of every session: one that is opened brings the events of its main agent alone, so
        # what its subagents asked while another was shown is known from having listened.
        self._requests: dict[str, PendingRequest] = {}
        # Who holds, in the order it began, and whose budget it is.
        self._held: dict[AgentId, AgentId] = {}
        self._below: tuple[tuple[AgentInfo, ...], AgentId | None, int] = ((), None, 0)
        self._reducers: dict[type, Callable[[Any], Facet]] = {  # Any: its own kind of event
            SessionsChanged: self._on_sessions,
            SandboxChanged: self._on_sandbox,
            MachineSandboxChanged: self._on_machine_sandbox,
            McpChanged: self._on_servers,
            SessionOpened: self._on_session_opened,
            AgentOpened: self._on_agent_opened,
            AgentsChanged: self._on_agents,
            ListChanged: self._on_list,
            BudgetReached: self._on_budget_reached,
            BudgetChanged: self._on_budget_changed,
            **dict.fromkeys(get_args(NoteEvent), self._on_note),
            **dict.fromkeys((TurnStarted, StepStarted, ToolStarted, ToolEnded), self._on_turn),
            TurnEnded: self._on_turn_ended,
            **dict.fromkeys((ApprovalRequested, QuestionAsked), self._on_request),
            **dict.fromkeys((ApprovalResolved, QuestionAnswered), self._on_request),
        }

    # -- what changes it -------------------------------------------------------------------

    def apply(self, event: Event) -> Facet:
        """Take in one event; return what of the session that is shown may differ now."""
        reducer = self._reducers.get(type(event))
        return reducer(event) if reducer is not None else NOTHING

    def show(self, session_id: SessionId, agent_id: AgentId) -> Facet:
        """Answer from now on for this session, whose agent is shown."""
        self.session_id, self.shown = session_id, agent_id
        info = self.sessions.get(session_id)
        is_main = info is not None and info.main_agent == agent_id
        return EVERYTHING if is_main else EVERYTHING & ~Facet.SESSION

    def hide(self) -> None:
        """Answer for no session until the next is shown."""
        self.session_id = self.shown = None

    def know_changes(self, session_id: SessionId, changes: SessionChanges) -> Facet:
        """Take in what a session changed in files, which is asked for and no event."""
        if changes == self._changes.get(session_id):
            return NOTHING
        self._changes[session_id] = changes
        return Facet.CHANGES if session_id == self.session_id else NOTHING

    def know_elsewhere(self, sessions: frozenset[SessionId]) -> Facet:
        """Take in which sessions other windows have for writing."""
        was_read_only, self.elsewhere = self.is_read_only, sessions
        return Facet.WRITER if self.is_read_only != was_read_only else NOTHING

    def forget_note(self, agent_id: AgentId, note_id: NoteId) -> Facet:
        """Drop a note that came back and that the user sent elsewhere or discarded."""
        self.notes(agent_id).forget(note_id)
        return Facet.NOTES

    def replace_note(self, agent_id: AgentId, note_id: NoteId, new_id: NoteId) -> None:
        """Drop a note that came back once the one that stands for it is queued."""
        self._replaced[new_id] = (agent_id, note_id)

    def copied(self) -> SessionState:
        """Return the same for a window that opens now, and shows nothing yet."""
        twin = SessionState()
        twin.__dict__.update((k, copy(v)) for k, v in vars(self).items() if k != "_reducers")
        twin._notes = {agent_id: notes.copied() for agent_id, notes in self._notes.items()}
        twin.hide()
        return twin

    # -- what is known ---------------------------------------------------------------------

    @property
    def is_read_only(self) -> bool:
        """Whether another window has the session that is shown for writing."""
        return self.session_id in self.elsewhere

    def session_of_request(self, key: str) -> SessionId | None:
        """Return whose an open request or question is."""
        ask = self._requests.get(key)
        return self.session_of(ask.agent_id) if ask is not None else None

    def owner(self, event: Event) -> SessionId | None:
        """Return the session of an event; None for the events of all."""
        if isinstance(event, AgentsChanged):
            return event.session_id
        if isinstance(event, SessionOpened):
            return event.info.id
        if isinstance(event, AgentOpened):
            return event.info.session_id
        agent_id = getattr(event, "agent_id", None)
        return self.session_of(agent_id) if agent_id else None

    def is_about_shown(self, event: Event) -> bool:
        """Whether an event is of the session that is shown, or of all."""
        return self.owner(event) in (None, self.session_id)

    def session_of(self, agent_id: AgentId) -> SessionId | None:
        return self._owners.get(agent_id)

    @property
    def agents(self) -> tuple[AgentInfo, ...]:
        """The agents of the session that is shown, the main one first."""
        return self.agents_of(self.session_id)

    @property
    def info(self) -> SessionInfo | None:
        """The session that is shown."""
        return self.sessions.get(self.session_id) if self.session_id is not None else None

    @property
    def main_agent(self) -> AgentId | None:
        """The main agent of the session that is shown."""
        return self.info.main_agent if self.info is not None else None

    def agents_of(self, session_id: SessionId | None) -> tuple[AgentInfo, ...]:
        """Return a session's agents as they are now, the main one first."""
        return self._agents.get(session_id, ()) if session_id is not None else ()

    def as_whole(self, event: Event) -> Event:
        """Return an event that was taken in, with all agents where it has the changed ones."""
        is_of_agents = isinstance(event, AgentsChanged)
        return event.as_whole(self.agents_of(event.session_id)) if is_of_agents else event

    def agent(self, agent_id: AgentId | None) -> AgentInfo | None:
        return self._infos.get(agent_id) if agent_id is not None else None

    def model_of(self, agent_id: AgentId | None) -> tuple[str, str]:
        """Return the model that an agent runs on, and its address; both empty if not known."""
        agent = self.agent(agent_id)
        owner = self.session_of(agent_id) if agent_id is not None else None
        info = self.sessions.get(owner) if owner is not None else None
        if info is None:
            return "", ""
        # The main agent's own line may be older than what was chosen for the session.
        has_own = agent is not None and agent.parent_id is not None and agent.model
        return (agent.model, agent.api_base) if agent and has_own else (info.model, info.api_base)

    def page(self, opened: AgentOpened) -> AgentPage | None:
        """Return what shows this agent; None if its session is gone."""
        agent, info = opened.info, self.sessions.get(opened.info.session_id)
        if info is None:
            return None
        agents = self.agents_of(info.id)
        model = agent.model or info.model
        return AgentPage(info, agent.id, model, agents, opened.events, opened.first_seq)

    def running(self) -> tuple[SessionInfo, ...]:
        """Return the sessions at work, also those that wait for the user."""
        under_way = ("running", "needs_you", "paused")
        return tuple(info for info in self.sessions.values() if info.status in under_way)

    def tasks(self, agent_id: AgentId | None) -> tuple[Task, ...]:
        return self._lists.get(agent_id, ()) if agent_id is not None else ()

    @property
    def changes(self) -> SessionChanges:
        """What the session that is shown changed in files, as far as it is known."""
        return self.changes_of(self.session_id) if self.session_id else _NO_CHANGES

    def changes_of(self, session_id: SessionId) -> SessionChanges:
        """Return what a session changed in files, as far as it is known."""
        return self._changes.get(session_id, _NO_CHANGES)

    @property
    def changed_by(self) -> frozenset[AgentId]:
        """Whose changes in the session that is shown stand."""
        undone = frozenset(self.changes.undone)
        standing = (one for one in self.changes.sets if one.kind != "undo" and one.count)
        return frozenset(one.agent_id for one in standing if one.id not in undone)

    @property
    def has_tasks(self) -> bool:
        """Whether any agent of the session that is shown has a task."""
        return any(self._is_of_shown(one) for one, tasks in self._lists.items() if tasks)

    def notes(self, agent_id: AgentId | None) -> AgentNotes:
        """Return the notes to an agent; empty ones for nobody."""
        known = self._notes.get(agent_id) if agent_id is not None else None
        if known is None:
            known = AgentNotes(agent_id)
            if agent_id is not None:
                self._notes[agent_id] = known
                if agent_id in self._infos:
                    known.follow(self._infos[agent_id])
        return known

    def below(self, agent_id: AgentId) -> int:
        """Return how many live agents there are below this one."""
        agents = self.agents
        if self._below[0] is not agents or self._below[1] != agent_id:
            children: dict[AgentId | None, list[AgentInfo]] = {}
            for info in agents:
                children.setdefault(info.parent_id, []).append(info)
            count, above = 0, [agent_id]
            while above:
                for info in children.pop(above.pop(), ()):
                    above.append(info.id)
                    count += not info.is_ended
            self._below = (agents, agent_id, count)
        return self._below[2]

    def path_of(self, agent_id: AgentId | None) -> tuple[AgentInfo, ...]:
        """Return the agents of the session that is shown from the main one down to this one."""
        by_id = {info.id: info for info in self.agents}
        path: list[AgentInfo] = []
        info = by_id.get(agent_id) if agent_id is not None else None
        while info is not None and info not in path:
            path.append(info)
            info = by_id.get(info.parent_id) if info.parent_id is not None else None
        return tuple(reversed(path))

    def waiting(self) -> tuple[PendingRequest, ...]:
        """Return what waits in the session that is shown, oldest first."""
        asks = [ask for ask in self._requests.values() if self._is_of_shown(ask.agent_id)]
        return tuple(sorted(asks, key=lambda ask: ask.asked.created_at))

    def question_of(self, agent_id: str) -> Question | None:
        """Return an agent's open question that words can answer."""
        for ask in self._requests.values():
            asked = ask.asked
            if ask.agent_id == agent_id and isinstance(asked, Question) and asked.form is None:
                return asked
        return None

    @property
    def held(self) -> tuple[AgentId, ...]:
        """Who holds for a budget that is used up in the session that is shown, longest first."""
        return tuple(one for one in self._held if self._is_of_shown(one))

    @property
    def is_machine_sandbox(self) -> bool:
        """Whether the person has set this machine apart for the session that is shown."""
        return self.session_id in self._machine_sessions

    def _is_of_shown(self, agent_id: AgentId) -> bool:
        return self.session_id is not None and self._owners.get(agent_id) == self.session_id

    # -- snapshots -------------------------------------------------------------------------

    def _on_sessions(self, event: SessionsChanged) -> Facet:
        before = self.sessions
        self.sessions = {info.id: info for info in event.sessions}
        self._owners.update((info.main_agent, info.id) for info in event.sessions)
        for session_id in before.keys() - self.sessions.keys():
            self._drop_session(session_id, before[session_id].main_agent)
        return NOTHING

    def _on_sandbox(self, event: SandboxChanged) -> Facet:
        self.sandbox = event.state
        return Facet.SANDBOX

    def _on_machine_sandbox(self, event: MachineSandboxChanged) -> Facet:
        self._machine_sessions = event.session_ids
        return Facet.SANDBOX

    def _on_servers(self, event: McpChanged) -> Facet:
        self._servers[event.root] = event.servers
        return NOTHING

    def servers_of(self, root: str) -> tuple[McpState, ...]:
        """Return how the MCP servers of a folder stand."""
        return self._servers.get(root, ())

    def _drop_session(self, session_id: SessionId, main: AgentId) -> None:
        self._changes.pop(session_id, None)
        gone = {main, *(agent.id for agent in self._agents.pop(session_id, ()))}
        for kept in (self._infos, self._owners, self._lists, self._notes, self._held):
            for agent_id in gone:
                kept.pop(agent_id, None)
        self._drop_requests(gone)

    def _on_session_opened(self, event: SessionOpened) -> Facet:
        info = event.info
        self.sessions.setdefault(info.id, info)
        self._owners[info.main_agent] = info.id
        self._agents[info.id] = event.agents
        self._follow(info.id, event.agents)
        for agent in (info.main_agent, *(agent.id for agent in event.agents)):
            self._lists.pop(agent, None)
        self._lists.update((one.agent_id, one.tasks) for one in event.lists)
        self._replay(event, info.main_agent, is_starting=info.status == "running")
        for queued in event.notes:
            if queued.agent_id != info.main_agent:
                self.notes(queued.agent_id).apply_note(queued, self._infos)
        self._drop_resting(event.agents)
        return _OF_SESSION if info.id == self.session_id else NOTHING

    def _on_agent_opened(self, event: AgentOpened) -> Facet:
        info = event.info
        self._owners[info.id] = info.session_id
        self._infos[info.id] = info
        self._replay(event, info.id)
        self._drop_resting((info,))
        return Facet.NOTES | Facet.REQUESTS if self._is_of_shown(info.id) else NOTHING

    def _replay(
        self, opened: SessionOpened | AgentOpened, agent_id: AgentId, *, is_starting: bool = False
    ) -> None:
        notes = self.notes(agent_id)
        notes.replay(opened.events, self._infos, opened.notes)
        if agent_id in self._infos:
            notes.follow(self._infos[agent_id], is_starting=is_starting)
        for event in opened.events:
            if isinstance(event, RequestEvent):
                self._on_request(event)

    def _on_agents(self, event: AgentsChanged) -> Facet:
        self._agents[event.session_id] = event.over(self.agents_of(event.session_id))
        self._follow(event.session_id, event.agents)
        self._drop_resting(event.agents)
        return (
            _OF_SESSION & ~(Facet.TASKS | Facet.CHANGES)
            if event.session_id == self.session_id
            else NOTHING
        )

    def _follow(self, session_id: SessionId, agents: tuple[AgentInfo, ...]) -> None:
        for agent in agents:
            self._infos[agent.id] = agent
            self._owners[agent.id] = session_id
            notes = self._notes.get(agent.id)
            if notes is not None:
                notes.follow(agent)
            if agent.status != "paused" and self._held:
                self._held.pop(agent.id, None)

    def _drop_resting(self, agents: tuple[AgentInfo, ...]) -> None:
        """Nobody waits for an answer where nothing runs, as after a crash."""
        self._drop_requests({agent.id for agent in agents if not agent.is_working})

    def _drop_requests(self, agents: set[AgentId]) -> bool:
        gone = [key for key, ask in self._requests.items() if ask.agent_id in agents]
        for key in gone:
            del self._requests[key]
        return bool(gone)

    # -- events of one agent ---------------------------------------------------------------

    def _of_agent(self, agent_id: AgentId, facet: Facet) -> Facet:
        return facet if self._is_of_shown(agent_id) else NOTHING

    def _on_list(self, event: ListChanged) -> Facet:
        self._lists[event.agent_id] = event.tasks
        return self._of_agent(event.agent_id, Facet.TASKS)

    def _on_note(self, event: NoteEvent) -> Facet:
        self.notes(event.agent_id).apply_note(event, self._infos)
        changed = self._of_agent(event.agent_id, Facet.NOTES)
        if isinstance(event, NoteQueued) and event.note.id in self._replaced:
            return changed | self.forget_note(*self._replaced.pop(event.note.id))
        return changed

    def _on_turn(self, event: TurnEvent) -> Facet:
        self.notes(event.agent_id).apply_turn(event)
        return self._of_agent(event.agent_id, Facet.NOTES)

    def _on_turn_ended(self, event: TurnEnded) -> Facet:
        return self._on_turn(event) | self._on_request(event)

    def _on_request(self, event: RequestEvent) -> Facet:
        has_changed = True
        match event:
            case ApprovalRequested():
                self._requests[event.request.id] = PendingRequest(event.agent_id, event.request)
            case QuestionAsked():
                self._requests[event.question.id] = PendingRequest(event.agent_id, event.question)
            case ApprovalResolved():
                has_changed = self._requests.pop(event.request_id, None) is not None
            case QuestionAnswered():
                has_changed = self._requests.pop(event.question_id, None) is not None
            case TurnEnded():
                has_changed = self._drop_requests({event.agent_id})
        return self._of_agent(event.agent_id, Facet.REQUESTS) if has_changed else NOTHING

    def _on_budget_reached(self, event: BudgetReached) -> Facet:
        self._held[event.agent_id] = event.owner_id
        return self._of_agent(event.agent_id, Facet.BUDGETS)

    def _on_budget_changed(self, event: BudgetChanged) -> Facet:
        self._held = {a: owner for a, owner in self._held.items() if owner != event.agent_id}
        return self._of_agent(event.agent_id, Facet.BUDGETS)
