"""One note to a subagent, in its card."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QWidget

from desktop_agent.core.agents import AgentStatus
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextButton, row
from desktop_agent.gui.notes.row_base import NoteLines
from desktop_agent.gui.state.agent_notes import NoteRow, RunningTool


class SteerNoteView(NoteLines):
    """A note that came back can be sent to the main agent, as a new task (`resent`)."""

    def __init__(self, theme: Theme, note: NoteRow, parent: QWidget | None = None) -> None:
        super().__init__(theme, note, parent)
        self.setObjectName("steerNote")
        self._state.setObjectName("steerNoteState")
        self._build()

    def show_row(self, note: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...]) -> None:
        """Show the note's present state."""
        self._row = note
        words = " ".join(note.note.text.split())
        self.show_note(note, words, self.state_words(note, status, tools))
        is_back = note.state in ("finished", "stopped", "failed")
        self._resend.setVisible(is_back)
        self._discard.setVisible(is_back)

    def _build(self) -> None:
        theme = self._theme
        self._resend = TextButton(theme, self.tr("Send as new task"), parent=self)
        self._resend.setToolTip(self.tr("Sends the words to Main as a new message"))
        self._discard = GhostButton(theme, self.tr("Discard"), parent=self)
        for button, name in (
            (self._edit, "steerNoteEdit"),
            (self._withdraw, "steerNoteWithdraw"),
            (self._resend, "steerNoteResend"),
            (self._discard, "steerNoteDiscard"),
        ):
            button.setObjectName(name)
            button.hide()
        self._resend.clicked.connect(self.resent)
        self._discard.clicked.connect(self.discarded)
        first = row(self._text, self._edit, self._withdraw, spacing=0)
        first.setStretch(0, 1)
        self.edit_in(first)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, theme.space("xxs"), 0, theme.space("xxs"))
        grid.setHorizontalSpacing(theme.space("s"))
        grid.setVerticalSpacing(1)
        grid.addWidget(self._icon, 0, 0)
        grid.addLayout(first, 0, 1)
        grid.addWidget(self._state, 1, 1)
        grid.addLayout(row(self._resend, self._discard, None, spacing=4), 2, 1)
        grid.setColumnStretch(1, 1)
