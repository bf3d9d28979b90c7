"""The Engine: every command and query of the window and of the headless run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from desktop_agent.core.agents import Budget, StopReason
from desktop_agent.core.approvals import Decision, Mode, Rule
from desktop_agent.core.commands import EventPage, KeyPlace
from desktop_agent.core.events import CommandRefused, EngineFailed, Event, NoteQueued, NoteReturned
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId, NoteId, QuestionId, RequestId, SessionId
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.forms import FormAnswer
from desktop_agent.core.settings import Settings
from desktop_agent.core.tasks import TaskEdit, TaskState
from desktop_agent.core.tool import Tool
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.agent.dispatch import Dispatch
from desktop_agent.engine.agent.inbox import NoteGone
from desktop_agent.engine.agent.job_commands import JobCommands
from desktop_agent.engine.agent.prompt import Prompt
from desktop_agent.engine.agent.questions import Questions
from desktop_agent.engine.agent.remote_agent import Elsewhere, RemoteAgent
from desktop_agent.engine.agent.services import AgentSetup, DescribeModel, Environment
from desktop_agent.engine.agent.toolbox import Toolbox
from desktop_agent.engine.base.ports import AgentRecord, Model, ModelHost, Store, StoreError
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.context.commands import ContextCommands
from desktop_agent.engine.context.context import ContextServices
from desktop_agent.engine.context.windows import Windows
from desktop_agent.engine.mcp.commands import McpCommands
from desktop_agent.engine.permissions.approvals import Approvals
from desktop_agent.engine.permissions.checked_sandbox import Confinement
from desktop_agent.engine.permissions.sandbox_commands import SandboxCommands
from desktop_agent.engine.sessions.branch_commands import BranchCommands
from desktop_agent.engine.sessions.change_commands import ChangeCommands
from desktop_agent.engine.sessions.keeping_commands import KeepingCommands
from desktop_agent.engine.sessions.registry import UNTITLED, Sessions, title_from
from desktop_agent.engine.skills.commands import SkillCommands
from desktop_agent.engine.tasks.task_list import TaskError
from desktop_agent.engine.tree.agents import Agents
from desktop_agent.engine.tree.budget_guard import BudgetGuard
from desktop_agent.engine.tree.commands import TreeCommands
from desktop_agent.engine.tree.messaging import Steering
from desktop_agent.engine.workspace.output_files import OutputFiles
from desktop_agent.engine.workspace.path_completion import complete_path


class Engine(
    SkillCommands,
    SandboxCommands,
    ContextCommands,
    JobCommands,
    McpCommands,
    ChangeCommands,
    KeepingCommands,
    BranchCommands,
    TreeCommands,
):
    """Runs sessions. All commands are for the engine thread; they return nothing.

    `emit` hears every event after it is on disk. `tools` may be what finds them, called when they
    are needed first. `spill_dir`, this process's alone, keeps by session what results leave out.
    """

    _getting_ready: asyncio.Task[None] | None = None

    def __init__(
        self,
        *,
        model: Model,
        store: Store,
        tools: Sequence[Tool] | Callable[[], Sequence[Tool]],
        settings: Settings,
        emit: Callable[[Event], None],
        spill_dir: Path,
        environment: Environment | None = None,
    ) -> None:
        around = environment or Environment()
        # The host knows of prices, and keeps histories; a model that is scripted has none.
        self._model, self._model_host = model, model if isinstance(model, ModelHost) else None
        self._store, self._settings, self._new_jobs = store, settings, around.new_jobs
        self._sandbox, self._inventory = self._checked(around.sandbox), around.inventory
        self._prompt, self._toolbox, self._thread = Prompt(self._is_contained), Toolbox(tools), 0
        self._approvals, self._questions = Approvals(store, around.rules), Questions()
        # Each part is given those before it; what needs a later one calls a method of this class.
        self._agents = self._new_tree()
        self._budget_guard, self._served = BudgetGuard(self._agents, self._is_priced), around.served
        self._steering, self._places = self._new_steering(around.describe_model), around.places
        outputs, self._kept = OutputFiles(spill_dir), self._new_kept(around.history)
        held = Confinement(self._sandbox, around.is_machine_sandbox, around.own, around.registries)
        self._dispatch = Dispatch(
            tools=self._toolbox,
            approvals=self._approvals,
            questions=self._questions,
            report_failure=self._emit,
            outputs=outputs,
            steering=self._steering,
            confinement=held,
            kept=self._kept,
        )
        self._hosts, self._installer = self._dispatch.hosts, around.installer
        self._context = self._new_context(around, outputs)
        of = (self._agents, self._new_agent, self._forget_session, self._erase_session)
        self._sessions, self._permits = Sessions(store, emit, outputs, *of), self._dispatch.permits
        self._skills = around.new_skills and around.new_skills(partial(self._tell_skills, emit))
        self._toolbox.more = self._mcp = self._new_mcp(around.new_mcp, held, self._agents.work_in)

    def _new_context(self, around: Environment, outputs: OutputFiles) -> ContextServices:
        windows, is_asked = Windows(around, self._current_settings), self._questions.is_open
        return ContextServices(self._model, windows, outputs, self._toolbox, is_asked, self._forget)

    def _new_tree(self) -> Agents:
        return Agents(
            settings=self._current_settings,
            questions=self._questions,
            new_agent=lambda session, record: self._new_agent(session, record, TaskState()),
            changed=self._on_agent_changed,
        )

    def _new_steering(self, describe_model: DescribeModel | None) -> Steering:
        of = (self._agents, self._questions, self._model, self._current_settings, self._forget)
        return Steering(*of, describe_model=describe_model)

    # -- life ----------------------------------------------------------------------------

    def start(self) -> None:
        """Take the calling thread as the engine thread and send out the list of sessions.

        What ran when the app last ended is closed as interrupted, unless its place goes on with it.
        """
        self._thread = threading.get_ident()
        self._sessions.restore(reattaches=self._places is not None and self._places.goes_on)
        self._recover_files()

    def get_ready(self) -> None:
        """Load what a first message needs, behind the scenes: somebody is writing one.

        What fails is told as EngineFailed, and the next call tries again.
        """
        self._check_thread()
        if self._getting_ready is None:
            self._getting_ready = asyncio.get_running_loop().create_task(self._load_tools())

    async def _load_tools(self) -> None:
        try:
            await asyncio.to_thread(self._toolbox.load)
        except Exception as error:  # noqa: BLE001 - nobody awaits this: it is told, and tried again
            self._getting_ready = None
            words = f"The tools could not be loaded: {str(error) or type(error).__name__}"
            self._emit(EngineFailed("tools", words))

    async def close(self) -> None:
        """Stop every agent, end its processes and write what is buffered."""
        await self._sessions.close()
        if self._places is not None:
            await self._places.close()
        await self.close_changes()
        await self.close_mcp()
        await self.close_sandbox()
        await self.close_skills()

    # -- sessions ------------------------------------------------------------------------

    def new_session(
        self,
        session_id: SessionId,
        workspace: Workspace,
        *,
        model: str = "",
        api_base: str = "",
        mode: Mode | None = None,
        title: str = "",
    ) -> None:
        """Begin a session and open it. Without a model, the settings' one, else the demo."""
        self._check_thread()
        info = self.new_info(session_id, workspace, title or UNTITLED)
        if model:
            info = msgspec.structs.replace(info, model=model, api_base=api_base)
        info = msgspec.structs.replace(info, mode=mode or info.mode)
        with self._refusing("new_session", "The session was not saved"):
            self._sessions.add(info)
            self._sessions.open(session_id)
            self.watch_skills(workspace.root)

    def open_session(self, session_id: SessionId) -> None:
        """Send out a session's state and its newest events."""
        self._check_thread()
        self._sessions.open(session_id)
        self.watch_skills(self._sessions.session(session_id).info.workspace.root)

    def rename_session(self, session_id: SessionId, title: str) -> None:
        """Give a session a title; a blank one is ignored."""
        self._check_thread()
        if title.strip():
            with self._refusing("rename_session", "The title was not changed"):
                self._sessions.session(session_id).update(title=title.strip(), touch=False)

    def mark_read(self, session_id: SessionId) -> None:
        """The person has seen the session's end."""
        self._check_thread()
        self._sessions.session(session_id).conclude(is_unread=False)

    def set_mode(self, session_id: SessionId, mode: Mode) -> None:
        """Change what is asked about, from the next call on, whatever the disk says."""
        self._check_thread()
        self._sessions.session(session_id).conclude(mode=mode)

    def set_model(
        self,
        session_id: SessionId,
        model: str,
        api_base: str = "",
        context_limit: int | None = None,
    ) -> None:
        """Change the model, from the next step on; what was learned of its window is forgotten.

        Its server may have been started anew with a larger one.
        """
        self._check_thread()
        with self._refusing("set_model", "The model was not changed"):
            self._sessions.session(session_id).set_model(model, api_base, context_limit)
            self._context.windows.forget(model, api_base)

    def set_workspace(self, session_id: SessionId, workspace: Workspace) -> None:
        """Change the folders, from the next call on."""
        self._check_thread()
        with self._refusing("set_workspace", "The folder was not changed"):
            self._sessions.session(session_id).update(workspace=workspace, touch=False)
            self.watch_skills(workspace.root)

    # -- agents --------------------------------------------------------------------------

    def open_agent(self, agent_id: AgentId) -> None:
        """Send out one agent's transcript, ended or not."""
        self._check_thread()
        self._sessions.open_agent(agent_id)

    def send(self, agent_id: AgentId, note: Note) -> None:
        """Queue a note for any agent, which wakes up if it is idle; its parent is told.

        A note for one that has ended comes back at once, with its text kept.
        """
        agent = self._agent(agent_id)
        # The window gives a note back to the box when it hears that `send` was refused.
        with self._refusing("send", "Your message was not sent", agent_id, note.id):
            if (why := self._agents.why_unread(agent)) is None:
                self._agents.deliver(agent, note)
                self._after_sending(agent, note)
                return
            returned = NoteReturned(agent_id, note.id, why, self._agents.info(agent).stopped_by)
            agent.session.emit(NoteQueued(agent_id, note), returned)

    def _after_sending(self, agent: Agent, note: Note) -> None:
        session = agent.session
        self._look_ahead(session.info.workspace)
        self._kept.watch(session)
        if agent.spec is None and session.info.title == UNTITLED and note.text.strip():
            session.conclude(title=title_from(note.text), touch=True)
        self._on_agent_changed(agent)

    def edit_note(self, agent_id: AgentId, note_id: NoteId, text: str) -> None:
        """Change a note that still waits."""
        with self._refusing("edit_note", "Your message was not changed", agent_id, note_id):
            self._agent(agent_id).inbox.edit(note_id, text)

    def withdraw_note(self, agent_id: AgentId, note_id: NoteId) -> None:
        """Take back a note that still waits."""
        with self._refusing("withdraw_note", "Your message was not taken back", agent_id):
            self._agent(agent_id).inbox.withdraw(note_id)

    def edit_tasks(self, agent_id: AgentId, edit: TaskEdit) -> None:
        """Change an agent's task list by the person's hand; what is refused is said."""
        try:
            self._agent(agent_id).edit_tasks(edit)
        except (TaskError, StoreError) as error:
            self._emit(CommandRefused("edit_tasks", str(error), agent_id))

    def stop(self, agent_id: AgentId) -> None:
        """Cancel the turns of the agent and of all below it, children first."""
        self._agents.stop(self._agent(agent_id))

    def stop_call(self, agent_id: AgentId, call_id: str) -> None:
        """Cancel one running tool call; the agent is told of it and goes on."""
        if (batch := self._agent(agent_id).batch) is not None:
            batch.stop(call_id)

    def stop_and_send(self, agent_id: AgentId, note: Note) -> None:
        """Cancel the agent's own turn; the note starts the next one."""
        self._agent(agent_id).stop()
        self.send(agent_id, note)

    def resume(self, agent_id: AgentId) -> None:
        """Go on after a pause, a fault, a stop or a crash; then with all that the crash paused."""
        agent = self._agent(agent_id)
        if not self._agents.is_ending(agent):
            with self._refusing("resume", "Work could not go on", agent_id):
                for one in self._agents.subtree(agent):
                    if one is agent or (one.end is None and one.pace.is_since_crash):
                        self._agents.resume(one)

    def pause(self, agent_id: AgentId) -> None:
        """Pause the agent at its next step; nothing is cancelled."""
        agent = self._agent(agent_id)
        agent.pace.pause()
        self._on_agent_changed(agent)

    def step(self, agent_id: AgentId) -> None:
        """Let a paused agent take one step, also one that is paused since a crash."""
        agent = self._agent(agent_id)
        with self._refusing("step", "Work could not go on", agent_id):
            self._agents.resume(agent, is_one_step=True)
        self._on_agent_changed(agent)

    def finish(self, agent_id: AgentId) -> None:
        """Let the agent take one last step without tools: it answers with what it has."""
        agent = self._agent(agent_id)
        if self._agents.is_ending(agent):
            return
        agent.pace.finish()
        if not agent.is_running:
            with self._refusing("finish", "Work could not go on", agent_id):
                agent.resume()
        self._on_agent_changed(agent)

    def extend_budget(self, agent_id: AgentId) -> None:
        """Give the agent half as much again, and let those go on that it paused."""
        with self._refusing("extend_budget", "The budget was not changed", agent_id):
            self._budget_guard.extend(self._agent(agent_id))

    def set_budget(self, agent_id: AgentId, budget: Budget) -> None:
        """Give the agent this budget."""
        with self._refusing("set_budget", "The budget was not changed", agent_id):
            self._budget_guard.set_budget(self._agent(agent_id), budget)

    def decide(self, request_id: RequestId, decision: Decision) -> None:
        """Settle an approval request; one that is settled already is ignored."""
        self._check_thread()
        who, what = self._approvals.agent_of(request_id), "Your decision was not saved"
        with self._refusing("decide", f"{what}, so nothing was done", who):
            self._approvals.decide(request_id, decision)

    def answer(self, question_id: QuestionId, text: str, form: FormAnswer | None = None) -> None:
        """Answer an agent's question; the first wins. A server's is answered by a `form` alone."""
        self._check_thread()
        who, what = self._questions.agent_of(question_id), "Your answer was not saved"
        with self._refusing("answer", f"{what}, so nobody has read it", who, question_id):
            self._questions.answer(question_id, text, form=form)

    def apply_settings(self, settings: Settings) -> None:
        """Use these settings from the next step on."""
        self._check_thread()
        self._settings = settings

    def add_rule(self, rule: Rule) -> None:
        """Keep an approval rule that the user made in the settings."""
        self._check_thread()
        with self._refusing("add_rule", "The rule was not saved"):
            self._approvals.add(rule)

    def delete_rule(self, rule: Rule) -> None:
        """Forget an approval rule."""
        self._check_thread()
        with self._refusing("delete_rule", "The rule was not deleted"):
            self._approvals.delete(rule)

    # -- queries -------------------------------------------------------------------------

    async def earlier(
        self, session_id: SessionId, before_seq: int, count: int, agent_id: AgentId | None = None
    ) -> EventPage:
        """Return an agent's events before a number (without an id: the main agent's)."""
        agent_id = agent_id or self._sessions.session(session_id).info.main_agent
        return self._store.page(session_id, before_seq, count, agent_id)

    async def complete_path(
        self, session_id: SessionId, prefix: str, limit: int = 20
    ) -> tuple[str, ...]:
        """Return paths of the session's folder for `@`."""
        root = self._sessions.session(session_id).info.workspace.root
        return await asyncio.to_thread(complete_path, root, prefix, limit)

    async def rules(self) -> tuple[Rule, ...]:
        """Return every approval rule."""
        return self._approvals.rules

    async def probe(self, agent_id: AgentId) -> str:
        """Return how an agent stands, from its record; no model is asked."""
        return self._steering.standing_for_person(self._agent(agent_id))

    async def unpriced_model(self, agent_id: AgentId) -> str:
        """Return a model that an agent, or one below it, uses and whose price is not known.

        Empty when there is none: then a limit of money can be held.
        """
        tree = self._agents.subtree(self._agent(agent_id))
        for model in dict.fromkeys(one.scope.model for one in tree if one.end is None):
            if not await self._is_priced(model):
                return model
        return ""

    async def ask_aside(self, agent_id: AgentId, question: str) -> str:
        """Ask an agent's model about its work; nothing is appended to it."""
        return await self._steering.ask_aside(self._agent(agent_id), question)

    # -- inside --------------------------------------------------------------------------

    def _forget(self, agent_id: AgentId) -> None:
        if self._model_host is not None:
            self._model_host.forget(agent_id)

    async def _is_priced(self, model: str) -> bool:
        return self._model_host is None or await self._model_host.is_priced(model)

    def _emit(self, event: Event) -> None:
        self._sessions.emit(event)

    def _session_in(self, root: str, session_id: SessionId | None) -> Session | None:
        return self._sessions.session(session_id) if session_id else self._sessions.last_in(root)

    def _on_agent_changed(self, agent: Agent) -> None:
        self._budget_guard.on_agents_changed()
        self._sessions.on_agents_changed(agent.session.info.id, agent)

    def _on_turn_over(self, agent: Agent, reason: StopReason, fault: Fault | None) -> None:
        self._permits.clear(agent.id)
        self._agents.on_turn_over(agent, reason, fault)

    async def _before_step(self, agent: Agent) -> None:
        await self._budget_guard.check(agent)
        await self._mcp_ready(agent.session.info.workspace.root)

    def _erase_session(self, session_id: SessionId) -> None:
        self._approvals.forget_session(session_id)
        self._forget_changes(session_id)

    def _current_settings(self) -> Settings:
        return self._settings

    @property
    def keys_without_ring(self) -> KeyPlace:
        """Where the user has keys kept if there is no keyring."""
        return "file" if self._settings.keep_keys_in_file else "session"

    @contextmanager
    def _refusing(
        self, command: str, what: str, agent_id: AgentId | None = None, about: str = ""
    ) -> Generator[None]:
        try:
            yield
        except (StoreError, NoteGone) as error:
            self._emit(CommandRefused(command, f"{what}. {error}", agent_id, about))
            self._sessions.tell_list()  # it may show already what the person wanted

    def _session(self, session_id: SessionId) -> Session:
        return self._sessions.session(session_id)

    def _agent(self, agent_id: AgentId) -> Agent:
        self._check_thread()
        return self._sessions.agent(agent_id)

    def _new_agent(self, session: Session, record: AgentRecord, tasks: TaskState) -> Agent:
        setup = AgentSetup(
            model=self._model,
            dispatch=self._dispatch,
            prompt=self._prompt,
            settings=self._current_settings,
            failed=self._emit,
            check_thread=self._check_thread,
            changed=self._on_agent_changed,
            turn_over=self._on_turn_over,
            before_step=self._before_step,
            forget=self._forget,
            is_closing=lambda: self._sessions.is_closing,
            context=self._context,
            skills=self._skills,
        )
        is_far = record.spec is not None and record.spec.place is not None
        if is_far and self._places is not None:
            around = Elsewhere(self._places, self._approvals, self._questions, self._kept)
            return RemoteAgent(record, session, setup, tasks=tasks, elsewhere=around)
        jobs = self._new_jobs() if self._new_jobs is not None else None
        agent = Agent(record, session, setup, tasks=tasks, jobs=jobs)
        if record.spec is None and record.budget is None:
            agent.meter.budget = self._settings.budget
        return agent
