"""What an approval card asks next: another text for the call, or why it is refused."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from desktop_agent.gui.kit.code_font import mono_font
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, PrimaryButton, TextButton, TextLabel, row
from desktop_agent.gui.transcript.cards.card import AnswerLine

_SHOWN_LINES = 12


class EditForm(QWidget):
    """Change the command or the text before it is used. `accepted` carries it."""

    accepted = Signal(str)
    cancelled = Signal()

    def __init__(self, theme: Theme, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = QPlainTextEdit(text, self)
        self.field.setObjectName("editField")
        self.field.setAccessibleName(self.tr("What will be done instead"))
        self.field.setFont(mono_font(theme))
        self.field.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.field.setTabChangesFocus(True)
        lines = min(_SHOWN_LINES, max(2, text.count("\n") + 1))
        line_height = QFontMetrics(self.field.font()).lineSpacing()
        self.field.setFixedHeight(lines * line_height + 24)
        allow = PrimaryButton(theme, self.tr("Allow this instead"))
        allow.setObjectName("allowEdited")
        allow.clicked.connect(lambda: self.accepted.emit(self.field.toPlainText()))
        cancel = GhostButton(theme, self.tr("Cancel"))
        cancel.clicked.connect(self.cancelled)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(TextLabel(self.tr("The agent is told that you changed it."), "subtle"))
        layout.addWidget(self.field)
        layout.addLayout(row(allow, cancel, None))

    def take_focus(self) -> None:
        """Go on typing here: the person has just asked for it."""
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+Enter allows, Esc goes back."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.accepted.emit(self.field.toPlainText())
        elif event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)


class RefuseForm(QWidget):
    """An optional line that goes to the agent with the refusal. `accepted` carries it."""

    accepted = Signal(str)
    cancelled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = AnswerLine(self)
        self.field.setObjectName("refuseReason")
        self.field.setPlaceholderText(self.tr("Tell the agent why, or what to do instead"))
        self.field.setAccessibleName(self.tr("Why not (optional)"))
        self.field.returnPressed.connect(self._accept)
        refuse = TextButton(theme, self.tr("Refuse"), token="err")
        refuse.setProperty("tone", "danger")
        refuse.setObjectName("refuseNow")
        refuse.clicked.connect(self._accept)
        cancel = GhostButton(theme, self.tr("Cancel"))
        cancel.clicked.connect(self.cancelled)
        layout = row(self.field, refuse, cancel)
        self.setLayout(layout)

    def take_focus(self) -> None:
        """Go on typing here: the person has just asked for it."""
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc goes back to the question; it decides nothing."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def _accept(self) -> None:
        self.accepted.emit(self.field.text().strip())
