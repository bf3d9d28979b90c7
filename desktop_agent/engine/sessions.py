"""All sessions and their agents: found, opened, restored, followed, deleted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentsChanged,
    EngineFailed,
    Event,
    ListChanged,
    PartDelta,
    SessionOpened,
    SessionsChanged,
    ToolOutput,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo, SessionStatus
from desktop_agent.core.tasks import TaskState, restored
from desktop_agent.engine.agent import Agent
from desktop_agent.engine.ports import AgentRecord, Store, StoreError
from desktop_agent.engine.recovery import closing_events
from desktop_agent.engine.session import Session

_log = logging.getLogger(__name__)

UNTITLED = "New session"

# Happenings in one page for the window: a few screens, decoded in a few milliseconds.
_PAGE = 400
_FLUSH_S = 0.4


class Sessions:
    """The registry. Histories are read from the store when an agent is first needed."""

    def __init__(
        self,
        store: Store,
        listener: Callable[[Event], None],
        new_agent: Callable[[Session, AgentRecord, TaskState], Agent],
    ) -> None:
        self._store = store
        self._listener = listener
        self._new_agent = new_agent
        self._infos: dict[SessionId, SessionInfo] = {}
        self._sessions: dict[SessionId, Session] = {}
        self._agents: dict[AgentId, Agent] = {}
        self._flush_timer: asyncio.TimerHandle | None = None
        self._list_timer: asyncio.Handle | None = None
        self._endings: set[asyncio.Task[None]] = set()

    # -- sessions --------------------------------------------------------------------------

    def restore(self) -> None:
        """Read the list from the store, closing what the last run of the app left open."""
        for info in self._store.sessions():
            self._infos[info.id] = info
        for info in list(self._infos.values()):
            if info.status in {"running", "needs_you"}:
                self._close_interrupted(info)
        self._emit_list()

    def add(self, info: SessionInfo) -> None:
        """Keep a new session. Raises StoreError, and then there is none."""
        self._store.save_session(info)
        self._infos[info.id] = info
        self._schedule_list()

    def session(self, session_id: SessionId) -> Session:
        """Return a live session; raises KeyError for an unknown id."""
        session = self._sessions.get(session_id)
        if session is None:
            if session_id not in self._infos:
                raise KeyError(f"there is no session {session_id}")
            session = Session(
                self._infos[session_id],
                store=self._store,
                listener=self.emit,
                changed=lambda: self._on_session_changed(session_id),
            )
            self._sessions[session_id] = session
        return session

    def open(self, session_id: SessionId) -> None:
        """Send out a session's state and its newest happenings."""
        session = self.session(session_id)
        self._store.flush_pending()
        page = self._store.page(session_id, None, _PAGE)
        agents = self._agent_infos(session_id)
        lists = self._task_lists(session_id)
        self.emit(SessionOpened(session.info, agents, page.events, page.first_seq, lists))

    def delete(self, session_id: SessionId) -> None:
        """Stop a session's agents, then delete all of it; an unknown id is ignored."""
        info = self._infos.pop(session_id, None)
        if info is None:
            return
        agent = self._agents.get(info.main_agent)
        if agent is None:
            self._forget(session_id, info.main_agent)
        else:
            agent.stop()
            job = asyncio.get_running_loop().create_task(self._delete_after(agent, session_id))
            self._endings.add(job)
            job.add_done_callback(self._endings.discard)
        self._schedule_list()

    async def close(self) -> None:
        """Stop every agent, end its background commands and write what is buffered."""
        for agent in self._agents.values():
            agent.stop()
        for agent in list(self._agents.values()):
            await agent.close()
        if self._endings:
            await asyncio.wait(self._endings)
        if self._flush_timer is not None:
            self._flush_timer.cancel()
        self._store.flush_pending()

    # -- agents ----------------------------------------------------------------------------

    def agent(self, agent_id: AgentId) -> Agent:
        """Return a live agent, its history read from the store; raises KeyError."""
        agent = self._agents.get(agent_id)
        if agent is not None:
            return agent
        for info in self._infos.values():
            if info.main_agent == agent_id:
                return self._load_agent(self.session(info.id))
        raise KeyError(f"there is no agent {agent_id}")

    def on_agent_changed(self, session_id: SessionId) -> None:
        """Send out the agents; the session needs the person while one of them waits."""
        if session_id not in self._infos:
            return
        agents = self._agent_infos(session_id)
        session = self.session(session_id)
        if session.info.status in {"running", "needs_you"}:
            waits = any(a.status in {"waiting_approval", "waiting_answer"} for a in agents)
            session.update(status="needs_you" if waits else "running", touch=False)
        self.emit(AgentsChanged(session_id, agents))

    def _load_agent(self, session: Session) -> Agent:
        agent_id = session.info.main_agent
        records = {r.agent_id: r for r in self._store.load_agents(session.info.id)}
        record = records.get(agent_id, AgentRecord(agent_id))
        state = self._store.task_states(session.info.id).get(agent_id, TaskState())
        agent = self._new_agent(session, record, restored(state))
        self._agents[agent_id] = agent
        return agent

    def _agent_infos(self, session_id: SessionId) -> tuple[AgentInfo, ...]:
        info = self._infos[session_id]
        agent = self._agents.get(info.main_agent)
        if agent is not None:
            return (agent.info,)
        return (AgentInfo(info.main_agent, session_id, "Main"),)

    def _task_lists(self, session_id: SessionId) -> tuple[ListChanged, ...]:
        states = {
            agent_id: restored(state)
            for agent_id, state in self._store.task_states(session_id).items()
        }
        for agent_id in states:
            if agent_id in self._agents:
                states[agent_id] = self._agents[agent_id].tasks.state
        return tuple(
            ListChanged(agent_id, state.revision, state.tasks, state.next_id)
            for agent_id, state in states.items()
        )

    async def _delete_after(self, agent: Agent, session_id: SessionId) -> None:
        await agent.close()
        self._forget(session_id, agent.id)

    def _forget(self, session_id: SessionId, agent_id: AgentId) -> None:
        self._sessions.pop(session_id, None)
        self._agents.pop(agent_id, None)
        self._store.delete_session(session_id)

    def _close_interrupted(self, info: SessionInfo) -> None:
        recent = self._store.page(info.id, None, _PAGE).events
        for record in self._store.load_agents(info.id):
            if record.was_running or record.inbox:
                for event in closing_events(record, recent):
                    self._store.record(info.id, event)
        self.session(info.id).update(status="interrupted", touch=False)

    # -- events ----------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        """Tell the listener; its failure neither undoes anything nor hides a tool's result."""
        match event:
            case PartDelta() | ToolOutput():
                self._arm_flush()
            case TurnEnded(agent_id=agent_id, reason=reason):
                self._follow(agent_id, "failed" if reason == "error" else "idle")
            case _:
                pass
        try:
            self._listener(event)
        except Exception:  # noqa: BLE001 - a listener is outside the engine's control
            _log.exception("a listener failed on %s", type(event).__name__)

    def _follow(self, agent_id: AgentId, status: SessionStatus) -> None:
        agent = self._agents.get(agent_id)
        if agent is not None and agent.session.info.id in self._infos:
            agent.session.update(status=status, is_unread=True)

    def _on_session_changed(self, session_id: SessionId) -> None:
        if session_id in self._infos:
            self._infos[session_id] = self._sessions[session_id].info
            self._schedule_list()

    def _schedule_list(self) -> None:
        """Send the list once for all changes of one loop iteration."""
        if self._list_timer is None:
            self._list_timer = asyncio.get_running_loop().call_soon(self._emit_list)

    def _emit_list(self) -> None:
        self._list_timer = None
        newest = sorted(self._infos.values(), key=lambda info: info.updated_at, reverse=True)
        self.emit(SessionsChanged(tuple(newest)))

    def _arm_flush(self) -> None:
        if self._flush_timer is None:
            loop = asyncio.get_running_loop()
            self._flush_timer = loop.call_later(_FLUSH_S, self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        try:
            self._store.flush_pending()
        except StoreError as error:
            self.emit(EngineFailed("store", str(error)))
