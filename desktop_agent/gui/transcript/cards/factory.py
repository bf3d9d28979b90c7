"""Makes the card of a row, and tells its height and its words without making it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.stop_text import stop_words
from desktop_agent.gui.kit.text import plain, unmarked
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.transcript.cards.agent_message_card import (
    ReportCard,
    agent_message_text,
    make_agent_message_card,
)
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard, Asker
from desktop_agent.gui.transcript.cards.approval_text import request_words
from desktop_agent.gui.transcript.cards.budget_card import BudgetCard
from desktop_agent.gui.transcript.cards.card import Card, header_height
from desktop_agent.gui.transcript.cards.earlier_card import EarlierCard
from desktop_agent.gui.transcript.cards.line_card import (
    LineCard,
    RetryCard,
    WorkingCard,
    approval_line,
    approval_text,
    line_height,
    question_text,
    turn_text,
)
from desktop_agent.gui.transcript.cards.notice_card import (
    FailureCard,
    FaultCard,
    LimitCard,
    StopCard,
)
from desktop_agent.gui.transcript.cards.question_card import QuestionCard
from desktop_agent.gui.transcript.cards.thinking_card import ThinkingCard
from desktop_agent.gui.transcript.cards.tool_card import (
    ToolCard,
    is_unfolded_at_first,
    known_height,
)
from desktop_agent.gui.transcript.cards.tool_text import group_text, summary
from desktop_agent.gui.transcript.state.items import (
    AgentMessageItem,
    ApprovalItem,
    BudgetItem,
    FailureItem,
    QuestionItem,
    RetryItem,
    ThinkingItem,
    ToolItem,
    TurnItem,
)
from desktop_agent.gui.transcript.state.rows import EarlierRow, Row, ToolGroup, WorkingRow


@dataclass(slots=True)
class Clocks:
    """`wall` is the time of day, `steady` only ever goes on; tests set their own."""

    wall: Callable[[], float] = field(default=time.time)
    steady: Callable[[], float] = field(default=time.monotonic)


class CardFactory(QObject):
    """Knows every kind of card. What outlives a card is kept here: which ones are unfolded.

    Signals: what the cards ask for, with the id or the text it is about.
    """

    decided = Signal(str, object)
    answered = Signal(str, str)
    resume_requested = Signal()
    compose_requested = Signal()
    earlier_requested = Signal()
    fault_action = Signal(str)
    path_activated = Signal(str)
    text_requested = Signal(str, str)
    command_requested = Signal(str, str, str)

    def __init__(self, theme: Theme, clocks: Clocks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._clocks = clocks
        self._unfolded: dict[str, bool] = {}
        self.alike: Callable[[ApprovalItem], tuple[ApprovalItem, ...]] = lambda item: (item,)
        self.asker: Callable[[ApprovalItem], Asker] = lambda _item: Asker()
        self.name_of: Callable[[AgentId], str] = lambda _agent: ""
        self.silent_since = 0.0

    def forget(self) -> None:
        """Another session is shown."""
        self._unfolded.clear()

    def known_height(self, row: Row) -> int | None:
        """Return the height of a row's card where it is known without making it."""
        match row:
            case ToolItem() | ToolGroup():
                return known_height(self._theme, row, is_unfolded=self._is_unfolded(row))
            case ThinkingItem() if not self._is_unfolded(row):
                return line_height(self._theme)
            case RetryItem() | WorkingRow() | TurnItem(reason="finished"):
                return line_height(self._theme)
            case ApprovalItem() if row.decision is not None:
                return line_height(self._theme)
            case QuestionItem() if row.answer is not None:
                return line_height(self._theme)
            case AgentMessageItem() | BudgetItem():
                return self._agent_message_height(row)
            case _:
                return None

    def words(self, row: Row) -> str:
        """Return what a row says, for copying, finding and screen readers."""
        match row:
            case ToolItem():
                return summary(row)
            case ToolGroup():
                return group_text(row.items[0].call.name, len(row.items))
            case ApprovalItem():
                return self._approval_text(row)
            case QuestionItem():
                asked = with_marks(unmarked(row.question.text))
                return f"{asked} {self._answer_text(row)}".strip()
            case TurnItem():
                return self._turn_text(row)
            case RetryItem():
                return with_marks(row.fault.message)
            case AgentMessageItem():
                return agent_message_text(row)
            case _:
                return self._plain_text(row)

    def make(self, row: Row, parent: QWidget) -> Card:
        """Return a new card for the row."""
        theme = self._theme
        match row:
            case ToolItem() | ToolGroup():
                return self._tool_card(row, parent)
            case ThinkingItem():
                card = ThinkingCard(theme, row, parent, is_unfolded=self._is_unfolded(row))
                card.unfolded.connect(lambda on: self._unfolded.__setitem__(row.key, on))
                return card
            case ApprovalItem() if row.decision is None:
                return self._approval_card(row, parent)
            case ApprovalItem():
                return approval_line(theme, row, parent)
            case QuestionItem() if row.answer is None:
                asked = QuestionCard(theme, row, parent)
                asked.answered.connect(lambda text: self.answered.emit(row.question.id, text))
                asked.left.connect(self.compose_requested)
                return asked
            case QuestionItem():
                icon = "message-circle-question-mark"
                text = with_marks(unmarked(row.question.text))
                line = LineCard(theme, icon, text, self._answer_text(row), parent)
                line.line.is_prose = True
                line.tell_whole()
                return line
            case AgentMessageItem() | BudgetItem():
                return self._agent_message_card(row, parent)
            case _:
                return self._other_card(row, parent)

    def line(self, icon: str, words: str, parent: QWidget) -> Card:
        """Return a card that says something in place of one that can't be made."""
        return LineCard(self._theme, icon, words, parent=parent)

    def update(self, card: Card, row: Row) -> bool:
        """Show the row's newest state in its card; False if it needs another card."""
        if isinstance(card, ToolCard) and isinstance(row, ToolItem | ToolGroup):
            card.set_item(row)
            return True
        if isinstance(card, ThinkingCard) and isinstance(row, ThinkingItem):
            card.set_item(row)
            return True
        if isinstance(card, WorkingCard) and isinstance(row, WorkingRow):
            card.set_since(self.silent_since, is_paused=row.is_paused)
            return True
        match card, row:
            case ApprovalCard(), ApprovalItem(decision=None, tries=tries):
                pass
            case QuestionCard(), QuestionItem(answer=None, tries=tries):
                pass
            case _:
                return False
        if tries:
            card.switch_on()
        return True

    # -- inside --------------------------------------------------------------------------

    def _is_unfolded(self, row: Row) -> bool:
        known = self._unfolded.get(row.key)
        if known is not None:
            return known
        return isinstance(row, ToolItem) and is_unfolded_at_first(row)

    def _tool_card(self, row: ToolItem | ToolGroup, parent: QWidget) -> ToolCard:
        card = ToolCard(self._theme, row, parent, is_unfolded=self._is_unfolded(row))
        card.unfolded.connect(lambda on: self._unfolded.__setitem__(row.key, on))
        card.path_activated.connect(self.path_activated)
        card.text_requested.connect(self.text_requested)
        # Of the agent that is shown.
        card.stopped.connect(lambda: self.command_requested.emit("", "stop_call", row.key))
        return card

    def _approval_card(self, item: ApprovalItem, parent: QWidget) -> ApprovalCard:
        card = ApprovalCard(self._theme, item, self.asker(item), self._clocks.steady, parent)
        card.decided.connect(lambda decision: self.decided.emit(item.request.id, decision))
        card.left.connect(self.compose_requested)
        card.all_allowed.connect(lambda: self._allow(self.alike(item)))
        card.set_alike(len(self.alike(item)))
        return card

    def _allow(self, items: tuple[ApprovalItem, ...]) -> None:
        for item in items:
            self.decided.emit(item.request.id, AllowOnce())

    def _agent_message_card(self, item: AgentMessageItem | BudgetItem, parent: QWidget) -> Card:
        who = item.agent_id
        if isinstance(item, BudgetItem):
            if not item.is_current:
                return LineCard(self._theme, "gauge", self._plain_text(item), parent=parent)
            held = BudgetCard(self._theme, item, parent)
            held.command_requested.connect(self._on_held)
            return held
        if item.kind == "report":
            report = ReportCard(self._theme, item, parent, is_unfolded=self._is_unfolded(item))
            report.unfolded.connect(lambda on: self._unfolded.__setitem__(item.key, on))
            report.command_requested.connect(
                lambda who, command: self.command_requested.emit(who, command, "")
            )
            return report
        card = make_agent_message_card(self._theme, item, parent)
        if isinstance(card, QuestionCard):
            card.answered.connect(lambda text: self.command_requested.emit(who, "answer", text))
            card.answered.connect(lambda _: self.compose_requested.emit())
            card.left.connect(self.compose_requested)
        return card

    def _on_held(self, agent_id: str, command: str) -> None:
        self.command_requested.emit(agent_id, command, "")
        if command != "budget":
            # The button that was pressed goes away.
            self.compose_requested.emit()

    def _agent_message_height(self, item: AgentMessageItem | BudgetItem) -> int | None:
        if isinstance(item, BudgetItem):
            return None if item.is_current else line_height(self._theme)
        if item.kind == "report":
            return None if self._is_unfolded(item) else header_height(self._theme)
        is_open = item.kind == "question" and item.state == "open"
        return None if is_open else line_height(self._theme)

    def _other_card(self, row: Row, parent: QWidget) -> Card:
        theme = self._theme
        match row:
            case TurnItem(reason="finished"):
                return LineCard(theme, "clock", self._turn_text(row), parent=parent)
            case TurnItem(reason="cancelled"):
                card = StopCard(theme, row, self._turn_text(row), parent)
            case TurnItem(reason="step_limit" | "budget"):
                card = LimitCard(theme, row, parent)
            case TurnItem():
                card = FaultCard(theme, row, parent)
            case FailureItem():
                return FailureCard(theme, row, parent)
            case RetryItem():
                return RetryCard(theme, row, self._clocks.wall(), parent)
            case EarlierRow():
                earlier = EarlierCard(theme, parent)
                earlier.requested.connect(self.earlier_requested)
                return earlier
            case _:
                is_paused = isinstance(row, WorkingRow) and row.is_paused
                return WorkingCard(theme, self.silent_since, parent, is_paused=is_paused)
        card.resume_requested.connect(self.resume_requested)
        card.compose_requested.connect(self.compose_requested)
        card.fault_action.connect(self.fault_action)
        return card

    def _plain_text(self, row: Row) -> str:
        if isinstance(row, ThinkingItem):
            return self.tr("Thoughts of the model")
        if isinstance(row, FailureItem):
            return self.tr("Something in the app went wrong")
        if isinstance(row, BudgetItem):
            return self._budget_text(row)
        return ""

    def _budget_text(self, row: BudgetItem) -> str:
        if row.spent.unmeasured(row.budget):
            words = self.tr("A limit can’t be measured. The work holds until you decide.")
            return words if row.is_current else self.tr("A limit could not be measured")
        if row.is_current:
            return self.tr("The budget is used up. The work holds until you decide.")
        return self.tr("The budget was used up")

    def _approval_text(self, item: ApprovalItem) -> str:
        if item.decision is not None:
            return approval_text(item)
        effect = " ".join(request_words(item.request)[:2000].split())
        return f"{self.tr('Approval needed')}: {with_marks(item.request.title)} {effect}"

    def _answer_text(self, item: QuestionItem) -> str:
        if item.answer is None:
            return ""
        skipped, answered = self.tr("You skipped this."), self.tr("You answered: {answer}")
        if item.by not in ("", "user"):
            # A subagent's question goes to its parent first.
            who = plain(self.name_of(AgentId(item.by))) or self.tr("Its parent")
            skipped = self.tr("{name} skipped this.").replace("{name}", who)
            answered = self.tr("{name} answered: {answer}").replace("{name}", who)
        return question_text(item, skipped, self.tr("Not answered: it was stopped."), answered)

    def _turn_text(self, item: TurnItem) -> str:
        if item.reason == "finished":
            return turn_text(item, self.tr("Finished in {time}"))
        if item.reason == "cancelled":
            by = item.report.by if item.report is not None else ""
            words = stop_words().of(by, self.name_of(AgentId(by)))
            return words[:1].upper() + words[1:]
        return with_marks(item.fault.message) if item.fault is not None else self.tr("Paused")
