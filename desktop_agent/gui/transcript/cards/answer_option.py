"""One of the answers that a question offers."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QRadioButton, QSizePolicy, QWidget

from desktop_agent.gui.kit.safe_text import breakable
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel, row

_STEPS = {
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Right: 1,
}


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
        label = TextLabel(breakable(words))
        label.setWordWrap(True)
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
