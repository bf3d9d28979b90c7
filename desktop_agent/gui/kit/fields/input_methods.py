"""What an input method composes in a field, and has not given to its text yet."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QDragMoveEvent,
    QDropEvent,
    QGuiApplication,
    QInputMethodEvent,
    QKeyEvent,
)
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget

from desktop_agent.gui.kit.links import copy_from_outside


class Line(QLineEdit):
    """A line that knows what is composed in it: Qt's own does not tell."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.unfinished = ""
        self.textChanged.connect(self._forget)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        super().inputMethodEvent(event)
        self.unfinished = event.preeditString()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        copy_from_outside(event)

    def dropEvent(self, event: QDropEvent) -> None:
        super().dropEvent(event)
        copy_from_outside(event)

    def _forget(self) -> None:
        self.unfinished = ""


class PlainText(QPlainTextEdit):
    """Lines of text; what is dropped on them from another program, it keeps."""

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        copy_from_outside(event)

    def dropEvent(self, event: QDropEvent) -> None:
        super().dropEvent(event)
        copy_from_outside(event)


class EnterLine(Line):
    """Enter ends in it, even when it has switched off the card around it."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()


def unfinished(field: QWidget | None) -> str:
    """Return what an input method shows in a field and has not given it yet."""
    if isinstance(field, QPlainTextEdit):
        return field.textCursor().block().layout().preeditAreaText()
    return field.unfinished if isinstance(field, Line) else ""


def finish_input() -> None:
    """Have what is composed be text: a button that is clicked takes no focus from its field."""
    field, method = QApplication.focusWidget(), QGuiApplication.inputMethod()
    words = unfinished(field)
    method.commit()
    if field is None or not words or not unfinished(field):
        return
    # Not every input method can be asked for it. Some give it when they are told to begin anew,
    # others forget it.
    before = _text(field)
    method.reset()
    if _text(field) == before:
        given = QInputMethodEvent("", [])
        given.setCommitString(words)
        QApplication.sendEvent(field, given)


def _text(field: QWidget) -> str:
    return field.toPlainText() if isinstance(field, QPlainTextEdit) else field.property("text")
