"""The composer: what the user types, attaches and sends, and the notes that wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.agents import ENDED
from desktop_agent.core.approvals import Mode
from desktop_agent.core.events import CommandRefused, Event, NoteQueued, SessionsChanged, StepEnded
from desktop_agent.core.ids import AgentId, NoteId, new_note_id
from desktop_agent.core.notes import Delivery, Note
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.gui.composer.attachments import Attachment
from desktop_agent.gui.composer.branch_bar import BranchBar
from desktop_agent.gui.composer.drafts import Draft, Drafts
from desktop_agent.gui.composer.frame import Centred, ComposerFrame
from desktop_agent.gui.composer.input import COMMANDS, RUN_ON, ComposerInput
from desktop_agent.gui.composer.stand_ins import EndedBar, ReadOnlyBar
from desktop_agent.gui.composer.toolbar import ComposerBar, SendState
from desktop_agent.gui.kit.fields.input_methods import finish_input
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import column, row
from desktop_agent.gui.language_models.text import own_name
from desktop_agent.gui.notes.strip import NoteStrip
from desktop_agent.gui.state.agent_notes import AgentNotes, NoteRow
from desktop_agent.gui.state.branch_draft import BranchDraft
from desktop_agent.gui.state.session_state import AgentPage, SessionState

# Whom it was for, the draft it came from, the note, and its attachments as chips.
_Unconfirmed = tuple[Draft, Note, tuple[Attachment, ...]]


class Composer(QWidget):
    """Writes to the agent that is shown."""

    begun = Signal()  # the user writes, for the first time
    submitted = Signal(object)  # a note
    branch_submitted = Signal(object, object)  # a note, the BranchDraft it is written for
    command_given = Signal(str, str)  # one of COMMANDS, and what stands behind it
    stop_requested = Signal()
    stop_and_send_requested = Signal(object)  # a note
    note_edited = Signal(str, str)  # id, text
    note_withdrawn = Signal(str)  # id
    resume_requested = Signal()  # what the engine has already is to be sent
    mode_chosen = Signal(str)
    model_picker_requested = Signal()
    # The agent has ended: the main one is to get this note, or with None to be shown.
    main_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state = SessionState()
        self._notes = AgentNotes(AgentId(""))
        self._settings = Settings()
        self._info: SessionInfo | None = None
        self._dollars: float | None = None
        self._tokens: int | None = None
        # The turn that the user asked to stop.
        self._stopped_turn = -1
        self._has_begun = self._is_read_only = False
        # A message that was sent while its files were still being read goes when they are.
        self._when_read: Callable[[], None] | None = None
        # Sent, but not on disk as far as is known: by note, whose it is and its session's draft.
        self._unconfirmed: dict[NoteId, _Unconfirmed] = {}
        self._drafts = Drafts(self)
        self.setObjectName("composerArea")
        self._strip = NoteStrip(theme, self)
        self._frame = ComposerFrame(theme, self)
        self.box = ComposerInput(theme, self._frame)
        self.bar = ComposerBar(theme, self._frame)
        self._ended = EndedBar(theme, self)
        self.read_only = ReadOnlyBar(theme, self)
        self.branch = BranchBar(theme, self)
        # Until the engine has it: a refused one waits again.
        self._begun: dict[NoteId, BranchDraft] = {}
        self._lay_out()
        self._connect()
        self._draft = self._drafts.first
        self.box.open_draft(self._draft, "")
        self.set_settings(self._settings)

    # -- down -----------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Follow what the session costs, and which notes are safe on disk."""
        match event:
            case SessionsChanged():
                self._follow_info(event)
            case StepEnded() if event.agent_id == self._notes.agent_id:
                self._add_step(event)
            case CommandRefused():
                self._give_back(event)
            case NoteQueued():
                self._confirm(event.note.id)
                if event.agent_id == self._notes.agent_id:
                    self._draft.remember(event.note)
            case _:
                return
        self._show_buttons()

    def show_state(self, state: SessionState) -> None:
        """Show the notes, the turn and the tools of the agent that is shown."""
        was_read_only, self._is_read_only = self._is_read_only, state.is_read_only
        self._state, self._notes = state, state.notes(state.shown)
        self._strip.show_notes(AgentNotes() if self._is_read_only else self._notes)
        self.branch.show_draft(None if self._is_read_only else self.branch_draft)
        if self._is_read_only:
            self.stay_unsent()
        elif was_read_only and self._info is not None:
            # What was written since in the window that had it.
            self.box.open_draft(self._draft, self._info.workspace.root)
        self.bar.show_sandbox(state.sandbox, is_machine=state.is_machine_sandbox)
        self._show_buttons()

    def set_settings(self, settings: Settings) -> None:
        self._settings = settings
        self.box.set_places(one.name for one in settings.places)
        self.box.edit.send_with_ctrl_enter = settings.send_with_ctrl_enter
        self._show_buttons()

    def set_model(self, title: str, has_images: bool | None = None) -> None:
        """Show the model; `has_images` False warns when a picture is attached."""
        self.box.set_has_images(has_images)
        self.bar.set_model(title)

    def set_mode(self, mode: Mode) -> None:
        """Show the session's mode; nothing is emitted."""
        self.bar.mode.set_mode(mode)
        self._frame.set_free(mode == "free")

    def draft(self) -> str:
        return self.box.text

    def _take_missed(self, text: str, is_writing: bool) -> None:
        """Go on with words for a note that was read meanwhile, behind what is typed here."""
        if text:
            self.box.edit.replace_text("\n\n".join(filter(None, (self.draft(), text))))
        if is_writing:
            self.focus_text()

    def attach_files(self, files: Sequence[Path]) -> None:
        """Take files that were dropped elsewhere in the window, and the focus."""
        self.show_held_over(is_over=False)
        self.box.attach_files(files)
        self.focus_text()

    def show_held_over(self, *, is_over: bool) -> None:
        """Light up for files that are held over the window."""
        self._frame.set_held_over(is_over)

    def set_text(self, text: str, skills: Sequence[str] = ()) -> None:
        """Put a text into the box, as for *Edit and resend*, and give it the focus."""
        self.box.edit.replace_text(text)
        for name in skills:
            self.box.add_skill(name)
        self.focus_text()

    def begin_branch(self, draft: BranchDraft | None) -> None:
        """Have the next message begin a branch, or with None not any more."""
        self._draft.begin_branch(draft)
        self.branch.show_draft(draft)
        self.focus_text()

    def focus_text(self) -> None:
        self._standing().setFocus(Qt.FocusReason.ShortcutFocusReason)

    def type_text(self, text: str) -> None:
        """Go on here with what was begun elsewhere."""
        self.focus_text()
        if self.box.isVisible():
            self.box.edit.insertPlainText(text)

    def stay_unsent(self) -> None:
        """Keep what waits for files to be read as a draft."""
        self._when_read = None

    def request_stop(self) -> None:
        """Stop the turn; says *Stopping…* at once."""
        if self._notes.is_running and not self._is_stopping():
            self._stopped_turn = self._notes.turn
            self._show_buttons()
            self.stop_requested.emit()

    @property
    def branch_draft(self) -> BranchDraft | None:
        """What the next message begins a branch in place of."""
        return self._draft.branch

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc, wherever one is here, makes an ordinary message of a branch."""
        if event.key() == Qt.Key.Key_Escape and self.branch_draft is not None:
            self.begin_branch(None)
        else:
            super().keyPressEvent(event)

    # -- construction ---------------------------------------------------------------------

    def _lay_out(self) -> None:
        column(self.box, self.bar, spacing=6, edges=(12, 10, 10, 8), within=self._frame)
        self._frame.setFocusProxy(self.box)
        centred = Centred(self._theme, self)
        parts = (self._strip, self.branch, self._frame, self._ended, self.read_only)
        column(None, *parts, spacing=8, within=centred)
        # In line with the transcript's column, which is centred once there is room to spare.
        scroll_bar = self._theme.size("scrollbar")
        edges = (16, 0, 16, 16)
        row(None, (centred, 1000), None, scroll_bar, spacing=-1, edges=edges, within=self)

    def _connect(self) -> None:
        box, bar, strip = self.box, self.bar, self._strip.notes
        box.edit.sent.connect(self._send)
        box.edit.focus_changed.connect(self._frame.set_focused)
        box.edit.files_held.connect(self._frame.set_held_over)
        box.changed.connect(self._on_input_changed)
        self._frame.given.connect(box.edit.insertFromMimeData)
        bar.sent.connect(self._send)
        bar.stop.clicked.connect(self.request_stop)
        bar.halt.triggered.connect(self.request_stop)
        bar.cut.triggered.connect(self._stop_and_send)
        bar.attach.clicked.connect(box.pick_files)
        bar.mention.clicked.connect(box.begin_mention)
        bar.model.clicked.connect(self.model_picker_requested)
        bar.mode.mode_chosen.connect(self._on_mode_chosen)
        strip.edited.connect(self._edit)
        strip.withdrawn.connect(self._withdraw)
        strip.interrupted.connect(self._interrupt_with)
        strip.resent.connect(self._resend)
        strip.discarded.connect(self._discard)
        strip.retried.connect(self._retry)
        strip.edit_missed.connect(self._take_missed)
        self._ended.button.clicked.connect(self._leave)
        self.branch.cancelled.connect(lambda: self.begin_branch(None))

    def _edit(self, row: NoteRow, text: str) -> None:
        self.note_edited.emit(row.note.id, text)

    def _withdraw(self, row: NoteRow) -> None:
        self.note_withdrawn.emit(row.note.id)

    # -- the session ----------------------------------------------------------------------

    def open(self, page: AgentPage, state: SessionState) -> None:
        """Write to the agent of this page from now on."""
        info = self._info = page.info
        self._when_read = None
        self._stopped_turn = -1
        self._dollars, self._tokens = info.usage.cost, info.context_tokens
        # What was typed before the first session was there belongs to that session.
        self._draft = self._drafts.open(info.id, page.agent_id, self.box.text)
        for event in page.events:
            if isinstance(event, NoteQueued) and event.agent_id == page.agent_id:
                self._confirm(event.note.id)
                self._draft.remember(event.note)
        self.box.open_draft(self._draft, info.workspace.root)
        self.bar.mode.folder = info.workspace.root
        self.set_mode(info.mode)
        self.bar.set_model(own_name(page.model))
        self._show_numbers()
        self.show_state(state)

    def _follow_info(self, event: SessionsChanged) -> None:
        self._drafts.forget_erased({one.id for one in (*event.sessions, *event.deleted)})
        for info in event.sessions:
            if self._info is not None and info.id == self._info.id:
                if info.mode != self.bar.mode.mode:
                    self.set_mode(info.mode)
                self._info = info
                self._dollars = max(filter(None, (self._dollars, info.usage.cost)), default=None)
                self._show_numbers()

    def _add_step(self, event: StepEnded) -> None:
        self._tokens = event.context_tokens or self._tokens
        if event.usage.cost is not None:
            self._dollars = (self._dollars or 0.0) + event.usage.cost
        self._show_numbers()

    def _confirm(self, note_id: NoteId) -> None:
        """A note is on disk."""
        self._unconfirmed.pop(note_id, None)
        self._begun.pop(note_id, None)

    def _give_back(self, refused: CommandRefused) -> None:
        """Return a note that never reached the disk to the box that it was sent from."""
        branch = self._begun.pop(NoteId(refused.about), None)
        sent = self._unconfirmed.pop(NoteId(refused.about), None)
        if sent is not None:
            draft, note, attached = sent
            draft.take_back(note, attached, branch)
            self.branch.show_draft(self.branch_draft)

    # -- sending --------------------------------------------------------------------------

    def _note(self, delivery: Delivery) -> Note | None:
        """Take what is in the box as a note; None when there is nothing to send yet."""
        text = self.draft().strip("\n").rstrip()
        parts, skills = self.box.parts, self.box.skills
        if self.box.is_reading or not (text or parts or skills):
            return None
        if self._info is not None and not self._info.model:
            self.model_picker_requested.emit()
            return None
        now, note_id = time.time(), new_note_id()
        note = Note(
            note_id, text, delivery=delivery, attachments=parts, created_at=now, skills=skills
        )
        self._draft.remember(note)
        self._unconfirmed[note.id] = (self._draft, note, self.box.attached)
        self.box.clear()
        return note

    def _on_input_changed(self) -> None:
        # What only reads shows what is typed in another window.
        if not self._is_read_only:
            self._drafts.keep(self.box.text)
        waiting = self._when_read
        if waiting is not None and not self.box.is_reading:
            self._when_read = None
            if not self.box.has_failed_source:
                waiting()
        if not self._has_begun and self.box.has_content:
            self._has_begun = True
            self.begun.emit()
        self._show_buttons()

    def _give_command(self) -> bool:
        """Give the command that the box holds, if it holds one."""
        name, _, text = self.draft().strip().partition(" ")
        is_command = name.startswith("/") and name[1:] in (*COMMANDS, RUN_ON)
        if not is_command or self.box.parts or self.box.skills or (text and name == "/clear"):
            return False
        self.box.clear()
        self.command_given.emit(name[1:], text.strip())
        return True

    def _send(self, is_other: bool) -> None:
        finish_input()
        if self._has_to_read(partial(self._send, is_other)) or self._give_command():
            return
        steers = is_other != self._settings.steer_on_enter
        delivery: Delivery = "step" if self._notes.is_running and steers else "turn"
        note = self._note(delivery)
        branch = self.branch_draft
        if note is not None and branch is not None:
            self._begun[note.id] = branch
            self.begin_branch(None)
            self.branch_submitted.emit(note, branch)
        elif note is not None:
            self.submitted.emit(note)

    def _has_to_read(self, then: Callable[[], None]) -> bool:
        """Whether what goes along is still to be read; the sending follows by itself."""
        self.box.read_sources()
        self._when_read = then if self.box.is_reading else None
        return self._when_read is not None

    def _stop_and_send(self) -> None:
        finish_input()
        if not self._has_to_read(self._stop_and_send) and (note := self._note("turn")):
            self._stop_with(note)

    def _stop_with(self, note: Note) -> None:
        if self._notes.is_running:
            self._stopped_turn = self._notes.turn
        self._show_buttons()
        self.stop_and_send_requested.emit(note)

    def _interrupt_with(self, row: NoteRow) -> None:
        self._withdraw(row)
        self._stop_with(self._again(row))

    def _resend(self, row: NoteRow) -> None:
        note = self._again(row)
        self._state.replace_note(self._notes.agent_id, row.note.id, note.id)
        (self.main_requested if self._is_ended else self.submitted).emit(note)
        self._withdraw(row)

    def _leave(self) -> None:
        """Go to the main agent, with what is typed here."""
        self._drafts.carry(self.box.text)
        self.main_requested.emit(None)

    def _again(self, row: NoteRow) -> Note:
        # An id is never used again once its note has left the inbox.
        now = time.time()
        return msgspec.structs.replace(row.note, id=new_note_id(), delivery="turn", created_at=now)

    def _discard(self, row: NoteRow) -> None:
        self._state.forget_note(self._notes.agent_id, row.note.id)
        self._strip.refresh()
        self._withdraw(row)

    def _retry(self, row: NoteRow) -> None:
        if row.is_in_history or row.state == "queued":
            # The engine has it already: going on is enough.
            self.resume_requested.emit()
        else:
            self.submitted.emit(row.note)

    # -- what is shown --------------------------------------------------------------------

    def _on_mode_chosen(self, mode: Mode) -> None:
        self._frame.set_free(mode == "free")
        self.mode_chosen.emit(mode)

    def _is_stopping(self) -> bool:
        return self._stopped_turn == self._notes.turn or self._notes.status == "stopping"

    @property
    def _is_ended(self) -> bool:
        return self._notes.status in ENDED

    def _standing(self) -> QWidget:
        """Return what stands in the place of the message box, or the box."""
        if self._is_read_only:
            return self.read_only
        return self._ended if self._is_ended else self.box

    def _show_box(self, name: str) -> None:
        """Show the message box, or why nothing can be written here to the agent of this name."""
        standing, places = self._standing(), (self._frame, self._ended, self.read_only)
        self._ended.say(name)
        # In this order the focus has somewhere to go.
        coming = self._frame if standing is self.box else standing
        coming.show()
        for place in places:
            place.setVisible(place is coming)

    def _keys(self) -> tuple[str, str]:
        if self._settings.send_with_ctrl_enter:
            return (self.tr("Ctrl+Enter"), self.tr("Ctrl+Shift+Enter"))
        return (self.tr("Enter"), self.tr("Ctrl+Enter"))

    def _show_buttons(self) -> None:
        agent_id = self._notes.agent_id
        info, others = self._state.agent(agent_id), self._state.below(agent_id)
        # Whom a stop would stop; a main agent that works alone needs no name.
        name = plain(info.name) if info and (others or info.parent_id is not None) else ""
        state = SendState(
            is_running=self._notes.is_running,
            is_stopping=self._notes.is_running and self._is_stopping(),
            has_content=self.box.has_content,
            is_reading=self.box.is_reading,
            steers_first=self._settings.steer_on_enter,
            cuts=self._strip.cuts(),
            scope=name,
            others=others,
            keys=self._keys(),
        )
        self._show_box(name)
        self.bar.show_state(state)
        self.box.edit.set_placeholders(self._placeholders(state))

    def _placeholders(self, state: SendState) -> tuple[str, ...]:
        """Return what the empty box may say; the longest that fits is shown."""
        if not state.is_running:
            whole = self.tr("Ask for something to be done…   / for skills, @ for files")
            return whole, self.tr("Ask for something…")
        queue, steer = reversed(state.keys) if state.steers_first else state.keys
        whole = self.tr("{queue} queues for after this turn, {steer} steers at the next step")
        brief = self.tr("{queue}: queue · {steer}: steer")
        return tuple(words.format(queue=queue, steer=steer) for words in (whole, brief))

    def _show_numbers(self) -> None:
        limit = self._info.context_limit if self._info else None
        self.bar.show_context(self._tokens, limit)
        self.bar.show_cost(self._dollars)
