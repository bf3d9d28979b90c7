"""What stands in the place of the message box where nothing can be written."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconLabel, TextButton, TextLabel, row

# So wide are the words at least, where the buttons leave little room.
_LETTERS = 10


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
        words.setMinimumWidth(_LETTERS * theme.text_px("ui"))
        buttons = QWidget(self)
        flow = FlowLayout(buttons, 8)  # one below the other where the text is large
        for button in (other, take):
            flow.addWidget(button)
        row(icon, (words, 1), buttons, spacing=8, edges=(12, 8, 8, 8), within=self)
        self.hide()
