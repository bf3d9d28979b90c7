"""Tabs over a list: one of them is chosen, by mouse or by the arrow keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QPushButton, QWidget

from desktop_agent.gui.kit.accessible import OneOf
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import PushButton

Key = TypeVar("Key", bound=str)
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class _Tab(OneOf, PushButton):
    pass


class TabRow(QWidget, Generic[Key]):
    """The arrow keys go from one tab to the next that is shown. `tabs` are words by their key.

    Each button's object name begins with `prefix` and ends with its key.

    Signals:
        chosen(key): another tab is shown
    """

    chosen = Signal(str)

    def __init__(
        self,
        theme: Theme,
        name: str,
        prefix: str,
        tabs: Mapping[Key, str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._group = QButtonGroup(self)
        self.buttons: dict[Key, QPushButton] = {}
        layout = FlowLayout(self, theme.space("xs"))
        for key, words in tabs.items():
            button = _Tab(words, self)
            button.setObjectName(f"{prefix}_{key}")
            button.setProperty("kind", "tab")
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, one=key: self.chosen.emit(one))
            self._group.addButton(button)
            self.buttons[key] = button
            layout.addWidget(button)
        self.choose(next(iter(tabs)))

    @property
    def current(self) -> Key:
        """The key of the tab that is chosen."""
        return next(key for key, button in self.buttons.items() if button.isChecked())

    def choose(self, key: Key) -> None:
        """Show a tab as chosen; nothing is emitted."""
        self.buttons[key].setChecked(True)

    def show_counts(self, titles: Mapping[Key, str], counts: Mapping[Key, int]) -> None:
        """Say how many each tab has, and offer those that have any; the first one always."""
        for place, (key, button) in enumerate(self.buttons.items()):
            button.setText(f"{titles[key]}  {counts[key]}")
            button.setAccessibleName(f"{titles[key]}, {counts[key]}")
            button.setVisible(place == 0 or counts[key] > 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            step = -step
        shown = [key for key, button in self.buttons.items() if button.isVisible()]
        at = max(0, min(shown.index(self.current) + step, len(shown) - 1))
        button = self.buttons[shown[at]]
        button.setFocus(Qt.FocusReason.TabFocusReason)
        button.click()
