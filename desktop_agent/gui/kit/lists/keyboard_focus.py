"""Whether a view has its focus by the keyboard: only then a ring says where keys go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QAbstractScrollArea, QScrollArea, QWidget

from desktop_agent.gui.kit.widgets import restyle

if TYPE_CHECKING:
    _View = QAbstractItemView
    _Area = QAbstractScrollArea
    _Widget = QWidget
else:
    _View = _Area = _Widget = object

_BY_KEYS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


def by_keyboard(reason: Qt.FocusReason, *, before: bool) -> bool:
    """Whether a ring is to be drawn; who comes back to the window finds it as it was `before`."""
    return reason in _BY_KEYS or (before and reason != Qt.FocusReason.MouseFocusReason)


class PaintsRing(_Widget):
    """Paints its ring itself, where `is_ringed`. Comes before its own class."""

    is_by_keys = False

    @property
    def is_ringed(self) -> bool:
        return self.is_by_keys and self.hasFocus()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.set_by_keys(is_by_keys=by_keyboard(event.reason(), before=self.is_by_keys))
        self._paint_again()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._paint_again()

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
            self._paint_again()

    def _paint_again(self) -> None:
        self.update()


class KeyboardFocus(PaintsRing, _View):
    """Comes before the view's own class. The ring is around a row: see `RowPainter`."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in _BY_KEYS and not self.currentIndex().isValid():
            first = self.model().index(0, 0)
            flag = QItemSelectionModel.SelectionFlag.NoUpdate
            self.selectionModel().setCurrentIndex(first, flag)

    def _paint_again(self) -> None:
        self.update(self.currentIndex())


class KeyboardRing(_Area):
    """A text or a picture that keys scroll, ringed as a whole. Comes before its own class."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_ring(is_shown=by_keyboard(event.reason(), before=bool(self.property("ring"))))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._show_ring(is_shown=False)
        super().mousePressEvent(event)

    def _show_ring(self, *, is_shown: bool) -> None:
        if bool(self.property("ring")) != is_shown:
            self.setProperty("ring", is_shown)
            restyle(self)


class RingedArea(KeyboardRing, QScrollArea):
    """An area that keys scroll."""
