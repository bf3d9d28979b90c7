"""One thing that waits for the person: who asks, what, and the answer."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QFrame, QLineEdit, QVBoxLayout, QWidget

from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.messages import CommandDisplay, DiffDisplay
from desktop_agent.core.questions import Question
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.text import plain_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconLabel,
    PrimaryButton,
    TextButton,
    TextLabel,
    row,
)
from desktop_agent.gui.state.pending_requests import PendingRequest
from desktop_agent.gui.transcript.cards.approval_text import request_text

# The card in the transcript shows all of it.
_EFFECT_LINES = 3
_OPTIONS, _OPTION = 4, 30


class RequestRow(QFrame):
    """Signals: `chosen` (click or Enter), `allowed`, `refused`, `answered(str)`,
    `marked(bool)`, and `walked(int)` for the arrow keys.
    """

    chosen = Signal()
    allowed = Signal()
    refused = Signal()
    answered = Signal(str)
    marked = Signal(bool)
    walked = Signal(int)

    def __init__(self, theme: Theme, ask: PendingRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.ask = ask
        self.setObjectName("askRow")
        self.setProperty("frame", "card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.mark = QCheckBox(self)
        self.mark.setObjectName("askMark")
        self.mark.setProperty("kind", "bare")
        self.mark.setAccessibleName(self.tr("Select this request"))
        self.mark.toggled.connect(self.marked)
        self.mark.hide()
        icon = "shield-alert" if ask.is_approval else "message-circle-question-mark"
        self._icon = IconLabel(theme, icon, "warn", 14, self)
        self._who = ElidedLabel("", Qt.TextElideMode.ElideLeft, "caption", self)
        self._age = TextLabel("", "caption", self)
        self._what = TextLabel("", "strong", self)
        self._what.setWordWrap(True)
        self._effect = TextLabel("", "mono", self)
        self._effect.setObjectName("askEffect")
        self._effect.setWordWrap(True)
        self._build()

    def show_ask(self, who: str) -> None:
        """Show who asks, and for how long."""
        asked = self.ask.asked
        waited = self._waited(time.time() - asked.created_at)
        self._who.set_text(who)
        self._age.setText(f"\u2068{waited}\u2069")
        what = asked.title if isinstance(asked, ApprovalRequest) else asked.text
        self._what.setText(plain_words(what))
        effect = self._effect_words()
        self._effect.setText(effect)
        self._effect.setVisible(bool(effect))
        said = self.tr("{who} asks: {what}, waiting {time}")
        self.setAccessibleName(said.format(who=who, what=self._what.text(), time=waited))
        self.setAccessibleDescription(effect)

    def _effect_words(self) -> str:
        asked = self.ask.asked
        if not isinstance(asked, ApprovalRequest):
            return ""
        lines = request_text(asked).splitlines()
        if isinstance(asked.display, DiffDisplay):
            lines = self._change_words(asked.display, lines)
        if isinstance(asked.display, CommandDisplay) and asked.display.directory:
            lines.append(self.tr("in {folder}").format(folder=asked.display.directory))
        self._effect.setToolTip(plain_tip("\n".join(lines[:40])))
        if len(lines) > _EFFECT_LINES:
            rest = len(lines) - _EFFECT_LINES
            return "\n".join([*lines[:_EFFECT_LINES], self.tr("… and %n more", "", rest)])
        return "\n".join(lines)

    def _change_words(self, change: DiffDisplay, lines: list[str]) -> list[str]:
        """Name the file and the size of the change, then show the lines that change."""
        head = f"{with_marks(change.path)}  +{change.added} −{change.removed}"
        return [head, *(line for line in lines if _is_change(line))]

    def _waited(self, seconds: float) -> str:
        whole = max(0, int(seconds))
        return f"{whole // 60}:{whole % 60:02d}"

    def _build(self) -> None:
        theme = self._theme
        head = row(self.mark, self._icon, self._who, self._age, spacing=6)
        head.setStretch(2, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, theme.space("s"), 10, theme.space("s"))
        column.setSpacing(theme.space("xs"))
        column.addLayout(head)
        column.addWidget(self._what)
        column.addWidget(self._effect)
        if self.ask.is_approval:
            allow = PrimaryButton(theme, self.tr("Allow once"), parent=self)
            allow.setObjectName("askAllow")
            allow.clicked.connect(self.allowed)
            refuse = TextButton(theme, self.tr("Refuse"), parent=self)
            refuse.setObjectName("askRefuse")
            refuse.clicked.connect(self.refused)
            show = GhostButton(theme, self.tr("Show"), parent=self)
            show.setObjectName("askShow")
            show.setToolTip(self.tr("Goes to the card in the transcript (Enter)"))
            show.clicked.connect(self.chosen)
            column.addLayout(row(allow, refuse, None, show, spacing=6))
        else:
            self._field = QLineEdit(self)
            self._field.setObjectName("askField")
            self._field.setAccessibleName(self.tr("Answer"))
            self._field.setPlaceholderText(self.tr("Answer…"))
            self._field.returnPressed.connect(self._answer)
            answer = PrimaryButton(theme, self.tr("Answer"), parent=self)
            answer.setObjectName("askAnswer")
            answer.clicked.connect(self._answer)
            line = row(self._field, answer, spacing=6)
            line.setStretch(0, 1)
            self._add_options(column)
            column.addLayout(line)

    def _add_options(self, column: QVBoxLayout) -> None:
        """Offer the first few answers as buttons; the card in the transcript has all."""
        asked = self.ask.asked
        options = asked.options[:_OPTIONS] if isinstance(asked, Question) else ()
        if not options:
            return
        holder = QWidget(self)
        flow = FlowLayout(holder, self._theme.space("xs"))
        for option in options:
            words = plain_words(option)
            short = words if len(words) <= _OPTION else f"{words[: _OPTION - 1]}…"
            button = TextButton(self._theme, short.replace("&", "&&"), parent=holder)
            button.setObjectName("askOption")
            button.setAccessibleName(words)
            button.setToolTip(plain_tip(words) if short != words else "")
            button.clicked.connect(lambda _=False, text=option: self.answered.emit(text))
            flow.addWidget(button)
        column.addWidget(holder)

    def _answer(self) -> None:
        text = self._field.text().strip()
        if text:
            self.answered.emit(text)

    # -- keys and mouse --------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter goes to the card; Space marks; the arrows walk. Nothing is allowed by a key
        that was not pressed on a button.
        """
        if not self.hasFocus():
            super().keyPressEvent(event)  # it was meant for the field of the answer
            return
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.chosen.emit()
            case Qt.Key.Key_Space if not self.mark.isHidden():
                self.mark.toggle()
            case Qt.Key.Key_Up:
                self.walked.emit(-1)
            case Qt.Key.Key_Down:
                self.walked.emit(1)
            case _:
                super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click goes to the card; with Ctrl or Shift it marks."""
        super().mouseReleaseEvent(event)
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if not self.rect().contains(event.position().toPoint()):
            return
        marking = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        if event.modifiers() & marking and not self.mark.isHidden():
            self.mark.toggle()
        else:
            self.chosen.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that it left."""
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card, and an edge while it has the focus."""
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self._theme.color("accent"), 2))
            radius = self._theme.radius("card")
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), radius, radius)
            painter.end()


def _is_change(line: str) -> bool:
    return line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- "))
