"""The list that opens behind an `@`; the text keeps the focus."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel

_ROWS = 8
_WIDTH = 420


class FilePopup(QFrame):
    """Floats over the window above the text. `chosen` carries a path relative to the folder."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._theme = theme
        self._anchor = anchor
        self.setObjectName("filePopup")
        self.setProperty("frame", "popover")
        self.setAccessibleName(self.tr("Files that match"))
        self.list = QListWidget(self)
        self.list.setObjectName("fileList")
        self.list.setAccessibleName(self.tr("Files that match"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Paths read from left to right in every language.
        self.list.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.list.itemClicked.connect(lambda item: self.chosen.emit(item.text()))
        self.list.currentTextChanged.connect(self._announce)
        self._empty = TextLabel(self.tr("No file matches"), "subtle")
        self._empty.setContentsMargins(8, 4, 8, 4)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 4, 4, 4)
        layout.addWidget(self.list)
        layout.addWidget(self._empty)
        self.hide()

    def name_list(self, name: str, empty: str) -> None:
        """Say what is listed, and what is said when nothing is."""
        self.setAccessibleName(name)
        self.list.setAccessibleName(name)
        self._empty.setText(empty)

    def show_paths(self, paths: tuple[str, ...]) -> None:
        """Show the paths above the anchor, the first one current."""
        size = self._theme.icon_px(14)
        self.list.setIconSize(QSize(size, size))
        folder, file = (self._theme.icon(name, "subtle", size) for name in ("folder", "file-text"))
        self.show_items(
            [QListWidgetItem(folder if path.endswith("/") else file, path) for path in paths]
        )

    def show_items(self, items: Sequence[QListWidgetItem]) -> None:
        """Show rows above the anchor, the first one current; a row's text is what is chosen."""
        self.list.clear()
        for item in items:
            self.list.addItem(item)
        self.list.setVisible(bool(items))
        self._empty.setVisible(not items)
        if items:
            self.list.setCurrentRow(0)
        self._place(len(items))

    def take_key(self, event: QKeyEvent) -> bool:
        """Act on a key that belongs to an open list; True when it did."""
        if not self.isVisible():
            return False
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.hide()
            return True
        if not self.list.count() or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            return False
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if key == Qt.Key.Key_Down else -1
            self.list.setCurrentRow((self.list.currentRow() + step) % self.list.count())
            return True
        is_enter = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if key == Qt.Key.Key_Tab or (is_enter and not event.modifiers()):
            self.chosen.emit(self.list.currentItem().text())
            return True
        return False

    def _announce(self, path: str) -> None:
        # The focus stays in the text: a screen reader would not hear of the list by itself.
        if path and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.list, path))

    def _place(self, count: int) -> None:
        window = self._anchor.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        row = max(self.list.sizeHintForRow(0), 24) if count else 0
        high = min(count, _ROWS) * row + 8 if count else 0
        self.list.setFixedHeight(high)
        wide = min(_WIDTH * self._theme.text_px("ui") // 13, window.width() - 24)
        self.resize(wide, high + 8 if count else self._empty.sizeHint().height() + 10)
        corner = self._anchor.mapTo(window, QPoint(0, 0)) - QPoint(0, self.height() + 14)
        room = QRect(12, 4, max(1, window.width() - 24), window.height())
        corner.setX(max(room.left(), min(corner.x(), room.right() - wide)))
        corner.setY(max(room.top(), corner.y()))
        self.move(corner)
        self.show()
        self.raise_()
