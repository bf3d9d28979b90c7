"""The button that stops one running tool call: there under the mouse and with the focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect
from PySide6.QtWidgets import QApplication, QStyle, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton

SIZE = 26
_TURNS = {
    QEvent.Type.Enter,
    QEvent.Type.Leave,
    QEvent.Type.FocusIn,
    QEvent.Type.FocusOut,
    QEvent.Type.Resize,
    QEvent.Type.LayoutDirectionChange,
}


class StopButton(IconButton):
    """Stands over a card, `trailing` pixels from its edge; `is_wanted` while something can stop."""

    def __init__(self, theme: Theme, card: QWidget, header: QWidget, trailing: int) -> None:
        super().__init__(theme, "square", self.tr("Stop this tool"), card, size=14, token="err")
        self.setObjectName("stopTool")
        self.is_wanted = False
        self._card, self._header, self._trailing = card, header, trailing
        self.setFixedSize(SIZE, SIZE)
        for watched in (card, header, self):
            watched.installEventFilter(self)
        self.hide()

    def follow(self) -> None:
        """Be there or not, in the right place."""
        focused = QApplication.focusWidget()
        has_focus = focused is self._header or focused is self
        is_shown = self.is_wanted and (self._card.underMouse() or has_focus)
        if is_shown:
            whole = QRect(0, 0, self._card.width(), self._header.height())
            box = QRect(whole.width() - self._trailing - SIZE, 0, SIZE, SIZE)
            box.moveTop((whole.height() - SIZE) // 2)
            self.setGeometry(QStyle.visualRect(self.layoutDirection(), whole, box))
        self.setVisible(is_shown)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _TURNS and (event.type() != QEvent.Type.Resize or watched is self._card):
            # What had the focus knows it only afterwards.
            QApplication.postEvent(self, QEvent(QEvent.Type.User))
        return False

    def customEvent(self, event: QEvent) -> None:
        self.follow()
