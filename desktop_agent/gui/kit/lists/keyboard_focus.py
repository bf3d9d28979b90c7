"""Whether a view has its focus by the keyboard: only then a ring says where keys go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView

if TYPE_CHECKING:
    _View = QAbstractItemView
else:
    _View = object

_BY_KEYS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


class KeyboardFocus(_View):
    """Comes before the view's own class. The ring is around a row: see `RowPainter`."""

    is_by_keys = False

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        reason = event.reason()
        if reason in _BY_KEYS:
            self.set_by_keys(is_by_keys=True)
            if not self.currentIndex().isValid():
                first = self.model().index(0, 0)
                flag = QItemSelectionModel.SelectionFlag.NoUpdate
                self.selectionModel().setCurrentIndex(first, flag)
        elif reason == Qt.FocusReason.MouseFocusReason:
            self.set_by_keys(is_by_keys=False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self.set_by_keys(is_by_keys=True)
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.set_by_keys(is_by_keys=False)
        super().mousePressEvent(event)

    def set_by_keys(self, *, is_by_keys: bool) -> None:
        """Show the ring or not; a view that draws its rows otherwise says how."""
        if is_by_keys != self.is_by_keys:
            self.is_by_keys = is_by_keys
            self.update(self.currentIndex())
