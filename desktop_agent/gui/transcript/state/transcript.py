"""Reduces events to items. No Qt: the window and its tests see the same thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from desktop_agent.core.agents import ENDED, AgentInfo
from desktop_agent.core.events import (
    AgentEvent,
    AgentsChanged,
    ApprovalRequested,
    ApprovalResolved,
    BudgetChanged,
    BudgetReached,
    CommandRefused,
    EngineFailed,
    Event,
    MessageAdded,
    MessageStarted,
    NoteDelivered,
    NoteReturned,
    PartDelta,
    QuestionAnswered,
    QuestionAsked,
    RetryScheduled,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message, ToolResult
from desktop_agent.gui.kit.failure_log import attempt
from desktop_agent.gui.state.session_state import AgentPage
from desktop_agent.gui.transcript.state.agent_messages import asked_now, followed
from desktop_agent.gui.transcript.state.deliveries import after_note, undelivered
from desktop_agent.gui.transcript.state.event_log import LIVE_OUTPUT_LIMIT, EventLog
from desktop_agent.gui.transcript.state.items import (
    FINAL_STATES,
    OUTCOMES,
    AnswerItem,
    ApprovalItem,
    BudgetItem,
    FailureItem,
    Item,
    QuestionItem,
    RetryItem,
    ThinkingItem,
    ToolItem,
    ToolState,
    closed_item,
    is_open,
    rested,
    shows_work,
    turn_item,
)
from desktop_agent.gui.transcript.state.message_items import segment_key, segments, user_items

_RETRY = "retry"


class Transcript:
    """One agent's items, in order. Events of other agents and of no agent are passed over.

    Events may come in any order and more than once; the reducer never fails.
    """

    def __init__(self, agent_id: AgentId) -> None:
        self.agent_id = agent_id
        self.agent_names: dict[AgentId, str] = {}
        self._agents: tuple[AgentInfo, ...] = ()
        self._status: str = "idle"
        self._clear()
        self._reducers: dict[type, Callable[[Any], Iterable[str]]] = {
            TurnStarted: self._on_turn_started,
            TurnEnded: self._on_turn_ended,
            StepStarted: self._on_step,
            StepEnded: self._on_step,
            BudgetReached: self._on_budget,
            BudgetChanged: self._on_step,
            RetryScheduled: self._on_retry,
            MessageStarted: self._on_message_started,
            PartDelta: self._on_delta,
            MessageAdded: self._on_message,
            ToolStarted: self._on_tool_started,
            ToolOutput: self._on_tool_output,
            ToolEnded: self._on_tool_ended,
            ApprovalRequested: self._on_approval,
            ApprovalResolved: self._on_approval_resolved,
            QuestionAsked: self._on_question,
            QuestionAnswered: self._on_question_answered,
            NoteDelivered: self._on_note,
            NoteReturned: self._on_note,
            CommandRefused: self._on_command_refused,
            EngineFailed: self._on_engine_failed,
        }

    def _clear(self) -> None:
        self.is_running = False
        self._reported_running: bool | None = None
        self._items: dict[str, Item] = {}
        self._order: list[str] = []
        # What may still change: few items, in however long a session.
        self._open: dict[str, Item] = {}
        self._runs: dict[str, list[str]] = {}
        self._approvals_of: dict[str, list[str]] = {}
        self._asked_calls: set[str] = set()
        self._whole: set[str] = set()
        self._turn_started_at = 0.0
        self._log = EventLog()

    @classmethod
    def of_page(cls, page: AgentPage) -> Transcript:
        """Return the transcript of the page's agent."""
        transcript = cls(page.agent_id)
        transcript.agent_names = {agent.id: agent.name for agent in page.agents}
        for event in page.events:
            transcript.apply(event)
        transcript._follow(page.agents)
        for agent in page.agents:
            if agent.id == page.agent_id:
                transcript._stand(is_running=agent.is_in_turn)
        return transcript

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, oldest first."""
        return tuple(self._items[key] for key in self._order)

    @property
    def asked_calls(self) -> frozenset[str]:
        """The tool calls that a question's own item stands for."""
        return frozenset(self._asked_calls)

    @property
    def is_paused(self) -> bool:
        """Whether the agent holds between two steps."""
        return self._status == "paused"

    @property
    def is_busy(self) -> bool:
        """Whether time passes: a turn is under way and not held."""
        return self.is_running and not self.is_paused

    @property
    def is_silent(self) -> bool:
        """Whether the agent works and no item shows it."""
        return self.is_running and not any(shows_work(item) for item in self._open.values())

    @property
    def is_writing(self) -> bool:
        """Whether the newest item is an answer that still comes."""
        last = self._items[self._order[-1]] if self._order else None
        return isinstance(last, AnswerItem) and last.is_live

    def item(self, key: str) -> Item | None:
        """Return the item with this key."""
        return self._items.get(key)

    def waiting(self) -> tuple[ApprovalItem, ...]:
        """Return the open approvals, oldest first."""
        return tuple(item for item in self._open.values() if isinstance(item, ApprovalItem))

    def apply(self, event: Event) -> frozenset[str]:
        """Take in one event; return the keys of the items that are new, changed or gone."""
        if isinstance(event, AgentsChanged):
            self.agent_names = {agent.id: agent.name for agent in event.agents}
            return self._follow(event.agents)
        reducer = self._reducers.get(type(event))
        if reducer is None or getattr(event, "agent_id", None) != self.agent_id:
            return frozenset()
        self._log.add(event)
        return attempt(type(event).__name__, lambda: frozenset(reducer(event)), frozenset)

    def prepend(self, events: Sequence[AgentEvent]) -> None:
        """Prepend earlier events: everything is reduced again."""
        later = self._log.events
        is_running = self._reported_running
        self._clear()
        for event in (*events, *later):
            self.apply(event)
        self._follow(self._agents)
        if is_running is not None:
            self._stand(is_running=is_running)

    # -- turns ---------------------------------------------------------------------------

    def _on_turn_started(self, event: TurnStarted) -> Iterable[str]:
        changed = list(self._close_open_items("unknown")) if self.is_running else []
        self.is_running = True
        self._reported_running = None
        self._turn_started_at = event.at
        return [*changed, *(self._put(item) for item in rested(self._open.values()))]

    def _on_turn_ended(self, event: TurnEnded) -> Iterable[str]:
        changed = list(
            self._close_open_items("stopped" if event.reason == "cancelled" else "unknown")
        )
        self.is_running = False
        self._reported_running = None
        if event.reason != "finished":
            changed += [self._put(item) for item in undelivered(self._open.values())]
        item = turn_item(event, self._turn_started_at)
        self._turn_started_at = 0.0
        return [*changed, self._put(replace(item, is_current=self._status not in ENDED))]

    def _close_open_items(self, state: ToolState) -> Iterable[str]:
        """Close whatever the end of a turn leaves open."""
        changed = self._end_retry()
        for item in list(self._open.values()):
            if (closed := closed_item(item, state)) is not item:
                changed.append(self._put(closed))
        return changed

    def _follow(self, agents: tuple[AgentInfo, ...]) -> frozenset[str]:
        self._agents = agents
        self._status = next((a.status for a in agents if a.id == self.agent_id), self._status)
        over = rested(self._open.values()) if self._status in ENDED else ()
        changed = [*followed(self._open.values(), agents), *over]
        return frozenset(self._put(item) for item in changed)

    def _on_budget(self, event: BudgetReached) -> Iterable[str]:
        key = f"budget/{len(self._order)}"
        item = BudgetItem(key, event.agent_id, event.owner_id, event.spent, event.budget)
        return [self._put(item)]

    def _on_step(self, event: StepStarted | StepEnded | BudgetChanged) -> Iterable[str]:
        held = [item for item in self._open.values() if isinstance(item, BudgetItem)]
        return [*self._end_retry(), *(self._put(replace(one, is_current=False)) for one in held)]

    def _on_retry(self, event: RetryScheduled) -> Iterable[str]:
        self._end_retry()
        return [self._put(RetryItem(_RETRY, event.attempt, event.delay_s, event.fault))]

    def _end_retry(self) -> list[str]:
        return [self._drop(_RETRY)] if _RETRY in self._items else []

    def _on_command_refused(self, event: CommandRefused) -> Iterable[str]:
        again: list[str] = []
        if event.command in {"decide", "answer"}:  # it is still asked for
            for item in list(self._open.values()):
                if isinstance(item, ApprovalItem | QuestionItem):
                    again.append(self._put(replace(item, tries=item.tries + 1)))
        return [*again, self._put_failure(event.command, event.message)]

    def _on_engine_failed(self, event: EngineFailed) -> Iterable[str]:
        return [self._put_failure(event.where, event.message)]

    def _put_failure(self, where: str, text: str) -> str:
        return self._put(FailureItem(f"failure/{where}/{text}", where, text))

    def _on_message_started(self, event: MessageStarted) -> Iterable[str]:
        self._runs.setdefault(event.message_id, [])
        return self._end_retry()

    def _on_delta(self, event: PartDelta) -> Iterable[str]:
        if event.message_id in self._whole or not event.text:
            return []
        runs = self._runs.setdefault(event.message_id, [])
        last = self._items.get(runs[-1]) if runs else None
        wanted = AnswerItem if event.kind == "text" else ThinkingItem
        if isinstance(last, wanted):
            return [self._put(replace(last, text=last.text + event.text, is_live=True))]
        changed = self._end_retry()
        if isinstance(last, AnswerItem | ThinkingItem):
            changed.append(self._put(replace(last, is_live=False)))
        key = segment_key(event.message_id, len(runs), event.kind)
        runs.append(key)
        return [*changed, self._put(wanted(key, event.text, is_live=True))]

    def _on_message(self, event: MessageAdded) -> Iterable[str]:
        message = event.message
        if message.role == "user":
            items = user_items(message, self._items.get)
            return [self._put(item) for item in asked_now(items, self._agents)]
        if message.role == "tool":
            return [key for result in message.results for key in self._close_call(result)]
        return self._on_answer(message, event.is_partial)

    def _on_answer(self, message: Message, is_partial: bool) -> Iterable[str]:
        """Put the whole message in the place of what was streamed of it."""
        old = self._runs.get(message.id, [])
        place = self._order.index(old[0]) if old else len(self._order)
        new: list[Item] = list(segments(message, is_partial=is_partial))
        for key in old:
            self._order.remove(key)
        self._order[place:place] = [item.key for item in new]
        for key in set(old) - {item.key for item in new}:
            del self._items[key]
            self._open.pop(key, None)
        for item in new:
            self._put(item, is_placed=True)
        self._runs[message.id] = [item.key for item in new]
        self._whole.add(message.id)
        changed = {*old, *(item.key for item in new), *self._end_retry()}
        place += len(new)
        for call in message.tool_calls:
            if call.id in self._items:
                continue
            self._order.insert(place, call.id)
            self._put(ToolItem(call.id, call), is_placed=True)
            changed.add(call.id)
            place += 1
        return changed

    def _tool(self, call_id: str) -> ToolItem | None:
        item = self._items.get(call_id)
        return item if isinstance(item, ToolItem) else None

    def _on_tool_started(self, event: ToolStarted) -> Iterable[str]:
        item = self._tool(event.call.id)
        if item is not None and item.state in FINAL_STATES:
            return []
        running = ToolItem(event.call.id, event.call, "running", event.doing, started_at=event.at)
        changed = [self._put(running)]
        for key in self._approvals_of.get(event.call.id, ()):
            approval = self._items[key]
            if isinstance(approval, ApprovalItem):
                changed.append(self._put(replace(approval, at=event.at)))
        return changed

    def _on_tool_output(self, event: ToolOutput) -> Iterable[str]:
        item = self._tool(event.call_id)
        if item is None or item.state in FINAL_STATES:
            return []
        output = (item.output + event.text)[-LIVE_OUTPUT_LIMIT:]
        return [self._put(replace(item, output=output))]

    def _on_tool_ended(self, event: ToolEnded) -> Iterable[str]:
        item = self._tool(event.result.call_id)
        if item is None:
            return []
        state = OUTCOMES[event.outcome]
        ended = replace(item, state=state, result=event.result, seconds=event.seconds, output="")
        return [self._put(ended)]

    def _close_call(self, result: ToolResult) -> Iterable[str]:
        item = self._tool(result.call_id)
        if item is None or item.state in FINAL_STATES:
            return []
        state: ToolState = "failed" if result.is_error else "ok"
        return [self._put(replace(item, state=state, result=result, output=""))]

    # -- approvals, questions and notes --------------------------------------------------

    def _on_approval(self, event: ApprovalRequested) -> Iterable[str]:
        request = event.request
        if request.id in self._items:
            return []
        self._approvals_of.setdefault(request.call.id, []).append(request.id)
        return self._stand_before(request.call.id, ApprovalItem(request.id, request))

    def _on_question(self, event: QuestionAsked) -> Iterable[str]:
        question = event.question
        if question.id in self._items:
            return []
        self._asked_calls.add(question.call_id)
        return self._stand_before(question.call_id, QuestionItem(question.id, question))

    def _stand_before(self, call_id: str, item: ApprovalItem | QuestionItem) -> Iterable[str]:
        call = self._tool(call_id)
        if call is None:
            return [self._put(item)]
        self._order.insert(self._order.index(call_id), item.key)
        self._put(item, is_placed=True)
        if call.state in FINAL_STATES or isinstance(item, QuestionItem):
            return [item.key, call_id]
        return [item.key, self._put(replace(call, state="waiting"))]

    def _on_approval_resolved(self, event: ApprovalResolved) -> Iterable[str]:
        item = self._items.get(event.request_id)
        if not isinstance(item, ApprovalItem):
            return []
        changed = [self._put(replace(item, decision=event.decision))]
        call = self._tool(item.request.call.id)
        if call is not None and call.state == "waiting":
            changed.append(self._put(replace(call, state="queued")))
        return changed

    def _on_question_answered(self, event: QuestionAnswered) -> Iterable[str]:
        item = self._items.get(event.question_id)
        if not isinstance(item, QuestionItem):
            return []
        return [self._put(replace(item, answer=event.text, by=event.by))]

    def _on_note(self, event: NoteDelivered | NoteReturned) -> Iterable[str]:
        return [self._put(item) for item in after_note(self._open.values(), event)]

    def _stand(self, *, is_running: bool) -> None:
        """Take over what the engine says: the newest page may not show it."""
        if self.is_running and not is_running:
            self._close_open_items("unknown")
        self.is_running = self._reported_running = is_running

    def _put(self, item: Item, *, is_placed: bool = False) -> str:
        if item.key not in self._items and not is_placed:
            self._order.append(item.key)
        self._items[item.key] = item
        if is_open(item):
            self._open[item.key] = item
        else:
            self._open.pop(item.key, None)
        return item.key

    def _drop(self, key: str) -> str:
        del self._items[key]
        self._open.pop(key, None)
        self._order.remove(key)
        return key
