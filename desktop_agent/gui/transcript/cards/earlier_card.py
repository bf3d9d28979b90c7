"""The button above the oldest message that is shown."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton
from desktop_agent.gui.transcript.cards.card import Card


class EarlierCard(Card):
    """Asks for older messages."""

    requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent, ground="", edge="")
        button = GhostButton(theme, self.tr("Show earlier messages"), "history", self)
        button.setObjectName("showEarlier")
        button.clicked.connect(self.requested)
        self.body.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        self.setAccessibleName(button.accessibleName())
