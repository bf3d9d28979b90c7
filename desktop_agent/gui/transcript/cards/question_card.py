"""The card of a question that the agent asks the user."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QButtonGroup,
    QRadioButton,
    QSizePolicy,
    QWidget,
)

from desktop_agent.gui.kit.safe_text import label_text, with_marks
from desktop_agent.gui.kit.text import unmarked
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconLabel, PrimaryButton, TextLabel, row
from desktop_agent.gui.transcript.cards.card import AnswerLine, AskCard

_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Left: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Right: 1}


class QuestionCard(AskCard):
    """Offers the options and a line for another answer; `answered` carries the text.

    Skipping answers with nothing. By keys: arrows go through the options, Space chooses one,
    Enter sends it.
    """

    answered = Signal(str)

    def __init__(
        self,
        theme: Theme,
        text: str,
        answers: Sequence[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent, edge="accent")
        self._answers = answers
        self.setObjectName("questionCard")
        self.body.setContentsMargins(16, 12, 16, 14)
        self.body.setSpacing(theme.space("s"))
        self._group = QButtonGroup(self)
        self._options: list[AnswerOption] = []
        self._other = AnswerLine()
        self._send = PrimaryButton(theme, self.tr("Send answer"))
        self._build(with_marks(unmarked(text)))
        self._follow()

    @property
    def has_draft(self) -> bool:
        return bool(self._other.text()) or self._group.checkedId() >= 0

    def take_focus(self) -> bool:
        """Begin at the first option, at the one that is chosen, or in the line."""
        if self._is_other:
            target: QWidget = self._other
        else:
            target = self._group.checkedButton() or self._options[0].button
        target.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return self.isEnabled()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up leaves the line for the options; Enter presses the button that has the focus."""
        now = QApplication.focusWidget()
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() == Qt.Key.Key_Up and now is self._other and self._options:
            self._options[-1].button.setFocus(Qt.FocusReason.BacktabFocusReason)
        elif is_enter and isinstance(now, QAbstractButton) and not event.isAutoRepeat():
            now.click()
        else:
            super().keyPressEvent(event)

    def _build(self, asked: str) -> None:
        spoken = self.tr("The agent asks: {question}").format(question=asked)
        title = TextLabel(label_text(asked), "title", wraps=True)
        title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        icon = IconLabel(self._theme, "message-circle-question-mark", "accent", 18)
        top = row(icon, title)
        top.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(top)
        shown = [with_marks(unmarked(one)) for one in self._answers]
        for number, words in enumerate([*shown, self.tr("Other…")] if shown else ()):
            self._add_option(number, words)
        self._other.setObjectName("otherAnswer")
        self._other.setAccessibleName(self.tr("Your answer"))
        self._other.setPlaceholderText(self.tr("Your answer"))
        self._other.returnPressed.connect(self._answer)
        self._other.textChanged.connect(self._follow)
        self._other.textEdited.connect(self._choose_other)
        self.body.addWidget(self._other)
        self._send.setObjectName("sendAnswer")
        self._send.clicked.connect(self._answer)
        skip = GhostButton(self._theme, self.tr("Skip"), clicked=lambda: self._finish(""))
        skip.setObjectName("skipQuestion")
        self.body.addLayout(row(self._send, skip, None))
        self._group.idToggled.connect(self._follow)
        self.setAccessibleName(spoken)
        self.setAccessibleDescription(", ".join(shown))

    def _add_option(self, number: int, words: str) -> None:
        option = AnswerOption(self._theme, words, self)
        self._options.append(option)
        self._group.addButton(option.button, number)
        option.walked.connect(partial(self._walk, number))
        option.picked.connect(partial(self._pick, number))
        self.body.addWidget(option)

    def _walk(self, number: int, step: int) -> None:
        """Go to the next option or the one before; what was chosen goes along."""
        place = number + step
        if not 0 <= place < len(self._options):
            if step > 0 and self._is_other:
                self._other.setFocus(Qt.FocusReason.TabFocusReason)
            return
        if self._group.checkedId() >= 0:
            self._options[place].button.setChecked(True)
        self._options[place].button.setFocus(Qt.FocusReason.TabFocusReason)

    def _pick(self, number: int, is_final: bool) -> None:
        """Choose an option; with Enter, send it. The last one is written out first."""
        self._options[number].button.setChecked(True)
        if self._is_other:
            self._other.setFocus(Qt.FocusReason.OtherFocusReason)
        elif is_final:
            self._answer()

    def _choose_other(self) -> None:
        if self._options:
            self._options[-1].button.setChecked(True)

    @property
    def _is_other(self) -> bool:
        """Whether the line is the answer."""
        return self._group.checkedId() == len(self._options) - 1

    def _follow(self) -> None:
        """Show the line only where it is the answer; send only what is one."""
        is_other = self._is_other
        if self._other.isVisibleTo(self) != is_other:
            self._other.setVisible(is_other)
            self.resized.emit()
        self._send.setEnabled(bool(self._text()))

    def _text(self) -> str:
        chosen = self._group.checkedId()
        if 0 <= chosen < len(self._answers):
            return self._answers[chosen]
        return self._other.text().strip()

    def _answer(self) -> None:
        if text := self._text():
            self._finish(text)

    def _finish(self, text: str) -> None:
        self.switch_off()
        self.answered.emit(text)


class AskedElsewhereCard(AskCard):
    """A subagent's question in the transcript of its parent: points to where it is answered.

    Signals:
        wanted: go there
    """

    wanted = Signal()

    def __init__(self, theme: Theme, text: str, asker: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent, edge="accent")
        self.setObjectName("askedElsewhereCard")
        self.body.setContentsMargins(16, 10, 12, 10)
        asked = with_marks(unmarked(text))
        said = self.tr("{name} asks: {question}").format(name=asker, question=asked)
        title = TextLabel(label_text(said), "strong", wraps=True)
        icon = IconLabel(theme, "message-circle-question-mark", "accent", 16)
        self._go = GhostButton(theme, self.tr("Answer…"), "arrow-right", name="answerElsewhere")
        self._go.clicked.connect(self.wanted)
        self.body.addLayout(row(icon, (title, 1), self._go))
        self.setAccessibleName(said)

    def take_focus(self) -> bool:
        self._go.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return self.isEnabled()


class AnswerOption(QWidget):
    """A radio button whose words wrap, with a ring around both while it has the focus.

    `picked(bool)` on a click or Space, with True on Enter; `walked(int)` on the arrow keys.
    """

    picked = Signal(bool)
    walked = Signal(int)

    def __init__(self, theme: Theme, words: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("answerOption")
        self.button = QRadioButton()
        self.button.setAccessibleName(words)
        self.button.installEventFilter(self)
        self.button.clicked.connect(lambda: self.picked.emit(False))
        label = TextLabel(label_text(words), wraps=True)
        label.setMinimumWidth(1)
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        line = row(self.button, label, spacing=6)
        line.setContentsMargins(4, 3, 4, 3)
        line.setAlignment(self.button, Qt.AlignmentFlag.AlignTop)
        line.setStretch(1, 1)
        self.setLayout(line)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        step = _STEPS.get(Qt.Key(event.key()))
        if step is not None:
            self.walked.emit(step)
            return True
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not event.isAutoRepeat():
                self.picked.emit(True)
            return True
        return False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self.button.setFocus(Qt.FocusReason.MouseFocusReason)
            self.button.click()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.button.hasFocus():
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("accent"), 2))
        radius = self._theme.radius("card") - 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)
        painter.end()
