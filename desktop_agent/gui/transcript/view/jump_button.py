"""The button that goes back to the newest message."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton


class JumpPill(TextButton):
    """Floats over the end of the text while the user looks elsewhere."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, "", "arrow-down", parent)
        self.setObjectName("jumpToLatest")
        self.set_text(self.tr("Jump to latest"))
        self.hide()

    def stand_over(self, room: QRect) -> None:
        """Take the place at the bottom, in the middle."""
        size = self.sizeHint()
        self.setGeometry(
            (room.width() - size.width()) // 2,
            room.height() - size.height() - 12,
            size.width(),
            size.height(),
        )
        self.raise_()
