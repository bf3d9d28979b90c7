"""A task and an arrow of the dependency graph, drawn from the theme's colours."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsPathItem,
    QGraphicsRectItem,
    QStyleOptionGraphicsItem,
    QWidget,
)

from desktop_agent.core.tasks import Task
from desktop_agent.gui.kit.safe_text import clean, without_direction_marks
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.tasks.delegate import STATE_ICONS, owner_name, task_tip
from desktop_agent.gui.tasks.rows import RowState

_WIDTH, _HEIGHT = 208, 54
_ICON = 16
_EDGE = 12
_TIP = 6.0
# Below this scale no text can be read: the state's colour is all that is drawn.
_READABLE = 0.35


def node_size(theme: Theme) -> QSizeF:
    """Return the size of a task's card: two lines of the user's text size fit in."""
    lines = 2 * QFontMetrics(theme.font("small")).height()
    height = max(_HEIGHT, lines + _EDGE)
    return QSizeF(round(_WIDTH * min(1.5, height / _HEIGHT)), height)


class NodeItem(QGraphicsRectItem):
    """One task: state, subject on up to two lines, and the agent that works on it.

    It is painted once and then kept as a picture until it changes: panning paints none anew.
    """

    def __init__(self, theme: Theme, size: QSizeF, task: Task, state: RowState) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self._theme = theme
        self._size = size
        self.task: Task = task
        self.state: RowState = state
        self.setToolTip(task_tip(task))
        self._is_current = False
        self.setZValue(1)
        self.restyle(size)

    def is_owner_at(self, where: QPointF) -> bool:
        """Whether the name of the working agent stands at a point of the scene."""
        box = self._text_box()
        box.setTop(box.center().y())
        return bool(self._owner) and box.contains(self.mapFromScene(where).toPoint())

    @property
    def _owner(self) -> str:
        return owner_name(self.task.owner) if self.state in {"running", "asking", "stalled"} else ""

    def _text_box(self) -> QRect:
        left = 2 * _EDGE + self._theme.icon_px(_ICON) - 2
        width, height = round(self._size.width()), round(self._size.height())
        return QRect(left, 5, width - left - _EDGE + 2, height - 10)

    def show_task(self, task: Task, state: RowState) -> None:
        if task is not self.task or state != self.state:
            self.task, self.state = task, state
            self.setToolTip(task_tip(task))
            self.update()

    def set_current(self, is_current: bool) -> None:
        if is_current != self._is_current:
            self._is_current = is_current
            self.update()

    def restyle(self, size: QSizeF) -> None:
        self._size = size
        self.setRect(QRectF(QPointF(0, 0), self._size).adjusted(-2, -2, 2, 2))
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        theme = self._theme
        box = QRectF(QPointF(0, 0), self._size)
        is_done = self.state in {"done", "skipped"}
        waits = {"running": "accent", "asking": "warnLine", "blocked": "warnLine"}
        edge = "accent" if self._is_current else waits.get(self.state, "line2")
        painter.setPen(QPen(theme.color(edge), 2 if self._is_current else 1))
        painter.setBrush(theme.color("sunken" if is_done else "raised"))
        painter.drawRoundedRect(box, 8, 8)
        if painter.worldTransform().m11() < _READABLE:
            self._paint_dot(painter, box)
            return
        self._paint_icon(painter)
        self._paint_text(painter, is_done=is_done)

    def _paint_dot(self, painter: QPainter, box: QRectF) -> None:
        token = "accent" if self.state == "running" else STATE_ICONS[self.state][1]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color(token))
        painter.drawEllipse(box.center(), 14, 14)

    def _paint_icon(self, painter: QPainter) -> None:
        theme = self._theme
        size = theme.icon_px(_ICON)
        box = QRectF(_EDGE, (self._size.height() - size) / 2, size, size)
        if self.state == "running":
            paint_spinner(painter, box, theme.pulse, theme.color("accent"), theme.color("line2"))
            return
        icon, token = STATE_ICONS[self.state]
        ratio = painter.device().devicePixelRatioF() * 2
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawPixmap(box.topLeft(), theme.pixmap(icon, token, size, ratio))

    def _paint_text(self, painter: QPainter, *, is_done: bool) -> None:
        theme = self._theme
        font = theme.font("small", "medium" if self.state == "running" else "regular")
        font.setStrikeOut(is_done)
        painter.setFont(font)
        painter.setPen(theme.color("subtle" if is_done else "fg"))
        box, owner = self._text_box(), self._owner
        if owner:
            box.setBottom(box.top() + box.height() // 2)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
        subject = without_direction_marks(clean(self.task.subject))
        painter.drawText(box, int(flags), _fitting(painter, subject, box))
        if owner:
            below = QRect(box.left(), box.bottom(), box.width(), box.height())
            painter.setFont(theme.font("caption", "medium"))
            painter.setPen(theme.color("accent"))
            shown = painter.fontMetrics().elidedText(
                owner, Qt.TextElideMode.ElideRight, below.width()
            )
            painter.drawText(below, int(Qt.AlignmentFlag.AlignVCenter), shown)


class ArrowItem(QGraphicsPathItem):
    """A curve from a blocker to what it blocks. Qt draws it without a step of Python."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._is_strong = False
        self.restyle()

    def run(self, path: QPainterPath, way: QPointF) -> None:
        """Take a path; `way` is the unit vector that its tip points along."""
        end = path.currentPosition()
        back, aside = end - way * _TIP, QPointF(way.y(), way.x()) * (_TIP * 0.6)
        path.moveTo(back + aside)
        path.lineTo(end)
        path.lineTo(back - aside)
        self.setPath(path)

    def set_strong(self, is_strong: bool) -> None:
        """Draw it strongly: it belongs to the selected task."""
        if is_strong != self._is_strong:
            self._is_strong = is_strong
            self.setZValue(0.5 if is_strong else 0)
            self.restyle()

    def restyle(self) -> None:
        pen = QPen(self._theme.color("accent" if self._is_strong else "line3"))
        pen.setWidthF(2 if self._is_strong else 1.2)
        self.setPen(pen)


def _fitting(painter: QPainter, text: str, box: QRect) -> str:
    """Return the text cut so that it fits the box on as many lines as that has."""
    metrics = painter.fontMetrics()
    lines = max(1, box.height() // metrics.height())
    flat = " ".join(text.split())
    # Wrapped lines waste some room at their ends.
    room = round(box.width() * (lines - 0.35 * (lines > 1)))
    return metrics.elidedText(flat, Qt.TextElideMode.ElideRight, room)
