"""A list view to choose from and to take things off: sessions, recent folders."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListView, QWidget


class ChoiceList(QListView):
    """A list that is chosen from by mouse or keyboard.

    Signals:
        chosen(QModelIndex): a click or Enter
        delete_pressed(QModelIndex): Del
        left: the mouse left the list
    """

    chosen = Signal(QModelIndex)
    delete_pressed = Signal(QModelIndex)
    left = Signal()

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.clicked.connect(self.chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and index.isValid():
            self.chosen.emit(index)
        elif event.key() == Qt.Key.Key_Delete and index.isValid():
            self.delete_pressed.emit(index)
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.left.emit()
