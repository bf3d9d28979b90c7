"""The button that allows: it names its key only while the key is its own."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import PrimaryButton, TextButton


class AllowButton(PrimaryButton):
    """Keeps the room of the sign: nothing moves under the pointer when it comes."""

    _has_key = False

    def __init__(self, theme: Theme, text: str) -> None:
        super().__init__(theme, text, "corner-down-left")

    def show_key(self, *, is_shown: bool) -> None:
        """Show or hide the sign of Enter."""
        self._has_key = is_shown
        self._paint_icon()

    def _paint_icon(self) -> None:
        super()._paint_icon()
        if not self._has_key:
            self.setMinimumWidth(self.sizeHint().width())
            self.setIcon(QIcon())


def put_icon_behind(button: TextButton) -> None:
    """Put the icon of a button behind its words."""
    words = button.accessibleName()
    is_mirrored = button.layoutDirection() == Qt.LayoutDirection.RightToLeft
    side = Qt.LayoutDirection.LeftToRight if is_mirrored else Qt.LayoutDirection.RightToLeft
    button.setLayoutDirection(side)
    # The mark keeps the thin spaces between the words and the icon.
    button.setText(f"{words}\u2009\u2009\u200e")
