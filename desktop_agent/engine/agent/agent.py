"""The agent loop: turns of steps, each one model call and its tool calls."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from desktop_agent.core.agents import AgentStatus, StopReason
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    ContextCleared,
    EngineFailed,
    MessageAdded,
    SideCallEnded,
    StepEnded,
    StepStarted,
    StopReport,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId, MessageId, new_note_id
from desktop_agent.core.messages import Message, ToolCall, close_open_calls, open_calls, owes_reply
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.core.tasks import TaskEdit, TaskState
from desktop_agent.core.tool import Tool
from desktop_agent.core.usage import Usage
from desktop_agent.engine.agent.activity import Activity
from desktop_agent.engine.agent.answer_stream import (
    AnswerStream,
    fitting_answer,
    is_cut_off,
    raise_for_finish,
)
from desktop_agent.engine.agent.background_commands import BackgroundCommands
from desktop_agent.engine.agent.inbox import Inbox
from desktop_agent.engine.agent.lifecycle import Lifecycle, Phase, status_of
from desktop_agent.engine.agent.outcome import StepLimitReached, outcome_of
from desktop_agent.engine.agent.pause import PauseControl
from desktop_agent.engine.agent.prompt import request_for
from desktop_agent.engine.agent.read_files import FilesSeen
from desktop_agent.engine.agent.repeated_calls import RecentCalls
from desktop_agent.engine.agent.services import AgentSetup
from desktop_agent.engine.agent.tool_batch import (
    CUT_OFF,
    NO_TOOLS,
    NOT_EXECUTED,
    REFUSED,
    ToolBatch,
    stop_report,
)
from desktop_agent.engine.agent.usage import UsageMeter
from desktop_agent.engine.base.ports import AgentRecord, StoreError
from desktop_agent.engine.base.session import Session, with_short_text
from desktop_agent.engine.context.context import AgentContext
from desktop_agent.engine.permissions.scope import Scope, scope_of
from desktop_agent.engine.skills.agent_skills import SkillUse
from desktop_agent.engine.tasks.task_list import TaskList
from desktop_agent.engine.tasks.user_edits import apply_edit, with_list

_log = logging.getLogger(__name__)

CONTINUE = "Continue from where you stopped."


class Agent:
    """One model with a history, an inbox and tools; a subagent has a parent as well.

    `spec` is what a subagent was started with, None for a session's main agent. `jobs` is the
    agent's place for background commands, or None, `commands` what ends them. `life` is its phase,
    `pace` pauses it between steps, `meter` counts what it uses. `_setup` is what all agents share
    (services.py): `_setup.changed(self)` has its state announced.
    """

    def __init__(
        self,
        record: AgentRecord,
        session: Session,
        setup: AgentSetup[Agent],
        *,
        tasks: TaskState,
        jobs: Any = None,
    ) -> None:
        self.session = session
        self.spec = record.spec
        self.name = record.spec.name if record.spec is not None else "main"
        self.jobs = jobs
        self.commands = BackgroundCommands(jobs)
        self.id: AgentId = record.agent_id
        # After a crash a subagent is paused until the person says that it goes on.
        self.pace = PauseControl(is_paused=record.spec is not None and record.was_running)
        self.meter = UsageMeter(record)
        self.end: AgentEnded | None = record.end and with_short_text(record.end)
        self.life = Lifecycle(record.agent_id, record.end.status if record.end else None)
        self._step, self._setup = record.step, setup
        self._dispatch, self.settings = setup.dispatch, setup.settings
        self.skills = SkillUse(self, setup.skills)
        self._activity, self._turn_usage = Activity(), Usage()
        self._outcome: tuple[StopReason, Fault | None] = ("finished", None)
        # Said at its end of changes that are not in the folder; as in AgentInfo.
        self.left_behind, self.away_since, self.is_under_way = "", 0.0, False
        self.batch: ToolBatch | None = None
        self._report: StopReport | None = None
        self.take_path(record, tasks)

    def take_path(self, record: AgentRecord, tasks: TaskState) -> None:
        """Go on with this history, inbox and task list, which are on disk."""
        self.tasks = TaskList(self.id, tasks, self.session.emit, check=self._setup.check_thread)
        self.inbox = Inbox(record, self.session)
        # Closed, whatever an earlier version left open: no provider takes an unanswered call.
        self._history = close_open_calls(record.history) if record.end is None else []
        self.context = AgentContext(self, self._setup.context, record.before_compaction)
        self._closed = 0  # as many of its messages are known to leave no call open
        self._forget_files()

    def _forget_files(self) -> None:
        self.files, self._recent = FilesSeen(self._history), RecentCalls()
        self._setup.forget(self.id)

    # -- what others see ---------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way, a stopping one included."""
        return self.life.is_running

    @property
    def spec_parent(self) -> AgentId | None:
        """Who started it; None for a main agent."""
        return self.spec.parent_id if self.spec is not None else None

    @property
    def known_tools(self) -> Mapping[str, Tool]:
        """Every tool there is; `scope` says which of them it has."""
        return self._dispatch.tools

    @property
    def step(self) -> int:
        """The number of the last step."""
        return self._step

    @property
    def scope(self) -> Scope:
        """What it may use now."""
        session = self.session
        is_machine = session.is_machine_sandbox
        return scope_of(session.info, self.spec, is_machine_sandbox=is_machine)

    @property
    def history(self) -> tuple[Message, ...]:
        """The history as the next request would send it."""
        return tuple(self._history)

    def replace_history(self, history: list[Message]) -> None:
        """Go on with a history that is on disk: compacted, or brought back."""
        self._history, self._closed = history, 0

    @property
    def user_messages(self) -> tuple[MessageId, ...]:
        """The messages in its history that the user wrote, oldest first."""
        said = (message for message in self._history if message.role == "user")
        return tuple(message.id for message in said if message.sender == "user")

    def status(self) -> tuple[AgentStatus, str]:
        """Return how it stands by itself, and what it does; the tree knows more of idle ones."""
        return status_of(
            self.life.phase,
            is_running=self.life.is_running,
            is_paused=self.pace.is_paused,
            is_new=self.spec is not None and self._step == 0,
            activity=self._activity.now(),
        )

    @contextmanager
    def busy(self, status: AgentStatus, doing: str) -> Generator[None]:
        """Show a status and an activity while the block runs."""
        self.meter.begin(status, doing)
        with self._activity.doing(status, doing):
            self._setup.changed(self)
            try:
                yield
            finally:
                self.meter.end(status)
        self._setup.changed(self)

    @contextmanager
    def thinking(self, doing: str) -> Generator[None]:
        """Show what its model is asked for beside its work while the block runs."""
        with self._activity.doing("running", doing):
            self._setup.changed(self)
            yield
        self._setup.changed(self)

    def is_repeated(self, call: ToolCall) -> bool:
        """Whether this is the third identical call in a row."""
        return self._recent.is_repeated(call)

    # -- notes ---------------------------------------------------------------------------

    def deliver(self, note: Note) -> None:
        """Queue a note and wake up. Raises StoreError, and then nothing is queued."""
        self.inbox.put(note)
        self.wake()

    def edit_tasks(self, edit: TaskEdit) -> None:
        """Change the list by the person's hand; the agent hears of it in one note, once.

        An idle agent is not woken. Raises TaskError.
        """
        line = apply_edit(edit, self.tasks)
        if line and self.end is None:
            self.inbox.put_edit(line)

    # -- turns ---------------------------------------------------------------------------

    def wake(self) -> None:
        """Start a turn, or see to it that one follows the turn that is being stopped.

        A turn that can't begin is one that failed at once: whoever waits for it hears of it.
        """
        if self.is_running:
            self.life.wake()
            return
        if self._setup.is_closing() or not self.life.begin_turn():
            return  # as the app closes, what woke it is on disk, and waits for the next start
        refused: StoreError | None = None
        # On disk before the turn is: whatever is killed from here on is found at the next start.
        try:
            self.session.update(status="running")
        except StoreError as error:
            refused = error
        loop, coroutine = asyncio.get_running_loop(), self._run_turn(refused)
        self.life.turn = turn = loop.create_task(coroutine, name=f"turn {self.id}")
        turn.add_done_callback(self._on_turn_done)

    def resume(self, *, is_one_step: bool = False, waits_on: bool = False) -> None:
        """Go on after a fault, a stop or a crash: ask again, ask to continue, or just wait on."""
        (self.pace.step if is_one_step else self.pace.resume)()
        if waits_on or not self.life.can_begin:
            self._setup.changed(self)
            return
        if not self.has_work():
            self.inbox.put(Note(new_note_id(), CONTINUE, created_at=time.time()))
        self.wake()

    def stop(self, by: str = "user") -> None:
        """Cancel the turn; it ends with a report. Does nothing when none runs."""
        if (turn := self.life.turn) and not turn.done() and self.life.phase is Phase.RUNNING:
            self.life.cancel_turn(by)
            self._report = stop_report(self.batch, self.life.stopped_by)
            turn.cancel()
            self._setup.changed(self)

    def release(self) -> None:
        """Let go of what only a live agent needs; the store has the rest of it."""
        self.context.forget()
        self.skills = SkillUse(self, self._setup.skills)
        self.end = self.end and with_short_text(self.end)
        if self.spec is not None:
            self.spec = msgspec.structs.replace(self.spec, prompt="")  # it was its first note
        self._forget_files()

    def recalled(self) -> AgentRecord:
        """Return what an ended agent let go of, from the store."""
        return self.session.load(self.id)

    def count_aside(self, usage: Usage, model: str) -> None:
        """Charge it for what its model was asked beside its steps, or did not end."""
        self.meter.add(usage)
        total = self.session.info.usage + usage
        self.session.conclude(SideCallEnded(self.id, usage, model), usage=total)

    def compact(self, keep: str) -> None:
        """Compact the history, before the next step or now; `keep` says what must not be lost."""
        self.context.wanted = keep
        if self.spec is None:  # the turn of a subagent would end it
            self.wake()

    def clear(self) -> None:
        """Begin context and task list anew. Raises StoreError."""
        cleared = ContextCleared(self.id, time.time())
        self.tasks.begin_anew(lambda changed: self.session.emit(cleared, changed))
        self.context.forget()
        self._forget_files()

    async def close(self) -> None:
        """Wait until a stopped turn has ended, then end the background commands."""
        if not self.life.is_ended:
            self.life.suppress_wakeups(self.life.stopped_by)
        if self.life.turn is not None:
            await asyncio.wait([self.life.turn])
        self.commands.begin_end(lambda: None)
        await self.commands.over()

    async def _run_turn(self, refused: StoreError | None = None) -> None:
        self._turn_usage = Usage()
        reason: StopReason = "finished"
        fault: Fault | None = None
        began = self.meter.start_turn()
        try:
            if refused is not None:
                raise refused
            self._tell_begun(began)
            self._setup.changed(self)
            await self._work()
        except (asyncio.CancelledError, Exception) as error:  # noqa: BLE001 - the outermost
            reason, fault = outcome_of(error)
            if fault is not None and fault.kind == "internal":
                self._setup.failed(EngineFailed("agent", fault.details or fault.message, self.id))
        if reason == "cancelled":
            # A stop is over when all that it stops is.
            self._report = await self.commands.told(self._report)
        self._end_turn(reason, fault)

    def _tell_begun(self, at: float) -> None:
        self.session.emit(TurnStarted(self.id, at=at))

    def _end_turn(self, reason: StopReason, fault: Fault | None) -> None:
        report, self._report = (self._report if reason == "cancelled" else None), None
        seconds, now = self.meter.end_turn(), time.time()
        if fault is not None and fault.kind == "storage" and not self.has_work():
            fault = msgspec.structs.replace(fault, action="continue")
        ended = TurnEnded(self.id, reason, self._turn_usage, fault, report, now, seconds)
        self.session.conclude(ended)
        self._outcome = (reason, fault)

    def _on_turn_done(self, turn: asyncio.Task[None]) -> None:
        if turn is not self.life.turn:  # a note woke it between the turn's end and this call
            return
        restarts = self.life.end_turn()
        self._activity = Activity()
        if turn.cancelled():  # stopped before its first words: no turn to go on with
            self._outcome = ("cancelled", None)
        elif (error := turn.exception()) is not None:
            _log.error("the turn of %s ended badly", self.id, exc_info=error)
        if restarts and self.inbox.is_waking:
            self.wake()
        else:
            self._setup.turn_over(self, *self._outcome)
        self._setup.changed(self)

    async def _work(self) -> None:
        """Work until nothing is left to answer."""
        steps = 0
        if self.context.wanted is not None and not self.has_work():
            await self.skills.prepare(list)
            await self.context.fit(lambda: self.request(has_tools=True))
        while self.has_work():
            if steps >= self.settings().max_steps:
                raise StepLimitReached
            await self._turn_to_go()
            is_last = self.pace.is_last_step
            step = await self._take_step(is_first=steps == 0, has_tools=not is_last)
            if step is None:  # what was to be read was taken back while it was paused
                self.meter.drop_step()
                self.pace.done()
                continue
            message, answer = step
            steps += 1
            await self._run_tools(message, answer, NO_TOOLS if is_last else "")
            raise_for_finish(answer)
            if is_last:
                self.pace.done()
                return

    async def _turn_to_go(self) -> None:
        """Wait while it is paused or its budget is used up; what was spent is checked last."""
        await self._setup.before_step(self)
        while self.pace.is_paused:
            with self.meter.resting():
                self._setup.changed(self)
                await self.pace.going()
            await self._setup.before_step(self)
        self.pace.take_step()
        self.meter.begin_step()

    def has_work(self) -> bool:
        """Whether something waits to be read or answered."""
        return len(self.inbox) > 0 or owes_reply(self._history)

    async def _take_step(self, *, is_first: bool, has_tools: bool) -> tuple[Message, Answer] | None:
        """Make one model call, streamed, and append its message; None if nothing is to be said."""
        # Within a turn only notes for the next step are read; those for the next turn wait.
        in_turn = not is_first and owes_reply(self._history)
        await self.skills.prepare(lambda: self.inbox.to_read(in_turn=in_turn))
        if not owes_reply(self._history) and not self.inbox.to_read(in_turn=in_turn):
            return None
        if open_calls(self._history[self._closed :]):  # a defect's: providers refuse the history
            self._history = close_open_calls(self._history)
        self._closed = len(self._history)
        # The only drain of the inbox. Step, notes and message are one transaction.
        more_parts = with_list(self.tasks, self.skills.parts_for)
        started = StepStarted(self.id, self._step + 1)
        said = self.inbox.take(started, in_turn=in_turn, more_parts=more_parts)
        self._step += 1
        if said is not None:
            self._add(said)
        self._setup.changed(self)
        stream = AnswerStream(
            self.id, self._emit, on_accepted=lambda: self.inbox.confirm(self._step)
        )
        try:
            answer = await fitting_answer(
                stream, self._setup.model, self.context, lambda: self.request(has_tools=has_tools)
            )
            message = Message(stream.message_id, "assistant", answer.parts, created_at=time.time())
            self._append_answer(message, answer.usage, stream)
        except (ModelError, StoreError, asyncio.CancelledError) as ended:
            self._keep_partial(stream, ended)
            raise
        return message, answer

    @property
    def skill_list(self) -> str:
        """What its prompt says of skills; empty if nothing."""
        return self.skills.catalog.section

    def request(self, *, has_tools: bool) -> ModelRequest:
        """Return the next request, as the history is now; without tools it is the last."""
        return request_for(
            self.id,
            self.scope,
            self._history,
            spec=self.spec,
            known=self._dispatch.tools if has_tools else {},
            catalog=self.skills.catalog,
            prompt=self._setup.prompt,
            settings=self.settings(),
        )

    def _keep_partial(self, stream: AnswerStream, ended: BaseException) -> None:
        """Keep text that was seen; a history that ends with it is continued, not retried."""
        if stream.wasted is not None:
            self.count_aside(stream.wasted, stream.model)
        if (partial := stream.partial()) is None:
            return
        self.session.conclude(MessageAdded(self.id, partial, is_partial=True))
        self._add(partial)
        if isinstance(ended, ModelError):
            ended.fault = msgspec.structs.replace(ended.fault, action="continue")
        elif self._report is not None:
            kept = (*self._report.kept, "the reply so far")
            self._report = msgspec.structs.replace(self._report, kept=kept)

    def _append_answer(self, message: Message, usage: Usage, stream: AnswerStream) -> None:
        """Append an answer with its calls, and count it; what was used is counted in any case."""
        self.meter.add(usage)
        self._turn_usage += usage
        ended = StepEnded(self.id, self._step, usage, usage.input_tokens, stream.model)
        changes: dict[str, Any] = {"usage": self.session.info.usage + usage}
        if self.spec is None:
            changes["context_tokens"] = usage.input_tokens
            changes["calibration"] = self.context.calibration
            if (window := self.context.told_window) is not None:
                changes |= {"context_limit": window.tokens, "context_source": window.source}
        try:
            # At once: an answer that is on disk without its end would not be charged.
            self.session.emit(*stream.begun(), MessageAdded(self.id, message), ended, **changes)
        except StoreError:
            self.session.conclude(ended, touch=True, **changes)
            raise
        self._add(message)

    def _add(self, message: Message) -> None:
        """Append what is on disk."""
        self._history.append(message)
        self.context.extended()

    def _emit(self, event: AgentEvent) -> None:
        self.meter.heard()
        self.session.emit(event)

    async def _run_tools(self, message: Message, answer: Answer, refusal: str) -> None:
        """Run the message's calls; with `refusal`, or cut off, none runs and all are told why."""
        calls = message.tool_calls
        if not calls:
            return
        self.batch = batch = ToolBatch(calls, self, self._dispatch)
        refusal = refusal or (CUT_OFF if is_cut_off(answer) else "")
        if refusal:
            self._add(batch.close(refusal))
            return
        self._recent.add(calls)
        not_begun = NOT_EXECUTED
        try:
            await batch.run()
        except StoreError:
            not_begun = REFUSED
            raise
        finally:
            self.batch = None
            self._add(batch.close(not_begun))
