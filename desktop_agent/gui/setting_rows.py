"""Rows of the settings: a name, a sentence, and the control at the far end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.gui.theme import Theme
from desktop_agent.gui.widgets import Separator, TextLabel

_CONTROL = 210


class ChoiceBox(QComboBox):
    """A list of choices; `chosen` with the value when the person picks another."""

    chosen = Signal(object)

    def __init__(self, name: str, choices: Sequence[tuple[Any, str]]) -> None:
        super().__init__()
        self.setObjectName(name)
        self._values = [value for value, _ in choices]
        self.addItems([title for _, title in choices])
        self.setFixedWidth(_CONTROL)
        self.activated.connect(lambda number: self.chosen.emit(self._values[number]))

    def set_value(self, value: Any) -> None:
        """Show a value; one that is no choice takes the nearest number, or stays."""
        if value not in self._values and isinstance(value, int):
            value = min(self._values, key=lambda known: abs(known - value))
        if value in self._values:
            self.setCurrentIndex(self._values.index(value))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling the page must not change a setting under the mouse."""
        event.ignore()


class NumberBox(QSpinBox):
    """A whole number; `chosen` when the person has finished it."""

    chosen = Signal(object)

    def __init__(self, name: str, low: int, high: int, suffix: str = "") -> None:
        super().__init__()
        self.setObjectName(name)
        self.setRange(low, high)
        self.setSuffix(suffix)
        self.setKeyboardTracking(False)
        self.setFixedWidth(_CONTROL // 2 + 10)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._is_set = False
        self.valueChanged.connect(self._on_changed)

    def set_value(self, value: float) -> None:
        """Show a number; nothing is emitted."""
        self._is_set = True
        self.setValue(round(value))
        self._is_set = False

    def _on_changed(self, value: int) -> None:
        if not self._is_set:
            self.chosen.emit(value)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """See ChoiceBox."""
        event.ignore()


class Switch(QCheckBox):
    """A yes or no; `chosen` when the person changes it."""

    chosen = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.clicked.connect(lambda checked: self.chosen.emit(checked))

    def set_value(self, value: bool) -> None:
        """Show a yes or no."""
        self.setChecked(value)


class SettingGroup(QFrame):
    """Rows that belong together, on one card."""

    def __init__(self, theme: Theme, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("settingGroup")
        self._stack = QVBoxLayout(self)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.setSpacing(6)
        if title:
            self._stack.addWidget(TextLabel(title, "section"))
        self._card = QFrame()
        self._card.setProperty("frame", "card")
        self._rows = QVBoxLayout(self._card)
        self._rows.setContentsMargins(16, 4, 16, 4)
        self._rows.setSpacing(0)
        self._stack.addWidget(self._card)

    def add_row(self, title: str, detail: str, control: QWidget) -> None:
        """Add a control; its accessible name is the title."""
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(TextLabel(title, ""))
        if detail:
            line = TextLabel(detail, "subtle")
            line.setWordWrap(True)
            words.addWidget(line)
        control.setAccessibleName(title)
        control.setAccessibleDescription(detail)
        layout = QHBoxLayout()
        layout.setContentsMargins(0, 9, 0, 9)
        layout.setSpacing(16)
        layout.addLayout(words, 1)
        layout.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
        holder = QWidget()
        holder.setLayout(layout)
        self.add_widget(holder)

    def add_widget(self, widget: QWidget) -> None:
        """Add any widget as a row, with a line above it when it is not the first."""
        if self._rows.count():
            self._rows.addWidget(Separator())
        self._rows.addWidget(widget)

    def row_count(self) -> int:
        """Return how many rows and lines there are."""
        return self._rows.count()

    def clear(self) -> None:
        """Remove all rows."""
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()


def scrolled(*widgets: QWidget) -> QScrollArea:
    """Return the widgets in a column that scrolls."""
    holder = QWidget()
    layout = QVBoxLayout(holder)
    layout.setContentsMargins(24, 20, 24, 24)
    layout.setSpacing(18)
    for widget in widgets:
        layout.addWidget(widget)
    layout.addStretch(1)
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(holder)
    area.viewport().setAutoFillBackground(False)
    holder.setAutoFillBackground(False)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area
