"""The strip above the composer: every note that waits, was delivered, or came back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from desktop_agent.core.ids import NoteId
from desktop_agent.gui.kit.fitted_area import FittedArea
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import column
from desktop_agent.gui.notes.row import NoteHolder, NoteRowView
from desktop_agent.gui.state.agent_notes import AgentNotes, NoteRow

_MAX_HEIGHT = 188
DELIVERED_MS = 6_000


class NoteList(NoteHolder):
    """Notes to one agent, one below the other."""

    def __init__(self, theme: Theme, *, is_in_card: bool = False, spacing: int = 0) -> None:
        super().__init__()
        self._theme = theme
        self._is_in_card = is_in_card
        self._notes = AgentNotes()
        self._rows: Sequence[NoteRow] = ()
        self._views: dict[NoteId, NoteRowView] = {}
        self._column = column(spacing=spacing)
        self.setLayout(self._column)
        # Counts the seconds of the tool that a note waits for; stands still otherwise.
        self._clock = QTimer(self)
        self._clock.setInterval(1_000)
        self._clock.timeout.connect(self._show)

    def show_notes(self, notes: AgentNotes, rows: Sequence[NoteRow]) -> None:
        self._notes, self._rows = notes, rows
        wanted = {note.note.id for note in rows}
        for note_id in self._views.keys() - wanted:
            view = self._views.pop(note_id)
            self._column.removeWidget(view)
            view.setParent(None)
            view.deleteLater()
        for note in rows:
            if note.note.id not in self._views:
                view = NoteRowView(self._theme, note, self, is_in_card=self._is_in_card)
                self._views[note.note.id] = view
                self._column.addWidget(view)
        self.setVisible(bool(rows))
        self._show()

    def _show(self) -> None:
        for note in self._rows:
            self._views[note.note.id].show_row(note, self._notes)
        counts = self._notes.tools and any(note.can_change for note in self._rows)
        if not counts or not self.isVisible():
            self._clock.stop()
        elif not self._clock.isActive():
            self._clock.start()

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
        for row in rows:
            if row.state == "delivered" and row.note.id not in self._folding:
                self._folding.add(row.note.id)
                QTimer.singleShot(DELIVERED_MS, self, partial(self._fold, row.note.id))
        self.setVisible(bool(rows))

    def cuts(self) -> str:
        """Name what a stop would cut; empty when nothing but the model's answer runs."""
        return ", ".join(tool.doing for tool in self._notes.tools)

    def _fold(self, note_id: NoteId) -> None:
        # The bubble in the transcript tells of it from now on.
        self._folding.discard(note_id)
        row = self._notes.row(note_id)
        if row is not None and row.state == "delivered":
            self._notes.fold(note_id)
            self.refresh()
