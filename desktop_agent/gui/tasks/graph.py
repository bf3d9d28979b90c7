"""The dependencies as a graph: tasks in layers, arrows from a blocker to what it blocks.

`GraphPlan` turns a layout into points of a scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPainterPath, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QGraphicsScene, QGraphicsView, QMenu, QWidget

from desktop_agent.core.tasks import Task
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardRing
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import single_timer
from desktop_agent.gui.tasks.delegate import owner_name
from desktop_agent.gui.tasks.graph_items import ArrowItem, NodeItem, node_size
from desktop_agent.gui.tasks.graph_layout import Edge, Layout, lay_out
from desktop_agent.gui.tasks.menu import fill_task_menu
from desktop_agent.gui.tasks.rows import NO_ASKS, NOBODY, Asking, Halted, RowState, state_of

_SMALLEST, _LARGEST = 0.15, 2.0
# Below this scale text is hard to read: a part of the graph is shown at the other scale.
_READABLE, _COMFORTABLE = 0.55, 0.85
_ROUND = 12.0
_MANY, _WAIT_MS = 100, 200
_GAP_ACROSS = 18.0
_GAP_RIGHT, _GAP_DOWN = 56.0, 44.0
_MARGIN = 24.0


class TaskGraph(KeyboardRing, QGraphicsView):
    """Pan by drag, zoom by Ctrl+wheel or + and -, walk by the arrow keys.

    Signals:
        selected(task_id): by click or key
        owner_chosen(name): the agent that works on a task, by click or menu
        edited(TaskEdit): from the context menu
    """

    selected = Signal(int)
    owner_chosen = Signal(str)
    edited = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tasks: tuple[Task, ...] = ()
        self._is_live = False
        self._halted, self._asking = NOBODY, NO_ASKS
        self._plan = GraphPlan(Layout({}, {}, 0, 0.0), node_size(theme), is_down=False)
        self._edges: frozenset[Edge] = frozenset()
        self._nodes: dict[int, NodeItem] = {}
        self._arrows: dict[Edge, ArrowItem] = {}
        self._current = 0
        # What is shown: a readable part, all of it, or what the user went to.
        self._shown: Literal["part", "all", "own"] = "part"
        self._pressed_at = QPoint()
        # Laying out a large graph takes a while: many changes in a row are laid out once.
        self._later = single_timer(self, _WAIT_MS, self._rebuild)
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

    def set_tasks(
        self,
        tasks: Sequence[Task],
        *,
        is_live: bool,
        halted: Halted = NOBODY,
        asking: Asking = NO_ASKS,
    ) -> None:
        """Show these tasks; places change only when tasks or edges do."""
        self._tasks = tuple(tasks)
        self._is_live, self._halted, self._asking = is_live, halted, asking
        edges = frozenset((b, task.id) for task in tasks for b in task.blocked_by)
        if edges != self._edges or self._nodes.keys() != {task.id for task in tasks}:
            if self._nodes and len(tasks) > _MANY:
                self._later.start()
            else:
                self._rebuild()
        self._show_states()

    def _show_states(self) -> None:
        for task in self._tasks:
            node = self._nodes.get(task.id)
            if node is not None:
                node.show_task(task, self._state(task))
        self.setAccessibleDescription(self._described())

    def _state(self, task: Task) -> RowState:
        return state_of(task, is_live=self._is_live, halted=self._halted, asking=self._asking)

    def select(self, task_id: int) -> None:
        if task_id in self._nodes and task_id != self._current:
            self._mark(task_id)

    def fit(self) -> None:
        """Show all of it, but never larger than life."""
        self._shown = "all"
        self._look()

    # -- building --------------------------------------------------------------------------

    def _rebuild(self) -> None:
        self._later.stop()
        self._edges = frozenset((b, task.id) for task in self._tasks for b in task.blocked_by)
        layout, card = lay_out(self._tasks), node_size(self._theme)
        for number in self._nodes.keys() - layout.places.keys():
            self.scene().removeItem(self._nodes.pop(number))
        for task in self._tasks:
            if task.id not in self._nodes:
                node = NodeItem(self._theme, card, task, self._state(task))
                self._nodes[task.id] = node
                self.scene().addItem(node)
        for edge in self._arrows.keys() - self._edges:
            self.scene().removeItem(self._arrows.pop(edge))
        for edge in self._edges - self._arrows.keys():
            arrow = self._arrows[edge] = ArrowItem(self._theme)
            self.scene().addItem(arrow)
        if self._current not in self._nodes:
            self._current = 0
        self._place(layout)
        self._show_states()
        self._look()

    def _place(self, layout: Layout) -> None:
        self._plan = plan = best_plan(layout, node_size(self._theme), self._room())
        for number, node in self._nodes.items():
            node.setPos(plan.corner(number))
        for edge, arrow in self._arrows.items():
            arrow.run(plan.path(edge), plan.way)
        self.scene().setSceneRect(plan.box)

    def _room(self) -> QSizeF:
        # Without scroll bars: what is laid out beside them could have them go, and come again.
        room = self.maximumViewportSize()
        return QSizeF(max(10, room.width()), max(10, room.height()))

    def _look(self) -> None:
        """Show what is to be shown: all of it, or where the work goes on."""
        if self._shown == "own" or not self._nodes:
            return
        box = self.scene().sceneRect()
        scale = min(1.0, scale_for(box, self._room()))
        if self._shown == "part" and scale < _READABLE:
            part = self._part()
            self._scale_to(max(_READABLE, min(_COMFORTABLE, scale_for(part, self._room()))))
            self.centerOn(part.center())
        else:
            self._scale_to(scale)
            self.centerOn(box.center())

    def _part(self) -> QRectF:
        """Return where the work goes on: whole cards, as many neighbours as can be read."""
        around = (-_ROUND, -_ROUND, _ROUND, _ROUND)
        number = self._middle()
        part = self._nodes[number].sceneBoundingRect().adjusted(*around)
        neighbours = {a if b == number else b for a, b in self._edges if number in (a, b)}
        for other in sorted(neighbours & self._nodes.keys()):
            wider = part.united(self._nodes[other].sceneBoundingRect().adjusted(*around))
            if scale_for(wider, self._room()) >= _READABLE:
                part = wider
        return part

    def _middle(self) -> int:
        """Return the task that matters most: the selected one, else one that is worked on."""
        if self._current:
            return self._current
        order = {"in_progress": 0, "pending": 1, "completed": 2}
        return min(self._tasks, key=lambda one: (order[one.status], bool(one.open_blockers))).id

    # -- the user --------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed_at = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Select the task, or the agent that works on it, on a click that did not pan."""
        super().mouseReleaseEvent(event)
        where = event.position().toPoint()
        if (where - self._pressed_at).manhattanLength() >= QApplication.startDragDistance():
            self._shown = "own"
            return
        node = self._node_at(where)
        if event.button() == Qt.MouseButton.LeftButton and node is not None:
            self._choose(node.task.id)
            if node.is_owner_at(self.mapToScene(where)):
                self.owner_chosen.emit(node.task.owner)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._zoom(1.15 if event.angleDelta().y() > 0 else 1 / 1.15)
            event.accept()
        else:
            self._shown = "own"
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
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
        """Keep in view what is shown until the user goes elsewhere."""
        super().resizeEvent(event)
        if self._shown != "own":
            self._place(self._plan.layout)
            self._look()

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
        for edge, arrow in self._arrows.items():
            arrow.set_strong(number in edge)
        self.ensureVisible(self._nodes[number], 32, 32)
        self.setAccessibleDescription(self._described())

    def _show_menu(self, where: QPoint) -> None:
        node = self._node_at(where)
        if node is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_task_menu(menu, self._theme, node.task, self._tasks, self.edited.emit)
        owner = node.task.owner
        if owner:
            menu.addSeparator()
            shown = self.tr("Show {name}").format(name=owner_name(owner))
            menu.addAction(self._theme.icon("bot"), shown, lambda: self.owner_chosen.emit(owner))
        menu.popup(self.viewport().mapToGlobal(where))

    def inputMethodQuery(self, query: Qt.InputMethodQuery) -> object:
        """Tell where the selected task is: a menu by key opens there."""
        node = self._nodes.get(self._current)
        if query != Qt.InputMethodQuery.ImCursorRectangle or node is None:
            return super().inputMethodQuery(query)
        return QRect(self.mapFromScene(node.sceneBoundingRect()).boundingRect())

    def _node_at(self, where: QPoint) -> NodeItem | None:
        item = self.itemAt(where)
        return item if isinstance(item, NodeItem) else None

    def _zoom(self, factor: float) -> None:
        self._shown = "own"
        self._scale_to(max(_SMALLEST, min(_LARGEST, self.transform().m11() * factor)))

    def _scale_to(self, factor: float) -> None:
        now = self.transform().m11()
        self.scale(factor / now, factor / now)

    # -- look ------------------------------------------------------------------------------

    def _described(self) -> str:
        task = next((task for task in self._tasks if task.id == self._current), None)
        if task is None:
            count = len(self._tasks)
            return with_plural(self.tr("%n task(s)", "", count), count)
        subjects = {one.id: one.subject for one in self._tasks}
        waits = ", ".join(subjects[n] for n in task.blocked_by if n in subjects)
        if not waits:
            return f"{task.subject}, {task.status}"
        waiting = self.tr("waits for {names}").format(names=waits)
        return f"{task.subject}, {task.status}, {waiting}"

    def _restyle(self) -> None:
        self.setBackgroundBrush(self._theme.color("window"))
        card = node_size(self._theme)
        for node in self._nodes.values():
            node.restyle(card)
        for arrow in self._arrows.values():
            arrow.restyle()
        self._place(self._plan.layout)
        self._look()

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


class GraphPlan:
    """Layers run to the right, or with `is_down` from the top to the bottom."""

    def __init__(self, layout: Layout, card: QSizeF, *, is_down: bool) -> None:
        self.is_down = is_down
        self.layout = layout
        self._depth = card.height() if is_down else card.width()
        self._step = self._depth + (_GAP_DOWN if is_down else _GAP_RIGHT)
        self._breadth = card.width() if is_down else card.height()
        self._unit = self._breadth + _GAP_ACROSS

    @property
    def way(self) -> QPointF:
        """The unit vector along the layers."""
        return self._point(1, 0)

    @property
    def box(self) -> QRectF:
        """All of it, with some room around."""
        along = max(0, self.layout.layers - 1) * self._step + self._depth
        across = self.layout.breadth * self._unit + self._breadth
        size = QSizeF(across, along) if self.is_down else QSizeF(along, across)
        whole = QRectF(QPointF(0, 0), size)
        return whole.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)

    def corner(self, number: int) -> QPointF:
        """Return the upper left corner of a task's card."""
        layer, place = self.layout.places[number]
        return self._point(layer * self._step, place * self._unit)

    def path(self, edge: Edge) -> QPainterPath:
        """Return the way of an arrow: through its lanes, past the cards of the layers between."""
        first, last = self.layout.places[edge[0]], self.layout.places[edge[1]]
        at = (first[0] * self._step + self._depth, self._middle(first[1]))
        path = QPainterPath(self._point(*at))
        for number, place in enumerate(self.layout.lanes[edge], first[0] + 1):
            lane = (number * self._step, self._middle(place))
            self._bend(path, at, lane)
            at = (lane[0] + self._depth, lane[1])
            path.lineTo(self._point(*at))
        self._bend(path, at, (last[0] * self._step, self._middle(last[1])))
        return path

    def _bend(
        self, path: QPainterPath, start: tuple[float, float], end: tuple[float, float]
    ) -> None:
        half = (start[0] + end[0]) / 2
        path.cubicTo(
            self._point(half, start[1]), self._point(half, end[1]), self._point(end[0], end[1])
        )

    def _middle(self, place: float) -> float:
        return place * self._unit + self._breadth / 2

    def _point(self, along: float, across: float) -> QPointF:
        return QPointF(across, along) if self.is_down else QPointF(along, across)


def best_plan(layout: Layout, card: QSizeF, room: QSizeF) -> GraphPlan:
    """Return the plan that is the larger one when all of it is shown in the room."""
    right, down = (GraphPlan(layout, card, is_down=is_down) for is_down in (False, True))
    return down if scale_for(down.box, room) > scale_for(right.box, room) else right


def scale_for(box: QRectF, room: QSizeF) -> float:
    """Return the scale at which a box fills a room."""
    return min(room.width() / box.width(), room.height() / box.height())
