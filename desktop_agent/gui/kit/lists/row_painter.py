"""Painting in one row of a list: grounds, icons and lines of text, mirrored when the row is."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPen,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.rtl import placed
from desktop_agent.gui.kit.safe_text import clean, utf16_length
from desktop_agent.gui.kit.theme import Theme

_Align = Qt.AlignmentFlag


class RowPainter:
    """Boxes are given as in a window that reads from left to right.

    Used in a `with`: the painter is afterwards as it was before.
    """

    def __init__(self, theme: Theme, painter: QPainter, option: QStyleOptionViewItem) -> None:
        self._theme = theme
        self.painter = painter
        self.rect: QRect = option.rect
        self._direction: Qt.LayoutDirection = option.direction
        state: QStyle.StateFlag = option.state
        self.is_selected = bool(state & QStyle.StateFlag.State_Selected)
        view = option.widget
        is_by_keys = view.is_by_keys if isinstance(view, KeyboardFocus) else True
        self._has_cursor = is_by_keys and bool(state & QStyle.StateFlag.State_HasFocus)
        self._is_hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        # `subtle` has too little contrast on a selected row.
        self.faint = "muted" if self.is_selected else "subtle"

    def __enter__(self) -> Self:
        self.painter.save()
        self.painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self.painter.restore()

    def mirrored(self, box: QRect) -> QRect:
        """Return where a box is on the screen."""
        return placed(self._direction, self.rect, box)

    def ground(self, inset: int = 2) -> None:
        """Mark the selected row, the one under the mouse, and the one that keys are for."""
        if self.is_selected or self._is_hovered:
            token = "active" if self.is_selected else "hover"
            self._round(QRectF(self.rect).adjusted(inset, 1, -inset, -1), 6, token)
        self.cursor(inset)

    def cursor(self, inset: int = 2) -> None:
        """Mark the row that keys are for, once, while the keyboard is used."""
        if self._has_cursor:
            self._has_cursor = False
            ring(self.painter, self.rect, self._theme.color("accent"), inset)

    def icon(self, box: QRect, name: str, token: str) -> None:
        ratio = self.painter.device().devicePixelRatioF()
        pixmap = self._theme.pixmap(name, token, box.width(), ratio)
        self.painter.drawPixmap(self.mirrored(box).topLeft(), pixmap)

    def text(
        self,
        box: QRect,
        text: str,
        token: str,
        font: QFont,
        *,
        side: _Align = _Align.AlignLeft,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        is_path: bool = False,
    ) -> None:
        painter = self.painter
        painter.setFont(font)
        painter.setPen(self._theme.color(token))
        if self._direction == Qt.LayoutDirection.RightToLeft:
            side ^= _Align.AlignLeft | _Align.AlignRight
        flags = side | _Align.AlignVCenter | _Align.AlignAbsolute
        shown = painter.fontMetrics().elidedText(clean(text), elide, box.width())
        # Isolated, and a path is always left to right: else a mirrored window scrambles it.
        start = "\u2066" if is_path else "\u2068"
        painter.drawText(self.mirrored(box), int(flags), f"{start}{shown}\u2069")

    def marked_text(
        self,
        box: QRect,
        text: str,
        marks: Sequence[tuple[int, int]],
        token: str,
        font: QFont,
    ) -> None:
        """Draw one line of text with pieces of it in another colour; cut at the box's end."""
        look = QTextCharFormat()
        look.setForeground(self._theme.color("fg"))
        look.setFontWeight(QFont.Weight.DemiBold)
        ranges: list[QTextLayout.FormatRange] = []
        shown, done = "", 0
        for first, last in marks:
            shown += _one_line(text[done:first])
            piece, done = _one_line(text[first:last]), last
            one = QTextLayout.FormatRange()
            one.start, one.length = utf16_length(shown), utf16_length(piece)
            one.format = look
            ranges.append(one)
            shown += piece
        layout = QTextLayout(shown + _one_line(text[done:]), font)
        layout.setFormats(ranges)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        layout.setTextOption(option)
        layout.beginLayout()
        line = layout.createLine()
        line.setLineWidth(box.width())
        layout.endLayout()
        where = self.mirrored(box)
        self.painter.setPen(self._theme.color(token))
        self.painter.setClipRect(where)
        layout.draw(self.painter, QPointF(where.topLeft()))
        self.painter.setClipping(False)

    def dot(self, box: QRect, token: str, *, is_filled: bool = True) -> None:
        """Draw a small round mark in the midst of a box."""
        radius = self._theme.icon_px(7 if is_filled else 6) / 2
        colour, none = self._theme.color(token), Qt.PenStyle.NoPen
        self.painter.setPen(none if is_filled else QPen(colour, 1.5))
        self.painter.setBrush(colour if is_filled else Qt.BrushStyle.NoBrush)
        self.painter.drawEllipse(QRectF(self.mirrored(box)).center(), radius, radius)

    def chip(self, line: QRect, text: str, most: int, tone: str = "") -> int:
        """Draw a word on a round ground at the trailing end of a line; return the room it took.

        `tone` is empty, `ok`, `warn`, `err` or `accent`.
        """
        font = self._theme.font("caption", "medium")
        metrics = QFontMetrics(font)
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, most)
        width, height = metrics.horizontalAdvance(text) + 18, metrics.height() + 3
        top = line.center().y() - height // 2 + 1
        box = QRect(line.right() - width + 1, top, width, height)
        token = "raised" if self.is_selected else "line"
        self._round(QRectF(self.mirrored(box)), height / 2, f"{tone}Soft" if tone else token)
        self.text(box.adjusted(8, 0, -8, 0), text, tone or "muted", font)
        return width

    def divide(self) -> None:
        """Draw the line between this row and the next."""
        self.painter.setPen(QPen(self._theme.color("line"), 1))
        y = self.rect.bottom() + 0.5
        self.painter.drawLine(QPointF(self.rect.left(), y), QPointF(self.rect.right() + 1, y))

    def button(self, box: QRect, text: str) -> None:
        """Draw a button as the window's own look, without any state."""
        self.painter.setPen(QPen(self._theme.color("line2"), 1))
        self.painter.setBrush(self._theme.color("raised"))
        edge = QRectF(self.mirrored(box)).adjusted(0.5, 0.5, -0.5, -0.5)
        self.painter.drawRoundedRect(edge, 6, 6)
        font = self._theme.font("ui", "medium")
        self.text(box, text, "fg", font, side=_Align.AlignHCenter)

    def _round(self, box: QRectF, radius: float, token: str) -> None:
        self.painter.setPen(Qt.PenStyle.NoPen)
        self.painter.setBrush(self._theme.color(token))
        self.painter.drawRoundedRect(box, radius, radius)


def _one_line(text: str) -> str:
    return clean("".join(" " if char.isspace() else char for char in text))


def ring(painter: QPainter, row: QRect, colour: QColor, inset: int = 2) -> None:
    """Draw what marks the row that keys are for."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(QRectF(row).adjusted(inset + 1, 2, -inset - 1, -2), 6, 6)
