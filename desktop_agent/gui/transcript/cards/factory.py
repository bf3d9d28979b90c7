"""Makes the card of a row, and tells its height without making it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard, Asker
from desktop_agent.gui.transcript.cards.card import Card, CardHost, header_height, line_height
from desktop_agent.gui.transcript.cards.fold_card import ReportCard, ThinkingCard
from desktop_agent.gui.transcript.cards.line_card import LineCard, RetryCard, WorkingCard
from desktop_agent.gui.transcript.cards.notice_card import budget_card, failure_card, turn_card
from desktop_agent.gui.transcript.cards.question_card import QuestionCard
from desktop_agent.gui.transcript.cards.row_text import NameOf, line_of, row_text, turn_text
from desktop_agent.gui.transcript.cards.tool_card import ToolCard, known_height
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

translate = QCoreApplication.translate


@dataclass(slots=True)
class Clocks:
    """`wall` is the time of day, `steady` only ever goes on; tests set their own."""

    wall: Callable[[], float] = field(default=time.time)
    steady: Callable[[], float] = field(default=time.monotonic)


class CardFactory:
    """Knows every kind of card. What outlives a card is kept here: which ones are unfolded."""

    def __init__(self, theme: Theme, clocks: Clocks, host: CardHost) -> None:
        self._theme = theme
        self._clocks = clocks
        self._host = host
        self._unfolded: dict[str, bool] = {}
        self.alike: Callable[[ApprovalItem], tuple[ApprovalItem, ...]] = lambda item: (item,)
        self.asker: Callable[[ApprovalItem], Asker] = lambda _item: Asker()
        self.name_of: NameOf = lambda _agent: ""
        self.show_earlier: Callable[[], None] = lambda: None
        self.silent_since = 0.0

    def forget(self) -> None:
        """Another session is shown."""
        self._unfolded.clear()

    def known_height(self, row: Row) -> int | None:
        """Return the height of a row's card where it is known without making it."""
        match row:
            case ToolItem() | ToolGroup():
                return known_height(self._theme, row, self._unfolded)
            case ThinkingItem(key=key) if not self._unfolded.get(key):
                return line_height(self._theme)
            case RetryItem() | WorkingRow():
                return line_height(self._theme)
            case AgentMessageItem(kind="report", key=key) if not self._unfolded.get(key):
                return header_height(self._theme)
            case _:
                return line_height(self._theme) if line_of(row, self.name_of) else None

    def text(self, row: Row) -> str:
        """Return what a row says, for copying, finding and screen readers."""
        return row_text(row, self.name_of)

    def make(self, row: Row, parent: QWidget) -> Card:
        """Return a new card for the row."""
        theme, host = self._theme, self._host
        if line := line_of(row, self.name_of):
            return LineCard(theme, parent, line.icon, line.text, line.more)
        match row:
            case ToolItem() | ToolGroup():
                return ToolCard(theme, row, host, self._unfolded, parent)
            case ThinkingItem():
                return ThinkingCard(theme, row, self._unfolded, parent)
            case AgentMessageItem(kind="report"):
                return ReportCard(theme, row, host, self._unfolded, parent)
            case BudgetItem():
                return budget_card(theme, row, host, parent)
            case FailureItem():
                return failure_card(theme, row, host, parent)
            case TurnItem():
                return turn_card(theme, row, turn_text(row, self.name_of), host, parent)
            case _:
                return self._other_card(row, parent)

    def line(self, icon: str, text: str, parent: QWidget) -> Card:
        """Return a card that says something in place of one that can't be made."""
        return LineCard(self._theme, parent, icon, text)

    def update(self, card: Card, row: Row) -> bool:
        """Show the row's newest state in its card; False if it needs another card."""
        match card, row:
            case ToolCard(), ToolItem() | ToolGroup():
                card.set_item(row)
            case ThinkingCard(), ThinkingItem():
                card.set_item(row)
            case WorkingCard(), WorkingRow():
                card.set_since(self.silent_since, is_paused=row.is_paused)
            case (ApprovalCard(), ApprovalItem(decision=None, tries=tries)) | (
                QuestionCard(),
                QuestionItem(answer=None, tries=tries),
            ):
                if tries:
                    card.switch_on()
            case _:
                return False
        return True

    # -- inside --------------------------------------------------------------------------

    def _other_card(self, row: Row, parent: QWidget) -> Card:
        host = self._host
        match row:
            case ApprovalItem():
                return self._approval_card(row, parent)
            case QuestionItem():
                card = QuestionCard(self._theme, row.question.text, row.question.options, parent)
                card.answered.connect(partial(host.answered.emit, row.question.id))
                card.left.connect(host.compose_requested)
                return card
            case AgentMessageItem():
                return self._agent_question_card(row, parent)
            case RetryItem():
                return RetryCard(self._theme, parent, row, self._clocks.wall())
            case EarlierRow():
                card = Card(self._theme, parent, ground="", edge="")
                words = translate("Transcript", "Show earlier messages")
                button = GhostButton(self._theme, words, "history", card)
                button.setObjectName("showEarlier")
                button.clicked.connect(lambda: self.show_earlier())
                card.body.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
                card.setAccessibleName(words)
                return card
            case _:
                is_paused = isinstance(row, WorkingRow) and row.is_paused
                return WorkingCard(self._theme, parent, self.silent_since, is_paused=is_paused)

    def _approval_card(self, item: ApprovalItem, parent: QWidget) -> ApprovalCard:
        card = ApprovalCard(self._theme, item, self.asker(item), self._clocks.steady, parent)
        card.decided.connect(partial(self._host.decided.emit, item.request.id))
        card.left.connect(self._host.compose_requested)
        card.all_allowed.connect(lambda: self._allow_all(item))
        card.set_alike(len(self.alike(item)))
        return card

    def _allow_all(self, item: ApprovalItem) -> None:
        for one in self.alike(item):
            self._host.decided.emit(one.request.id, AllowOnce())

    def _agent_question_card(self, item: AgentMessageItem, parent: QWidget) -> QuestionCard:
        host, name = self._host, plain(item.name)
        card = QuestionCard(self._theme, item.text, (), parent, asker=name)
        card.answered.connect(partial(host.command_requested.emit, item.agent_id, "answer"))
        card.answered.connect(lambda: host.compose_requested.emit())
        card.left.connect(host.compose_requested)
        return card
