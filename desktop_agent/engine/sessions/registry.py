"""All sessions: found, opened, restored, followed, deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentOpened,
    CommandRefused,
    EngineFailed,
    Event,
    ListChanged,
    NoteQueued,
    PartDelta,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    SessionsChanged,
    ToolOutput,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.notes import is_written
from desktop_agent.core.sessions import KEPT_DELETED_S, SearchFound, SessionInfo, SessionStatus
from desktop_agent.core.tasks import TaskState, restored
from desktop_agent.core.usage import UsageReport
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.agent.remote_agent import RemoteAgent
from desktop_agent.engine.base.ports import AgentRecord, Store, StoreError
from desktop_agent.engine.base.session import Followers, Session, tell
from desktop_agent.engine.sessions.agent_rows import AgentRows
from desktop_agent.engine.sessions.crash_recovery import (
    info_of_record,
    newest_events,
    recovered,
)
from desktop_agent.engine.sessions.upkeep import Upkeep
from desktop_agent.engine.tree.agents import Agents
from desktop_agent.engine.workspace.output_files import OutputFiles

UNTITLED = "New session"

# Events in one page for the window: a few screens, decoded in a few milliseconds.
_PAGE = 400
_FLUSH_S = 0.4
# More would not be looked through.
_MOST_HITS = 100
# After a refused write; so often it is looked whether the disk takes it now.
_RETRY_S = 2.0
_UNDER_WAY = frozenset({"running", "needs_you", "paused"})


class Sessions:
    """The registry. Histories are read from the store when an agent is first needed."""

    def __init__(
        self,
        store: Store,
        listener: Callable[[Event], None],
        outputs: OutputFiles,
        agents: Agents,
        new_agent: Callable[[Session, AgentRecord, TaskState], Agent],
        ended: Callable[[SessionId], None],
        erased: Callable[[SessionId], None],
    ) -> None:
        """`ended` hears of each session that was deleted, once nothing of it runs any more.

        `erased` hears when it is gone for good.
        """
        self._store = store
        self._listener = listener
        self._outputs = outputs
        self._agents = agents
        self._new_agent = new_agent
        self._ended, self._erased = ended, erased
        self._infos: dict[SessionId, SessionInfo] = {}
        self._sessions: dict[SessionId, Session] = {}
        self.is_closing = False
        self._flush_timer: asyncio.TimerHandle | None = None
        self._retry_timer: asyncio.TimerHandle | None = None
        # Whether the person knows already that the disk refuses.
        self._is_refusal_told = False
        self._followers: Followers = {
            PartDelta: self._arm_flush,
            ToolOutput: self._arm_flush,
            TurnEnded: self._on_turn_ended,
            QuestionAsked: self._on_question,
            QuestionAnswered: self._on_question,
        }
        self._list_timer: asyncio.Handle | None = None
        self._endings: dict[SessionId, asyncio.Task[None]] = {}
        # What is to be done with a deleted session once its agents have ended.
        self._after_ending: dict[SessionId, Callable[[SessionId], None]] = {}
        self._upkeep = Upkeep(store, self._erase_overdue)
        self._rows = AgentRows(agents, self._agent_infos, self.on_agents_changed)

    # -- sessions --------------------------------------------------------------------------

    def restore(self, *, reattaches: bool = False) -> None:
        """Read the list, closing what was left open, but what goes on at places; follow that."""
        for info in self._store.sessions():
            self._infos[info.id] = info
        self._outputs.clean_up(self._infos)
        for info in list(self._infos.values()):
            if info.status in _UNDER_WAY and self._close_interrupted(info) and reattaches:
                asyncio.get_running_loop().call_soon(self._load_agents, self.session(info.id))
        self._emit_list()
        self._upkeep.begin()

    def add(self, info: SessionInfo) -> None:
        """Keep a new session. Raises StoreError, and then all is as before."""
        if info.id in self._infos:
            raise StoreError(f"there is a session {info.id} already")
        self._store.save_session(info)
        self._infos[info.id] = info
        self.tell_list()

    def adopt(self, info: SessionInfo) -> None:
        """List a session that was imported; what was under way in it is closed."""
        self._infos[info.id] = info
        self._close_interrupted(info, is_whole=True)
        self.tell_list()

    def session(self, session_id: SessionId) -> Session:
        """Return a live session; raises KeyError for an unknown id."""
        session = self._sessions.get(session_id)
        if session is None:
            if session_id not in self._infos:
                raise KeyError(f"there is no session {session_id}")
            session = Session(
                self._infos[session_id],
                store=self._store,
                listener=self._listener,
                followers=self._followers,
                changed=lambda: self._on_session_changed(session_id),
                refused=lambda _: self._arm_retry(),
            )
            self._sessions[session_id] = session
        return session

    def last_in(self, root: str) -> Session | None:
        """Return the live session of a folder that was used last."""
        here = (one for one in self._sessions.values() if one.info.workspace.root == root)
        return max(here, key=lambda one: one.info.updated_at, default=None)

    def open(self, session_id: SessionId) -> None:
        """Send out a session's state and the newest events of its main agent."""
        session = self.session(session_id)
        main = session.info.main_agent
        page = self._store.page(session_id, None, _PAGE, main)
        agents = self._agent_infos(session_id)
        self._rows.told(session_id, agents)
        lists = self._task_lists(session_id)
        notes = _waiting_notes(self._agents.of_session(session_id))
        events = (*page.events, *session.owed_by(main))
        points = self._store.branch_points(session_id)
        self.emit(
            SessionOpened(session.info, agents, events, page.first_seq, lists, notes, *points)
        )

    def open_agent(self, agent_id: AgentId) -> None:
        """Send out one agent's newest events, ended or not."""
        agent = self.agent(agent_id)
        page = self._store.page(agent.session.info.id, None, _PAGE, agent_id)
        events = (*page.events, *agent.session.owed_by(agent_id))
        info, notes = self._agents.info(agent), _waiting_notes([agent])
        self.emit(AgentOpened(info, events, page.first_seq, notes))

    def delete(self, session_id: SessionId) -> None:
        """Stop a session's agents and put it among the recently deleted; raises StoreError.

        One in which nothing was said is erased. An unknown id is ignored.
        """
        info = self._infos.get(session_id)
        if info is None or info.deleted_at:
            return
        self.session(session_id).update(deleted_at=time.time(), touch=False)
        if info.is_untouched:
            self._after_ending[session_id] = self._erase
        main = self._agents.find(info.main_agent)
        if main is None:
            self._end(session_id)
            return
        self._agents.stop(main)
        job = asyncio.get_running_loop().create_task(self._end_after(session_id))
        self._endings[session_id] = job
        job.add_done_callback(lambda _: self._endings.pop(session_id, None))

    def restore_deleted(self, session_id: SessionId) -> None:
        """Take a session from the recently deleted ones; raises StoreError."""
        self._when_ended(session_id, self._restore_deleted)

    def erase(self, session_id: SessionId) -> None:
        """Erase all of a recently deleted session; another id is ignored."""
        self._when_ended(session_id, self._erase)

    def empty_deleted(self) -> None:
        """Erase all recently deleted sessions, one after the other."""
        for info in self._deleted():
            self.erase(info.id)

    async def close(self) -> None:
        """Stop every agent, end its background commands and write what is buffered.

        From here on notes are only kept: no turn begins.
        """
        self.is_closing = True
        agents = self._agents.all()
        for agent in agents:
            if agent.end is None:
                agent.life.suppress_wakeups("app")
                agent.stop("app")
        # At the same time: each may have commands that take their 2 s to go.
        await asyncio.gather(*(agent.close() for agent in agents))
        if self._endings:
            await asyncio.wait(tuple(self._endings.values()))
        self._upkeep.stop()
        self._rows.close()
        for timer in (self._flush_timer, self._retry_timer):
            if timer is not None:
                timer.cancel()
        self._write_the_rest(is_last=True)

    def search(self, text: str) -> SearchFound:
        """Search titles and messages; deleted sessions are left out."""
        return self._store.search(text, _MOST_HITS, [info.id for info in self._deleted()])

    async def usage(self, since: str) -> UsageReport:
        """Return what was used from a day on."""
        await self._upkeep.all_counted()
        return self._store.usage(since)

    # -- agents ----------------------------------------------------------------------------

    def agent(self, agent_id: AgentId) -> Agent:
        """Return an agent, its session's read from the store if need be; raises KeyError."""
        agent = self._agents.find(agent_id)
        if agent is not None:
            return agent
        for session_id, info in self._infos.items():
            if info.main_agent == agent_id or self._has_subagent(session_id, agent_id):
                self._load_agents(self.session(session_id))
                break
        agent = self._agents.find(agent_id)
        if agent is None:
            raise KeyError(f"there is no agent {agent_id}")
        return agent

    def take_path(self, agent: Agent) -> None:
        """Have a session's main agent go on along the branch that is shown now; send it out."""
        session_id = agent.session.info.id
        state = self._store.task_states(session_id).get(agent.id, TaskState())
        agent.take_path(agent.session.load(agent.id), restored(state))
        self.open(session_id)

    def on_agents_changed(self, session_id: SessionId, about: Agent | None = None) -> None:
        """Send out what changed of the agents, with `about` of that one and those above it.

        The session needs the person while one of them waits.
        """
        if session_id in self._infos:
            changed = self._rows.take(session_id, about)
            self._follow(session_id)
            if changed is not None:
                self.emit(changed)

    def _has_subagent(self, session_id: SessionId, agent_id: AgentId) -> bool:
        if not agent_id.startswith("sa_"):
            return False
        return any(r.agent_id == agent_id for r in self._store.load_tree(session_id))

    def _load_agents(self, session: Session) -> None:
        main = session.info.main_agent
        if self._agents.find(main) is not None:
            return
        records = {r.agent_id: r for r in self._store.load_agents(session.info.id, session.owed)}
        self._claim_outputs(session.info.id, records.values())
        records = {main: records.pop(main, AgentRecord(main)), **records}
        states = self._store.task_states(session.info.id)
        for record in records.values():
            if record.agent_id == main or record.spec is not None:
                state = restored(states.get(record.agent_id, TaskState()))
                self._agents.add(self._new_agent(session, record, state))
        self._pause_idle_subagents(session)
        self._reattach(session)

    def _reattach(self, session: Session) -> None:
        """Follow again what goes on at places; who started it rests until the person's word."""
        for agent in (agents := self._agents.of_session(session.info.id)):
            if isinstance(agent, RemoteAgent) and agent.is_at_work_there:
                agents[0].life.suppress_wakeups("app")
                agent.reattach()

    def _pause_idle_subagents(self, session: Session) -> None:
        """Pause live subagents that nothing would wake: the person says when they go on."""
        for agent in self._agents.of_session(session.info.id):
            is_live = agent.spec is not None and agent.end is None
            is_live &= not (isinstance(agent, RemoteAgent) and agent.is_at_work_there)
            if is_live and not self._agents.live_children(agent):
                agent.pace.pause_after_crash()

    def _agent_infos(self, session_id: SessionId) -> tuple[AgentInfo, ...]:
        loaded = self._agents.of_session(session_id)
        tree = () if loaded else self._store.load_tree(session_id)
        if any(record.end is None for record in tree):
            # Work that was cut short: what its agents used and what waits for them counts.
            self._load_agents(self.session(session_id))
            loaded = self._agents.of_session(session_id)
        if loaded:
            return tuple(self._agents.info(agent) for agent in loaded)
        info = self._infos[session_id]
        main = AgentInfo(info.main_agent, session_id, "Main", usage=info.usage, model=info.model)
        return (main, *(info_of_record(r, session_id) for r in tree))

    def _task_lists(self, session_id: SessionId) -> tuple[ListChanged, ...]:
        states = {
            agent_id: restored(state)
            for agent_id, state in self._store.task_states(session_id).items()
        }
        for agent_id in states:
            if (agent := self._agents.find(agent_id)) is not None:
                states[agent_id] = agent.tasks.state
        return tuple(
            ListChanged(agent_id, state.revision, state.tasks, state.next_id)
            for agent_id, state in states.items()
        )

    async def _end_after(self, session_id: SessionId) -> None:
        await asyncio.gather(*(agent.close() for agent in self._agents.of_session(session_id)))
        self._end(session_id)

    def _end(self, session_id: SessionId) -> None:
        self._agents.forget(session_id)
        self._rows.forget(session_id)
        self._ended(session_id)
        then = self._after_ending.pop(session_id, None)
        if then is not None:
            then(session_id)

    def _when_ended(self, session_id: SessionId, then: Callable[[SessionId], None]) -> None:
        """Do it with a deleted session, once what ran in it has ended; the last wish counts."""
        info = self._infos.get(session_id)
        if info is None or not info.deleted_at:
            return
        if session_id in self._endings:
            self._after_ending[session_id] = then
        else:
            then(session_id)

    def _restore_deleted(self, session_id: SessionId) -> None:
        self.session(session_id).keep(deleted_at=0.0)

    def _erase(self, session_id: SessionId) -> None:
        info = self._infos[session_id]
        try:
            if self._outputs.has_unclaimed:
                self._claim_outputs(session_id, self._store.load_agents(session_id))
            self._store.delete_session(session_id)
        except StoreError as error:
            self.emit(CommandRefused("erase_session", f"“{info.title}” was not deleted: {error}"))
            return
        del self._infos[session_id]
        self._sessions.pop(session_id, None)
        self._erased(session_id)
        self._outputs.delete(session_id)  # last: a session that is listed can still read them
        self._upkeep.index_soon()
        self.tell_list()

    def _deleted(self) -> list[SessionInfo]:
        """Return the recently deleted sessions, the last one first."""
        found = (info for info in self._infos.values() if info.deleted_at)
        return sorted(found, key=lambda info: info.deleted_at, reverse=True)

    def _erase_overdue(self) -> bool:
        """Erase the oldest session whose time is up; tell whether there are more."""
        limit = time.time() - KEPT_DELETED_S
        overdue = [info for info in self._deleted() if info.deleted_at < limit]
        if overdue:
            self.erase(overdue[-1].id)
        return len(overdue) > 1

    def _claim_outputs(self, session_id: SessionId, records: Iterable[AgentRecord]) -> None:
        """Give the session its files of an earlier version, which kept those of all together."""
        if self._outputs.has_unclaimed:
            histories = (message for record in records for message in record.history)
            texts = (result.text for message in histories for result in message.results)
            self._outputs.claim(session_id, texts)

    def _close_interrupted(self, info: SessionInfo, *, is_whole: bool = False) -> bool:
        """Close what is open; tell whether something goes on elsewhere, unless all is closed."""
        recent = partial(newest_events, self._store, info.id)
        records = self._store.load_agents(info.id)
        goes_on = any(one.is_far_at_work for one in records)
        goes_on &= not is_whole and not info.deleted_at
        events, status = recovered(records, recent, keeps_far=goes_on)
        # All or nothing; a disk that refuses keeps nobody from their sessions.
        self.session(info.id).keep(*events, status=status)
        return goes_on

    # -- events ----------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        """Tell the listener what belongs to no agent's record."""
        tell(self._listener, event)

    def _on_turn_ended(self, event: TurnEnded) -> None:
        if event.fault is not None and event.fault.kind == "storage":
            self._is_refusal_told = True
        self._note_end(event.agent_id, is_failed=event.reason == "error")

    def _on_question(self, event: QuestionAsked | QuestionAnswered) -> None:
        # What an agent asks stands in its snapshot, and goes out of it.
        agent = self._agents.find(event.agent_id)
        if agent is not None:
            self.on_agents_changed(agent.session.info.id, agent)

    def _note_end(self, agent_id: AgentId, *, is_failed: bool) -> None:
        agent = self._agents.find(agent_id)
        if agent is None or agent.spec is not None or agent.session.info.id not in self._infos:
            return
        if not is_failed and self._agents.live_children(agent):
            return  # it goes on with them; what the session is then follows from all its agents
        status: SessionStatus = "failed" if is_failed else "idle"
        agent.session.conclude(status=status, is_unread=True, touch=True)

    def _follow(self, session_id: SessionId) -> None:
        session, status = self.session(session_id), self._rows.status(session_id)
        if status is not None:
            session.conclude(status=status)
        elif session.info.status in _UNDER_WAY:
            session.conclude(status="idle", is_unread=True, touch=True)

    def _on_session_changed(self, session_id: SessionId) -> None:
        if session_id in self._infos:
            self._infos[session_id] = self._sessions[session_id].info
            self.tell_list()

    def tell_list(self) -> None:
        """Send out the list of sessions, once for all changes of one loop iteration."""
        if self._list_timer is None:
            self._list_timer = asyncio.get_running_loop().call_soon(self._emit_list)

    def _emit_list(self) -> None:
        self._list_timer = None
        kept = (info for info in self._infos.values() if not info.deleted_at)
        newest = sorted(kept, key=lambda info: info.updated_at, reverse=True)
        self.emit(SessionsChanged(tuple(newest), tuple(self._deleted())))

    def _arm_flush(self, _: PartDelta | ToolOutput) -> None:
        if self._flush_timer is None:
            loop = asyncio.get_running_loop()
            self._flush_timer = loop.call_later(_FLUSH_S, self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        try:
            self._store.flush_pending()
        except StoreError:
            self._arm_retry()

    def _arm_retry(self) -> None:
        if self._retry_timer is None and not self.is_closing:
            loop = asyncio.get_running_loop()
            self._retry_timer = loop.call_later(_RETRY_S, self._retry)

    def _retry(self) -> None:
        self._retry_timer = None
        self._write_the_rest()

    def _write_the_rest(self, *, is_last: bool = False) -> None:
        """Write what is owed and buffered; tell the person once while the disk refuses."""
        try:
            for session in self._sessions.values():
                session.write_owed()
            self._store.flush_pending()
        except StoreError as error:
            if is_last or not self._is_refusal_told:
                self._is_refusal_told = True
                self.emit(EngineFailed("disk", f"The last of your work is not saved yet. {error}"))
            self._arm_retry()
        else:
            self._is_refusal_told = False


def title_from(text: str) -> str:
    """Return a title for a session that begins with this message."""
    line = text.strip().splitlines()[0].strip()
    return line if len(line) <= 60 else f"{line[:59].rstrip()}…"


def _waiting_notes(agents: Iterable[Agent]) -> tuple[NoteQueued, ...]:
    """Return what agents have not read; of the main agent's what the person wrote is shown."""
    waiting = ((agent, note) for agent in agents for note in agent.inbox.waiting)
    return tuple(NoteQueued(a.id, note) for a, note in waiting if a.spec or is_written(note))
