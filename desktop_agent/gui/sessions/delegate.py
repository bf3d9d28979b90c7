"""Draws the rows of the list of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from desktop_agent.gui.kit.lists.choice_list import RenamingDelegate
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.sessions.rows import SessionRow

if TYPE_CHECKING:
    from desktop_agent.gui.kit.lists.row_painter import RowPainter

_ICONS = {
    "needs_you": ("circle-alert", "warn"),
    "paused": ("circle-pause", "muted"),
    "failed": ("circle-x", "err"),
    "interrupted": ("circle-pause", "warn"),
    "idle": ("message-square", "subtle"),
}
_ICON_PX = 14


class SessionDelegate(RenamingDelegate):
    """Draws sessions, and the headings of their groups."""

    field_name = "renameSession"

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        name = QCoreApplication.translate("SessionDelegate", "Session name")
        super().__init__(name, _title_of, parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row: SessionRow = index.data(ROW_ROLE)
        height = self._theme.size("section_row" if row.is_heading else "session_row")
        if row.hit is not None:
            height += QFontMetrics(self._theme.font("caption")).height()
        return QSize(80, height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        # It brings QStyle: not before there is a row.
        from desktop_agent.gui.kit.lists.row_painter import RowPainter

        row: SessionRow = index.data(ROW_ROLE)
        with RowPainter(self._theme, painter, option) as pen:
            inner = pen.rect.adjusted(14, 0, -12, 0)
            if row.is_heading:
                self._paint_heading(pen, inner.adjusted(-2, 6, 0, 0), row)
            else:
                pen.ground()
                pen.cursor()
                self._paint_row(pen, inner, row)

    def _paint_row(self, pen: RowPainter, inner: QRect, row: SessionRow) -> None:
        if row.hit is None:
            self._paint_session(pen, inner, row)
            return
        font = self._theme.font("caption")
        low = QFontMetrics(font).height() + 3
        self._paint_session(pen, inner.adjusted(0, 2, 0, -low), row)
        start = self._theme.icon_px(_ICON_PX) + 8
        line = QRect(inner.left() + start, inner.bottom() - low - 2, inner.width() - start, low)
        pen.marked_text(line, row.hit.line, row.hit.marks, pen.faint, font)

    def _paint_heading(self, pen: RowPainter, inner: QRect, row: SessionRow) -> None:
        font, small = self._theme.font("caption", "semibold"), self._theme.font("caption")
        if row.fold is not None:
            pen.cursor()
            size = self._theme.icon_px(12)
            arrow = QRect(inner.left(), inner.center().y() - size // 2, size, size)
            pen.icon(arrow, "chevron-down" if row.is_open else "chevron-right", "subtle")
            inner = inner.adjusted(size + 6, 0, 0, 0)
        wide = QFontMetrics(small).horizontalAdvance(row.note) + 2 if row.note else 0
        pen.text(inner.adjusted(0, 0, -wide - 8, 0), row.title, "subtle", font)
        trailing = QRect(inner.right() - wide, inner.top(), wide + 1, inner.height())
        pen.text(trailing, row.note, "subtle", small, side=Qt.AlignmentFlag.AlignRight)

    def _paint_session(self, pen: RowPainter, inner: QRect, row: SessionRow) -> None:
        theme, size = self._theme, self._theme.icon_px(_ICON_PX)
        icon = QRect(inner.left(), inner.center().y() - size // 2 + 1, size, size)
        self._paint_state(pen, icon, row)
        small = theme.font("caption")
        age_width = QFontMetrics(small).horizontalAdvance(row.age) + 2
        title = inner.adjusted(size + 8, 0, -age_width - 8, 0)
        if row.is_ambiguous:
            title = self._paint_folder(pen, title, row.folder)
        is_strong = pen.is_selected or row.is_bold
        token = "fg" if is_strong or row.state == "running" else "muted"
        pen.text(title, row.title, token, theme.font("ui", "medium" if is_strong else "regular"))
        age = QRect(inner.right() - age_width, inner.top(), age_width + 1, inner.height())
        pen.text(age, row.age, pen.faint, small, side=Qt.AlignmentFlag.AlignRight)

    def _paint_folder(self, pen: RowPainter, room: QRect, folder: str) -> QRect:
        """Draw the folder at the trailing end; return what is left for the title."""
        small = self._theme.font("caption")
        wide = min(QFontMetrics(small).horizontalAdvance(folder) + 2, room.width() // 2)
        trailing = QRect(room.right() - wide, room.top(), wide + 1, room.height())
        pen.text(trailing, folder, pen.faint, small, side=Qt.AlignmentFlag.AlignRight)
        return room.adjusted(0, 0, -wide - 8, 0)

    def _paint_state(self, pen: RowPainter, icon: QRect, row: SessionRow) -> None:
        theme = self._theme
        box = QRectF(pen.mirrored(icon))
        if row.state == "running":
            ring = box.adjusted(-1, -1, 1, 1)
            colors = theme.color("accent"), theme.color("line2")
            paint_spinner(pen.painter, ring, theme.pulse, *colors)
        elif row.state == "unread":
            pen.dot(icon, "accent")
        elif row.is_deleted:
            pen.icon(icon, "trash-2", "subtle")
        elif row.is_elsewhere and row.state == "idle":
            pen.icon(icon, "app-window", "subtle")
        else:
            pen.icon(icon, *_ICONS[row.state])


def _title_of(row: SessionRow) -> str:
    """Return a session's title; that of a heading, or of a deleted one, can't be changed."""
    return row.title if row.session_id and not row.is_deleted else ""
