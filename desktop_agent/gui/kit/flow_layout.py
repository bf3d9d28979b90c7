"""A layout that wraps its widgets onto as many lines as they need."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

from desktop_agent.gui.kit.rtl import placed


class FlowLayout(QLayout):
    """Left to right (or right to left), then down.

    With `is_last_trailing`, the last widget stands at the trailing end of its line.
    """

    def __init__(
        self, parent: QWidget | None = None, spacing: int = 6, *, is_last_trailing: bool = False
    ) -> None:
        super().__init__(parent)
        self._is_last_trailing = is_last_trailing
        self._places: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        self._places.append(item)

    def count(self) -> int:
        return len(self._places)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._places[index] if 0 <= index < len(self._places) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._places.pop(index) if 0 <= index < len(self._places) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), dry=True)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, dry=False)

    def sizeHint(self) -> QSize:
        """One line, if it can be had."""
        hints = [item.sizeHint() for item in self._places if not item.isEmpty()]
        width = sum(hint.width() + self.spacing() for hint in hints)
        return QSize(width, max((hint.height() for hint in hints), default=0))

    def minimumSize(self) -> QSize:
        """The widest item alone."""
        sizes = [item.minimumSize() for item in self._places]
        width = max((size.width() for size in sizes), default=0)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def _place(self, rect: QRect, *, dry: bool) -> int:
        x, y, line = rect.x(), rect.y(), 0
        parent = self.parentWidget()
        direction = parent.layoutDirection() if parent else Qt.LayoutDirection.LeftToRight
        for item in self._places:
            if item.isEmpty():
                continue
            size = item.sizeHint().boundedTo(QSize(max(rect.width(), 1), 10_000))
            if x > rect.x() and x + size.width() > rect.right() + 1:
                x, y, line = rect.x(), y + line + self.spacing(), 0
            if self._is_last_trailing and item is self._places[-1]:
                x = max(x, rect.right() + 1 - size.width())
            if not dry:
                place = QRect(QPoint(x, y), size)
                item.setGeometry(placed(direction, rect, place))
            x, line = x + size.width() + self.spacing(), max(line, size.height())
        return y + line - rect.y()
