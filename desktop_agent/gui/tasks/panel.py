"""The tasks of the selected agent, as a list or a graph: seen live, and edited by hand."""

from __future__ import annotations

from operator import attrgetter

from PySide6.QtCore import QLocale, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QFrame,
    QMenu,
    QProgressBar,
    QStackedWidget,
    QWidget,
)

from desktop_agent.core.tasks import Task, TaskEdit
from desktop_agent.gui.kit.accessible import OneOf
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, SnapshotListModel, text_roles
from desktop_agent.gui.kit.safe_text import clean
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconButton,
    IconLabel,
    TextLabel,
    UndoBar,
    column,
    named,
    row,
    single_timer,
)
from desktop_agent.gui.state.agent_notes import AgentNotes, NoteRow
from desktop_agent.gui.state.session_state import Facet, SessionState
from desktop_agent.gui.tasks.asking import asking_tasks
from desktop_agent.gui.tasks.delegate import UNIFORM_ABOVE, owner_name, task_tip
from desktop_agent.gui.tasks.graph import TaskGraph
from desktop_agent.gui.tasks.list_view import TaskListView, row_flags
from desktop_agent.gui.tasks.menu import fill_task_menu
from desktop_agent.gui.tasks.rows import NO_ASKS, NOBODY, RowBuilder, TaskRow, halted_tasks

UNDO_MS = 8000
# What is worked on, also where that stands still.
_ACTIVE = frozenset({"running", "asking", "stalled"})


class TaskPanel(QWidget):
    """Progress, list, undo, the note of edits, and a field for a new task.

    Signals:
        edited(TaskEdit): by the user
        jump_requested(call_id): the tool call that changed a task last; may be empty
        filled(is_filled): whether there is anything to show
        selected(task_id): for the graph
    """

    edited = Signal(object)
    jump_requested = Signal(str)
    filled = Signal(bool)
    selected = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.tasks: tuple[Task, ...] = ()
        self.is_live = False
        self.halted = NOBODY
        self.asking = NO_ASKS
        self._is_unfolded = self._is_read_only = False
        self._notes = AgentNotes()
        # The name of a task on its way into the list.
        self._added = ""
        self._deleted: tuple[Task, int] | None = None
        self._undo_timer = single_timer(self, UNDO_MS, self._forget_deleted)
        self._builder = RowBuilder()
        self.setObjectName("taskPanel")
        self.setAccessibleName(self.tr("Tasks"))
        self._build()
        theme.pulse.ticked.connect(self._turn_spinners)
        theme.changed.connect(self.list.doItemsLayout)

    # -- what comes down -------------------------------------------------------------------

    def show_state(self, state: SessionState, changed: Facet) -> None:
        info, tasks = state.agent(state.shown), state.tasks(state.shown)
        is_live = info is not None and info.is_working
        self._notes = state.notes(state.shown)
        before = (self.is_live, self.halted, self.asking)
        if changed & (Facet.SHOWN | Facet.AGENTS):
            self.halted = halted_tasks(state.agents, state.shown)
        if changed & (Facet.SHOWN | Facet.AGENTS | Facet.TASKS | Facet.REQUESTS):
            self.asking = asking_tasks(state)
        if changed & Facet.SHOWN:
            self._open(tasks, is_live=is_live)
        elif tasks is not self.tasks or (is_live, self.halted, self.asking) != before:
            self.is_live = is_live
            self._show(tasks)
        if changed & (Facet.SHOWN | Facet.NOTES):
            self._show_receipt()
        self._is_read_only = state.is_read_only
        self._add.setVisible(not self._is_read_only)

    def select(self, task_id: int) -> None:
        index = self._model.index_of(task_id)
        if index.isValid():
            self.list.setCurrentIndex(index)
            self.list.scrollTo(index)

    def focus_add(self) -> None:
        self._add.setFocus()

    def _open(self, tasks: tuple[Task, ...], *, is_live: bool) -> None:
        self._is_unfolded = False
        self._forget_deleted()
        self.is_live = is_live
        self._show(tasks)
        self._follow_active(is_new=True)

    def _show(self, tasks: tuple[Task, ...]) -> None:
        was_empty = not self.tasks
        self.tasks = tasks
        rows = self._rows()
        if self.list.state() != TaskListView.State.EditingState:
            self._model.set_rows(rows)
        # After the rows: they are laid out once then.
        self.list.set_uniform(is_uniform=len(self.tasks) > UNIFORM_ABOVE)
        self._follow_active()
        self._show_added()
        self._show_progress(len(self._builder.done), len(self.tasks))
        self._hold_pulse()
        if was_empty != (not self.tasks):
            self.filled.emit(bool(self.tasks))

    def _follow_active(self, *, is_new: bool = False) -> None:
        rows = self._model.rows()
        active = (n for n, one in enumerate(rows) if one.state in _ACTIVE)
        self.list.follow(next(active, -1), is_new=is_new)

    def _show_added(self) -> None:
        """Bring into view what the user has added, once it has come back from the engine."""
        last = self.tasks[-1] if self.tasks else None
        if last is not None and last.subject == self._added:
            self._added = ""
            self.list.reveal(len(self._model.rows()) - 1)

    def _show_progress(self, done: int, count: int) -> None:
        numbers = QLocale()
        self.count_label.setText(f"{numbers.toString(done)} / {numbers.toString(count)}")
        self._bar.setMaximum(max(1, count))
        self._bar.setValue(done)
        said = self.tr("{done} of {all} tasks completed").format(done=done, all=count)
        if said != self._bar.accessibleName():
            self._bar.setAccessibleName(said)

    def _rows(self) -> tuple[TaskRow, ...]:
        return self._builder.rows(
            self.tasks,
            is_live=self.is_live,
            is_unfolded=self._is_unfolded,
            halted=self.halted,
            asking=self.asking,
        )

    def _show_rows(self) -> None:
        self._model.set_rows(self._rows())

    # -- what goes up ----------------------------------------------------------------------

    def _edit(self, edit: TaskEdit) -> None:
        if edit.kind == "delete" and not self._is_read_only:  # else it is refused
            self._remember_deleted(edit.task_id)
        self.edited.emit(edit)

    def _on_opened(self, task_id: int) -> None:
        self.selected.emit(task_id)
        task = self._builder.task(task_id)
        if task is not None:
            self.jump_requested.emit(task.changed_call)

    def _on_ticked(self, task_id: int) -> None:
        task = self._builder.task(task_id)
        if task is not None:
            status = "pending" if task.status == "completed" else "completed"
            self._edit(TaskEdit("status", task_id, status=status))

    def _on_titled(self, one: TaskRow, text: str) -> None:
        self._edit(TaskEdit("rename", one.key, text=text))

    def _on_added(self) -> None:
        text = self._add.text().strip()
        if text:
            self._add.clear()
            self._added = text
            self._edit(TaskEdit("add", text=text))

    def _rename(self, task_id: int) -> None:
        """Begin to rename a task; it may stand elsewhere by now, or be gone."""
        index = self._model.index_of(task_id)
        if index.isValid():
            self.list.edit(index)

    def _toggle_fold(self) -> None:
        self._is_unfolded = not self._is_unfolded
        self._show_rows()

    def _show_menu(self, where: QPoint) -> None:
        index = self.list.indexAt(where)
        task = self._builder.task(self.list.task_id(index))
        if task is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        rename = menu.addAction(
            self._theme.icon("pencil"), self.tr("Rename"), lambda: self._rename(task.id)
        )
        rename.setShortcut("F2")
        shown = [one.key for one in self._model.rows() if one.key]
        fill_task_menu(menu, self._theme, task, self.tasks, self._edit, shown)
        menu.addSeparator()
        clipboard = QGuiApplication.clipboard()
        menu.addAction(
            self._theme.icon("copy"), self.tr("Copy"), lambda: clipboard.setText(task.subject)
        )
        menu.popup(self.list.viewport().mapToGlobal(where))

    # -- undo ------------------------------------------------------------------------------

    def _remember_deleted(self, task_id: int) -> None:
        place = next((n for n, task in enumerate(self.tasks) if task.id == task_id), None)
        if place is None:
            return
        after = self.tasks[place + 1].id if place + 1 < len(self.tasks) else 0
        self._deleted = (self.tasks[place], after)
        self._undo.offer(self.tr("Deleted “{subject}”").format(subject=self.tasks[place].subject))
        self._undo_timer.start()

    def _undo_delete(self) -> None:
        if self._deleted is not None:
            task, before = self._deleted
            self._forget_deleted()
            self._edit(TaskEdit("restore", before=before, deleted=task))

    def _forget_deleted(self) -> None:
        self._deleted = None
        self._undo_timer.stop()
        self._undo.hide()

    # -- building --------------------------------------------------------------------------

    def _build(self) -> None:
        theme = self._theme
        # `3 / 7`, for the header above the panel.
        self.count_label = TextLabel("", "strong", self, name="taskCount")
        self._bar = named(QProgressBar(self, textVisible=False), "taskProgress")
        self._bar.setFixedHeight(theme.size("progress"))
        self._model: SnapshotListModel[TaskRow] = SnapshotListModel(
            attrgetter("key"),
            text_roles(_subject, self._spoken, _tip),
            self,
            row_flags,
        )
        self.list = TaskListView(theme, self)
        self.list.setAccessibleName(self.tr("Tasks"))
        self.list.setModel(self._model)
        self.list.opened.connect(self._on_opened)
        self.list.ticked.connect(self._on_ticked)
        self.list.edited.connect(self._edit)
        self.list.fold_toggled.connect(self._toggle_fold)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.list.tasks.titled.connect(self._on_titled)
        # What came in while a name was typed is shown after it.
        self.list.tasks.closeEditor.connect(self._show_rows, Qt.ConnectionType.QueuedConnection)
        self._lay_out()

    def _lay_out(self) -> None:
        theme = self._theme
        edge = theme.space("l")
        self._add = named(Line(self), "addTask", self.tr("Add a task"))
        self._add.setPlaceholderText(self.tr("Add a task…"))
        self._add.returnPressed.connect(self._on_added)
        lines = column(row(edge, self._bar, edge, spacing=0), self.list, stretch=1)
        lines.setSpacing(theme.space("xs"))
        self._undo = UndoBar(theme, "undoTask", self, self.list, self._undo_delete)
        for part in (self._undo, self._receipt_line(), self._add):
            lines.addLayout(row(theme.space("m"), part, theme.space("m"), spacing=0))
        self.setLayout(lines)

    def _receipt_line(self) -> QWidget:
        self._receipt_row = named(QWidget(self), "taskReceipt")
        self._receipt_icon = IconLabel(self._theme, "clock", "warn", 14, self._receipt_row)
        self._receipt_text = ElidedLabel("", role="muted", parent=self._receipt_row)
        self._receipt_row.setLayout(row(self._receipt_icon, self._receipt_text, stretch=1))
        self._receipt_row.hide()
        return self._receipt_row

    def _show_receipt(self) -> None:
        edit = self._notes.edit
        self._receipt_row.setVisible(edit is not None)
        if edit is None:
            return
        is_read = edit.state == "delivered"
        self._receipt_icon.set_icon(
            "check-check" if is_read else "clock", "ok" if is_read else "warn"
        )
        self._receipt_text.set_text(self._receipt_message(edit))

    def _receipt_message(self, edit: NoteRow) -> str:
        if edit.state == "delivered":
            return self.tr("Your edits were read at step {step}").format(step=edit.step)
        if not self._notes.is_running:
            return self.tr("Your edits are read with your next message")
        if edit.state != "queued":
            return self.tr("Your edits are being sent")
        if self._notes.tools:
            behind = self._notes.tools[-1].doing
            return self.tr("Your edits are read after {what}").format(what=behind)
        return self.tr("Your edits are read at the next step")

    # -- life ------------------------------------------------------------------------------

    def _spoken(self, one: TaskRow) -> str:
        if one.task is None:
            return self.tr("%n completed", "", one.folded)
        names = {
            "done": self.tr("completed"),
            "skipped": self.tr("skipped"),
            "running": self.tr("in progress"),
            "asking": self.tr("in progress"),
            "stalled": self.tr("stalled"),
            "blocked": self.tr("waiting"),
            "pending": self.tr("pending"),
        }
        parts = [clean(one.task.subject), names[one.state]]
        if one.task.owner:
            parts.append(self.tr("owner {name}").format(name=owner_name(one.task.owner)))
        if one.task.open_blockers:
            blockers = map(self._builder.task, one.task.open_blockers)
            waits = ", ".join(task.subject for task in blockers if task is not None)
            parts.append(self.tr("waits for {names}").format(names=waits))
        elif one.detail:
            parts.append(one.detail)
        return ", ".join(parts)

    def _turn_spinners(self) -> None:
        """Repaint only the rows that turn and can be seen."""
        first, last = self.list.visible_rows()
        for number in range(first, last + 1):
            index: QModelIndex = self._model.index(number)
            if index.data(ROW_ROLE).state == "running":
                self.list.update(index)

    def _hold_pulse(self) -> None:
        turns = self.is_live and self._builder.active - self.halted.keys() - self.asking.keys()
        pulse = self._theme.pulse
        (pulse.hold if turns and self.isVisible() else pulse.release)(self)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._hold_pulse()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._theme.pulse.release(self)


def _subject(one: TaskRow) -> str:
    return clean(one.task.subject) if one.task is not None else ""


def _tip(one: TaskRow) -> str:
    return task_tip(one.task) if one.task is not None else ""


class _Tab(OneOf, IconButton):
    pass


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
        if changed & (Facet.SHOWN | Facet.TASKS | Facet.AGENTS | Facet.REQUESTS):
            self._show_graph()

    def _show_graph(self) -> None:
        """Feed the graphs that can be seen; a hidden one is fed when it is shown."""
        graphs = [self.graph] if self._stack.currentIndex() == 1 else []
        if self._large is not None and self._large.isVisible():
            graphs.append(self._large)
        for graph in graphs:
            of = self.tasks
            graph.set_tasks(of.tasks, is_live=of.is_live, halted=of.halted, asking=of.asking)

    def _open_window(self) -> None:
        if self._large is None:
            dialog = named(QDialog(self), "graphDialog")
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
            button = _Tab(theme, icon, name, self, name=object_name)
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
        whole = GhostButton(self._theme, self.tr("Show all"), "maximize", page, name="graphFit")
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
