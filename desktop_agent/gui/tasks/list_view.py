"""The list view of tasks: keys and drags become signals; nothing is moved by the view itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import (
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from desktop_agent.core.tasks import TaskEdit
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import single_timer
from desktop_agent.gui.tasks.delegate import TaskDelegate
from desktop_agent.gui.tasks.rows import TaskRow


class TaskListView(KeyboardFocus, QListView):
    """The list of tasks; its delegate renames in place.

    Signals:
        opened(task_id): the row was clicked or Enter was pressed
        ticked(task_id): its icon was clicked or Space was pressed
        edited(TaskEdit): a task is deleted or moved
        fold_toggled: the line of completed tasks was clicked
    """

    opened = Signal(int)
    ticked = Signal(int)
    edited = Signal(object)
    fold_toggled = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("taskList")
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(
            QListView.EditTrigger.EditKeyPressed | QListView.EditTrigger.DoubleClicked
        )
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setDropIndicatorShown(True)
        self.tasks = TaskDelegate(theme, self)
        self.setItemDelegate(self.tasks)
        self._active = -1
        # What is to be brought into view once.
        self._wanted = -1
        # Which task is dragged; what is current may become another one meanwhile.
        self._dragged = 0
        # Before which row the dragged one would be dropped.
        self._target = -1
        # The user scrolled elsewhere, and is not taken back.
        self._is_away = False
        # Rows are laid out, and room is given, a little after they came.
        self._soon = single_timer(self, 0, self._reveal)
        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(lambda: self._soon.start())
        bar.actionTriggered.connect(self._on_scrolled)

    def follow(self, number: int, *, is_new: bool = False) -> None:
        """Keep the row with what is worked on in view; -1 is none."""
        self._is_away = self._is_away and not is_new
        if is_new or number != self._active:
            self._active = number
            self._soon.start()

    def reveal(self, number: int) -> None:
        """Bring one row into view and leave the list there."""
        self._wanted = number
        self._soon.start()

    def _on_scrolled(self) -> None:
        self._is_away = True

    def _reveal(self) -> None:
        if self._wanted >= 0:
            self.scrollTo(self.model().index(self._wanted, 0))
            self._wanted, self._is_away = -1, True
            return
        index = self.model().index(self._active, 0) if self._active >= 0 else QModelIndex()
        is_busy = self.state() != QAbstractItemView.State.NoState
        if index.isValid() and not self._is_away and not is_busy:
            self.scrollTo(index)

    def set_uniform(self, *, is_uniform: bool) -> None:
        """Give all rows the same height, or each its own; a long list is laid out by the first.

        With a grid the view asks the model for no row at all to know where each one stands.
        """
        height = self._theme.size("row2")
        self.setUniformItemSizes(is_uniform)
        grid = QSize(80, height) if is_uniform else QSize()
        if grid != self.gridSize():
            self.setGridSize(grid)

    def dataChanged(self, first: Index, last: Index, roles: Sequence[int] = ()) -> None:
        """Repaint what changed and can be seen; no row of a uniform list moves because of it."""
        if not self.gridSize().isValid():
            super().dataChanged(first, last, roles)
            return
        top, bottom = self.visible_rows()
        for number in range(max(first.row(), top), min(last.row(), bottom) + 1):
            index = self.model().index(number, 0)
            QAbstractItemView.dataChanged(self, index, index, roles)

    def visible_rows(self) -> tuple[int, int]:
        """Return the first and the last row that can be seen; (0, -1) where there is none."""
        count = self.model().rowCount()
        if not count:
            return 0, -1
        top = self.indexAt(QPoint(self.width() // 2, 0))
        bottom = self.indexAt(QPoint(self.width() // 2, self.viewport().height() - 1))
        return max(0, top.row()), bottom.row() if bottom.isValid() else count - 1

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.model().rowCount():
            if self._target >= 0:
                self._paint_target()
            return
        painter = QPainter(self.viewport())
        painter.setFont(self._theme.font("ui"))
        painter.setPen(self._theme.color("subtle"))
        room = self.viewport().rect().adjusted(16, 16, -16, -16)
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(room, int(flags), self.tr("The agent's tasks will be here, and yours."))

    def _paint_target(self) -> None:
        """Draw over the hairline of the style, which is black in every look."""
        last = self.model().rowCount() - 1
        box = self.visualRect(self.model().index(min(self._target, last), 0))
        edge = box.top() if self._target <= last else box.bottom() + 1
        painter = QPainter(self.viewport())
        painter.setPen(QPen(self._theme.color("accent"), 3))
        painter.drawLine(0, edge, self.viewport().width(), edge)
        painter.end()

    def _aim(self, row: int) -> None:
        if row != self._target:
            self._target = row
            self.viewport().update()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        self._aim(self._drop_row(event.position().toPoint()) if event.isAccepted() else -1)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self._aim(-1)

    def task_id(self, index: QModelIndex) -> int:
        """Return the id of the task at an index; 0 where there is none."""
        row = index.data(ROW_ROLE) if index.isValid() else None
        return row.key if row is not None else 0

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        key = Qt.Key(event.key())
        if not index.isValid():
            super().keyPressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.AltModifier and key in _STEPS:
            self._move_by(index, _STEPS[key])
        elif self.task_id(index) == 0 and key in _ACTING:
            self.fold_toggled.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(self.task_id(index))
        elif key == Qt.Key.Key_Space:
            self.ticked.emit(self.task_id(index))
        elif key == Qt.Key.Key_Delete and self.task_id(index):
            self.edited.emit(TaskEdit("delete", self.task_id(index)))
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_dragging = self.state() == QAbstractItemView.State.DraggingState
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton or was_dragging or not index.isValid():
            return
        if self.task_id(index) == 0:
            self.fold_toggled.emit()
        elif self._is_on_icon(index, event.position().toPoint()):
            self.ticked.emit(self.task_id(index))
        elif self.state() != QAbstractItemView.State.EditingState:
            self.opened.emit(self.task_id(index))
            # The place is shown, but the keys stay with the row that was clicked.
            self.setFocus(Qt.FocusReason.MouseFocusReason)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Rename, but not from the icon: two quick ticks are no double click."""
        index = self.indexAt(event.position().toPoint())
        if not index.isValid() or not self._is_on_icon(index, event.position().toPoint()):
            super().mouseDoubleClickEvent(event)

    def commitData(self, editor: QWidget) -> None:
        """Take the new name once: a field that is closed loses the focus, and says it again."""
        if editor is self.tasks.editor:
            self.tasks.editor = None
            super().commitData(editor)

    def startDrag(self, actions: Qt.DropAction) -> None:
        """Keep which task is dragged: the agent may change the list until it is dropped."""
        self._dragged = self.task_id(self.currentIndex())
        super().startDrag(actions)

    def dropEvent(self, event: QDropEvent) -> None:
        """Ask for the move; the list comes back in the new order from the engine."""
        self._aim(-1)
        rows = map(self.model().index, range(self.model().rowCount()), repeat(0))
        source = next((one for one in rows if self.task_id(one) == self._dragged), QModelIndex())
        if event.source() is not self or not self.task_id(source):
            event.ignore()
            return
        before = self._drop_row(event.position().toPoint())
        # Not accepted as a move: the view would take the row out of the model itself.
        event.setDropAction(Qt.DropAction.IgnoreAction)
        event.accept()
        self.stopAutoScroll()
        self.setState(QAbstractItemView.State.NoState)
        self.viewport().update()
        if before not in (source.row(), source.row() + 1):
            self._move(source, before)

    def _drop_row(self, where: QPoint) -> int:
        index = self.indexAt(where)
        if not index.isValid():
            return self.model().rowCount()
        is_below = where.y() > self.visualRect(index).center().y()
        return max(self._first_task(), index.row() + 1 if is_below else index.row())

    def _first_task(self) -> int:
        """Return the row of the first task: nothing goes above the line of completed ones."""
        return 0 if self.task_id(self.model().index(0, 0)) else 1

    def _move_by(self, index: QModelIndex, step: int) -> None:
        target = index.row() + (step if step < 0 else step + 1)
        if self._first_task() <= target <= self.model().rowCount() and self.task_id(index):
            self._move(index, target)

    def _move(self, index: QModelIndex, target: int) -> None:
        before = self.task_id(self.model().index(target, 0))  # 0 is the end
        self.edited.emit(TaskEdit("move", self.task_id(index), before=before))

    def _is_on_icon(self, index: QModelIndex, where: QPoint) -> bool:
        box = self.tasks.icon_box(self.visualRect(index), self.layoutDirection())
        return box.contains(where)


_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_ACTING = {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}


def row_flags(row: TaskRow) -> Qt.ItemFlag:
    """Return what can be done with a row."""
    flag = Qt.ItemFlag
    plain = flag.ItemIsEnabled | flag.ItemIsSelectable
    return plain if row.task is None else plain | flag.ItemIsEditable | flag.ItemIsDragEnabled
