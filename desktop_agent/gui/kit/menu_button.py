"""A flat button that opens a list: its chevron says so."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.rtl import at_trailing_edge
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, Slot

_CHEVRON = 12
# An em space: the style sheet has no property for room on one side of the words.
_ROOM = "\u2003"


class MenuButton(GhostButton):
    """Draws the chevron itself: a button menu's own arrow can't be placed by a style sheet."""

    def __init__(
        self,
        theme: Theme,
        icon: str,
        parent: QWidget | None = None,
        *,
        token: str = "",
        name: str = "",
        clicked: Slot | None = None,
    ) -> None:
        super().__init__(theme, "", icon, parent, token=token, name=name, clicked=clicked)

    def set_text(self, text: str) -> None:
        """Show other words, with room for the chevron behind them."""
        super().set_text(text)
        self.setText(self.text() + _ROOM)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        ratio = self.devicePixelRatioF()
        size = self._theme.icon_px(_CHEVRON)
        pixmap = self._theme.pixmap("chevron-down", "subtle", size, ratio)
        box = self.rect().adjusted(0, 0, -6, 0)
        place = at_trailing_edge(self.layoutDirection(), QSize(size, size), box)
        painter.drawPixmap(place.topLeft(), pixmap)
        painter.end()
