"""Draws a row of two lines with an icon, a trailing word, and a tick for the chosen one."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.theme import Theme

_ICON_PX = 16


class TwoLineDelegate(QStyledItemDelegate):
    """Rows have `title`, `detail`, `icon`, `tag` and `is_current`."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @property
    def _icon_px(self) -> int:
        return self._theme.icon_px(_ICON_PX)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, self._theme.size("row2"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one = index.data(ROW_ROLE)
        with RowPainter(self._theme, painter, option) as pen:
            pen.ground()
            inner = pen.rect.adjusted(10, 0, -10, 0)
            token = "accent" if one.is_current else "muted"
            pen.icon(self._square(inner, inner.left()), one.icon, token)
            trailing = self._paint_trailing(pen, inner, one)
            self._paint_text(pen, inner.adjusted(self._icon_px + 10, 0, -trailing - 8, 0), one)

    def _paint_text(self, pen: RowPainter, words: QRect, one: Any) -> None:
        theme, middle, rect = self._theme, words.center().y(), pen.rect
        upper = QRect(words.left(), rect.top() + 6, words.width(), middle - rect.top() - 5)
        lower = QRect(words.left(), middle + 1, words.width(), rect.bottom() - middle - 6)
        token = "subtle" if one.icon == "folder-x" else "fg"
        font = theme.font("ui", "medium")
        pen.text(upper, one.title, token, font, is_path="/" in one.title)
        elide = Qt.TextElideMode.ElideMiddle
        small = theme.font("caption")
        pen.text(lower, one.detail, pen.faint, small, elide=elide, is_path="/" in one.detail)

    def _square(self, inner: QRect, left: int) -> QRect:
        size = self._icon_px
        return QRect(left, inner.center().y() - size // 2, size, size)

    def _paint_trailing(self, pen: RowPainter, inner: QRect, one: Any) -> int:
        """Draw the tag or the tick at the trailing end; return the room it took."""
        tag: str = getattr(one, "tag", "")
        if not tag:
            if not one.is_current:
                return 0
            pen.icon(self._square(inner, inner.right() - self._icon_px), "check", "accent")
            return self._icon_px
        font = self._theme.font("caption")
        width = QFontMetrics(font).horizontalAdvance(tag) + 2
        box = QRect(inner.right() - width, inner.top(), width + 1, inner.height())
        pen.text(box, tag, "muted", font)
        return width
