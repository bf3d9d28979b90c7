"""Notes to an agent: a row for each, with an editor while it waits, and the strip of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QDateTime, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.agents import ENDED, AgentStatus
from desktop_agent.core.ids import NoteId
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.fitted_area import FittedArea
from desktop_agent.gui.kit.safe_text import plain_tip, utf16_length
from desktop_agent.gui.kit.text import LONGEST_LINE, plain, stop_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconButton,
    IconLabel,
    TextButton,
    column,
    restyle,
    row,
    single_timer,
    ticker,
)
from desktop_agent.gui.state.agent_notes import AgentNotes, NoteRow, RunningTool

_MAX_HEIGHT = 188
DELIVERED_MS = 6_000
# So long a note is said to be queued before it is said what it waits for.
QUEUED_S = 1.0
# What is in sight is shown at once, and the rest in steps of so many seconds.
_AT_ONCE, _STEP_S = 5, 0.01
_ICONS = {
    "queued": ("clock", "warn"),
    "taken": ("arrow-up", "accent"),
    "delivered": ("check-check", "ok"),
    "finished": ("undo-2", "err"),
    "stopped": ("undo-2", "err"),
    "failed": ("circle-x", "err"),
}
_ROLES = {"queued": "warn", "taken": "muted", "delivered": "ok"}


class NoteHolder(QWidget):
    """Where notes stand.

    Signals:
        edited(NoteRow, text), withdrawn(NoteRow)
        interrupted(NoteRow): stop the agent and send it now
        resent(NoteRow), discarded(NoteRow): it came back, and goes out anew or nowhere
        retried(NoteRow): send it again, or what waits
        edit_missed(text, is_writing): the note left while it was being changed; empty if it was
            not, and whether the caret was in it
    """

    edited = Signal(object, str)
    withdrawn = Signal(object)
    interrupted = Signal(object)
    resent = Signal(object)
    discarded = Signal(object)
    retried = Signal(object)
    edit_missed = Signal(str, bool)


class NoteRowView(QWidget):
    """Stands in the strip over the message box, or in the card of a subagent.

    What is done with the note is a signal of its holder. In a card, a note that came back can
    only go to the main agent, as a new task.
    """

    def __init__(self, theme: Theme, note: NoteRow, notes: NoteHolder, *, is_in_card: bool) -> None:
        super().__init__(notes)
        self._theme = theme
        self._row = note
        self._list = notes
        self._is_in_card = is_in_card
        self._shown: tuple[object, ...] = ()
        self._announced = "queued"
        self._editor: Line | None = None
        prefix = "steerNote" if is_in_card else "note"
        self.setObjectName("steerNote" if is_in_card else "noteRow")
        self._icon = IconLabel(theme, "clock", "warn", 14, self)
        self._text = ElidedLabel("", parent=self)
        self._state = ElidedLabel("", parent=self, name=f"{prefix}State")
        self._resend = TextButton(theme, "", parent=self)
        self._retry = TextButton(theme, "", parent=self)
        self._discard = GhostButton(theme, self.tr("Discard"), parent=self)
        self._interrupt = IconButton(theme, "zap", "", self, size=14)
        self._edit = IconButton(theme, "pencil", self.tr("Edit this note"), self, size=14)
        self._withdraw = IconButton(theme, "x", self.tr("Withdraw this note"), self, size=14)
        for button, name, act in (
            (self._resend, "Resend", notes.resent),
            (self._retry, "Retry", notes.retried),
            (self._discard, "Discard", notes.discarded),
            (self._interrupt, "Interrupt", notes.interrupted),
            (self._withdraw, "Withdraw", notes.withdrawn),
        ):
            button.setObjectName(prefix + name)
            button.clicked.connect(lambda _=False, signal=act: signal.emit(self._row))
        self._edit.setObjectName(f"{prefix}Edit")
        self._edit.clicked.connect(self._start_editing)
        # The editor stands at its beginning, in place of the text.
        self._line = self._lay_out_in_card() if is_in_card else self._lay_out_in_strip()
        theme.changed.connect(self._set_fonts)
        self._set_fonts()

    def _lay_out_in_strip(self) -> QVBoxLayout:
        lines = column(self._text, self._state, spacing=1)
        buttons = (self._resend, self._retry, self._discard, self._interrupt)
        parts = (self._icon, lines, *buttons, self._edit, self._withdraw)
        layout = row(*parts, stretch=1, edges=(12, 6, 6, 6))
        layout.setAlignment(self._icon, Qt.AlignmentFlag.AlignTop)
        self.setLayout(layout)
        return lines

    def _lay_out_in_card(self) -> QHBoxLayout:
        theme = self._theme
        first = row(self._text, self._edit, self._withdraw, spacing=0, stretch=0)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, theme.space("xxs"), 0, theme.space("xxs"))
        grid.setHorizontalSpacing(theme.space("s"))
        grid.setVerticalSpacing(1)
        grid.addWidget(self._icon, 0, 0)
        grid.addLayout(first, 0, 1)
        grid.addWidget(self._state, 1, 1)
        grid.addLayout(row(self._resend, self._discard, None, spacing=4), 2, 1)
        grid.setColumnStretch(1, 1)
        return first

    def _set_fonts(self) -> None:
        self._text.setFont(self._theme.font("small"))
        self._state.setFont(self._theme.font("caption", "medium"))

    # -- showing ---------------------------------------------------------------------------

    def show_row(self, note: NoteRow, notes: AgentNotes) -> None:
        """Show the note's present state; an edit that is under way is left alone."""
        self._row = note
        state = self._state_text(notes.status, notes.tools)
        cuts = ", ".join(tool.doing for tool in notes.tools)
        shown = (note, notes.status, state, cuts)
        if shown == self._shown:
            return
        self._shown = shown
        text = self._note_text()
        self._text.set_text(text)
        self._state.set_text(state)
        self._icon.set_icon(*_ICONS[note.state])
        role = _ROLES.get(note.state, "error")
        if self._state.property("role") != role:
            self._state.setProperty("role", role)
            restyle(self._state)
        self.setAccessibleName(f"{text}. {state}")
        self._show_buttons(notes.status, cuts)
        self._announce(state)
        if not note.can_change and self._editor is not None:
            missed, is_writing = self._editor.text().strip(), self._editor.hasFocus()
            self._stop_editing()
            if missed == note.note.text:
                missed = ""
            if missed or is_writing:
                self._list.edit_missed.emit(missed, is_writing)

    def _note_text(self) -> str:
        note = self._row.note
        count = len(note.attachments)
        extra = self.tr("1 attachment") if count == 1 else self.tr("{count} attachments")
        extra = extra.format(count=count) if count else ""
        text = " ".join(note.text.split())
        if note.kind == "task_edit":
            text = self.tr("Your changes to the task list")
        elif note.kind == "notice":
            text = self.tr("What you told a subagent")
        return " · ".join(filter(None, (text, ", ".join(note.skills), extra)))

    def _show_buttons(self, status: AgentStatus, cuts: str) -> None:
        note, is_over = self._row, self._is_in_card or status in ENDED
        is_failed = note.state == "failed" and not is_over
        is_back = note.state in ("finished", "stopped") or (note.state == "failed" and is_over)
        task, message = self.tr("Send as new task"), self.tr("Send as new message")
        self._resend.set_text(task if is_over else message)
        tip = self.tr("Sends the words to Main as a new message") if is_over else ""
        self._resend.setToolTip(tip)
        self._resend.setVisible(is_back)
        self._discard.setVisible(is_back or (is_failed and not note.is_in_history))
        self._edit.setVisible(note.can_change)
        self._withdraw.setVisible(note.can_change)
        rests = note.can_change and status == "idle"
        self._retry.set_text(self.tr("Send now") if rests else self.tr("Retry"))
        self._retry.setVisible(not self._is_in_card and (is_failed or rests))
        can_cut = note.can_change and status not in ("idle", "stopping")
        self._interrupt.setVisible(not self._is_in_card and can_cut)
        text = self.tr("Stop and send this now")
        if cuts:
            text = self.tr("Stop and send this now: cuts {what}").format(what=cuts)
        self._interrupt.setAccessibleName(text)
        self._interrupt.setToolTip(plain_tip(text))

    def _state_text(self, status: AgentStatus, tools: tuple[RunningTool, ...]) -> str:
        note = self._row
        match note.state:
            case "queued":
                return self._waiting_text(status, tools)
            case "taken" if status in ENDED:
                return self.tr("Not delivered: it ended first")
            case "taken" if status == "idle":  # the next request holds it again
                return self._waiting_text(status, tools)
            case "taken":
                return self.tr("Sending with step {step}").format(step=note.step)
            case "delivered":
                at = QDateTime.fromSecsSinceEpoch(int(note.at)).toString("HH:mm:ss")
                text = self.tr("Delivered at step {step} · {time}")
                return text.format(step=note.step, time=at)
            case "finished":
                return self.tr("Not delivered: it finished first")
            case "stopped":
                text = stop_words().of(note.by, note.stopper)
                return self.tr("Not delivered: it was {stopped}").format(stopped=text)
            case _:
                text = note.words or self.tr("the model could not be reached")
                return self.tr("Not delivered: {words}").format(words=text)

    def _waiting_text(self, status: AgentStatus, tools: tuple[RunningTool, ...]) -> str:
        note = self._row
        if note.place and status not in ("paused", "idle"):
            if note.is_there:
                return self.tr("Queued there – reads it at its next step")
            return self.tr("On its way to {place}").format(place=plain(note.place))
        held = {
            "idle": self.tr("Queued – goes out with your next message"),
            "paused": self.tr("Queued – reads it when it goes on"),
            "queued": self.tr("Queued – reads it when it starts"),
        }
        if status not in held and self._row.note.delivery == "turn":
            return self.tr("Queued – after this turn")
        waits = {
            "waiting_approval": self.tr("Waiting – reads it after your decision"),
            "waiting_answer": self.tr("Waiting – reads it after the answer"),
        }
        return held.get(status) or waits.get(status) or self._tool_text(tools)

    def _tool_text(self, tools: tuple[RunningTool, ...]) -> str:
        """Return what a note waits for; just sent, that it is queued."""
        is_new = time.time() - self._row.note.created_at < QUEUED_S
        oldest = next(iter(tools), None)
        if oldest is None or is_new:
            return self.tr("Queued – reads it at the next step")
        text = self.tr("Waiting – reads it after {tool} ({seconds} s)")
        if len(tools) > 1:
            text = self.tr("Waiting – reads it after {tool} and others ({seconds} s)")
        seconds = max(0, round(time.time() - oldest.at)) if oldest.at else 0
        return text.format(tool=oldest.doing, seconds=seconds)

    def _announce(self, state: str) -> None:
        is_news = self._row.state not in (self._announced, "queued", "taken")
        self._announced = self._row.state
        if is_news:
            # Two hundred names come with it: not at the start, which imports this.
            from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

            if QAccessible.isActive():
                QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, state))

    # -- editing ---------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc, which the editor leaves alone, gives up the change."""
        if event.key() == Qt.Key.Key_Escape and self._editor is not None:
            self._leave_editor()
        else:
            super().keyPressEvent(event)

    def _start_editing(self) -> None:
        if self._editor is not None:
            return
        self._editor = editor = Line(self)
        editor.setMaxLength(max(LONGEST_LINE, utf16_length(self._row.note.text)))
        editor.setText(self._row.note.text)
        editor.setObjectName("noteEditor")
        editor.setAccessibleName(self.tr("Text of the note"))
        editor.returnPressed.connect(self._keep_edit)
        self._line.insertWidget(0, editor, 1)
        self._text.hide()
        editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _keep_edit(self) -> None:
        text = self._editor.text().strip() if self._editor else ""
        if text and text != self._row.note.text:
            self._list.edited.emit(self._row, text)
        self._leave_editor()

    def _leave_editor(self) -> None:
        self._stop_editing()
        self._edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _stop_editing(self) -> None:
        if self._editor is not None:
            self._editor.deleteLater()
            self._editor = None
            self._text.show()


class NoteList(NoteHolder):
    """Notes to one agent, one below the other."""

    def __init__(self, theme: Theme, *, is_in_card: bool = False, spacing: int = 0) -> None:
        super().__init__()
        self._theme = theme
        self._is_in_card = is_in_card
        self._notes = AgentNotes()
        self._rows: Sequence[NoteRow] = ()
        self._views: dict[NoteId, NoteRowView] = {}
        self._shown = 0
        self._more = single_timer(self, 0, self._show_more)
        self._column = column(spacing=spacing)
        self.setLayout(self._column)
        # Counts the seconds of the tool that a note waits for; stands still otherwise.
        self._clock = ticker(self, 1_000, self._show)

    def show_notes(self, notes: AgentNotes, rows: Sequence[NoteRow]) -> None:
        self._notes, self._rows = notes, rows
        wanted = {note.note.id for note in rows}
        for note_id in self._views.keys() - wanted:
            view = self._views.pop(note_id)
            self._column.removeWidget(view)
            view.setParent(None)
            view.deleteLater()
        self.setVisible(bool(rows))
        self._show()

    def _show(self) -> None:
        self._shown = 0
        self._show_more()
        counts = self._notes.tools and any(note.can_change for note in self._rows)
        if not counts or not self.isVisible():
            self._clock.stop()
        elif not self._clock.isActive():
            self._clock.start()

    def _show_more(self) -> None:
        """Show the notes from where it was left, some at a time: a hundred hold the window up."""
        ends = time.monotonic() + _STEP_S
        while self._shown < len(self._rows):
            note = self._rows[self._shown]
            view = self._views.get(note.note.id)
            if view is None:
                view = NoteRowView(self._theme, note, self, is_in_card=self._is_in_card)
                self._views[note.note.id] = view
                self._column.addWidget(view)
            view.show_row(note, self._notes)
            self._shown += 1
            if self._shown >= _AT_ONCE and time.monotonic() > ends:
                self._more.start()
                return

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()


class NoteStrip(QFrame):
    """Shows the notes to one agent; what is done with them are signals of its `notes`."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._notes = AgentNotes()
        self._folding: set[NoteId] = set()
        self.setObjectName("noteStrip")
        self.setProperty("frame", "card")
        self.setAccessibleName(self.tr("Notes for the agent"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.notes = NoteList(theme)
        self.notes.setContentsMargins(0, 2, 0, 2)
        self.setLayout(column(FittedArea(self.notes, _MAX_HEIGHT, self), edges=(1, 1, 1, 1)))
        self.hide()

    def show_notes(self, notes: AgentNotes) -> None:
        self._notes = notes
        self.refresh()

    def refresh(self) -> None:
        rows = self._notes.rows
        self.notes.show_notes(self._notes, rows)
        for note in rows:
            if note.state == "delivered" and note.note.id not in self._folding:
                self._folding.add(note.note.id)
                QTimer.singleShot(DELIVERED_MS, self, partial(self._fold, note.note.id))
        self.setVisible(bool(rows))

    def cuts(self) -> str:
        """Name what a stop would cut; empty when nothing but the model's answer runs."""
        return ", ".join(tool.doing for tool in self._notes.tools)

    def _fold(self, note_id: NoteId) -> None:
        # The bubble in the transcript tells of it from now on.
        self._folding.discard(note_id)
        note = self._notes.row(note_id)
        if note is not None and note.state == "delivered":
            self._notes.fold(note_id)
            self.refresh()
