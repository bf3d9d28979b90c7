"""A table that rings where keys go: the row where rows are selected, else the cell."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QTableView

from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.row_painter import ring

_Place = QModelIndex | QPersistentModelIndex


class RingedTable(KeyboardFocus, QTableView):
    """Its ring is there for the keyboard alone."""

    def set_by_keys(self, *, is_by_keys: bool) -> None:
        super().set_by_keys(is_by_keys=is_by_keys)
        self.viewport().update()

    def currentChanged(self, current: _Place, previous: _Place) -> None:
        super().currentChanged(current, previous)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        index = self.currentIndex()
        if not (self.is_by_keys and self.hasFocus() and index.isValid()):
            return
        box = self.visualRect(index)
        if self.selectionBehavior() == QTableView.SelectionBehavior.SelectRows:
            box.setLeft(0)
            box.setRight(self.viewport().width() - 1)
        painter = QPainter(self.viewport())
        ring(painter, box, self.palette().color(QPalette.ColorRole.Link), 0)
        painter.end()
