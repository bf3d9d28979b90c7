"""The cards of messages of subagents to their parent: a question to answer, a report to unfold."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.questions import Question, QuestionId
from desktop_agent.gui.kit.safe_text import clean, with_marks, without_direction_marks
from desktop_agent.gui.kit.text import plain, plain_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, row
from desktop_agent.gui.transcript.cards.card import Card, CardHeader, header_height
from desktop_agent.gui.transcript.cards.line_card import LineCard
from desktop_agent.gui.transcript.cards.output_view import OutputView
from desktop_agent.gui.transcript.cards.question_card import QuestionCard
from desktop_agent.gui.transcript.state.items import AgentMessageItem, QuestionItem

translate = QCoreApplication.translate

_LIMIT = 320
_ICONS = {"completed": "ok", "failed": "failed", "stopped": "stopped", "over_budget": "stopped"}


class ReportCard(Card):
    """One line that unfolds to the report. `command_requested(agent, "open")` opens it whole."""

    unfolded = Signal(bool)
    command_requested = Signal(str, str)

    def __init__(
        self,
        theme: Theme,
        item: AgentMessageItem,
        parent: QWidget | None = None,
        *,
        is_unfolded: bool,
    ) -> None:
        super().__init__(theme, parent)
        self._item = item
        self._view: OutputView | None = None
        self._foot: QWidget | None = None
        self.setObjectName("reportCard")
        self.header = header = CardHeader(theme, self)
        header.setObjectName("reportHeader")
        header.icon_name = "bot"
        header.is_prose = True
        header.verb = with_marks(plain(item.name))
        header.target = plain_words(item.text)[:300]
        header.meta = ended_text(item.state)
        header.meta_token = "err" if item.state == "failed" else "subtle"
        header.state = _ICONS.get(item.state, "ok")
        header.can_unfold = bool(item.text)
        header.setChecked(is_unfolded and bool(item.text))
        header.toggled.connect(self._on_toggled)
        words = agent_message_text(item)
        header.setAccessibleName(words)
        self.setAccessibleName(words)
        self.body.addWidget(header)
        self.body.addStretch(1)
        if header.isChecked():
            self._build()

    def height_for(self, width: int) -> int:
        """Return the height of the line, and of the report if it is unfolded."""
        height = header_height(self._theme)
        if self._view is None or self._foot is None:
            return height
        room = self._view.content_height(width - 24, _LIMIT)
        self._view.setFixedHeight(room)
        return height + room + self._foot.sizeHint().height()

    def _on_toggled(self, is_unfolded: bool) -> None:
        if is_unfolded:
            self._build()
        else:
            self._drop()
        self.unfolded.emit(is_unfolded)
        self.resized.emit()

    def _build(self) -> None:
        view = OutputView(self._theme, self.tr("Report"), self, mono=False)
        view.set_text(clean(without_direction_marks(self._item.text)))
        button = GhostButton(self._theme, self.tr("Open transcript"), "external-link")
        button.setObjectName("openReporter")
        button.clicked.connect(lambda: self.command_requested.emit(self._item.agent_id, "open"))
        foot = QWidget(self)
        foot.setLayout(row(button, None))
        self._view, self._foot = view, foot
        for place, part in enumerate((view, foot)):
            self.body.insertWidget(1 + place, part)
            part.show()

    def _drop(self) -> None:
        for part in (self._view, self._foot):
            if part is not None:
                self.body.removeWidget(part)
                part.hide()
                part.deleteLater()
        self._view = self._foot = None


def make_agent_message_card(
    theme: Theme, item: AgentMessageItem, parent: QWidget
) -> QuestionCard | LineCard:
    """Return the card of a question, or the line that is left of it or of a note."""
    if item.kind == "question" and item.state == "open":
        # Only its words are needed: the answer goes to the agent, whatever the question's id.
        asked = Question(QuestionId(""), item.agent_id, "", item.text)
        return QuestionCard(theme, QuestionItem(item.key, asked), parent, asker=plain(item.name))
    icon = "message-circle-question-mark" if item.kind == "question" else "message-circle-reply"
    line = LineCard(theme, icon, _head(item), with_marks(plain_words(item.text)), parent)
    line.line.is_prose = True
    line.tell_whole()
    return line


def agent_message_text(item: AgentMessageItem) -> str:
    """Return the message, for copying, finding and screen readers."""
    if item.kind == "report":
        head = f"{with_marks(plain(item.name))}: {ended_text(item.state)}."
        return f"{head} {plain_words(item.text)[:500]}"
    return f"{_head(item)} {with_marks(plain_words(item.text))}"


def ended_text(status: str) -> str:
    """Return how a subagent ended."""
    return {
        "completed": translate("Transcript", "done"),
        "failed": translate("Transcript", "failed"),
        "stopped": translate("Transcript", "stopped"),
        "over_budget": translate("Transcript", "ended at its budget"),
    }.get(status, status)


def _head(item: AgentMessageItem) -> str:
    words = translate("Transcript", "{name} asked:")
    if item.kind == "notice":
        words = translate("Transcript", "You told {name}:")
    return words.format(name=with_marks(plain(item.name)))
