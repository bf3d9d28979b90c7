"""The tasks of the selected agent beside the conversation, as a list or a graph."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QDialog, QFrame, QStackedWidget, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconButton, TextLabel, column, row
from desktop_agent.gui.state.session_state import Facet, SessionState
from desktop_agent.gui.tasks.graph import TaskGraph
from desktop_agent.gui.tasks.panel import TaskPanel


class SidePanel(QFrame):
    """A header with two tabs: the list and the graph.

    Signals:
        edited(TaskEdit): by the user
        owner_chosen(name): the agent that works on a task
        turned: to the list or the graph
    """

    edited = Signal(object)
    owner_chosen = Signal(str)
    turned = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        # The graph in a window of its own, where there is room for it.
        self._large: TaskGraph | None = None
        self.setObjectName("sidePanel")
        self.setAccessibleName(self.tr("Tasks"))
        theme.changed.connect(self._fit)
        self._fit()
        self.tasks = TaskPanel(theme, self)
        self.graph = TaskGraph(theme, self)
        self._build()
        self.tasks.edited.connect(self.edited)
        self.tasks.selected.connect(self.graph.select)
        self._connect_graph(self.graph)

    def _connect_graph(self, graph: TaskGraph) -> None:
        graph.edited.connect(self.edited)
        graph.owner_chosen.connect(self.owner_chosen)
        graph.selected.connect(self.tasks.select)

    def _fit(self) -> None:
        self.setFixedWidth(self._theme.size("right"))

    @property
    def is_empty(self) -> bool:
        return not self.tasks.tasks

    def show_state(self, state: SessionState, changed: Facet) -> None:
        self.tasks.show_state(state, changed)
        if changed & (Facet.SHOWN | Facet.TASKS | Facet.AGENTS):
            self._show_graph()

    def _show_graph(self) -> None:
        """Feed the graphs that can be seen; a hidden one is fed when it is shown."""
        graphs = [self.graph] if self._stack.currentIndex() == 1 else []
        if self._large is not None and self._large.isVisible():
            graphs.append(self._large)
        for graph in graphs:
            graph.set_tasks(self.tasks.tasks, is_live=self.tasks.is_live)

    def _open_window(self) -> None:
        if self._large is None:
            dialog = QDialog(self)
            dialog.setObjectName("graphDialog")
            dialog.setWindowTitle(self.tr("Dependencies"))
            dialog.resize(1040, 680)
            self._large = TaskGraph(self._theme, dialog)
            self._connect_graph(self._large)
            dialog.setLayout(column(self._large))
        self._large.window().show()
        self._large.window().raise_()
        self._show_graph()

    def _build(self) -> None:
        theme = self._theme
        title = TextLabel(self.tr("Tasks"), "title", self)
        tabs = QButtonGroup(self)
        top = row(title, self.tasks.count_label, None)
        for number, (icon, name, object_name) in enumerate(
            (
                ("list-checks", self.tr("List"), "taskListTab"),
                ("workflow", self.tr("Dependencies"), "taskGraphTab"),
            )
        ):
            button = IconButton(theme, icon, name, self)
            button.setObjectName(object_name)
            button.setCheckable(True)
            button.setChecked(number == 0)
            tabs.addButton(button, number)
            top.addWidget(button)
        tabs.idClicked.connect(self._show_tab)
        edge = theme.space("l")
        header = QWidget(self)
        header.setFixedHeight(theme.size("header"))
        top.setContentsMargins(edge, 0, theme.space("m"), 0)
        header.setLayout(top)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.tasks)
        self._stack.addWidget(self._graph_page())
        self.setLayout(column(header, self._stack, stretch=1, edges=(0, 0, 0, theme.space("m"))))

    def _graph_page(self) -> QWidget:
        page = QWidget(self)
        whole = GhostButton(self._theme, self.tr("Show all"), "maximize", page)
        whole.setObjectName("graphFit")
        whole.clicked.connect(self.graph.fit)
        window = GhostButton(self._theme, self.tr("Larger"), "external-link", page)
        window.setObjectName("graphWindow")
        window.clicked.connect(self._open_window)
        edge = self._theme.space("m")
        buttons = row(whole, None, window, edges=(edge, 0, edge, 0))
        page.setLayout(column(self.graph, buttons, spacing=self._theme.space("xs"), stretch=0))
        return page

    def _show_tab(self, number: int) -> None:
        self._stack.setCurrentIndex(number)
        self.turned.emit()
        self._show_graph()
        (self.tasks.list if number == 0 else self.graph).setFocus(Qt.FocusReason.TabFocusReason)
