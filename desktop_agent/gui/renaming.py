"""Renaming a row of a list in place: a field over the row, and a wish when it is done."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, QRect
from PySide6.QtWidgets import QLineEdit, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.gui.models.snapshot_list import ROW_ROLE

_Index = QModelIndex | QPersistentModelIndex


class RenamingDelegate(QStyledItemDelegate):
    """Never writes into the model: the new name comes back with the next snapshot.

    `field_name` is the field's object name, `longest` how much it takes, `room` the distances
    of the field from the row's ends.
    """

    field_name = ""
    longest = 200
    room = (4, 4)

    def said_name(self) -> str:
        """Return what a screen reader says of the field."""
        raise NotImplementedError

    def title_of(self, row: Any) -> str:
        """Return a row's name; empty when it has none to change."""
        raise NotImplementedError

    def tell(self, row: Any, title: str) -> None:
        """Pass a new name on."""
        raise NotImplementedError

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        """Return a field over the row."""
        field = QLineEdit(parent)
        field.setObjectName(self.field_name)
        field.setAccessibleName(self.said_name())
        field.setMaxLength(self.longest)
        return field

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: _Index
    ) -> None:
        """Fill the row."""
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        editor.setGeometry(rect.adjusted(self.room[0], 0, -self.room[1], 0))

    def setEditorData(self, editor: QWidget, index: _Index) -> None:
        """Start with the present name, all of it selected."""
        title = self.title_of(index.data(ROW_ROLE))
        if isinstance(editor, QLineEdit) and title and not editor.text():
            editor.setText(title)
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: _Index) -> None:
        """Tell of the new name, if it is one."""
        row = index.data(ROW_ROLE)
        title = editor.text().strip() if isinstance(editor, QLineEdit) else ""
        if title and title != self.title_of(row) != "":
            self.tell(row, title)
