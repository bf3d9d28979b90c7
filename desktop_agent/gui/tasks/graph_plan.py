"""A layout of tasks as points of a scene: where cards stand and which way arrows run."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainterPath

from desktop_agent.gui.tasks.graph_layout import Edge, Layout

_GAP_ACROSS = 18.0
_GAP_RIGHT, _GAP_DOWN = 56.0, 44.0
_MARGIN = 24.0


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
