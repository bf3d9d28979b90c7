"""The button that allows: it names its key only while the key is its own."""

from __future__ import annotations

from PySide6.QtGui import QIcon

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import PrimaryButton


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
