"""The mark of how a server stands, beside the words that say so."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.theme import Theme

_SIZE = 12


def paint_mark(theme: Theme, pen: RowPainter, mark: str, line: QRect, token: str) -> int:
    """Draw a mark at the leading end of a line; return the room it took."""
    size = theme.icon_px(_SIZE)
    box = QRect(line.left(), line.center().y() - size // 2 + 1, size, size)
    if mark in ("dot", "ring"):
        pen.dot(box, token, is_filled=mark == "dot")
    else:
        pen.icon(box, mark, token)
    return size + 5


class StateMark(QWidget):
    """Says nothing to assistive technology: the words beside it do."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._mark = self._token = ""
        theme.changed.connect(self._fit)
        self._fit()

    def show_mark(self, mark: str, token: str) -> None:
        """Show this one."""
        self._mark, self._token = mark, token
        self.update()

    def _fit(self) -> None:
        self.setFixedSize(self._theme.icon_px(_SIZE), self.fontMetrics().height())
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionViewItem()
        option.initFrom(self)
        with RowPainter(self._theme, QPainter(self), option) as pen:
            if self._mark:
                paint_mark(self._theme, pen, self._mark, pen.rect, self._token)
