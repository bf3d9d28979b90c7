"""One note in the strip above the composer: its text, where it stands, what can be done."""

from __future__ import annotations

import time

from PySide6.QtCore import QDateTime, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from desktop_agent.core.agents import AgentStatus
from desktop_agent.gui.note_ledger import NoteRow, RunningTool
from desktop_agent.gui.plain_tips import plain_tip
from desktop_agent.gui.theme import Theme
from desktop_agent.gui.widgets import ElidedLabel, GhostButton, IconButton, IconLabel, TextButton

_ICONS = {
    "queued": ("clock", "warn"),
    "taken": ("arrow-up", "accent"),
    "delivered": ("check-check", "ok"),
    "finished": ("undo-2", "err"),
    "stopped": ("undo-2", "err"),
    "failed": ("circle-x", "err"),
}
_ROLES = {"queued": "warn", "taken": "", "delivered": "ok"}


class NoteEditor(QLineEdit):
    """The field a note is edited in: Enter keeps, Esc leaves it as it was."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc gives up the change."""
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class NoteRowView(QWidget):
    """Signals: `edited(str)`, `withdrawn`, `interrupted` (stop and send it now), `resent`
    (as a new message), `discarded`, `retried` (also: send what waits), `edit_missed(str)` when
    the note left while its text was being changed.
    """

    edited = Signal(str)
    withdrawn = Signal()
    interrupted = Signal()
    resent = Signal()
    discarded = Signal()
    retried = Signal()
    edit_missed = Signal(str)

    def __init__(self, theme: Theme, row: NoteRow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._row = row
        self._shown: tuple[object, ...] = ()
        self._announced: str = "queued"
        self.setObjectName("noteRow")
        self._icon = IconLabel(theme, "clock", "warn", 14)
        self._text = ElidedLabel()
        self._state = ElidedLabel()
        self._state.setObjectName("noteState")
        self._editor: NoteEditor | None = None
        self._words = QVBoxLayout()
        self._words.setSpacing(1)
        self._words.addWidget(self._text)
        self._words.addWidget(self._state)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 6, 6, 6)
        layout.setSpacing(8)
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(self._words, 1)
        self._add_buttons(layout)
        theme.changed.connect(self._set_fonts)
        self._set_fonts()

    def _add_buttons(self, layout: QHBoxLayout) -> None:
        theme = self._theme
        self._resend = TextButton(theme, self.tr("Send as new message"))
        self._retry = TextButton(theme, self.tr("Retry"))
        self._discard = GhostButton(theme, self.tr("Discard"))
        self._interrupt = IconButton(theme, "zap", self.tr("Stop and send this now"), size=14)
        self._edit = IconButton(theme, "pencil", self.tr("Edit this note"), size=14)
        self._withdraw = IconButton(theme, "x", self.tr("Withdraw this note"), size=14)
        for button, name, signal in (
            (self._resend, "noteResend", self.resent),
            (self._retry, "noteRetry", self.retried),
            (self._discard, "noteDiscard", self.discarded),
            (self._interrupt, "noteInterrupt", self.interrupted),
            (self._edit, "noteEdit", None),
            (self._withdraw, "noteWithdraw", self.withdrawn),
        ):
            button.setObjectName(name)
            button.clicked.connect(self._start_editing if signal is None else signal)
            layout.addWidget(button)

    def show_row(
        self, row: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...], cuts: str
    ) -> None:
        """Show the note's present state; an edit that is under way is left alone."""
        state = self._state_text(row, status, tools)
        shown = (row, status == "idle", status == "stopping", state, cuts)
        if shown == self._shown:
            return
        self._shown = shown
        self._row = row
        count = len(row.note.attachments)
        extra = self.tr("{count} attachments").format(count=count) if count else ""
        if count == 1:
            extra = self.tr("1 attachment")
        words = " ".join(row.note.text.split())
        if row.note.kind == "task_edit":
            words = self.tr("Your changes to the task list")
        elif row.note.kind == "notice":
            words = self.tr("What you told a subagent")
        self._text.set_text(" · ".join(filter(None, (words, extra))))
        self._state.set_text(state)
        name, token = _ICONS[row.state]
        self._icon.set_icon(name, token)
        role = _ROLES.get(row.state, "error")
        if self._state.property("role") != role:
            self._state.setProperty("role", role)
            self._state.style().unpolish(self._state)
            self._state.style().polish(self._state)
        self._set_fonts()
        self.setAccessibleName(f"{self._text.whole_text()}. {state}")
        self._announce(row, state)
        self._show_buttons(status, cuts)
        if not row.can_change and self._editor is not None:
            missed = self._editor.text()
            self._stop_editing()
            if missed != row.note.text:
                self.edit_missed.emit(missed)

    def _announce(self, row: NoteRow, state: str) -> None:
        is_news = row.state != self._announced and row.state not in ("queued", "taken")
        self._announced = row.state
        if is_news and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, state))

    def _show_buttons(self, status: AgentStatus, cuts: str) -> None:
        row, is_back = self._row, self._row.state in ("finished", "stopped")
        is_failed = row.state == "failed"
        self._resend.setVisible(is_back)
        rests = row.can_change and status == "idle"
        self._retry.setVisible(is_failed or rests)
        self._retry.set_text(self.tr("Send now") if rests else self.tr("Retry"))
        self._discard.setVisible(is_back or (is_failed and not row.is_in_history))
        self._edit.setVisible(row.can_change)
        self._withdraw.setVisible(row.can_change)
        self._interrupt.setVisible(row.can_change and status not in ("idle", "stopping"))
        words = self.tr("Stop and send this now")
        if cuts:
            words = self.tr("Stop and send this now: cuts {what}").format(what=cuts)
        self._interrupt.setAccessibleName(words)
        self._interrupt.setToolTip(plain_tip(words))

    def _state_text(self, row: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...]) -> str:
        match row.state:
            case "queued":
                return self._waiting_text(row, status, tools)
            case "taken":
                return self.tr("Sending with step {step}").format(step=row.step)
            case "delivered":
                words = self.tr("Delivered – step {step}, {time}")
                return words.format(step=row.step, time=_clock(row.at))
            case "finished":
                return self.tr("Returned – the agent finished first")
            case "stopped":
                return self.tr("Returned – you stopped the agent")
            case "failed":
                words = row.words or self.tr("the model could not be reached")
                return self.tr("Failed – {words}").format(words=words)

    def _waiting_text(
        self, row: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...]
    ) -> str:
        if status == "idle":
            return self.tr("Queued – goes out with your next message")
        if row.note.delivery == "turn":
            return self.tr("Queued – after this turn")
        if status == "waiting_approval":
            return self.tr("Waiting – reads it after your decision")
        if status == "waiting_answer":
            return self.tr("Waiting – reads it after your answer")
        oldest = next(iter(tools), None)
        if oldest is None:
            return self.tr("Waiting – reads it at the next step")
        words = self.tr("Waiting – reads it after {tool} ({seconds} s)")
        if len(tools) > 1:
            words = self.tr("Waiting – reads it after {tool} and others ({seconds} s)")
        seconds = max(0, round(time.time() - oldest.at)) if oldest.at else 0
        return words.format(tool=oldest.doing, seconds=seconds)

    def _start_editing(self) -> None:
        if self._editor is not None:
            return
        editor = NoteEditor(self._row.note.text, self)
        editor.setObjectName("noteEditor")
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

    def _set_fonts(self) -> None:
        self._text.setFont(self._theme.font("small"))
        self._state.setFont(self._theme.font("caption", "medium"))


def _clock(at: float) -> str:
    return QDateTime.fromSecsSinceEpoch(int(at)).toString("HH:mm:ss")
