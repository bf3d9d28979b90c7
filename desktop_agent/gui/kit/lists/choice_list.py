"""A list view to choose from and to take things off; and names of rows changed in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QRect,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QLineEdit,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.gui.kit.fields.input_methods import EnterLine
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index
from desktop_agent.gui.kit.safe_text import utf16_length
from desktop_agent.gui.kit.widgets import named


class ChoiceList(KeyboardFocus, QListView):
    """A list that is chosen from by mouse or keyboard.

    Signals:
        chosen(QModelIndex): a click or Enter
        delete_pressed(QModelIndex): Del
        turned(QModelIndex, bool): Right and Left, which open and close a group
        left: the mouse left the list
        typed(str): a character, where the list `passes_text` on instead of going by it
    """

    passes_text = False

    chosen = Signal(QModelIndex)
    delete_pressed = Signal(QModelIndex)
    turned = Signal(QModelIndex, bool)
    left = Signal()
    typed = Signal(str)

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
        elif self.passes_text and _is_text(event):
            self.typed.emit(event.text())
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right) and index.isValid():
            is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
            self.turned.emit(index, (event.key() == Qt.Key.Key_Right) is not is_mirrored)
        else:
            super().keyPressEvent(event)

    def rowsAboutToBeRemoved(self, parent: Index, start: int, end: int) -> None:
        """Give the keys to what takes the place of their row, where Qt takes the one above."""
        super().rowsAboutToBeRemoved(parent, start, end)
        if not start <= self.currentIndex().row() <= end:
            return
        model = self.model()
        above = [model.index(row, 0) for row in range(start)]
        follower = model.index(end + 1, 0)
        for index in (follower, *reversed(above)):
            if index.flags() & Qt.ItemFlag.ItemIsSelectable:
                flag = QItemSelectionModel.SelectionFlag.NoUpdate
                self.selectionModel().setCurrentIndex(index, flag)
                return

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.left.emit()


def _is_text(event: QKeyEvent) -> bool:
    control = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.MetaModifier
    text = event.text()
    return text.isprintable() and bool(text.strip()) and not event.modifiers() & control


class RenamingDelegate(QStyledItemDelegate):
    """Never writes into the model: the new name comes back with the next snapshot.

    `said_name` is what a screen reader says of the field, `title_of` returns a row's name, or
    nothing when it has none to change. `field_name` is the field's object name, `longest` how
    much it takes, `room` the distances of the field from the row's ends.

    Signals:
        titled: a row and its new name.
    """

    titled = Signal(object, str)
    field_name = ""
    longest = 200
    room = (4, 4)

    # Any: what a row is, only `title_of` knows.
    def __init__(self, said_name: str, title_of: Callable[[Any], str], parent: QWidget) -> None:
        super().__init__(parent)
        self._said_name = said_name
        self._title_of = title_of

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        field = named(EnterLine(parent), self.field_name, self._said_name)
        field.setMaxLength(self.longest)
        return field

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        rect: QRect = option.rect
        editor.setGeometry(rect.adjusted(self.room[0], 0, -self.room[1], 0))

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        title = self._title_of(index.data(ROW_ROLE))
        if isinstance(editor, QLineEdit) and title and not editor.text():
            # A name that is longer already is shown whole: what was cut would be the new name.
            editor.setMaxLength(max(self.longest, utf16_length(title)))
            editor.setText(title)
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        row = index.data(ROW_ROLE)
        title = editor.text().strip() if isinstance(editor, QLineEdit) else ""
        if title and title != self._title_of(row) != "":
            self.titled.emit(row, title)
