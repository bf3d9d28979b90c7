"""What stands in the place of the message box where nothing can be written."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconLabel, TextButton, TextLabel, row


class EndedBar(QFrame):
    """Stands there once a subagent has ended."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("endedBar")
        self.setProperty("frame", "card")
        self.words = TextLabel("", "muted", self, name="endedWords", wraps=True)
        self.button = TextButton(theme, self.tr("Write to Main"), parent=self, name="writeToMain")
        self.button.setToolTip(self.tr("Shows the main agent; what you typed here comes along"))
        self.setFocusProxy(self.button)
        row(self.words, self.button, spacing=8, edges=(12, 8, 8, 8), stretch=0, within=self)
        self.hide()

    def say(self, name: str) -> None:
        """Name who has ended."""
        words = self.tr("{name} has ended. You can read what it did, but not write to it.")
        self.words.setText(words.format(name=name))
        self.setAccessibleName(self.words.text())


class ReadOnlyBar(QFrame):
    """Stands there while another window has the session for writing."""

    taken = Signal()
    writer_wanted = Signal()  # the window that has it is to come to the front

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("readOnlyBar")
        self.setProperty("frame", "card")
        text = self.tr("This session is open in another window. Here you can only read it.")
        words = TextLabel(text, "muted", self, name="readOnlyWords", wraps=True)
        other = GhostButton(theme, self.tr("Show that window"), parent=self, name="showWriter")
        other.clicked.connect(self.writer_wanted)
        take = TextButton(theme, self.tr("Write here instead"), parent=self, name="writeHere")
        take.setToolTip(self.tr("Then the other window can only read it"))
        take.clicked.connect(self.taken)
        self.setFocusProxy(take)
        self.setAccessibleName(text)
        icon = IconLabel(theme, "eye", "muted", 16, self)
        row(icon, (words, 1), other, take, spacing=8, edges=(12, 8, 8, 8), within=self)
        self.hide()
