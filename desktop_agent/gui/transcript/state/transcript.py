"""Reduces events to items. No Qt: the window and its tests see the same thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from desktop_agent.core import events
from desktop_agent.core.agents import ENDED, AgentInfo
from desktop_agent.core.changes import ChangeSet, SessionChanges
from desktop_agent.core.events import AgentEvent, Event
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message, ToolResult
from desktop_agent.gui.kit.failure_log import attempt
from desktop_agent.gui.state.session_state import AgentPage
from desktop_agent.gui.transcript.state import items
from desktop_agent.gui.transcript.state.branches import BranchPoints
from desktop_agent.gui.transcript.state.changes import FileChanges
from desktop_agent.gui.transcript.state.event_log import LIVE_OUTPUT_LIMIT, EventLog
from desktop_agent.gui.transcript.state.message_items import segment_key, segments, user_items

_RETRY = "retry"
# Refused because it is not possible now, which the bar above says: nothing failed.
_BY_RULE = frozenset(
    {"compact", "undo_compaction", "clear_context", "type_into_job", "stop_job"}
    | {"begin_branch", "switch_branch"}
)


class Transcript:
    """One agent's items, in order. Events of other agents and of no agent are passed over.

    Events may come in any order and more than once; the reducer never fails.
    """

    def __init__(self, agent_id: AgentId) -> None:
        self.agent_id = agent_id
        self.agent_names: dict[AgentId, str] = {}
        self._agents: tuple[AgentInfo, ...] = ()
        self._status: str = "idle"
        # The keys that the present event changed.
        self._changed: set[str] = set()
        self._files, self._branches = FileChanges(agent_id), BranchPoints()
        self._clear()
        self._reducers: dict[type, Callable[[Any], None]] = {  # Any: its own kind of event
            events.TurnStarted: self._on_turn_started,
            events.TurnEnded: self._on_turn_ended,
            events.StepStarted: self._on_step,
            events.StepEnded: self._on_step,
            events.BudgetReached: self._on_budget,
            events.BudgetChanged: self._on_step,
            events.RetryScheduled: self._on_retry,
            events.MessageStarted: self._on_message_started,
            events.PartDelta: self._on_delta,
            events.MessageAdded: self._on_message,
            events.ToolStarted: self._on_tool_started,
            events.ToolOutput: self._on_tool_output,
            events.ToolEnded: self._on_tool_ended,
            events.ApprovalRequested: self._on_approval,
            events.ApprovalResolved: self._on_approval_resolved,
            events.QuestionAsked: self._on_question,
            events.QuestionAnswered: self._on_question_answered,
            events.ContextCompacted: self._on_compacted,
            events.CompactionUndone: self._on_undone,
            events.ContextCleared: self._on_cleared,
            events.BranchStarted: self._on_branch_started,
            events.NoteDelivered: self._on_note,
            events.NoteReturned: self._on_note,
            events.FilesChanged: lambda event: self._take_files(event.changes, is_own=True),
            events.CommandRefused: self._on_command_refused,
            events.EngineFailed: self._on_engine_failed,
        }

    def _clear(self) -> None:
        self.is_running = False
        self._reported_running: bool | None = None
        self._items: dict[str, items.Item] = {}
        self._order: list[str] = []
        # What may still change: few items, in however long a session.
        self._open: dict[str, items.Item] = {}
        self._runs: dict[str, list[str]] = {}
        self._approvals_of: dict[str, list[str]] = {}
        self._asked_calls: set[str] = set()
        self._whole: set[str] = set()
        self._turn_started_at = 0.0
        self._log = EventLog()
        self._files.clear()
        self._branches.rewind()

    @classmethod
    def of_page(cls, page: AgentPage) -> Transcript:
        transcript = cls(page.agent_id)
        transcript._files.is_main = page.agent_id == page.info.main_agent
        transcript._branches = BranchPoints(page.branches)
        transcript.agent_names = {agent.id: agent.name for agent in page.agents}
        for event in page.events:
            transcript.apply(event)
        transcript._follow(page.agents)
        for agent in page.agents:
            if agent.id == page.agent_id:
                transcript._stand(is_running=agent.is_in_turn)
        return transcript

    @property
    def items(self) -> tuple[items.Item, ...]:
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
        return self.is_running and not any(items.shows_work(item) for item in self._open.values())

    @property
    def is_writing(self) -> bool:
        """Whether the newest item is an answer that still comes."""
        last = self._items[self._order[-1]] if self._order else None
        return isinstance(last, items.AnswerItem) and last.is_live

    def item(self, key: str) -> items.Item | None:
        return self._items.get(key)

    def path_of(self, agent_id: AgentId) -> list[str]:
        """Return the names of the agents from the main one down to this one."""
        by_id = {info.id: info for info in self._agents}
        names: list[str] = []
        info = by_id.pop(agent_id, None)
        while info is not None:
            names.append(info.name)
            info = by_id.pop(info.parent_id, None) if info.parent_id is not None else None
        return names[::-1]

    def waiting(self) -> tuple[items.ApprovalItem, ...]:
        """Return the open approvals, oldest first."""
        return tuple(item for item in self._open.values() if isinstance(item, items.ApprovalItem))

    def apply(self, event: Event) -> frozenset[str]:
        """Take in one event; return the keys of the items that are new, changed or gone."""
        self._changed.clear()
        if isinstance(event, events.AgentsChanged):
            self.agent_names = {agent.id: agent.name for agent in event.agents}
            self._follow(event.agents)
        elif isinstance(event, events.FilesChanged) and event.agent_id != self.agent_id:
            self._take_files(event.changes, is_own=False)
        elif getattr(event, "agent_id", None) == self.agent_id and type(event) in self._reducers:
            self._log.add(event)
            reducer = self._reducers[type(event)]
            attempt(type(event).__name__, lambda: reducer(event), lambda: None)
        return frozenset(self._changed)

    def know_changes(self, changes: SessionChanges) -> frozenset[str]:
        """Take in what all agents of the session did to files; return as `apply` does."""
        self._changed.clear()
        if self._files.sets.learn(changes):
            self._show_all_changes()
        return frozenset(self._changed)

    def prepend(self, earlier: Sequence[AgentEvent]) -> None:
        """Prepend earlier events: everything is reduced again."""
        later = self._log.events
        is_running = self._reported_running
        self._clear()
        for event in (*earlier, *later):
            self.apply(event)
        self._follow(self._agents)
        if is_running is not None:
            self._stand(is_running=is_running)

    # -- turns ---------------------------------------------------------------------------

    def _on_turn_started(self, event: events.TurnStarted) -> None:
        if self.is_running:
            self._close_open_items("unknown")
        self.is_running = True
        self._reported_running = None
        self._turn_started_at = event.at
        self._put(*items.rested(self._open.values(), is_past=True))

    def _on_turn_ended(self, event: events.TurnEnded) -> None:
        self._close_open_items("stopped" if event.reason == "cancelled" else "unknown")
        self.is_running = False
        self._reported_running = None
        if event.reason != "finished":
            self._put(*items.undelivered(self._open.values()))
        item = items.turn_item(event, self._turn_started_at)
        self._turn_started_at = 0.0
        self._put(replace(item, is_current=self._status not in ENDED))
        for group in self._files.end_turn(item.key):
            self._show_line(group)

    def _close_open_items(self, state: items.ToolState) -> None:
        """Close whatever the end of a turn leaves open."""
        self._end_retry()
        for item in list(self._open.values()):
            if (closed := items.closed_item(item, state)) is not item:
                self._put(closed)

    def _follow(self, agents: tuple[AgentInfo, ...]) -> None:
        self._agents = agents
        self._status = next((a.status for a in agents if a.id == self.agent_id), self._status)
        over = items.rested(self._open.values()) if self._status in ENDED else ()
        self._put(*items.followed(self._open.values(), agents), *over)

    def _on_budget(self, event: events.BudgetReached) -> None:
        key = f"budget/{len(self._order)}"
        spent, budget = event.spent, event.budget
        has_lent = spent.share_of(budget) < 1.0
        item = items.BudgetItem(key, event.agent_id, event.owner_id, spent, budget)
        self._put(replace(item, has_lent=has_lent))

    def _on_step(self, _: events.StepStarted | events.StepEnded | events.BudgetChanged) -> None:
        self._end_retry()
        held = [item for item in self._open.values() if isinstance(item, items.BudgetItem)]
        self._put(*(replace(item, is_current=False) for item in held))

    def _on_retry(self, event: events.RetryScheduled) -> None:
        self._end_retry()
        self._put(items.RetryItem(_RETRY, event.attempt, event.delay_s, event.fault, event.at))

    def _on_compacted(self, event: events.ContextCompacted) -> None:
        self._put(*items.passed(self._open.values()), items.compaction_item(event))

    def _on_undone(self, event: events.CompactionUndone) -> None:
        item = self._items.get(event.compaction_id)
        if isinstance(item, items.CompactionItem):
            self._put(replace(item, is_current=False, is_undone=True))

    def _on_cleared(self, event: events.ContextCleared) -> None:
        line = items.CompactionItem(f"cleared/{event.at}", is_current=False, is_cleared=True)
        self._put(*items.passed(self._open.values()), line)

    def _on_branch_started(self, _: events.BranchStarted) -> None:
        self._stand(is_running=False)
        self._branches.begin()

    def _end_retry(self) -> None:
        if _RETRY in self._items:
            self._order.remove(_RETRY)
            self._drop(_RETRY)

    def _on_command_refused(self, event: events.CommandRefused) -> None:
        if event.command in _BY_RULE:
            return
        if event.command in {"decide", "answer"}:  # it is still asked for
            for item in list(self._open.values()):
                if isinstance(item, items.ApprovalItem | items.QuestionItem):
                    self._put(replace(item, tries=item.tries + 1))
        self._put_failure(event.command, event.message)

    def _on_engine_failed(self, event: events.EngineFailed) -> None:
        self._put_failure(event.where, event.message)

    def _put_failure(self, where: str, text: str) -> None:
        self._put(items.FailureItem(f"failure/{where}/{text}", where, text))

    # -- changes of files ----------------------------------------------------------------

    def _take_files(self, made: ChangeSet, *, is_own: bool) -> None:
        group = self._files.take(made)
        if made.kind == "undo":
            if is_own:
                self._put(items.UndoItem(made.id, made), at=self._live_place())
            self._show_all_changes()
            return
        if is_own and (call := self._tool(made.call_id)):
            self._put(self._files.shown(call))
        self._show_line(group)

    def _show_all_changes(self) -> None:
        for item in list(self._items.values()):
            if (shown := self._files.shown(item)) is not item:
                self._put(shown)
        for group in self._files.ended:
            self._show_line(group)

    def _show_line(self, group: str) -> None:
        """Put the line of a group where it belongs: after the last turn in which it grew."""
        turn = self._items.get(self._files.turn_of(group))
        line = self._files.line(group, turn) if isinstance(turn, items.TurnItem) else None
        if line is None or not isinstance(turn, items.TurnItem):
            return
        old = self._items.get(line.key)
        if old == line:
            return
        if isinstance(old, items.ChangesItem) and old.turn != turn.key:
            self._order.remove(old.key)
            self._drop(old.key)
            before = self._items.get(old.turn)
            if isinstance(before, items.TurnItem):
                self._put(replace(before, has_changes=False))
        at = None if line.key in self._items else self._order.index(turn.key) + 1
        self._put(line, at=at)
        if not turn.has_changes:
            self._put(replace(turn, has_changes=True))

    # -- messages and calls --------------------------------------------------------------

    def _on_message_started(self, event: events.MessageStarted) -> None:
        self._runs.setdefault(event.message_id, [])
        self._end_retry()

    def _on_delta(self, event: events.PartDelta) -> None:
        if event.message_id in self._whole or not event.text:
            return
        runs = self._runs.setdefault(event.message_id, [])
        last = self._items.get(runs[-1]) if runs else None
        wanted = items.AnswerItem if event.kind == "text" else items.ThinkingItem
        if isinstance(last, wanted):
            self._put(replace(last, text=last.text + event.text, is_live=True))
            return
        self._end_retry()
        if isinstance(last, items.AnswerItem | items.ThinkingItem):
            self._put(replace(last, is_live=False))
        key = segment_key(event.message_id, len(runs), event.kind)
        runs.append(key)
        self._put(wanted(key, event.text, is_live=True))

    def _on_message(self, event: events.MessageAdded) -> None:
        message = event.message
        self._put(*items.passed(self._open.values()))
        if message.role == "user":
            said = [self._files.shown(one) for one in user_items(message, self._items.get)]
            said += self._branches.under(message)
            self._files.begin_message(message.id)
            # A question that is known to wait already is open from the beginning.
            waiting = {
                one.key: one for one in items.followed(said, self._agents) if one.state == "open"
            }
            self._put(*(waiting.get(item.key, item) for item in said))
        elif message.role == "tool":
            for result in message.results:
                self._close_call(result)
        else:
            self._on_answer(message, event.is_partial)

    def _on_answer(self, message: Message, is_partial: bool) -> None:
        """Put the whole message in the place of what was streamed of it."""
        old = self._runs.get(message.id, [])
        place = self._order.index(old[0]) if old else len(self._order)
        new: list[items.Item] = list(segments(message, is_partial=is_partial))
        for key in old:
            self._order.remove(key)
        for key in set(old) - {item.key for item in new}:
            self._drop(key)
        for item in (*new, *(items.ToolItem(call.id, call) for call in message.tool_calls)):
            if isinstance(item, items.ToolItem) and item.key in self._items:
                continue
            self._put(item, at=place)
            place += 1
        self._runs[message.id] = [item.key for item in new]
        self._whole.add(message.id)
        self._changed.update(old)
        self._end_retry()

    def _live_place(self) -> int | None:
        """Return where the answer that still comes begins, as it is recorded after what came."""
        last = next(reversed(self._runs), None)
        runs = self._runs[last] if last is not None and last not in self._whole else []
        return self._order.index(runs[0]) if runs else None

    def _tool(self, call_id: str) -> items.ToolItem | None:
        item = self._items.get(call_id)
        return item if isinstance(item, items.ToolItem) else None

    def _open_tool(self, call_id: str) -> items.ToolItem | None:
        item = self._tool(call_id)
        return item if item is not None and item.state not in items.FINAL_STATES else None

    def _on_tool_started(self, event: events.ToolStarted) -> None:
        item = self._tool(event.call.id)
        if item is not None and item.state in items.FINAL_STATES:
            return
        self._put(
            items.ToolItem(event.call.id, event.call, "running", event.doing, started_at=event.at)
        )
        for key in self._approvals_of.get(event.call.id, ()):
            approval = self._items[key]
            if isinstance(approval, items.ApprovalItem):
                self._put(replace(approval, at=event.at))

    def _on_tool_output(self, event: events.ToolOutput) -> None:
        if item := self._open_tool(event.call_id):
            self._put(replace(item, output=(item.output + event.text)[-LIVE_OUTPUT_LIMIT:]))

    def _on_tool_ended(self, event: events.ToolEnded) -> None:
        if item := self._tool(event.result.call_id):
            state = items.ended_state(item.call, event.result, event.outcome)
            ended = replace(item, state=state, result=event.result, seconds=event.seconds)
            self._put(replace(ended, output=""))

    def _close_call(self, result: ToolResult) -> None:
        if item := self._open_tool(result.call_id):
            outcome = "failed" if result.is_error else "ok"
            state = items.ended_state(item.call, result, outcome)
            self._put(replace(item, state=state, result=result, output=""))

    # -- approvals, questions and notes --------------------------------------------------

    def _on_approval(self, event: events.ApprovalRequested) -> None:
        request = event.request
        if request.id in self._items:
            return
        self._approvals_of.setdefault(request.call.id, []).append(request.id)
        self._put_before(request.call.id, items.ApprovalItem(request.id, request))
        if call := self._open_tool(request.call.id):
            self._put(replace(call, state="waiting"))

    def _on_question(self, event: events.QuestionAsked) -> None:
        question = event.question
        if question.id not in self._items:
            self._asked_calls.add(question.call_id)
            self._put_before(question.call_id, items.QuestionItem(question.id, question))

    def _put_before(self, call_id: str, item: items.ApprovalItem | items.QuestionItem) -> None:
        """Put what is asked for a call before that call, which looks different from now on."""
        if self._tool(call_id) is None:
            self._put(item)
        else:
            self._put(item, at=self._order.index(call_id))
            self._changed.add(call_id)

    def _on_approval_resolved(self, event: events.ApprovalResolved) -> None:
        item = self._items.get(event.request_id)
        if isinstance(item, items.ApprovalItem):
            self._put(replace(item, decision=event.decision))
            call = self._tool(item.request.call.id)
            if call is not None and call.state == "waiting":
                self._put(replace(call, state="queued"))

    def _on_question_answered(self, event: events.QuestionAnswered) -> None:
        item = self._items.get(event.question_id)
        if isinstance(item, items.QuestionItem):
            self._put(replace(item, answer=event.text, by=event.by))

    def _on_note(self, event: events.NoteDelivered | events.NoteReturned) -> None:
        self._put(*items.after_note(self._open.values(), event))

    def _stand(self, *, is_running: bool) -> None:
        """Take over what the engine says: the newest page may not show it."""
        if self.is_running and not is_running:
            self._close_open_items("unknown")
        self.is_running = self._reported_running = is_running

    def _put(self, *changed: items.Item, at: int | None = None) -> None:
        """Take in new and changed items; they go to the end unless they have a place."""
        for item in changed:
            if at is not None:
                self._order.insert(at, item.key)
            elif item.key not in self._items:
                self._order.append(item.key)
            self._items[item.key] = item
            if items.is_open(item):
                self._open[item.key] = item
            else:
                self._open.pop(item.key, None)
            self._changed.add(item.key)

    def _drop(self, key: str) -> None:
        del self._items[key]
        self._open.pop(key, None)
        self._changed.add(key)
