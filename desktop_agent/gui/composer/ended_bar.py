"""What stands in the place of the message box once a subagent has ended."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, TextLabel, row


class EndedBar(QFrame):
    """`left`: the person wants to write to the main agent instead."""

    left = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("endedBar")
        self.setProperty("frame", "card")
        self.words = TextLabel("", "muted", self)
        self.words.setObjectName("endedWords")
        self.words.setWordWrap(True)
        button = TextButton(theme, self.tr("Write to Main"), parent=self)
        button.setObjectName("writeToMain")
        button.setToolTip(self.tr("Shows the main agent; what you typed here comes along"))
        button.clicked.connect(self.left)
        self.setFocusProxy(button)
        line = row(self.words, button, spacing=8)
        line.setContentsMargins(12, 8, 8, 8)
        line.setStretch(0, 1)
        self.setLayout(line)
        self.hide()

    def stand_for(self, box: QWidget, name: str, *, is_ended: bool) -> None:
        """Take the place of the message box while the agent can't be written to."""
        box.setHidden(is_ended)
        self.setVisible(is_ended)
        words = self.tr("{name} has ended. You can read what it did, but not write to it.")
        self.words.setText(words.format(name=name))
        self.setAccessibleName(self.words.text())
