"""A box that can be ticked, painted in a row of a list."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent, QRect, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from desktop_agent.gui.kit.lists.list_model import Index
from desktop_agent.gui.kit.rtl import placed
from desktop_agent.gui.kit.theme import Theme


def paint_box(theme: Theme, painter: QPainter, box: QRect, *, is_on: bool) -> None:
    """Draw a box that can be ticked, as check boxes look in this window."""
    painter.setPen(QPen(theme.color("accentFill" if is_on else "line3"), 1))
    painter.setBrush(theme.color("accentFill" if is_on else "canvas"))
    painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    if is_on:
        ratio = painter.device().devicePixelRatioF()
        mark = theme.pixmap("check", "onAccent", box.width() - 4, ratio)
        painter.drawPixmap(box.left() + 2, box.top() + 2, mark)


class CheckBoxDelegate(QStyledItemDelegate):
    """A click on the box, or Space, sets the model's check state, which requests the change."""

    def is_on(self, index: Index) -> bool | None:
        """Whether the row's box is ticked; None for a row without one."""
        raise NotImplementedError

    def box(self, rect: QRect) -> QRect:
        """Return where the box stands in a row, read from left to right."""
        raise NotImplementedError

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        is_on = self.is_on(index)
        if is_on is None:
            return False
        is_toggled = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Space
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton:
            rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
            direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
            box = placed(direction, rect, self.box(rect)).adjusted(-8, -8, 8, 8)
            hit = box.contains(event.position().toPoint())
            if event.type() != QEvent.Type.MouseButtonRelease:
                return hit
            is_toggled = hit
        if not is_toggled:
            return False
        state = Qt.CheckState.Unchecked if is_on else Qt.CheckState.Checked
        return model.setData(index, state, Qt.ItemDataRole.CheckStateRole)
