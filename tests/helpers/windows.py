"""Finds the parts of a window as a screen reader does: by their names, not by who keeps them."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QRegion, QTextCursor
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QWidget

from desktop_agent.gui.kit.fitted_area import WholeText


def part(window: QWidget, name: str) -> Any:
    """Return the part with this object name that is shown, else any, else None."""
    found = window.findChildren(QWidget, name)
    return next((one for one in found if one.isVisible()), found[-1] if found else None)


def side_panel(window: QWidget) -> Any:
    """Return tasks and subagents beside the conversation; None before they are needed."""
    return part(window, "rightPanel")


def words_in(widget: QWidget) -> str:
    """Return all that labels in it say, cut or not, one a line; then what is seen whole."""
    found = (*widget.findChildren(QLabel), *widget.findChildren(WholeText))
    labels = [one for one in found if not one.isHidden()]
    return "\n".join(getattr(one, "whole_text", one.text)() for one in labels)


def bridge_of(window: Any) -> Any:
    """Return what a window talks to the engine through; the app makes it and keeps it."""
    return window._bridge


def app_of(window: Any) -> Any:
    """Return all windows of the app that a window is one of."""
    return window._host


def backend_of(window: Any) -> Any:
    """Return the engine's side of a window: engine, store and model host."""
    return bridge_of(window)._thread._backend


def has_running_timer(owner: QObject) -> bool:
    """Return whether a clock of its own runs, those of its children's not counted."""
    found = owner.findChildren(QTimer, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return any(one.isActive() for one in found)


def turn_spinners(theme: Any) -> None:
    """Have everything that turns turn once, as its clock does."""
    theme.pulse.findChild(QTimer).timeout.emit()


class Front:
    """A desktop on which the user is in another app than ours."""

    def __init__(self) -> None:
        self._window = QWidget()

    def is_active(self) -> bool:
        return False

    def window_for(self, session_id: str) -> QWidget:
        return self._window


class Painted(QObject):
    """Counts the paint events of a widget, and adds up where they were."""

    def __init__(self, watched: QObject) -> None:
        super().__init__(watched)
        self.heights: list[int] = []
        self.region = QRegion()
        watched.installEventFilter(self)

    @property
    def count(self) -> int:
        return len(self.heights)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            region = event.region()  # type: ignore[attr-defined]
            self.heights.append(region.boundingRect().height())
            self.region += region
        return False


def hidden_part(widget: QWidget) -> bool:
    """Whether any of a widget lies outside of what shows it."""
    return widget.visibleRegion().boundingRect().size() != widget.size()


def all_is_seen(text: QPlainTextEdit, words: str) -> bool:
    """Whether the text is these words, and the last of them can be seen without scrolling."""
    text.moveCursor(QTextCursor.MoveOperation.End)
    is_there = text.viewport().rect().contains(text.cursorRect().center())
    at_top = text.verticalScrollBar().value() == 0
    return text.toPlainText() == words and is_there and at_top and not hidden_part(text)
