"""A note on two lines: its words, and honestly where it stands; with an editor while it waits."""

from __future__ import annotations

import time

from PySide6.QtCore import QDateTime, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QBoxLayout, QLineEdit, QWidget

from desktop_agent.core.agents import AgentStatus
from desktop_agent.gui.kit.stop_text import stop_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, IconButton, IconLabel, restyle
from desktop_agent.gui.state.agent_notes import NoteRow, RunningTool

# So long a note is said to be queued before it is said what it waits for.
QUEUED_S = 1.0
_ICONS = {
    "queued": ("clock", "warn"),
    "taken": ("arrow-up", "accent"),
    "delivered": ("check-check", "ok"),
    "finished": ("undo-2", "err"),
    "stopped": ("undo-2", "err"),
    "failed": ("circle-x", "err"),
}
_ROLES = {"queued": "warn", "taken": "muted", "delivered": "ok"}


class NoteEditor(QLineEdit):
    """The field a note is edited in: Enter keeps, Esc leaves it as it was."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc gives up the change."""
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class NoteLines(QWidget):
    """What the row over the composer and the one in a subagent's card have in common.

    Signals: `edited(str)`, `withdrawn`, `resent`, `discarded`, and `edit_missed(str)` when the
    note left while its text was being changed.
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
        self._editor_place: QBoxLayout | None = None
        self._icon = IconLabel(theme, "clock", "warn", 14, self)
        self._text = ElidedLabel("", parent=self)
        self._state = ElidedLabel("", parent=self)
        self._edit = IconButton(theme, "pencil", self.tr("Edit this note"), self, size=14)
        self._withdraw = IconButton(theme, "x", self.tr("Withdraw this note"), self, size=14)
        self._edit.clicked.connect(self._start_editing)
        self._withdraw.clicked.connect(self.withdrawn)
        theme.changed.connect(self._set_fonts)
        self._set_fonts()

    def show_note(self, note: NoteRow, words: str, state: str) -> None:
        """Show its words and its state; an edit that is under way is left alone."""
        self._row = note
        self._text.set_text(words)
        self._state.set_text(state)
        self._icon.set_icon(*_ICONS[note.state])
        role = _ROLES.get(note.state, "error")
        if self._state.property("role") != role:
            self._state.setProperty("role", role)
            restyle(self._state)
        self.setAccessibleName(f"{words}. {state}")
        self._edit.setVisible(note.can_change)
        self._withdraw.setVisible(note.can_change)
        self._announce(state)
        if not note.can_change and self._editor is not None:
            missed = self._editor.text().strip()
            self._stop_editing()
            if missed and missed != note.note.text:
                self.edit_missed.emit(missed)

    def settled_words(self) -> str:
        """Return how far a note has come that does not wait any more."""
        row = self._row
        if row.state == "taken":
            return self.tr("Sending with step {step}").format(step=row.step)
        at = QDateTime.fromSecsSinceEpoch(int(row.at)).toString("HH:mm:ss")
        return self.tr("Delivered at step {step} · {time}").format(step=row.step, time=at)

    def tool_words(self, tools: tuple[RunningTool, ...]) -> str:
        """Return what a note waits for; just sent, that it is queued."""
        is_new = time.time() - self._row.note.created_at < QUEUED_S
        oldest = next(iter(tools), None)
        if oldest is None or is_new:
            return self.tr("Queued – reads it at the next step")
        words = self.tr("Waiting – reads it after {tool} ({seconds} s)")
        if len(tools) > 1:
            words = self.tr("Waiting – reads it after {tool} and others ({seconds} s)")
        seconds = max(0, round(time.time() - oldest.at)) if oldest.at else 0
        return words.format(tool=oldest.doing, seconds=seconds)

    def state_words(
        self, note: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...]
    ) -> str:
        """Say where the note stands, in the same words wherever it is shown."""
        match note.state:
            case "queued":
                return self._waiting_words(note, status, tools)
            case "finished":
                return self.tr("Not delivered: it finished first")
            case "stopped":
                words = stop_words().of(note.by, note.stopper)
                return self.tr("Not delivered: it was {stopped}").format(stopped=words)
            case "failed":
                words = note.words or self.tr("the model could not be reached")
                return self.tr("Not delivered: {words}").format(words=words)
            case _:
                return self.settled_words()

    def _waiting_words(
        self, note: NoteRow, status: AgentStatus, tools: tuple[RunningTool, ...]
    ) -> str:
        held = {
            "idle": self.tr("Queued – goes out with your next message"),
            "paused": self.tr("Queued – reads it when it goes on"),
            "queued": self.tr("Queued – reads it when it starts"),
        }
        if status not in held and note.note.delivery == "turn":
            return self.tr("Queued – after this turn")
        waits = {
            "waiting_approval": self.tr("Waiting – reads it after your decision"),
            "waiting_answer": self.tr("Waiting – reads it after the answer"),
        }
        return held.get(status) or waits.get(status) or self.tool_words(tools)

    def edit_in(self, place: QBoxLayout) -> None:
        """Have the editor stand at the beginning of this layout, in place of the words."""
        self._editor_place = place

    # -- inside --------------------------------------------------------------------------

    def _announce(self, state: str) -> None:
        is_news = self._row.state != self._announced and self._row.state not in ("queued", "taken")
        self._announced = self._row.state
        if is_news:
            # Two hundred names come with it: not at the start, which imports this.
            from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

            if QAccessible.isActive():
                QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, state))

    def _start_editing(self) -> None:
        if self._editor is not None or self._editor_place is None:
            return
        editor = NoteEditor(self._row.note.text, self)
        editor.setObjectName("noteEditor")
        editor.setAccessibleName(self.tr("Text of the note"))
        editor.returnPressed.connect(self._keep_edit)
        editor.left.connect(self._leave_editor)
        self._editor = editor
        self._editor_place.insertWidget(0, editor, 1)
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
