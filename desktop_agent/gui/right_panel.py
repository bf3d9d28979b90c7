"""What stands beside the conversation: the tasks and, below them, the subagents."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout, QWidget

from desktop_agent.core.events import Event
from desktop_agent.gui.agent_panel import AgentPanel
from desktop_agent.gui.side_panel import SidePanel
from desktop_agent.gui.theme import Theme
from desktop_agent.gui.widgets import Separator


class RightPanel(QFrame):
    """Each part is there only while it has something to show, or was asked for.

    `filled` tells whether there is anything to show.
    """

    filled = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rightPanel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Tasks and subagents"))
        self.tasks = SidePanel(theme, self)
        self.agents = AgentPanel(theme, self)
        self._line = Separator(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tasks, 1)
        column.addWidget(self._line)
        column.addWidget(self.agents, 1)
        for part in (self.tasks, self.agents):
            part.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.tasks.filled.connect(lambda _: self._show_parts())
        self.agents.tree.filled.connect(lambda _: self._show_parts())
        self._show_parts()

    @property
    def has_content(self) -> bool:
        """Whether there is anything to show."""
        return not self.tasks.is_empty or self._has_agents

    @property
    def _has_agents(self) -> bool:
        # What the main agent alone asks stands in its transcript; it opens no panel.
        return bool(self.agents.tree.rows)

    def apply(self, event: Event) -> None:
        """Follow the session that is shown."""
        self.tasks.apply(event)
        self.agents.apply(event)

    def _show_parts(self) -> None:
        # Without subagents the tasks' part stays, with its field for a first task.
        has_tasks = not self.tasks.is_empty or not self._has_agents
        self.tasks.setVisible(has_tasks)
        self.agents.setVisible(self._has_agents)
        self._line.setVisible(has_tasks and self._has_agents)
        self.filled.emit(self.has_content)
