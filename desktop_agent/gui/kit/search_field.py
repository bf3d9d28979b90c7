"""The field that things are found with: a magnifier before the words, a clear button after."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.rtl import placed
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton

_ICON = 14
_EDGE, _GAP = 9, 10


class SearchField(Line):
    """Both icons grow with the text, which those of Qt's own actions do not.

    Signals:
        left: Esc was pressed while the field was empty
        stepped(QKeyEvent): Down was pressed, to go into the list that is searched
    """

    left = Signal()
    stepped = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAccessibleName(name)
        self.setPlaceholderText(name)
        self._wipe = IconButton(theme, "x", self.tr("Clear"), self, size=_ICON, name="clearField")
        self._wipe.set_icon("x", "subtle")
        self._wipe.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._wipe.setCursor(Qt.CursorShape.ArrowCursor)
        self._wipe.clicked.connect(self.clear)
        self._wipe.hide()
        self.textChanged.connect(self._show_wipe)
        theme.changed.connect(self._make_room)
        self._make_room()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc empties the field first, then leaves it."""
        if event.key() == Qt.Key.Key_Escape:
            if self.text():
                self.clear()
            else:
                self.left.emit()
            event.accept()
        elif event.key() == Qt.Key.Key_Down:
            self.stepped.emit(event)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LayoutDirectionChange:
            self._make_room()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        size = self._theme.icon_px(_ICON)
        box = QRect(_EDGE, (self.height() - size) // 2, size, size)
        lens = self._theme.pixmap("search", "subtle", size, self.devicePixelRatioF())
        painter = QPainter(self)
        painter.drawPixmap(placed(self.layoutDirection(), self.rect(), box).topLeft(), lens)
        painter.end()

    def _show_wipe(self, text: str) -> None:
        self._wipe.setVisible(bool(text))

    def _make_room(self) -> None:
        room = self._theme.icon_px(_ICON) + _GAP
        leading, trailing = (room, room + _GAP)
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            leading, trailing = trailing, leading
        self.setTextMargins(leading, 0, trailing, 0)
        self._place()

    def _place(self) -> None:
        size = self._wipe.sizeHint().boundedTo(self.size())
        top = (self.height() - size.height()) // 2
        box = QRect(self.width() - size.width() - 2, top, size.width(), size.height())
        self._wipe.setGeometry(placed(self.layoutDirection(), self.rect(), box))
