"""The tree of agents: started, found, reported, stopped, ended. One registry for all sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from desktop_agent.core.agents import AgentInfo, AgentSpec, AgentStatus, EndStatus, StopReason
from desktop_agent.core.events import AgentEnded, AgentSpawned, NoteQueued
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId, SessionId, new_note_id, new_subagent_id
from desktop_agent.core.network.places import Place
from desktop_agent.core.notes import Note, ReturnReason
from desktop_agent.core.parts.origins import ToldChild
from desktop_agent.core.settings import Settings
from desktop_agent.core.tasks import TaskChanges
from desktop_agent.core.tool import ToolError
from desktop_agent.core.usage import Usage
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.agent.inbox import why_unread
from desktop_agent.engine.agent.questions import Questions
from desktop_agent.engine.base.ports import AgentRecord, StoreError
from desktop_agent.engine.base.session import Session, has_whole_text
from desktop_agent.engine.permissions.scope import narrowed
from desktop_agent.engine.skills.roles import role_named
from desktop_agent.engine.tasks.task_list import TaskError
from desktop_agent.engine.tree import budgets, reports
from desktop_agent.engine.tree.child_model import ChildModel, choose

_RESULT_SHOWN = 300
_QUOTE = 200
_LENT_OUT = (
    "the rest of your budget is set aside for your running subagents; what they don't use comes "
    "back when they end: wait for one"
)


class SpawnRequest(msgspec.Struct, frozen=True):
    """What a parent asks for; `read` and `write` are folders, empty for the parent's own."""

    description: str
    prompt: str
    role: str = "general"
    model: str = ""
    read: Sequence[str] = ()
    write: Sequence[str] = ()
    task_id: int = 0
    place: str = ""


class Agents:
    """Every agent by id. Depth, children and rights come from here, never from a caller.

    An agent's `life.are_wakeups_suppressed` once it was stopped: only a message wakes it, and the
    turn that begins then lifts that. `life.is_ending` while only those below it still end.
    """

    def __init__(
        self,
        *,
        settings: Callable[[], Settings],
        questions: Questions,
        new_agent: Callable[[Session, AgentRecord], Agent],
        changed: Callable[[Agent], None],
    ) -> None:
        """`changed` has the agents of an agent's session sent out."""
        self._settings = settings
        self._questions = questions
        self._new_agent = new_agent
        self.changed = changed
        self._agents: dict[AgentId, Agent] = {}
        self._children: dict[AgentId, list[AgentId]] = {}
        # Snapshots of those that ended: they change no more.
        self._ended: dict[AgentId, AgentInfo] = {}

    # -- finding ---------------------------------------------------------------------------

    def find(self, agent_id: AgentId) -> Agent | None:
        """Return an agent, ended ones too; None for an unknown id."""
        return self._agents.get(agent_id)

    def children(self, agent: Agent) -> list[Agent]:
        """Return the subagents it started, oldest first."""
        return [self._agents[child] for child in self._children.get(agent.id, [])]

    def live_children(self, agent: Agent) -> list[Agent]:
        """Return those of its subagents that have not ended."""
        return [child for child in self.children(agent) if child.end is None]

    def subtree(self, agent: Agent) -> Iterator[Agent]:
        """Yield the agent and all below it, children before their parent."""
        for child in self.children(agent):
            yield from self.subtree(child)
        yield agent

    def parent(self, agent: Agent) -> Agent | None:
        """Return who started it; None for a session's main agent."""
        return self._agents.get(agent.spec.parent_id) if agent.spec is not None else None

    def of_session(self, session_id: SessionId) -> list[Agent]:
        """Return a session's agents, parents before their children."""
        return [agent for agent in self._agents.values() if agent.session.info.id == session_id]

    def is_idle(self, session_id: SessionId) -> bool:
        """Whether nothing in the session runs, or will by itself."""
        return not any(
            agent.is_running or (agent.end is None and agent.spec is not None)
            for agent in self.of_session(session_id)
        )

    def work_in(self, root: str) -> bool:
        """Whether a turn is under way in a session of this folder."""
        working = (agent for agent in self._agents.values() if agent.is_running)
        return any(agent.session.info.workspace.root == root for agent in working)

    def add(self, agent: Agent) -> None:
        """Take in an agent; its parent comes first."""
        self._agents[agent.id] = agent
        if agent.spec is not None:
            self._children.setdefault(agent.spec.parent_id, []).append(agent.id)
            parent = self.parent(agent)
            if agent.spec.task_id and agent.end is None and parent is not None:
                parent.tasks.lend(agent.spec.task_id)

    def all(self) -> list[Agent]:
        """Return every agent, children before their parents."""
        return list(reversed(self._agents.values()))

    def forget(self, session_id: SessionId) -> None:
        """Drop a session's agents."""
        for agent in self.of_session(session_id):
            agent.release()
            del self._agents[agent.id]
            self._children.pop(agent.id, None)
            self._ended.pop(agent.id, None)

    # -- how they stand --------------------------------------------------------------------

    def status(self, agent: Agent) -> tuple[AgentStatus, str]:
        """Return an agent's status, seen with its subagents."""
        status, doing = agent.status()
        if status == "idle" and agent.commands.is_ending:
            return "stopping", ""
        if status == "idle" and self.live_children(agent):
            # Paused ones, as all are after a crash, keep nobody from speaking to the main agent.
            is_at_rest = agent.spec is None and not self._works(agent)
            return ("idle" if is_at_rest else "waiting_children"), ""
        return status, doing

    def _works(self, agent: Agent) -> bool:
        """Whether anything below it is not paused."""
        below = (one for one in self.subtree(agent) if one is not agent and one.end is None)
        return any(self.status(one)[0] not in {"paused", "waiting_children"} for one in below)

    def is_ending(self, agent: Agent) -> bool:
        """Whether a subagent was stopped, or failed, and only what is below it still ends."""
        if agent.spec is None or agent.end is not None:
            return False
        life = agent.life
        return life.is_ending or (life.is_stopping and life.are_wakeups_suppressed)

    def why_unread(self, agent: Agent) -> ReturnReason | None:
        """Return why a note does not reach an agent any more; None if it does."""
        if agent.end is not None:
            return why_unread(agent.end.status)
        return "stopped" if self.is_ending(agent) else None

    def info(self, agent: Agent) -> AgentInfo:
        """Return a snapshot for the window."""
        info = self._ended.get(agent.id) or self._info(agent)
        if agent.end is not None:
            self._ended[agent.id] = info
        return info

    def _info(self, agent: Agent) -> AgentInfo:
        status, doing = self.status(agent)
        meter, spec, end = agent.meter, agent.spec, agent.end
        questions = self._questions.waiting_of(agent.id)
        return AgentInfo(
            id=agent.id,
            session_id=agent.session.info.id,
            name=agent.name if spec is not None else "Main",
            status=status,
            parent_id=spec.parent_id if spec is not None else None,
            doing=doing,
            step=agent.step,
            usage=meter.usage,
            started_at=meter.started_at,
            active_at=meter.active_at,
            role=spec.role if spec is not None else "",
            model=agent.scope.model,
            api_base=agent.scope.api_base,
            budget=meter.budget,
            used=budgets.used(self, agent),
            tools_run=meter.tools_run,
            task_id=spec.task_id if spec is not None else 0,
            ended_at=end.at if end is not None else 0.0,
            result=reports.shortened(end.text, _RESULT_SHOWN) if end is not None else "",
            question=questions[0].text if questions else "",
            question_id=questions[0].id if questions else "",
            waiting_notes=len(agent.inbox),
            paused_at=meter.paused_at,
            paused=meter.paused,
            pace="" if end is not None or status == "paused" else agent.pace.announced,
            stopped_by=end.by if end is not None else agent.life.stopped_by,
            unmeasured=() if end is not None else budgets.unmeasured(self, agent),
            place=spec.place.name if spec is not None and spec.place is not None else "",
            away_since=agent.away_since,
            is_under_way=agent.is_under_way,
        )

    def result(self, agent: Agent) -> str:
        """Return the whole text that a subagent ended with; empty for one that has not ended."""
        end = agent.end
        if end is not None and not has_whole_text(end):
            end = agent.recalled().end
        return end.text if end is not None else ""

    def count_aside(self, agent: Agent, usage: Usage, model: str) -> None:
        """Charge an agent, ended or not, for a question that its model was asked aside."""
        agent.count_aside(usage, model)
        self._ended.pop(agent.id, None)
        self.changed(agent)

    # -- starting --------------------------------------------------------------------------

    def model_for(self, parent: Agent, request: SpawnRequest) -> ChildModel:
        """Return the model that the request, or else its role, names. Raises ToolError."""
        role = role_named(request.role, parent.skills.catalog.roles)
        listed = self._settings().subagent_models
        return choose(request.model or role.model, parent.scope, parent.spec, listed)

    def place_for(self, request: SpawnRequest) -> Place | None:
        """Return the place that a request names, None for this computer. Raises ToolError."""
        if not request.place:
            return None
        known = {place.name: place for place in self._settings().places}
        if (place := known.get(request.place)) is None:
            names = ", ".join(known) or "none"
            raise ToolError(f"there is no place {request.place[:40]!r}; the person's are: {names}")
        if request.read or request.write:
            raise ToolError("elsewhere it has a copy of the whole folder: leave read and write out")
        return place

    def spawn(self, parent: Agent, request: SpawnRequest) -> Agent:
        """Start a subagent and return it at once. Raises ToolError naming a cap or a right.

        Whether its model needs the person's word is asked before, as for any call.
        """
        if not request.prompt.strip():
            raise ToolError("prompt is required")
        self._check_caps(parent)
        if budgets.exhausted(self, parent) is None and budgets.lent_out(self, parent) is not None:
            raise ToolError(_LENT_OUT)
        role = role_named(request.role, parent.skills.catalog.roles)
        model = self.model_for(parent, request)
        place = self.place_for(request)
        scope = parent.scope
        workspace, mode = narrowed(scope, request.read, request.write, role.mode)
        if not workspace.is_within(scope.workspace):
            raise ToolError("a subagent can't be given more folders than its parent has")
        allowed = role.tools(parent.known_tools)
        if scope.tools is not None:
            allowed = tuple(name for name in allowed if name in scope.tools)
        spec = AgentSpec(
            parent_id=parent.id,
            name=" ".join(request.description.split())[:60] or role.name,
            prompt=request.prompt,
            depth=self._depth(parent) + 1,
            workspace=workspace,
            role=role.name,
            model=model.name,
            api_base=model.api_base,
            mode=mode,
            tools=allowed,
            budget=budgets.for_child(self, parent, self._settings().subagent_budget),
            task_id=self._link_task(parent, request),
            started_at=time.time(),
            has_own_model=bool(model.name),
            place=place,
        )
        return self._begin(parent, spec)

    def _begin(self, parent: Agent, spec: AgentSpec) -> Agent:
        """Put a subagent on disk together with its prompt, without which nobody would wake it."""
        child_id, now = self._unused_id(), time.time()
        prompt = Note(new_note_id(), spec.prompt, sender=parent.id, created_at=now)
        try:
            parent.session.emit(AgentSpawned(child_id, spec), NoteQueued(child_id, prompt))
        except StoreError:
            self._unlink_task(parent, spec.task_id)
            raise
        record = AgentRecord(child_id, spec=spec, inbox=(prompt,))
        child = self._new_agent(parent.session, record)
        self.add(child)
        child.wake()
        self.changed(child)
        return child

    def _unused_id(self) -> AgentId:
        # Short, for models to repeat: two may come out alike.
        while (agent_id := new_subagent_id()) in self._agents:
            pass
        return agent_id

    def _check_caps(self, parent: Agent) -> None:
        settings = self._settings()
        live = sum(
            1
            for agent in self.of_session(parent.session.info.id)
            if agent.spec is not None and agent.end is None
        )
        if self._depth(parent) >= settings.max_depth:
            raise ToolError(
                f"subagents may be nested {settings.max_depth} deep at most (max_depth)"
            )
        if len(self.live_children(parent)) >= settings.max_children:
            raise ToolError(
                f"one agent may have {settings.max_children} running subagents at most "
                "(max_children); wait for one to end"
            )
        if live >= settings.max_agents:
            raise ToolError(
                f"{settings.max_agents} subagents may run at the same time at most (max_agents)"
            )

    def _depth(self, agent: Agent) -> int:
        return agent.spec.depth if agent.spec is not None else 0

    def _link_task(self, parent: Agent, request: SpawnRequest) -> int:
        if request.task_id:
            owner = " ".join(request.description.split())[:60] or request.role
            changes = TaskChanges(status="in_progress", owner=owner)
            parent.tasks.update(request.task_id, changes)
        return request.task_id

    def _unlink_task(self, parent: Agent, number: int) -> None:
        if number:
            with suppress(StoreError, TaskError):
                parent.tasks.update(number, TaskChanges(status="pending", owner=""))

    # -- ending ----------------------------------------------------------------------------

    def on_turn_over(self, agent: Agent, reason: StopReason, fault: Fault | None) -> None:
        """A turn has ended and nothing waits in the inbox: report, unless others still work."""
        if agent.spec is None:
            if not self.live_children(agent):
                with suppress(StoreError):  # it is cleared after the next turn
                    agent.tasks.clear_if_done()
        elif agent.end is None and not self._goes_on(agent, reason):
            self._end(agent, *reports.outcome(agent, reason, fault))
        self.changed(agent)

    def _goes_on(self, agent: Agent, reason: StopReason) -> bool:
        if reason != "finished" or agent.life.is_ending:
            return False
        if agent.inbox.is_waking:
            agent.wake()
            return True
        return bool(self.live_children(agent))

    def _end(self, agent: Agent, status: EndStatus, text: str) -> None:
        """End a subagent, once all below it have, and its commands if it was stopped."""
        agent.life.await_end(status, text)
        for child in self.live_children(agent):
            self._stop_subtree(child, agent.life.stopped_by or "ended")
        if agent.end is not None:
            return  # with the last of them
        if self.live_children(agent) or (status == "stopped" and agent.commands.is_ending):
            return  # the last of them calls `_end_if_last`, which comes back here
        if status == "stopped":
            # Nothing is called stopped while some of it runs.
            status, text = "failed" if agent.commands.alive else status, reports.effects(agent)
        returned = self._close(agent, status, text)
        parent = self.parent(agent)
        if parent is None:
            return
        task = self._finish_task(parent, agent, status)
        if parent.life.is_ending:
            self._end_if_last(parent)
            return
        mine = [note.text for note in returned if note.kind == "steer" and note.sender == parent.id]
        parent.inbox.put_report(reports.report(agent, status, text, mine, task))
        if not parent.life.are_wakeups_suppressed:
            parent.wake()

    def _close(self, agent: Agent, status: EndStatus, text: str) -> tuple[Note, ...]:
        """Record the end, and give back what was not read."""
        meter, by, now = agent.meter, agent.life.stopped_by, time.time()
        used = (meter.usage, meter.tools_run, agent.step)
        agent.end = AgentEnded(agent.id, status, text, now, *used, by, meter.paused_seconds)
        agent.life.end(status)
        agent.session.conclude(agent.end)
        returned = agent.inbox.give_back(why_unread(status), by)
        agent.release()
        self._end_commands(agent)
        agent.life.over.set()
        return returned

    def _end_if_last(self, agent: Agent) -> None:
        """End an agent for which only what is below it was waited for."""
        outcome = agent.life.outcome
        if outcome is not None and not agent.is_running and not self.live_children(agent):
            self._end(agent, *outcome)

    def _finish_task(self, parent: Agent, agent: Agent, status: EndStatus) -> tuple[str, str]:
        """Complete the linked task, or free it; return its status now and a remark on it."""
        assert agent.spec is not None
        number = agent.spec.task_id
        if not number:
            return "", ""
        parent.tasks.give_back(number)
        try:
            if status == "completed":
                parent.tasks.update(number, TaskChanges(status="completed"))
                return "completed", f"Task #{number} is completed."
            if parent.tasks.get(number).status != "in_progress":
                return "", ""  # somebody changed it in the meantime
            parent.tasks.update(number, TaskChanges(status="pending", owner=""))
        except (TaskError, StoreError) as error:
            return "", f"Its task #{number} was not updated: {error}."
        return "pending", reports.task_is_free(number, status)

    def tell(self, agent: Agent, note: Note) -> None:
        """Queue a note and wake the agent; one that the person stopped is left idle."""
        if agent.life.are_wakeups_suppressed:
            agent.inbox.put(note)
        else:
            agent.deliver(note)

    def deliver(self, agent: Agent, note: Note) -> None:
        """Queue the user's note and wake the agent; its parent is told in one line.

        Raises StoreError, and then neither has it.
        """
        parent = self.parent(agent)
        if parent is None or parent.end is not None:
            agent.inbox.put(note)
        else:
            about, quote = ToldChild(agent.id, agent.name), reports.shortened(note.text, _QUOTE)
            now = time.time()
            told = Note(new_note_id(), quote, "notice", created_at=now, origin=about)
            agent.inbox.put_both(note, parent.inbox, told)
        agent.wake()

    def resume(self, agent: Agent, *, is_one_step: bool = False) -> None:
        """Have an agent go on; one that only waits for its subagents does so without a word."""
        was_paused = agent.pace.is_paused and not agent.pace.is_since_crash
        is_waiting = not agent.is_running and not agent.has_work() and self.live_children(agent)
        agent.resume(is_one_step=is_one_step, waits_on=was_paused and bool(is_waiting))

    # -- stopping --------------------------------------------------------------------------

    def stop(self, agent: Agent, by: str = "user") -> None:
        """Cancel the agent and all below it, children first; a subagent ends by it."""
        self._stop_subtree(agent, by)
        self.changed(agent)

    def _stop_subtree(self, agent: Agent, by: str) -> None:
        subtree = [one for one in self.subtree(agent) if one.end is None]
        for one in subtree:
            one.life.suppress_wakeups(by)
            # All at once: what refuses to go has 2 s, whoever started it.
            self._end_commands(one)
        for one in subtree:
            if one.is_running:
                one.stop(by)
            elif one.spec is not None and one.end is None and not one.life.is_ending:
                self._end(one, "stopped", "")

    def _end_commands(self, agent: Agent) -> None:
        """End what the agent's commands left in the background: nobody waits for it now."""
        agent.commands.begin_end(lambda: self._on_commands_ended(agent))

    def _on_commands_ended(self, agent: Agent) -> None:
        if agent.id in self._agents:
            self._end_if_last(agent)
            self.changed(agent)
