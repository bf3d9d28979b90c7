"""A box that can be ticked, painted in a row of a list."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QAbstractItemModel, QEvent, QRect, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.kit.lists.list_model import Index
from desktop_agent.gui.kit.rtl import placed
from desktop_agent.gui.kit.theme import Theme

# How far beside the box a click still is for it.
_NEAR_PX = 8


def paint_box(theme: Theme, painter: QPainter, box: QRect, *, is_on: bool) -> None:
    """Draw a box that can be ticked, as check boxes look in this window."""
    painter.setPen(QPen(theme.color("accentFill" if is_on else "line3"), 1))
    painter.setBrush(theme.color("accentFill" if is_on else "canvas"))
    painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    if is_on:
        ratio = painter.device().devicePixelRatioF()
        mark = theme.pixmap("check", "onAccent", box.width() - 4, ratio)
        painter.drawPixmap(box.left() + 2, box.top() + 2, mark)


def trailing_box(theme: Theme, edge: int, size: int) -> Callable[[QRect], QRect]:
    """Return what places a box of this size that far before the trailing end of a row."""

    def place(rect: QRect) -> QRect:
        px = theme.icon_px(size)
        return QRect(rect.right() - edge - px, rect.center().y() - px // 2, px, px)

    return place


def check_state(*, is_on: bool) -> Qt.CheckState:
    """Return what a model holds of a box."""
    return Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked


def is_ticked(index: Index) -> bool:
    """Whether the box of the row is ticked."""
    state = index.data(Qt.ItemDataRole.CheckStateRole)
    return state is not None and Qt.CheckState(state) == Qt.CheckState.Checked


class CheckBoxDelegate(QStyledItemDelegate):
    """A click on the box, or Space, sets the model's check state, which requests the change.

    `box` is where it stands in a row, read from left to right. Rows that can't be ticked are those
    whose flags lack `ItemIsUserCheckable`. `took_click`: the last click was for a part of the row.
    """

    took_click = False

    def __init__(self, theme: Theme, box: Callable[[QRect], QRect], parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self.box = theme, box

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        self.took_click = False
        if not index.flags() & Qt.ItemFlag.ItemIsUserCheckable:
            return False
        is_toggled = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Space
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton:
            rect: QRect = option.rect
            direction: Qt.LayoutDirection = option.direction
            near = (-_NEAR_PX, -_NEAR_PX, _NEAR_PX, _NEAR_PX)
            box = placed(direction, rect, self.box(rect)).adjusted(*near)
            hit = box.contains(event.position().toPoint())
            if event.type() != QEvent.Type.MouseButtonRelease:
                # Not of a press: what is ticked becomes the row that keys and details are for.
                return hit and event.type() == QEvent.Type.MouseButtonDblClick
            is_toggled = self.took_click = hit
        if not is_toggled:
            return False
        state = check_state(is_on=not is_ticked(index))
        return model.setData(index, state, Qt.ItemDataRole.CheckStateRole)
