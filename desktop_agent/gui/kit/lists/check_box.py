"""A box that can be ticked, painted in a row of a list."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QPainter, QPen

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
