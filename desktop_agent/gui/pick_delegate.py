"""Draws the rows of a pick list: headings, one or two lines, a tag, a star, a tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.models.snapshot_list import ROW_ROLE
from desktop_agent.gui.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
_ICON = 16
_PAD = 10
_SOFT = {"warn": "warnSoft", "err": "errSoft", "ok": "okSoft", "accent": "accentSoft"}


@dataclass(frozen=True, slots=True)
class PickRow:
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
    value: Any = None

    @property
    def spoken(self) -> str:
        """The row as a screen reader says it."""
        return ", ".join(part for part in (self.title, self.detail, self.tag) if part)


class PickDelegate(QStyledItemDelegate):
    """Reads a row's `title`, `detail`, `icon`, `tag`, `tone` and its `is_…` marks."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Headings, one line, or two lines."""
        row = index.data(ROW_ROLE)
        name = "section_row" if row.is_heading else "row2" if row.detail else "row"
        return QSize(120, self._theme.size(name))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw the row, mirrored where the window is."""
        row = index.data(ROW_ROLE)
        pen = _Pen(self._theme, painter, option)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.is_heading:
            box = pen.rect.adjusted(_PAD, 6, -_PAD, 0)
            pen.text(box, row.title, "subtle", self._theme.font("caption", "semibold"))
        else:
            self._paint_row(pen, row)
        painter.restore()

    def _paint_row(self, pen: _Pen, row: PickRow) -> None:
        theme = self._theme
        pen.ground()
        inner = pen.rect.adjusted(_PAD, 0, -_PAD, 0)
        left = inner.left()
        if row.icon:
            token = "accent" if row.is_current else "muted"
            pen.icon(left, row.icon, token)
            left += pen.icon_px + _PAD
        right = self._paint_far(pen, row, inner.right())
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

    def _paint_far(self, pen: _Pen, row: PickRow, right: int) -> int:
        """Draw what stands at the far end; return where the words must stop."""
        if row.is_current:
            pen.icon(right - pen.icon_px, "check", "accent")
            right -= pen.icon_px + 8
        if row.is_favourite:
            pen.icon(right - pen.icon_px, "star", "warn")
            right -= pen.icon_px + 8
        if row.tag:
            right -= pen.tag(right, row.tag, row.tone) + 8
        return right


class _Pen:
    """Painting in one row, mirrored when the row is."""

    def __init__(self, theme: Theme, painter: QPainter, option: QStyleOptionViewItem) -> None:
        self._theme = theme
        self._painter = painter
        self.icon_px = theme.icon_px(_ICON)
        self.rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        self._direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        self._is_selected = bool(state & QStyle.StateFlag.State_Selected)
        self._is_hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        # `subtle` has too little contrast on a selected row.
        self.faint = "muted" if self._is_selected else "subtle"

    def ground(self) -> None:
        """Mark the row that is picked by Enter, or lies under the mouse."""
        if self._is_selected or self._is_hovered:
            self._painter.setPen(Qt.PenStyle.NoPen)
            self._painter.setBrush(self._theme.color("active" if self._is_selected else "hover"))
            self._painter.drawRoundedRect(QRectF(self.rect).adjusted(2, 1, -2, -1), 6, 6)

    def icon(self, left: int, name: str, token: str) -> None:
        """Draw an icon in the middle of the row's height."""
        size = self.icon_px
        box = QRect(left, self.rect.center().y() - size // 2 + 1, size, size)
        ratio = self._painter.device().devicePixelRatioF()
        pixmap = self._theme.pixmap(name, token, size, ratio)
        self._painter.drawPixmap(self._mirror(box).topLeft(), pixmap)

    def tag(self, right: int, text: str, tone: str) -> int:
        """Draw a word that ends at `right`, on a soft ground if its tone has one."""
        font = self._theme.font("caption", "medium")
        width = QFontMetrics(font).horizontalAdvance(text)
        soft = _SOFT.get(tone)
        if soft is None:
            box = QRect(right - width - 1, self.rect.top(), width + 2, self.rect.height())
            self.text(box, text, self.faint if tone == "muted" else tone, font)
            return width
        wide = width + 14
        box = QRect(right - wide, self.rect.center().y() - 9, wide, 19)
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(self._theme.color(soft))
        self._painter.drawRoundedRect(QRectF(self._mirror(box)), 9, 9)
        self.text(box.adjusted(7, 0, -6, 0), text, tone, font)
        return wide

    def text(self, box: QRect, text: str, token: str, font: QFont) -> None:
        """Draw one line, shortened to the box."""
        painter = self._painter
        painter.setFont(font)
        painter.setPen(self._theme.color(token))
        near = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        aligned = QStyle.visualAlignment(self._direction, near) | Qt.AlignmentFlag.AlignAbsolute
        elide = Qt.TextElideMode.ElideRight
        shown = painter.fontMetrics().elidedText(text, elide, box.width())
        painter.drawText(self._mirror(box), int(aligned), shown)

    def _mirror(self, box: QRect) -> QRect:
        return QStyle.visualRect(self._direction, self.rect, box)
