"""What stands beside the conversation: tasks, subagents, commands in the background."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.frame.job_list import JobList
from desktop_agent.gui.frame.layout import SidePart
from desktop_agent.gui.kit.lists.columns import NO_LIMIT
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import Separator, has_focus_in, single_timer
from desktop_agent.gui.tasks.panel import SidePanel

# Of the height, for the tasks.
_SHARE = 0.5
_LAID_OUT_MS = 50


class RightPanel(SidePart):
    """Each part is there only while it has something to show, or was asked for.

    Parts that were made before are taken over.

    Signals:
        filled(bool): whether there is anything to show
        left: what had the focus is gone
    """

    filled = Signal(bool)
    left = Signal()

    def __init__(
        self,
        theme: Theme,
        parent: QWidget | None = None,
        tasks: SidePanel | None = None,
        agents: AgentPanel | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("rightPanel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Tasks and subagents"))
        self.tasks = SidePanel(theme, self) if tasks is None else tasks
        self.agents = AgentPanel(theme, self) if agents is None else agents
        self._line = Separator(self)
        self._column = column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tasks, 1)
        column.addWidget(self._line)
        column.addWidget(self.agents, 1)
        self.jobs = JobList(theme, self)
        column.addWidget(self.jobs)
        self.jobs.filled.connect(self._show_parts)
        self.jobs.left.connect(self.left)
        for part in (self.tasks, self.agents):
            part.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.tasks.tasks.filled.connect(self._show_parts)
        self.tasks.turned.connect(self._share)
        self.agents.tree.filled.connect(self._show_parts)
        self.agents.asks.left.connect(self.left)
        self.agents.tree.shown.connect(self._on_rows)
        self.tasks.tasks.list.verticalScrollBar().rangeChanged.connect(self._follow)
        self.agents.installEventFilter(self)
        self._rows_high = 0
        # The rows are laid out a little after they came.
        self._soon = single_timer(self, _LAID_OUT_MS, self._follow)
        self._show_parts()

    def regions(self) -> tuple[QWidget, ...]:
        """Return tasks, subagents and what waits for the user."""
        return (self.tasks, *self.agents.regions())

    @property
    def has_content(self) -> bool:
        return not self.tasks.is_empty or self._has_agents or not self.jobs.is_empty

    @property
    def _has_agents(self) -> bool:
        # What the main agent alone asks stands in its transcript; it opens no panel.
        return bool(self.agents.tree.rows)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Do what was put off while the mouse aimed at something."""
        if event.type() == QEvent.Type.Leave:
            self._soon.start()
        return super().eventFilter(watched, event)

    def share_soon(self) -> None:
        """Share the height again once the rows are laid out."""
        self._soon.start()

    def _on_rows(self) -> None:
        high = self.agents.wanted_height()
        if high != self._rows_high:
            self._rows_high = high
            self._soon.start()

    def _follow(self) -> None:
        """Share the height again, unless the mouse is where everything would move."""
        if not self.agents.underMouse():
            self._share()

    def _share(self) -> None:
        """Give the tasks what they need: up to half, or what the subagents leave over.

        Neither who is selected nor what waits for the user moves the line between them.
        """
        if not self._has_agents:
            self.tasks.setMaximumHeight(NO_LIMIT)
            return
        least = self.tasks.minimumSizeHint().height()
        left = self.height() - self._line.height() - self.agents.wanted_height()
        high = max(least, min(max(round(self.height() * _SHARE), left), self._tasks_need()))
        self.tasks.setMaximumHeight(high)
        # Both want all there is: told in shares, no part sets how low the window may be.
        self._column.setStretchFactor(self.tasks, high + 2)  # the rest of a division is theirs
        self._column.setStretchFactor(self.agents, max(1, self.height() - high))

    def _tasks_need(self) -> int:
        shown = self.tasks.tasks.list
        if not shown.isVisible():
            return NO_LIMIT  # the graph takes what it gets
        around = self.tasks.height() - shown.height() + 2 * shown.frameWidth()
        return around + shown.contentsSize().height()

    def _show_parts(self) -> None:
        # Without subagents the tasks' part stays, with its field for a first task.
        has_tasks = not self.tasks.is_empty or not self._has_agents
        if (has_focus_in(self.tasks) and not has_tasks) or (
            has_focus_in(self.agents) and not self._has_agents
        ):
            self.left.emit()
        self.tasks.setVisible(has_tasks)
        self.agents.setVisible(self._has_agents)
        self._line.setVisible(has_tasks and self._has_agents)
        self.agents.set_alone(not has_tasks)
        self._share()
        self.filled.emit(self.has_content)
