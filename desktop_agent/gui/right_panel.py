"""What stands beside the conversation: the tasks and, below them, the subagents."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop_agent.core.events import Event
from desktop_agent.gui.side_panel import SidePanel
from desktop_agent.gui.theme import Theme


class RightPanel(QFrame):
    """`filled` tells whether there is anything to show."""

    filled = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rightPanel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Tasks and subagents"))
        self.tasks = SidePanel(theme, self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tasks, 1)
        self.tasks.filled.connect(lambda _: self.filled.emit(self.has_content))

    @property
    def has_content(self) -> bool:
        """Whether there is anything to show."""
        return not self.tasks.is_empty

    def apply(self, event: Event) -> None:
        """Follow the session that is shown."""
        self.tasks.apply(event)
