"""Which skills are listed: all, or those of one origin, each with its number."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QPushButton, QWidget

from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.skills.list_model import TABS, Tab
from desktop_agent.gui.skills.text import origin_title

_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class SkillTabs(QWidget):
    """The arrow keys go from one to the next; empty ones are not offered.

    Signals:
        chosen(Tab): another tab is shown
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("skillTabs")
        self.setAccessibleName(self.tr("Which skills"))
        self._group = QButtonGroup(self)
        self._buttons: dict[Tab, QPushButton] = {}
        layout = FlowLayout(self, theme.space("xs"))
        for tab in TABS:
            button = QPushButton(self)
            button.setObjectName(f"skillTab_{tab}")
            button.setProperty("kind", "tab")
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, one=tab: self.chosen.emit(one))
            self._group.addButton(button)
            self._buttons[tab] = button
            layout.addWidget(button)
        self._buttons["all"].setChecked(True)

    @property
    def current(self) -> Tab:
        return next(tab for tab, button in self._buttons.items() if button.isChecked())

    def choose(self, tab: Tab) -> None:
        self._buttons[tab].setChecked(True)

    def set_counts(self, counts: dict[Tab, int]) -> None:
        for tab, button in self._buttons.items():
            title = self.tr("All") if tab == "all" else origin_title(tab)
            words = f"{title}  {counts[tab]}"
            if button.text() != words:
                button.setText(words)
                button.setAccessibleName(f"{title}, {counts[tab]}")
            button.setVisible(tab == "all" or counts[tab] > 0 or button.isChecked())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            step = -step
        shown: list[Tab] = [tab for tab in TABS if self._buttons[tab].isVisible()]
        at = max(0, min(shown.index(self.current) + step, len(shown) - 1))
        button = self._buttons[shown[at]]
        button.setFocus(Qt.FocusReason.TabFocusReason)
        button.click()
