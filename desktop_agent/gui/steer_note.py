"""One note to a subagent on two lines: its words, and honestly where it stands."""

from __future__ import annotations

import time

from PySide6.QtCore import QLocale, Qt, QTime, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.core.agents import AgentStatus
from desktop_agent.gui.note_ledger import NoteRow, RunningTool
from desktop_agent.gui.note_row import NoteEditor
from desktop_agent.gui.theme import Theme
from desktop_agent.gui.widgets import ElidedLabel, IconButton, IconLabel, TextButton, restyle, row

_ICONS = {
    "queued": ("clock", "warn"),
    "taken": ("arrow-up", "accent"),
    "delivered": ("check-check", "ok"),
    "finished": ("undo-2", "err"),
    "stopped": ("undo-2", "err"),
    "failed": ("circle-x", "err"),
}
_ROLES = {"queued": "warn", "taken": "muted", "delivered": "ok"}


class SteerNoteView(QWidget):
    """Signals: `edited(str)`, `withdrawn`, `resent` (as a new task), `discarded`, and
    `edit_missed(str)` when the note left while its text was being changed.
    """

    edited = Signal(str)
    withdrawn = Signal()
    resent = Signal()
    discarded = Signal()
    edit_missed = Signal(str)

    def __init__(self, theme: Theme, note: NoteRow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._row = note
        self._announced = "queued"
        self._editor: NoteEditor | None = None
        self.setObjectName("steerNote")
        self._icon = IconLabel(theme, "clock", "warn", 14, self)
        self._text = ElidedLabel("", parent=self)
        self._state = ElidedLabel("", parent=self)
        self._state.setObjectName("steerNoteState")
        self._build()
        theme.changed.connect(self._set_fonts)
        self._set_fonts()

    def show_row(self, note: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...]) -> None:
        """Show the note's present state; an edit that is under way is left alone."""
        self._row = note
        words = " ".join(note.note.text.split())
        state = self._state_text(note, status, tools)
        self._text.set_text(words)
        self._state.set_text(state)
        icon, token = _ICONS[note.state]
        self._icon.set_icon(icon, token)
        role = _ROLES.get(note.state, "error")
        if self._state.property("role") != role:
            self._state.setProperty("role", role)
            restyle(self._state)
        self.setAccessibleName(f"{words}. {state}")
        is_back = note.state in ("finished", "stopped", "failed")
        self._edit.setVisible(note.can_change)
        self._withdraw.setVisible(note.can_change)
        self._resend.setVisible(is_back)
        self._discard.setVisible(is_back)
        self._announce(state)
        if not note.can_change and self._editor is not None:
            missed = self._editor.text().strip()
            self._stop_editing()
            if missed and missed != note.note.text:
                self.edit_missed.emit(missed)

    def _announce(self, state: str) -> None:
        is_news = self._row.state != self._announced and self._row.state not in ("queued", "taken")
        self._announced = self._row.state
        if is_news and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, state))

    def _state_text(
        self, note: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...]
    ) -> str:
        match note.state:
            case "queued":
                return self._waiting_text(status, tools)
            case "taken":
                return self.tr("Sending with step {step}").format(step=note.step)
            case "delivered":
                words = self.tr("Delivered at step {step} · {time}")
                return words.format(step=note.step, time=_clock(note.at))
            case "finished":
                return self.tr("Not delivered: it finished first")
            case "stopped":
                return self.tr("Not delivered: it was stopped")
            case "failed":
                words = note.words or self.tr("the model could not be reached")
                return self.tr("Not delivered: {words}").format(words=words)

    def _waiting_text(self, status: AgentStatus, tools: tuple[RunningTool, ...]) -> str:
        match status:
            case "paused":
                return self.tr("Queued – reads it when it goes on")
            case "queued":
                return self.tr("Queued – reads it when it starts")
            case "waiting_approval":
                return self.tr("Waiting – reads it after your decision")
            case "waiting_answer":
                return self.tr("Waiting – reads it after the answer")
            case _ if tools:
                seconds = max(0, round(time.time() - tools[0].at)) if tools[0].at else 0
                words = self.tr("Waiting – reads it after {tool} ({seconds} s)")
                return words.format(tool=tools[0].doing, seconds=seconds)
            case _:
                return self.tr("Queued – reads it at the next step")

    # -- editing ---------------------------------------------------------------------------

    def _start_editing(self) -> None:
        if self._editor is not None:
            return
        editor = NoteEditor(self._row.note.text, self)
        editor.setObjectName("steerNoteEditor")
        editor.setAccessibleName(self.tr("Text of the note"))
        editor.returnPressed.connect(self._keep_edit)
        editor.left.connect(self._leave_editor)
        self._editor = editor
        self._words.insertWidget(0, editor)
        self._text.hide()
        editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _keep_edit(self) -> None:
        text = self._editor.text().strip() if self._editor else ""
        if text and text != self._row.note.text:
            self.edited.emit(text)
        self._leave_editor()

    def _leave_editor(self) -> None:
        self._stop_editing()
        self._edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _stop_editing(self) -> None:
        if self._editor is not None:
            self._editor.deleteLater()
            self._editor = None
            self._text.show()

    # -- building --------------------------------------------------------------------------

    def _build(self) -> None:
        theme = self._theme
        self._edit = IconButton(theme, "pencil", self.tr("Edit this note"), self, size=14)
        self._withdraw = IconButton(theme, "x", self.tr("Withdraw this note"), self, size=14)
        self._resend = TextButton(theme, self.tr("Send as new task"), parent=self)
        self._resend.setToolTip(self.tr("Sends the words to Main as a new message"))
        self._discard = TextButton(theme, self.tr("Discard"), parent=self, kind="ghost")
        for button, name in (
            (self._edit, "steerNoteEdit"),
            (self._withdraw, "steerNoteWithdraw"),
            (self._resend, "steerNoteResend"),
            (self._discard, "steerNoteDiscard"),
        ):
            button.setObjectName(name)
            button.hide()
        self._edit.clicked.connect(self._start_editing)
        self._withdraw.clicked.connect(self.withdrawn)
        self._resend.clicked.connect(self.resent)
        self._discard.clicked.connect(self.discarded)
        self._words = QVBoxLayout()
        self._words.setSpacing(1)
        self._words.addWidget(self._text)
        self._words.addWidget(self._state)
        self._words.addLayout(row(self._resend, self._discard, None, spacing=4))
        line = row(spacing=theme.space("s"))
        line.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(self._words, 1)
        line.addWidget(self._edit, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self._withdraw, 0, Qt.AlignmentFlag.AlignTop)
        line.setContentsMargins(0, theme.space("xxs"), 0, theme.space("xxs"))
        self.setLayout(line)

    def _set_fonts(self) -> None:
        self._text.setFont(self._theme.font("small"))
        self._state.setFont(self._theme.font("caption", "medium"))


def _clock(at: float) -> str:
    local = time.localtime(at)
    return QLocale().toString(QTime(local.tm_hour, local.tm_min), "HH:mm")
