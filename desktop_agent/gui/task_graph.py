"""The dependencies as a graph: tasks in layers, arrows from a blocker to what it blocks."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPainterPath, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QGraphicsScene, QGraphicsView, QMenu, QWidget

from desktop_agent.core.tasks import Task
from desktop_agent.gui.task_layout import Layout, lay_out
from desktop_agent.gui.task_menu import fill_task_menu
from desktop_agent.gui.task_nodes import NODE, ArrowItem, NodeItem
from desktop_agent.gui.task_rows import state_of
from desktop_agent.gui.theme import Theme

_STEP = QPointF(NODE.width() + 56, NODE.height() + 18)
_MARGIN = 24.0
_SMALLEST, _LARGEST = 0.15, 2.0


class TaskGraph(QGraphicsView):
    """Pan by drag, zoom by Ctrl+wheel or + and -, walk by the arrow keys.

    Signals:
        selected: a task's id, by click or key.
        edited: a TaskEdit from the context menu.
    """

    selected = Signal(int)
    edited = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tasks: tuple[Task, ...] = ()
        self._is_live = False
        self._layout = Layout({}, 0, 0)
        self._edges: frozenset[tuple[int, int]] = frozenset()
        self._nodes: dict[int, NodeItem] = {}
        self._arrows: list[ArrowItem] = []
        self._current = 0
        self._is_fitted = True
        self.setObjectName("taskGraph")
        self.setAccessibleName(self.tr("Dependencies of the tasks"))
        self.setScene(QGraphicsScene(self))
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)
        theme.changed.connect(self._restyle)
        theme.pulse.ticked.connect(self._turn_spinners)
        self._restyle()

    def set_tasks(self, tasks: Sequence[Task], *, is_live: bool) -> None:
        """Show these tasks; places change only when tasks or edges do."""
        old = self._tasks
        self._tasks = tuple(tasks)
        self._is_live = is_live
        edges = frozenset((b, task.id) for task in tasks for b in task.blocked_by)
        if edges != self._edges or {t.id for t in old} != {t.id for t in tasks}:
            self._edges = edges
            self._rebuild()
        for task in self._tasks:
            self._nodes[task.id].show_task(task, state_of(task, is_live=is_live))
        self.setAccessibleDescription(self._described())

    def select(self, task_id: int) -> None:
        """Mark a task and bring it into view."""
        if task_id in self._nodes and task_id != self._current:
            self._mark(task_id)

    def fit(self) -> None:
        """Show all of it, but never larger than life."""
        box = self.scene().sceneRect()
        self._is_fitted = True
        if box.isEmpty() or self.viewport().width() < 10:
            return
        across = self.viewport().width() / box.width()
        down = self.viewport().height() / box.height()
        self._scale_to(max(_SMALLEST, min(1.0, across, down)))
        self.centerOn(box.center())

    # -- building --------------------------------------------------------------------------

    def _rebuild(self) -> None:
        scene = self.scene()
        self._layout = lay_out(self._tasks)
        gone = set(self._nodes) - set(self._layout.places)
        for number in gone:
            scene.removeItem(self._nodes.pop(number))
        for number, (depth, place) in self._layout.places.items():
            node = self._nodes.get(number)
            if node is None:
                node = self._nodes[number] = NodeItem(self._theme)
                scene.addItem(node)
            node.setPos(depth * _STEP.x(), place * _STEP.y())
        for arrow in self._arrows:
            scene.removeItem(arrow)
        self._arrows = [self._arrow(blocker, blocked) for blocker, blocked in sorted(self._edges)]
        box = QRectF(
            0,
            0,
            max(0, self._layout.layers - 1) * _STEP.x() + NODE.width(),
            max(0, self._layout.widest - 1) * _STEP.y() + NODE.height(),
        )
        scene.setSceneRect(box.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN))
        if self._current not in self._nodes:
            self._current = 0
        if self._is_fitted:
            self.fit()

    def _arrow(self, blocker: int, blocked: int) -> ArrowItem:
        start = self._nodes[blocker].pos() + QPointF(NODE.width(), NODE.height() / 2)
        end = self._nodes[blocked].pos() + QPointF(0, NODE.height() / 2)
        path = QPainterPath(start)
        bend = max(24.0, (end.x() - start.x()) / 2)
        path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end)
        arrow = ArrowItem(self._theme, path, blocker, blocked)
        self.scene().addItem(arrow)
        return arrow

    # -- the person ------------------------------------------------------------------------

    def mouseReleaseEvent(self, event: object) -> None:
        """Select on a click that did not pan."""
        super().mouseReleaseEvent(event)  # pyright: ignore[reportArgumentType]
        where: QPoint = event.position().toPoint()  # pyright: ignore[reportAttributeAccessIssue]
        node = self._node_at(where)
        if node is not None and node.task is not None:
            self._mark(node.task.id)
            self.selected.emit(node.task.id)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom with Ctrl; scroll without."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._zoom(1.15 if event.angleDelta().y() > 0 else 1 / 1.15)
            event.accept()
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk with the arrows, zoom with + and -, 0 shows all."""
        key = Qt.Key(event.key())
        if key in _DIRECTIONS:
            self._walk(*_DIRECTIONS[key])
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self._zoom(1.15)
        elif key == Qt.Key.Key_Minus:
            self._zoom(1 / 1.15)
        elif key == Qt.Key.Key_0:
            self.fit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep all of it in view until the person zooms."""
        super().resizeEvent(event)
        if self._is_fitted:
            self.fit()

    def _walk(self, across: int, down: int) -> None:
        if not self._nodes:
            return
        if self._current not in self._nodes:
            self._choose(self._tasks[0].id)
            return
        here = self._nodes[self._current].pos()
        best, best_cost = 0, float("inf")
        for number, node in self._nodes.items():
            step = node.pos() - here
            along = step.x() * across + step.y() * down
            aside = abs(step.x() * down) + abs(step.y() * across)
            if along > 1 and along + 2 * aside < best_cost:
                best, best_cost = number, along + 2 * aside
        if best:
            self._choose(best)

    def _choose(self, number: int) -> None:
        self._mark(number)
        self.selected.emit(number)

    def _mark(self, number: int) -> None:
        self._current = number
        for one, node in self._nodes.items():
            node.set_current(one == number)
        for arrow in self._arrows:
            arrow.set_near(arrow.blocker == number or arrow.blocked == number)
        self.ensureVisible(self._nodes[number], 32, 32)
        self.setAccessibleDescription(self._described())

    def _show_menu(self, where: QPoint) -> None:
        node = self._node_at(where)
        if node is None or node.task is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_task_menu(menu, self._theme, node.task, self._tasks, self.edited.emit)
        menu.popup(self.viewport().mapToGlobal(where))

    def _node_at(self, where: QPoint) -> NodeItem | None:
        item = self.itemAt(where)
        return item if isinstance(item, NodeItem) else None

    def _zoom(self, factor: float) -> None:
        self._is_fitted = False
        self._scale_to(max(_SMALLEST, min(_LARGEST, self.transform().m11() * factor)))

    def _scale_to(self, factor: float) -> None:
        now = self.transform().m11()
        self.scale(factor / now, factor / now)

    # -- look ------------------------------------------------------------------------------

    def _described(self) -> str:
        task = next((task for task in self._tasks if task.id == self._current), None)
        if task is None:
            return self.tr("%n task(s)", "", len(self._tasks))
        subjects = {one.id: one.subject for one in self._tasks}
        waits = ", ".join(subjects[n] for n in task.blocked_by if n in subjects)
        if not waits:
            return f"{task.subject}, {task.status}"
        waiting = self.tr("waits for {names}").format(names=waits)
        return f"{task.subject}, {task.status}, {waiting}"

    def _restyle(self) -> None:
        self.setBackgroundBrush(self._theme.color("window"))
        self.viewport().update()

    def _turn_spinners(self) -> None:
        if self.isVisible():
            for node in self._nodes.values():
                if node.state == "running":
                    node.update()


_DIRECTIONS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
