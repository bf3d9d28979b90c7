"""Makes the card of a row, and tells its height without making it; and the cards of one line."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QWidget

from desktop_agent.core.questions import Question
from desktop_agent.gui.kit.safe_text import elapsed_text, plain_tip
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton
from desktop_agent.gui.transcript.cards.activity_card import ActivityCard
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.transcript.cards.branch_card import BranchCard
from desktop_agent.gui.transcript.cards.card import (
    AskCard,
    Card,
    CardHost,
    HeaderCard,
    header_height,
    line_height,
)
from desktop_agent.gui.transcript.cards.changes_card import ChangesCard
from desktop_agent.gui.transcript.cards.fold_card import CompactionCard, ReportCard, ThinkingCard
from desktop_agent.gui.transcript.cards.form_card import FormCard
from desktop_agent.gui.transcript.cards.notice_card import budget_card, failure_card, turn_card
from desktop_agent.gui.transcript.cards.pictures_card import PicturesCard
from desktop_agent.gui.transcript.cards.question_card import AskedElsewhereCard, QuestionCard
from desktop_agent.gui.transcript.cards.row_text import line_of, turn_text
from desktop_agent.gui.transcript.cards.tool_card import ToolCard, known_height
from desktop_agent.gui.transcript.state import items
from desktop_agent.gui.transcript.state.rows import (
    ActivityRow,
    EarlierRow,
    PicturesRow,
    Row,
    WorkingRow,
)

translate = QCoreApplication.translate
_ELAPSED_FROM_S = 3.0
# In letters: a longer line is cut in many windows.
_LONG_LINE = 60


class CardFactory:
    """Knows every kind of card."""

    def __init__(self, host: CardHost) -> None:
        self._host = host
        self._theme = host.theme

    def known_height(self, row: Row) -> int | None:
        """Return the height of a row's card where it is known without making it."""
        match row:
            case items.ToolItem():
                return known_height(self._theme, row, self._host.unfolded)
            case items.ThinkingItem(key=key) | items.CompactionItem(key=key) if (
                not self._host.unfolded.get(key)
            ):
                return line_height(self._theme)
            case items.RetryItem() | WorkingRow() | ActivityRow():
                return line_height(self._theme)
            case items.BranchItem():
                return max(line_height(self._theme), self._theme.size("hit_min"))
            case items.AgentMessageItem(kind="report", key=key) if not self._host.unfolded.get(key):
                return header_height(self._theme)
            case _:
                return line_height(self._theme) if line_of(row, self._host.name_of) else None

    def make(self, row: Row) -> Card:
        host = self._host
        if line := line_of(row, host.name_of):
            return LineCard(self._theme, host.ground, line.icon, line.text, line.more)
        match row:
            case items.ToolItem():
                return ToolCard(host, row)
            case items.ThinkingItem() | ActivityRow():
                is_line = isinstance(row, ActivityRow)
                return ActivityCard(host, row) if is_line else ThinkingCard(host, row)
            case items.AgentMessageItem(kind="report"):
                return ReportCard(host, row)
            case items.BudgetItem():
                return budget_card(host, row)
            case items.FailureItem():
                return failure_card(host, row)
            case items.TurnItem():
                return turn_card(host, row, turn_text(row, host.name_of))
            case _:
                return self._other_card(row)

    def failed(self) -> Card:
        """Return what stands in place of a card that can't be made."""
        words = translate("Transcript", "This part could not be shown. The log has the details.")
        return LineCard(self._theme, self._host.ground, "triangle-alert", words)

    def update(self, card: Card, row: Row) -> bool:
        """Show the row's newest state in its card; False if it needs another card."""
        match card, row:
            case ToolCard(), items.ToolItem():
                card.set_item(row)
            case ActivityCard(), ActivityRow():
                card.set_row(row)
            case ThinkingCard(), items.ThinkingItem():
                card.set_item(row)
            case PicturesCard(), PicturesRow():
                card.set_row(row)
            case WorkingCard(), WorkingRow():
                card.set_since(self._host.last_event_at, is_paused=row.is_paused)
            case (ApprovalCard(), items.ApprovalItem(decision=None, tries=tries)) | (
                QuestionCard() | FormCard(),
                items.QuestionItem(answer=None, tries=tries),
            ):
                if tries and not self._host.is_read_only:
                    card.switch_on()
            case _:
                return False
        return True

    def _ask_card(
        self, row: items.ApprovalItem | items.QuestionItem | items.AgentMessageItem
    ) -> AskCard:
        host = self._host
        if not isinstance(row, items.AgentMessageItem):
            card = (
                ApprovalCard(host, row)
                if isinstance(row, items.ApprovalItem)
                else self._question(row.question)
            )
            if host.is_read_only:
                card.switch_off()
            return card
        pointer = AskedElsewhereCard(self._theme, row.text, plain(row.name), host.ground)
        pointer.wanted.connect(partial(host.command_requested.emit, row.agent_id, "answer", ""))
        return pointer

    def _question(self, asked: Question) -> AskCard:
        host = self._host
        if asked.form is not None:
            form = FormCard(self._theme, asked.form, host.ground)
            form.answered.connect(partial(host.form_answered.emit, asked.id))
            return form
        card = QuestionCard(self._theme, asked.text, asked.options, host.ground)
        card.answered.connect(partial(host.answered.emit, asked.id))
        return card

    def _other_card(self, row: Row) -> Card:
        host = self._host
        if isinstance(row, items.ChangesItem | items.UndoItem):
            return ChangesCard(host, row)
        if isinstance(row, items.ApprovalItem | items.QuestionItem | items.AgentMessageItem):
            asking = self._ask_card(row)
            asking.left.connect(host.compose_requested)
            return asking
        if isinstance(row, items.CompactionItem):
            return CompactionCard(host, row)
        if isinstance(row, items.BranchItem):
            return BranchCard(host, row)
        if isinstance(row, PicturesRow):
            return PicturesCard(host, row)
        if isinstance(row, items.RetryItem):
            return RetryCard(self._theme, host.ground, row, host.clocks.wall())
        if not isinstance(row, EarlierRow):
            is_paused = isinstance(row, WorkingRow) and row.is_paused
            return WorkingCard(self._theme, host.ground, host.last_event_at, is_paused=is_paused)
        card = Card(self._theme, host.ground, ground="", edge="")
        words = translate("Transcript", "Show earlier messages")
        button = GhostButton(self._theme, words, "history", card, name="showEarlier")
        button.clicked.connect(host.more_requested)
        card.body.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        card.setAccessibleName(words)
        return card


class LineCard(HeaderCard):
    """An icon and muted words; what may be longer than the line is in the tooltip."""

    def __init__(
        self, theme: Theme, parent: QWidget, icon: str = "", text: str = "", more: str = ""
    ) -> None:
        super().__init__(theme, parent, flat=True)
        header = self.header
        header.can_unfold = False
        header.setEnabled(False)
        header.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        header.icon_name, header.verb, header.target = icon, text, more
        header.is_prose = bool(more)
        self.setObjectName("lineCard")
        words = f"{text} {more}".strip()
        self.set_name(words)
        if more or len(words) > _LONG_LINE:
            self.setToolTip(plain_tip(words))


class WorkingCard(LineCard):
    """Says that the model has been silent for a while, or that the agent is paused."""

    def __init__(self, theme: Theme, parent: QWidget, since: float, *, is_paused: bool) -> None:
        super().__init__(theme, parent)
        self.set_since(since, is_paused=is_paused)

    @property
    def is_live(self) -> bool:
        return not self._is_paused

    def set_since(self, since: float, *, is_paused: bool) -> None:
        """Count from another moment, or rest."""
        self._since, self._is_paused = since, is_paused
        header = self.header
        header.state = "" if is_paused else "running"
        header.icon_name = "circle-pause" if is_paused else "sparkles"
        header.verb = self.tr("Paused") if is_paused else self.tr("Thinking…")
        header.target = ""
        self.set_name(header.verb if is_paused else self.tr("The agent is thinking"))
        header.update()

    def tick(self, now: float) -> None:
        seconds = now - self._since
        self.header.target = elapsed_text(seconds) if seconds >= _ELAPSED_FROM_S else ""
        self.header.update()


class RetryCard(LineCard):
    """Counts down to the next try."""

    def __init__(self, theme: Theme, parent: QWidget, item: items.RetryItem, now: float) -> None:
        super().__init__(theme, parent, "refresh-cw", item.fault.message)
        # The card may be made anew, or looked at late; another machine's clock may be ahead.
        self._due = min(item.at or now, now) + item.delay_s
        self._attempt = item.attempt
        self.tick(now)

    @property
    def is_live(self) -> bool:
        return True

    def tick(self, now: float) -> None:
        left = max(0, round(self._due - now))
        words = self.tr("Trying again in {seconds} s (attempt {number})")
        self.header.target = words.format(seconds=left, number=self._attempt + 1)
        self.header.update()
