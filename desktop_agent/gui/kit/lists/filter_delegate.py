"""Draws the rows of a pick list: headings, one or two lines, a tag, a star, a tick."""

from __future__ import annotations

from typing import Any

import msgspec
from PySide6.QtCore import QRect, QRectF, QSize
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.theme import Theme

_ICON = 16
_PAD = 10
_SOFT = {"warn": "warnSoft", "err": "errSoft", "ok": "okSoft", "accent": "accentSoft"}


class PickRow(msgspec.Struct, frozen=True):
    """One row; a heading can't be picked. `value` is what was picked, `tone` colours the tag."""

    key: str
    title: str
    detail: str = ""
    icon: str = ""
    tag: str = ""
    tone: str = "muted"
    tip: str = ""
    is_heading: bool = False
    is_current: bool = False
    is_favourite: bool = False
    value: Any = None  # whatever the list's owner gave it

    @property
    def spoken(self) -> str:
        return ", ".join(part for part in (self.title, self.detail, self.tag) if part)


class FilterDelegate(QStyledItemDelegate):
    """Reads a row's `title`, `detail`, `icon`, `tag`, `tone` and its `is_…` marks."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row = index.data(ROW_ROLE)
        name = "section_row" if row.is_heading else "row2" if row.detail else "row"
        return QSize(120, self._theme.size(name))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(ROW_ROLE)
        with _FilterPainter(self._theme, painter, option) as pen:
            if row.is_heading:
                box = pen.rect.adjusted(_PAD, 6, -_PAD, 0)
                pen.text(box, row.title, "subtle", self._theme.font("caption", "semibold"))
            else:
                self._paint_row(pen, row)

    def _paint_row(self, pen: _FilterPainter, row: PickRow) -> None:
        theme = self._theme
        pen.ground()
        inner = pen.rect.adjusted(_PAD, 0, -_PAD, 0)
        left = inner.left()
        if row.icon:
            token = "accent" if row.is_current else "muted"
            pen.mark(left, row.icon, token)
            left += pen.icon_px + _PAD
        right = self._paint_trailing(pen, row, inner.right())
        words = QRect(left, inner.top(), max(0, right - left), inner.height())
        font = theme.font("ui", "semibold" if row.is_current else "medium")
        if not row.detail:
            pen.text(words, row.title, "fg", font)
            return
        middle = words.center().y()
        upper = QRect(left, inner.top() + 6, words.width(), middle - inner.top() - 5)
        lower = QRect(left, middle + 1, words.width(), inner.bottom() - middle - 6)
        pen.text(upper, row.title, "fg", font)
        pen.text(lower, row.detail, pen.faint, theme.font("caption"))

    def _paint_trailing(self, pen: _FilterPainter, row: PickRow, right: int) -> int:
        """Draw what stands at the trailing end; return where the words must stop."""
        if row.is_current:
            pen.mark(right - pen.icon_px, "check", "accent")
            right -= pen.icon_px + 8
        if row.is_favourite:
            pen.mark(right - pen.icon_px, "star", "warn")
            right -= pen.icon_px + 8
        if row.tag:
            right -= pen.tag(right, row.tag, row.tone) + 8
        return right


class _FilterPainter(RowPainter):
    """What only a picked row has."""

    def __init__(self, theme: Theme, painter: QPainter, option: QStyleOptionViewItem) -> None:
        super().__init__(theme, painter, option)
        self.icon_px = theme.icon_px(_ICON)

    def mark(self, left: int, name: str, token: str) -> None:
        """Draw an icon in the middle of the row's height."""
        size = self.icon_px
        self.icon(QRect(left, self.rect.center().y() - size // 2 + 1, size, size), name, token)

    def tag(self, right: int, text: str, tone: str) -> int:
        """Draw a word that ends at `right`, on a soft ground if its tone has one."""
        font = self._theme.font("caption", "medium")
        metrics = QFontMetrics(font)
        width, soft = metrics.horizontalAdvance(text), _SOFT.get(tone)
        if soft is None:
            box = QRect(right - width - 1, self.rect.top(), width + 2, self.rect.height())
            self.text(box, text, self.faint if tone == "muted" else tone, font)
            return width
        wide, high = width + 14, metrics.height() + 4
        box = QRect(right - wide, self.rect.center().y() - high // 2, wide, high)
        self._round(QRectF(self.mirrored(box)), high / 2, soft)
        self.text(box.adjusted(7, 0, -6, 0), text, tone, font)
        return wide
