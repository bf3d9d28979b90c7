"""Draws a changed file, or the head of a group: icon, path, counts, who and when, a mark."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.changes.rows import ChangeRow
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.theme import Theme

_EDGE, _GAP, _ICON, _INDENT = 14, 12, 16, 18


class ChangeDelegate(QStyledItemDelegate):
    """All rows are of one height: a view lays out ten thousand of them without asking each."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        # Files stand a little further in below the head of their group.
        self.is_grouped = False

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, self._theme.size("row2") + 4)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: ChangeRow = index.data(ROW_ROLE)
        with _ChangePainter(self._theme, painter, option) as pen:
            pen.ground()
            self._paint(pen, row)

    def _paint(self, pen: _ChangePainter, row: ChangeRow) -> None:
        theme = self._theme
        indent = _INDENT if self.is_grouped and row.path else 0
        inner = pen.rect.adjusted(_EDGE + indent, 0, -_EDGE, 0)
        size, middle = theme.icon_px(_ICON), inner.center().y()
        left, right = inner.left() + size + _GAP, inner.right()
        upper = QRect(left, inner.top() + 7, max(0, right - left), middle - inner.top() - 5)
        lower = QRect(left, middle + 2, upper.width(), inner.bottom() - middle - 8)
        top = upper.center().y() - size // 2 + 1
        pen.icon(QRect(inner.left(), top, size, size), row.icon, row.token)
        upper.setRight(right - pen.counts(upper, row.added, row.removed))
        if row.path:
            pen.path(upper, row.title)
        else:
            pen.text(upper, row.title, "fg", theme.font("ui", "semibold"))
        small = theme.font("small")
        if row.mark:
            wide = min(QFontMetrics(small).horizontalAdvance(row.mark) + 2, lower.width())
            box = QRect(lower.right() - wide + 1, lower.top(), wide, lower.height())
            pen.text(box, row.mark, row.tone, small)
            lower.setRight(box.left() - _GAP)
        pen.text(lower, row.detail, pen.faint, small)


class _ChangePainter(RowPainter):
    """What only a changed file has."""

    def counts(self, line: QRect, added: int, removed: int) -> int:
        """Draw the counts at the trailing end of a line; return the room they took."""
        font = self._theme.font("small", "medium")  # in which a minus is longer than a hyphen
        right = line.right()
        for sign, count, token in (("−", removed, "delFg"), ("+", added, "addFg")):
            if not count:
                continue
            text = f"{sign}{count:,}"
            wide = QFontMetrics(font).horizontalAdvance(text) + 2
            box = QRect(right - wide, line.top(), wide + 1, line.height())
            self.text(box, text, token, font)
            right -= wide + 8
        return line.right() - right

    def path(self, line: QRect, path: str) -> None:
        """Draw a path, its folder fainter than its name."""
        name = self._theme.font("ui", "medium")
        folder, slash, last = path.rpartition("/")
        wide = QFontMetrics(name).horizontalAdvance(last) + 2
        before = self._advance(folder + slash)
        room = line.width() - wide
        is_mirrored = self._direction == Qt.LayoutDirection.RightToLeft
        if not folder or room < self._advance("…/") or is_mirrored:
            middle = Qt.TextElideMode.ElideMiddle
            self.text(line, path, "fg", name, elide=middle, is_path=True)
            return
        first = QRect(line.left(), line.top(), min(before, room), line.height())
        rest = QRect(first.right() + 1, line.top(), wide + 1, line.height())
        left = Qt.TextElideMode.ElideLeft
        self.text(first, folder + slash, "muted", self._plain, elide=left, is_path=True)
        self.text(rest, last, "fg", name, is_path=True)

    @property
    def _plain(self) -> QFont:
        return self._theme.font("ui")

    def _advance(self, text: str) -> int:
        return QFontMetrics(self._plain).horizontalAdvance(text) + 2
