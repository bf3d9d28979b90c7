"""Tabs over a list: one of them is chosen, by mouse or by the arrow keys."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QPushButton, QWidget

from desktop_agent.gui.kit.accessible import OneOf
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import PushButton

_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class _Tab(OneOf, PushButton):
    pass


class TabRow(QWidget):
    """The arrow keys go from one tab to the next that is shown. `tabs` are keys and words.

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
        tabs: Sequence[tuple[str, str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._group = QButtonGroup(self)
        self.buttons: dict[str, QPushButton] = {}
        layout = FlowLayout(self, theme.space("xs"))
        for key, words in tabs:
            button = _Tab(words, self)
            button.setObjectName(f"{prefix}_{key}")
            button.setProperty("kind", "tab")
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, one=key: self.chosen.emit(one))
            self._group.addButton(button)
            self.buttons[key] = button
            layout.addWidget(button)
        self.choose(tabs[0][0])

    @property
    def current(self) -> str:
        """The key of the tab that is chosen."""
        return next(key for key, button in self.buttons.items() if button.isChecked())

    def choose(self, key: str) -> None:
        """Show a tab as chosen; nothing is emitted."""
        self.buttons[key].setChecked(True)

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
