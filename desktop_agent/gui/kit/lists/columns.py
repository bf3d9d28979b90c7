"""How the panel of subagents shares its height: what scrolls, and what stays in its place."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QWidget

# As high as a widget can be.
NO_LIMIT = 16_777_215


class ScrolledColumn(QWidget):
    """Is as high as it has to be: the tree inside scrolls before the panel does."""

    def heightForWidth(self, width: int) -> int:
        """Return the least height, not the one in which every row can be seen."""
        layout = self.layout()
        return -1 if layout is None else layout.minimumHeightForWidth(width)


class CardPlace(QWidget):
    """Where the card is: what stands above keeps its height while the mouse aims at it."""

    def __init__(self, above: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._above = above

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._above.setFixedHeight(self._above.height())
        self.setMinimumHeight(self.height())

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._above.setMinimumHeight(0)
        self._above.setMaximumHeight(NO_LIMIT)
        self.setMinimumHeight(0)
