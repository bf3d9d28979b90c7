"""A card that waits for the user: Tab stays in it; after that, or on Esc, it is left."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.gui.transcript.cards.card import Card


class AskCard(Card):
    """`left`: Tab went past its last control, or Esc was pressed; it goes on waiting."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc leaves the card: from here, the window's would stop the agent."""
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """Go through the card's own controls; the text underneath has its links in between."""
        stops = self._stops()
        now = QApplication.focusWidget()
        held = stops.index(now) if now in stops else -1
        place = held + (1 if is_next else -1)
        if 0 <= place < len(stops):
            reason = Qt.FocusReason.TabFocusReason if is_next else Qt.FocusReason.BacktabFocusReason
            stops[place].setFocus(reason)
            return True
        if is_next:
            self.left.emit()
            return True
        return super().focusNextPrevChild(is_next)

    def _stops(self) -> list[QWidget]:
        wanted = Qt.FocusPolicy.TabFocus
        found = (self, *self.findChildren(QWidget))
        shown = (one for one in found if one.isVisible() and one.isEnabled())
        return [one for one in shown if one.focusPolicy() & wanted]
