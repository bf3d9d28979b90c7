"""One note in the strip above the composer: its text, where it stands, what can be done."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from desktop_agent.core.agents import ENDED, AgentStatus
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.kit.widgets import GhostButton, IconButton, TextButton
from desktop_agent.gui.notes.row_base import NoteLines
from desktop_agent.gui.state.agent_notes import NoteRow, RunningTool


class NoteRowView(NoteLines):
    """Signals besides those of all notes: `interrupted` (stop and send it now), `retried`
    (also: send what waits). A note that came back is `resent` as a new message.
    """

    interrupted = Signal()
    retried = Signal()

    def __init__(self, theme: Theme, note: NoteRow, parent: QWidget | None = None) -> None:
        super().__init__(theme, note, parent)
        self._shown: tuple[object, ...] = ()
        self.setObjectName("noteRow")
        self._state.setObjectName("noteState")
        lines = QVBoxLayout()
        lines.setSpacing(1)
        lines.addWidget(self._text)
        lines.addWidget(self._state)
        self.edit_in(lines)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 6, 6, 6)
        layout.setSpacing(8)
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(lines, 1)
        self._add_buttons(layout)

    def _add_buttons(self, layout: QHBoxLayout) -> None:
        theme = self._theme
        self._resend = TextButton(theme, self.tr("Send as new message"))
        self._retry = TextButton(theme, self.tr("Retry"))
        self._discard = GhostButton(theme, self.tr("Discard"))
        self._interrupt = IconButton(theme, "zap", self.tr("Stop and send this now"), size=14)
        self._resend.clicked.connect(self.resent)
        self._retry.clicked.connect(self.retried)
        self._discard.clicked.connect(self.discarded)
        self._interrupt.clicked.connect(self.interrupted)
        for button, name in (
            (self._resend, "noteResend"),
            (self._retry, "noteRetry"),
            (self._discard, "noteDiscard"),
            (self._interrupt, "noteInterrupt"),
            (self._edit, "noteEdit"),
            (self._withdraw, "noteWithdraw"),
        ):
            button.setObjectName(name)
            layout.addWidget(button)

    def show_row(
        self, note: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...], cuts: str
    ) -> None:
        """Show the note's present state."""
        self._row = note
        state = self.state_words(note, status, tools)
        shown = (note, status, state, cuts)
        if shown != self._shown:
            self._shown = shown
            self.show_note(note, self._words(), state)
            self._show_buttons(status, cuts)

    def _words(self) -> str:
        note = self._row.note
        count = len(note.attachments)
        extra = self.tr("{count} attachments").format(count=count) if count else ""
        if count == 1:
            extra = self.tr("1 attachment")
        words = " ".join(note.text.split())
        if note.kind == "task_edit":
            words = self.tr("Your changes to the task list")
        elif note.kind == "notice":
            words = self.tr("What you told a subagent")
        return " · ".join(filter(None, (words, ", ".join(note.skills), extra)))

    def _show_buttons(self, status: AgentStatus, cuts: str) -> None:
        row, is_over = self._row, status in ENDED
        is_failed = row.state == "failed" and not is_over
        is_back = row.state in ("finished", "stopped") or (row.state == "failed" and is_over)
        self._resend.setVisible(is_back)
        task, message = self.tr("Send as new task"), self.tr("Send as new message")
        self._resend.set_text(task if is_over else message)
        self._resend.setToolTip(
            self.tr("Sends the words to Main as a new message") if is_over else ""
        )
        rests = row.can_change and status == "idle"
        self._retry.setVisible(is_failed or rests)
        self._retry.set_text(self.tr("Send now") if rests else self.tr("Retry"))
        self._discard.setVisible(is_back or (is_failed and not row.is_in_history))
        self._interrupt.setVisible(row.can_change and status not in ("idle", "stopping"))
        words = self.tr("Stop and send this now")
        if cuts:
            words = self.tr("Stop and send this now: cuts {what}").format(what=cuts)
        self._interrupt.setAccessibleName(words)
        self._interrupt.setToolTip(plain_tip(words))
