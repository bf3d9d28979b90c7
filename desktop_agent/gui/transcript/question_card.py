"""The card of a question that the agent asks the person."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QButtonGroup, QRadioButton, QSizePolicy, QWidget

from desktop_agent.gui.theme import Theme
from desktop_agent.gui.transcript.card import AnswerLine, Card
from desktop_agent.gui.transcript.characters import breakable, with_marks
from desktop_agent.gui.transcript.items import QuestionItem
from desktop_agent.gui.widgets import GhostButton, IconLabel, PrimaryButton, TextLabel, row


class _OptionWords(TextLabel):
    """The words of an answer: they wrap, as a radio button's own do not, and choose it."""

    def __init__(self, words: str, button: QRadioButton) -> None:
        super().__init__(breakable(words))
        self._button = button
        self.setWordWrap(True)
        self.setMinimumWidth(1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Choose the answer."""
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._button.click()


class QuestionCard(Card):
    """Offers the options and a line for another answer; `answered` carries the text.

    Skipping answers with nothing.
    """

    answered = Signal(str)

    def __init__(
        self, theme: Theme, item: QuestionItem, parent: QWidget | None = None, *, asker: str = ""
    ) -> None:
        super().__init__(theme, parent, ground="raised", edge="accent")
        self._question = item.question
        self._asker = asker
        self.setObjectName("questionCard")
        self.body.setContentsMargins(16, 12, 16, 14)
        self.body.setSpacing(theme.space("s"))
        self._group = QButtonGroup(self)
        self._other = AnswerLine(self)
        self._send = PrimaryButton(theme, self.tr("Send answer"))
        self._build()
        self._follow()

    @property
    def has_draft(self) -> bool:
        """Whether the person has begun to answer."""
        return bool(self._other.text()) or self._group.checkedId() >= 0

    def _build(self) -> None:
        words = with_marks(self._question.text)
        if self._asker:
            words = self.tr("{name} asks: {question}").format(name=self._asker, question=words)
        title = TextLabel(words, "title")
        title.setWordWrap(True)
        title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        icon = IconLabel(self._theme, "message-circle-question-mark", "accent", 18)
        top = row(icon, title)
        top.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(top)
        for number, option in enumerate(self._question.options):
            self._add_option(number, with_marks(option))
        if self._question.options:
            self._add_option(len(self._question.options), self.tr("Other…"))
        self._other.setObjectName("otherAnswer")
        self._other.setAccessibleName(self.tr("Your answer"))
        self._other.setPlaceholderText(self.tr("Your answer"))
        self._other.returnPressed.connect(self._answer)
        self._other.textChanged.connect(self._follow)
        self._other.textEdited.connect(self._choose_other)
        self.body.addWidget(self._other)
        self._send.setObjectName("sendAnswer")
        self._send.clicked.connect(self._answer)
        skip = GhostButton(self._theme, self.tr("Skip"))
        skip.setObjectName("skipQuestion")
        skip.clicked.connect(lambda: self._finish(""))
        self.body.addLayout(row(self._send, skip, None))
        self._group.idToggled.connect(lambda _number, _checked: self._follow())
        options = with_marks(", ".join(self._question.options))
        spoken = self.tr("The agent asks: {question}").format(question=words)
        self.setAccessibleName(words if self._asker else spoken)
        self.setAccessibleDescription(options)

    def _add_option(self, number: int, words: str) -> None:
        button = QRadioButton(self)
        button.setAccessibleName(words)
        self._group.addButton(button, number)
        line = row(button, _OptionWords(words, button), spacing=6)
        line.setAlignment(button, Qt.AlignmentFlag.AlignTop)
        line.setStretch(1, 1)
        self.body.addLayout(line)

    def _choose_other(self) -> None:
        if self._question.options:
            self._group.button(len(self._question.options)).setChecked(True)

    def _follow(self) -> None:
        """Show the line only where it is the answer; send only what is one."""
        is_other = not self._question.options or self._group.checkedId() == len(
            self._question.options
        )
        if self._other.isVisibleTo(self) != is_other:
            self._other.setVisible(is_other)
            self.resized.emit()
        self._send.setEnabled(bool(self._text()))

    def _text(self) -> str:
        chosen = self._group.checkedId()
        if 0 <= chosen < len(self._question.options):
            return self._question.options[chosen]
        return self._other.text().strip()

    def _answer(self) -> None:
        if text := self._text():
            self._finish(text)

    def _finish(self, text: str) -> None:
        self.switch_off()
        self.answered.emit(text)
