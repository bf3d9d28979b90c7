"""An agent that works at a place: what happens there is mirrored here, event by event."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from contextlib import ExitStack

import msgspec

from desktop_agent.core.agents import AgentStatus, StopReason
from desktop_agent.core.approvals import AllowAlways, AllowOnce, ApprovalRequest, Deny
from desktop_agent.core.changes import FarFile, UndoError
from desktop_agent.core.events import (
    AgentEvent,
    ApprovalRequested,
    ApprovalResolved,
    ContextCompacted,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    QuestionAnswered,
    QuestionAsked,
    RetryScheduled,
    SideCallEnded,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import new_question_id, new_request_id
from desktop_agent.core.messages import compacted, open_calls
from desktop_agent.core.network.places import PlaceFollowed
from desktop_agent.core.notes import NoteArrived, origin_of
from desktop_agent.core.questions import Question
from desktop_agent.core.requests import ModelRequest
from desktop_agent.core.tasks import TaskEdit, TaskState
from desktop_agent.core.usage import Usage
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.agent.outcome import StepLimitReached
from desktop_agent.engine.agent.pause import PauseControl
from desktop_agent.engine.agent.questions import Questions
from desktop_agent.engine.agent.services import AgentSetup
from desktop_agent.engine.base.places import FarPlaces, FarStart, FarTurnOver, FarWork, PlaceLost
from desktop_agent.engine.base.ports import AgentRecord, StoreError
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.permissions import policy
from desktop_agent.engine.permissions.approvals import Approvals
from desktop_agent.engine.permissions.file_rules import unreadable_by
from desktop_agent.engine.skills.roles import role_named
from desktop_agent.engine.tasks.task_list import TaskError
from desktop_agent.engine.undo.kept_calls import KeptCalls

# What is taken over as it is; of the rest only what it means.
_MIRRORED = (
    StepStarted | StepEnded | SideCallEnded | RetryScheduled | MessageAdded | ToolStarted
    | ToolEnded | NoteTaken | NoteDelivered | ContextCompacted
)  # fmt: skip
_CLOSING_S = 2.0
_ELSEWHERE = (
    "You are a subagent, and work in a copy of the folder on another computer. What you answer "
    "last is your report to the agent that started you; it gets your changes as a patch."
)


class Elsewhere(msgspec.Struct, frozen=True):
    """What an agent elsewhere needs of here: where it works, who is asked, what it leaves."""

    places: FarPlaces
    approvals: Approvals
    questions: Questions
    kept: KeptCalls


class RemoteAgent(Agent):
    """Its turn there is its turn here; its requests to models are made here, at its own pace.

    What it changes is in a copy of the folder: `left_behind` says where the patch is.
    """

    def __init__(
        self,
        record: AgentRecord,
        session: Session,
        setup: AgentSetup[Agent],
        *,
        tasks: TaskState,
        elsewhere: Elsewhere,
    ) -> None:
        super().__init__(record, session, setup, tasks=tasks)
        assert self.spec is not None
        assert self.spec.place is not None
        self._place = self.spec.place
        self._elsewhere = elsewhere
        self._there: FarWork | None = None
        self._began = 0.0
        self._ended: TurnEnded | None = None
        self._known, self._settled = record.far.followed, record.far.settled
        self._is_left = False
        self._has_open_turn = self.is_at_work_there and record.was_running
        self.is_under_way = self._known is None or not self._known.there
        if self._known is not None and self.is_at_work_there:
            self._go_on_from(record, self._known)
        self._calls: dict[str, ExitStack] = {}
        self._asks: dict[str, asyncio.Task[None]] = {}

    @property
    def is_at_work_there(self) -> bool:
        """Whether its place may be at work for it, since before the app ended or now."""
        return self.end is None and self._known is not None

    def _go_on_from(self, record: AgentRecord, known: PlaceFollowed) -> None:
        # Nothing of it was cut off: it is where it was left, and no call that is open is closed.
        self._history = list(record.history)
        self.pace, self.away_since = PauseControl(), known.at
        if known.is_paused:
            self.pace.pause()

    def reattach(self) -> None:
        """Go on with what its place does since before the app ended; a stop goes out again."""
        stopped_by = self._known.stopped_by if self._known is not None else ""
        self.wake()
        if stopped_by:
            # Not before the turn has begun: one that is cancelled then never asks its place.
            asyncio.get_running_loop().call_soon(self.stop, stopped_by)

    def wake(self) -> None:
        """Start a turn, or let the place know of what came."""
        super().wake()
        if self._there is not None:
            self._tell_new(self._there)

    def stop(self, by: str = "user") -> None:
        """Have the turn there stopped; one that goes on when the app ends is only left."""
        is_left = self._setup.is_closing() and self._elsewhere.places.goes_on
        if not is_left:
            super().stop(by)
            self._note()
        elif self.life.turn is not None:
            self._note()
            self._is_left = True
            self.life.turn.cancel()

    def status(self) -> tuple[AgentStatus, str]:
        """Return how it stands; one that was left works on."""
        return ("running", "") if self._is_left else super().status()

    def _end_turn(self, reason: StopReason, fault: Fault | None) -> None:
        if not self._is_left:  # else it stays open on disk, for the next start
            super()._end_turn(reason, fault)

    def _on_turn_done(self, turn: asyncio.Task[None]) -> None:
        if not self._is_left:
            super()._on_turn_done(turn)

    def _tell_begun(self, at: float) -> None:
        if not self._has_open_turn:
            super()._tell_begun(at)
        self._has_open_turn = False

    def _note(self) -> None:
        """Put on disk what was ordered of it, for whoever goes on after this app has ended."""
        if self._known is not None and self._there is not None and self.end is None:
            self.session.keep(self._as_of_now(self._known))

    def _as_of_now(self, known: PlaceFollowed) -> PlaceFollowed:
        there = self._there
        return msgspec.structs.replace(
            known,
            stops=there.followed.stops if there is not None else known.stops,
            stopped_by=self.life.stopped_by if self.life.is_stopping else "",
            is_paused=self.pace.is_paused,
            at=time.time(),
        )

    def edit_tasks(self, edit: TaskEdit) -> None:
        """Its task list is not here."""
        raise TaskError(f"its task list is on {self._place.name}")

    def release(self) -> None:
        """Let go of what only a live agent needs, there too."""
        super().release()
        if self._there is not None:
            self._there.drop()
            self._there = None

    async def _work(self) -> None:
        there = self._there or self._begin()
        there.kept()  # of a turn before, whose end is on disk
        self._tell_new(there)
        try:
            await self._followed(there)
        except PlaceLost as lost:
            raise ModelError(Fault("reset", f"{lost}.", "continue")) from None
        finally:
            self._close_open()
        self._raise_for_end()

    def _begin(self) -> FarWork:
        known = self._known
        if self._history and known is None:
            # Its history is there, if it is anywhere.
            words = f"What it did on {self._place.name} was cut off when the app ended."
            raise ModelError(Fault("reset", words, "continue"))
        assert self.spec is not None
        scope, self._began = self.scope, self.spec.started_at or time.time()
        info = self.session.info
        rules = self._elsewhere.approvals.rules_for(info.id)
        start = FarStart(
            self.id,
            self.name,
            self._place,
            scope.workspace.root,
            scope.mode,
            scope.model,
            scope.api_base,
            known,
            unreadable_by(policy.refusing(rules, info.workspace)),
        )
        self._there = there = self._elsewhere.places.begin(start, self._admit, self._on_stream)
        if known is None:
            self._known = there.followed
            self._note()
        for call in open_calls(self._history):
            self._show_running(call.id, call.name)
        return there

    def _on_stream(self) -> None:
        """The stream was cut, or is there."""
        there = self._there
        self.away_since = there.away_since if there is not None and self.is_running else 0.0
        self._setup.changed(self)

    def _tell_new(self, there: FarWork) -> None:
        for note in self.inbox.waiting:
            if note.id not in self.inbox.sent:
                self.inbox.sent.add(note.id)
                there.tell(msgspec.structs.replace(note, origin=origin_of(note, self.spec_parent)))

    async def _followed(self, there: FarWork) -> None:
        """Mirror what happens until the turn there is over; a stop is one there."""
        is_stopped, until = False, None
        self._ended = None
        while True:
            if until is None and self._setup.is_closing():
                # Nobody can wait now for a place that is away, or never comes to an end.
                until = asyncio.get_running_loop().time() + _CLOSING_S
            try:
                async with asyncio.timeout_at(until):
                    came = await there.next()
                if isinstance(came, FarTurnOver):
                    # Not `kept` before the end of the turn is on disk: it is told again till then.
                    await self._take_changes(there, came)
                    self._ended = came.ended
                    break
                self._mirror(there, came)
                there.kept()
            except asyncio.CancelledError:
                if self._is_left:
                    raise
                is_stopped = True
                own = asyncio.current_task()
                if own is not None:
                    own.uncancel()  # else no limit below ends in time, before Python 3.11.4
                there.stop()
                continue
            except TimeoutError:
                raise asyncio.CancelledError from None
            except StoreError:
                there.stop()
                raise
        if is_stopped:
            self._take_report()
            raise asyncio.CancelledError

    async def _admit(self, request: ModelRequest) -> ModelRequest:
        """Return a request as it is made: here are its budget, its pace and its model."""
        if self.pace.is_paused:
            self._note()
        await self._turn_to_go()
        is_last = self.pace.is_last_step
        if is_last:
            self.pace.done()
        scope, settings = self.scope, self.settings()
        allowed, tools = scope.tools, () if is_last else request.tools
        if allowed is not None:
            tools = tuple(tool for tool in tools if tool.name in allowed)
        if self._there is not None:
            # Before the answer, whose calls it is about.
            self._there.set_mode(scope.mode)
        return msgspec.structs.replace(
            request,
            model=scope.model,
            api_base=scope.api_base,
            system=f"{request.system}\n\n{self._role()}",
            tools=tools,
            limits=settings.limits,
        )

    def _role(self) -> str:
        assert self.spec is not None
        role = role_named(self.spec.role, self.skills.catalog.roles)
        return f"# Your role\n\n{role.instructions}\n\n{_ELSEWHERE}"

    # -- the mirror --------------------------------------------------------------------------

    def _mirror(self, there: FarWork, events: Sequence[AgentEvent]) -> None:
        """Put on disk what happened there and how far that is, all or none, and take it over."""
        own = [one for one in map(self._as_own, events) if one is not None]
        used = sum(
            (one.usage for one in own if isinstance(one, StepEnded | SideCallEnded)), Usage()
        )
        changes = {"usage": self.session.info.usage + used} if used != Usage() else {}
        known = self._as_of_now(there.followed)
        if own or self.is_under_way:
            self.session.emit(*own, known, **changes)
            self._known, self.is_under_way = known, not known.there
        for event in own:
            self._take(event)
        for event in events:
            self._follow(event)
        self.meter.heard()
        self._setup.changed(self)

    def _as_own(self, event: AgentEvent) -> AgentEvent | None:
        if isinstance(event, _MIRRORED):
            return msgspec.structs.replace(event, agent_id=self.id)
        if isinstance(event, NoteQueued):
            return NoteArrived(self.id, event.note.id)
        return None

    def _take(self, event: AgentEvent) -> None:
        match event:
            case StepStarted(step=step):
                self._step = step
            case StepEnded(usage=usage):
                self.meter.add(usage)
                self._turn_usage += usage
            case SideCallEnded(usage=usage):
                self.meter.add(usage)
            case MessageAdded(message=message):
                self._history.append(message)
            case NoteTaken() | NoteDelivered():
                self.inbox.mirror(event)
            case ContextCompacted(aside=aside, summary=summary, kept=kept):
                self.replace_history(compacted(self._history, aside, summary, kept))
            case ToolStarted(call=call):
                self._show_running(call.id, event.doing or call.name)
            case ToolEnded(result=result):
                if (stack := self._calls.pop(result.call_id, None)) is not None:
                    stack.close()
            case _:
                pass

    def _show_running(self, call_id: str, doing: str) -> None:
        if (before := self._calls.pop(call_id, None)) is not None:
            before.close()
        stack = self._calls[call_id] = ExitStack()
        stack.enter_context(self.busy("running", doing))

    def _follow(self, event: AgentEvent) -> None:
        match event:
            case ApprovalRequested(request=request) if request.id not in self._asks:
                self._asks[request.id] = asyncio.create_task(self._ask(request))
            case QuestionAsked(question=question) if question.id not in self._asks:
                self._asks[question.id] = asyncio.create_task(self._ask_words(question))
            case ApprovalResolved(request_id=done) | QuestionAnswered(question_id=done):
                if (ask := self._asks.pop(done, None)) is not None:
                    ask.cancel()
            case _:
                pass

    async def _ask(self, request: ApprovalRequest) -> None:
        """Put its request on the one list here; what is decided goes there."""
        here = msgspec.structs.replace(
            request,
            # Whoever is there could say one that waits here already.
            id=new_request_id(),
            agent_id=self.id,
            stakes=(f"on {self._place.name}", *request.stakes),
            # A rule would be about folders of here.
            rules=(),
            refusals=(),
            together=(),
            there=request.id,
        )
        approvals = self._elsewhere.approvals
        decision = self._settled.get(request.id)  # before the app ended
        try:
            if decision is None or isinstance(decision, str):
                with self.busy("waiting_approval", request.title):
                    decision = await approvals.ask(here, self.session, lambda: None)
        except StoreError:
            decision = Deny("The request could not be shown.", by="unattended")
        if isinstance(decision, AllowAlways):
            decision = AllowOnce()
        if self._there is not None:
            self._there.decide(request.id, decision)

    async def _ask_words(self, question: Question) -> None:
        here = msgspec.structs.replace(
            question, id=new_question_id(), agent_id=self.id, form=None, there=question.id
        )
        words = self._settled.get(question.id)
        try:
            if not isinstance(words, str):
                with self.busy("waiting_answer", f"asking: {question.text[:80]}"):
                    words = await self._elsewhere.questions.ask(here, self.session)
        except StoreError:
            words = ""
        if self._there is not None:
            self._there.answer(question.id, words)

    # -- the end of a turn -------------------------------------------------------------------

    def _take_report(self) -> None:
        report = self._ended.report if self._ended is not None else None
        if report is not None:
            self._report = msgspec.structs.replace(report, by=self.life.stopped_by)

    async def _take_changes(self, there: FarWork, over: FarTurnOver) -> None:
        """Keep what it changed, for the user and as a patch, and say where it is."""
        name = self._place.name
        words: list[str] = []
        if over.problem:
            words.append(f"On {name}: {over.problem}.")
        if over.patch:
            count = over.patch.count("diff --git ")
            files = "1 file" if count == 1 else f"{count} files"
            where = f"It worked in a copy on {name}; the folder here is as it was."
            words.append(f"{where} What it changed: {files}.")
            words.append(await self._reviewed(over.files))
            words.append(self._as_patch(over.patch))
        if not_sent := there.followed.not_sent:
            left = ", ".join(not_sent)
            words.append(f"Not sent to {name}, for rules, keys in them, or their size: {left}.")
        self.left_behind = " ".join(word for word in words if word)

    async def _reviewed(self, files: Sequence[FarFile]) -> str:
        try:
            is_kept = await self._elsewhere.kept.keep_result(self, files, self._began)
        except UndoError as error:
            return f"The user can't review it in the app: {error}"
        return "The user reviews it under Changes, and may apply it there." if is_kept else ""

    def _as_patch(self, patch: str) -> str:
        try:
            path = self._dispatch.leave(self, f"{self.id}-{secrets.token_hex(4)}.patch", patch)
        except OSError as error:
            return f"A patch of it could not be kept: {error}."
        return f"A patch of it: {path}. Apply it yourself (git apply, or edits) if it is wanted."

    def _raise_for_end(self) -> None:
        ended = self._ended
        if ended is None:
            raise ModelError(Fault("internal", self.left_behind or "It could not begin."))
        if ended.reason in ("cancelled", "interrupted"):
            raise ModelError(Fault("reset", f"It was stopped on {self._place.name}.", "continue"))
        if ended.reason == "step_limit":
            raise StepLimitReached
        if ended.fault is not None:
            raise ModelError(ended.fault)

    def _close_open(self) -> None:
        for ask in self._asks.values():
            ask.cancel()
        self._asks.clear()
        for stack in self._calls.values():
            stack.close()
        self._calls.clear()
