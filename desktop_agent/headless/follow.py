"""Follows a run's events: prints them, refuses approvals, and detects when the tree is idle."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from desktop_agent.core.agents import AgentInfo, EndReason
from desktop_agent.core.approvals import Deny
from desktop_agent.core.events import (
    AgentsChanged,
    ApprovalRequested,
    BudgetReached,
    CommandRefused,
    EngineFailed,
    Event,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    SessionsChanged,
    SideCallEnded,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, QuestionId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.usage import Usage
from desktop_agent.engine.engine import Engine
from desktop_agent.headless.output import Printer

Cut = Literal["timeout", "interrupted", "budget", "step_limit", "error"]

# What became of earlier work, told at the start: this run begins all the same.
_OF_BEFORE = frozenset({"sessions", "undo"})
_READS_SOON = frozenset({"idle", "waiting_children"})
_NO_ONE_ALLOWS = "Go on without it, and say what is left to do."
_NO_ONE_ANSWERS = (
    "Nobody is here to answer. Decide by yourself what is most sensible, and say what you chose."
)


class Follower:
    """The state of one run. `idle` is set once nothing runs and nothing will."""

    def __init__(self, printer: Printer) -> None:
        self.idle = asyncio.Event()
        self.reason: EndReason = "error"
        self.text = ""
        self.usage = Usage()
        self.broken: OSError | None = None
        self.session: SessionInfo | None = None
        self.sessions: dict[SessionId, SessionInfo] = {}
        self.deleted: frozenset[SessionId] = frozenset()
        self._printer = printer
        self._engine: Engine | None = None
        self._cut: Cut | None = None
        self._has_begun = False
        self._turn_is_over = False
        self._agents: tuple[AgentInfo, ...] = ()
        self._for_parents: dict[QuestionId, QuestionAsked] = {}

    @property
    def is_cut(self) -> bool:
        """Whether the run was asked to stop."""
        return self._cut is not None

    def attach(self, engine: Engine) -> None:
        """Take the engine whose requests are answered from now on."""
        self._engine = engine

    def cut(self, why: Cut) -> None:
        """Stop the whole tree; a second time, don't wait for it to end either."""
        if self._cut is not None:
            self.idle.set()
            return
        self._cut = self.reason = why
        if self._engine is not None and self.session is not None and self._has_begun:
            self._engine.stop(self.session.main_agent)
        else:
            self.idle.set()

    def hear(self, event: Event) -> None:
        """Take one event from the engine."""
        self._print(event)
        match event:
            case SessionsChanged(sessions=sessions, deleted=deleted):
                self.sessions = {info.id: info for info in sessions}
                self.deleted = frozenset(info.id for info in deleted)
            case SessionOpened(info=info, agents=agents):
                self.session, self._agents = info, agents
            case QuestionAsked(question=question) if question.is_for_parent:
                self._for_parents[question.id] = event
            case QuestionAnswered(question_id=question_id):
                self._for_parents.pop(question_id, None)
            case ApprovalRequested() | QuestionAsked():
                # The request waits for its answer only after this event: answer it later.
                asyncio.get_running_loop().call_soon(self._answer, event)
            case BudgetReached() | CommandRefused(command="decide" | "answer"):
                # A request whose refusal could not be saved would wait for ever.
                why = "budget" if isinstance(event, BudgetReached) else "error"
                asyncio.get_running_loop().call_soon(self._stop_for, why)
            case MessageAdded(agent_id=agent_id, message=message) if self._is_main(agent_id):
                if message.role == "assistant" and message.text:
                    self.text = message.text
            case _:
                self._follow_turn(event)

    def _follow_turn(self, event: Event) -> None:
        match event:
            case TurnStarted(agent_id=agent_id) if self._is_main(agent_id):
                self._has_begun, self._turn_is_over = True, False
            case TurnEnded(agent_id=agent_id):
                self.usage += event.usage
                if self._is_main(agent_id):
                    self._turn_is_over = True
                    self.reason = self._cut or _reason_of(event)
                    if self.reason == "step_limit":
                        # A report of a subagent would begin a turn with as many steps again.
                        asyncio.get_running_loop().call_soon(self._stop_for, "step_limit")
            case SideCallEnded(usage=usage):
                self.usage += usage
            case AgentsChanged():
                self._agents = event.over(self._agents)
                if self._turn_is_over and _rests(self._agents):
                    self.idle.set()
                elif self._for_parents and _all_wait(self._agents):
                    asyncio.get_running_loop().call_soon(self._answer_one)
            case EngineFailed() | CommandRefused() if self._is_kept_from_beginning_by(event):
                self.idle.set()
            case _:
                pass

    def _is_kept_from_beginning_by(self, event: EngineFailed | CommandRefused) -> bool:
        is_of_before = isinstance(event, EngineFailed) and event.where in _OF_BEFORE
        return not self._has_begun and not is_of_before

    def _stop_for(self, why: Cut) -> None:
        # Several agents can be held by one budget: only the first of them stops the run.
        if self._cut is None:
            self.cut(why)

    def _is_main(self, agent_id: AgentId) -> bool:
        return self.session is not None and agent_id == self.session.main_agent

    def _answer(self, event: ApprovalRequested | QuestionAsked) -> None:
        if self._engine is None:
            return
        if isinstance(event, ApprovalRequested):
            self._engine.decide(event.request.id, Deny(_NO_ONE_ALLOWS, by="unattended"))
        else:
            self._engine.answer(event.question.id, _NO_ONE_ANSWERS)

    def _answer_one(self) -> None:
        """Answer what no parent did: each of them waits, or has ended its turn."""
        if self._for_parents:
            self._answer(next(iter(self._for_parents.values())))

    def _print(self, event: Event) -> None:
        if self.broken is not None:
            return
        try:
            self._printer.show(event)
        except OSError as error:
            # The reader of the output has gone: the rest would not be seen.
            self.broken = error
            self.cut("interrupted")


def _rests(agents: Sequence[AgentInfo]) -> bool:
    """Whether nothing of the tree will do anything by itself."""
    working = {agent.status for agent in agents if agent.is_working}
    # Nobody is there to resume what is paused; whoever waits for it rests with it.
    has_paused = any(agent.status == "paused" for agent in agents)
    return working <= {"waiting_children"} if has_paused else not working


def _all_wait(agents: Sequence[AgentInfo]) -> bool:
    """Whether no agent acts or has something to read: a question stays unanswered then."""
    working = {agent.status for agent in agents if agent.is_working}
    has_unread = any(agent.waiting_notes for agent in agents if agent.status in _READS_SOON)
    return working <= {"waiting_children", "waiting_answer"} and not has_unread


def _reason_of(ended: TurnEnded) -> EndReason:
    match ended.reason:
        case "finished" | "step_limit" | "budget":
            return ended.reason
        case "cancelled" | "interrupted":
            return "interrupted"
        case "error":
            return "error"
