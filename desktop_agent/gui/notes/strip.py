"""The strip above the composer: every note that waits, was delivered, or came back."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, QTimer, Signal, SignalInstance
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from desktop_agent.core.ids import AgentId, NoteId
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.notes.row import NoteRowView
from desktop_agent.gui.state.agent_notes import AgentNotes, NoteRow

_MAX_HEIGHT = 188
DELIVERED_MS = 6_000


class NoteStrip(QFrame):
    """Shows the notes to one agent. Signals carry the note's row.

    `edited(row, text)`, `withdrawn(row)`, `interrupted(row)`, `resent(row)`, `discarded(row)`,
    `retried(row)`, `edit_missed(text)`.
    """

    edited = Signal(object, str)
    withdrawn = Signal(object)
    interrupted = Signal(object)
    resent = Signal(object)
    discarded = Signal(object)
    retried = Signal(object)
    edit_missed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._notes = AgentNotes(AgentId(""))
        self._views: dict[NoteId, NoteRowView] = {}
        self._folding: set[NoteId] = set()
        self.setObjectName("noteStrip")
        self.setProperty("frame", "card")
        self.setAccessibleName(self.tr("Notes for the agent"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._content = QWidget()
        self._rows = QVBoxLayout(self._content)
        self._rows.setContentsMargins(0, 2, 0, 2)
        self._rows.setSpacing(0)
        self._area = QScrollArea(self)
        # One of our own, with no ground: Qt's would have to be looked up among all its widgets.
        self._area.setViewport(QWidget(self._area))
        self._area.setWidgetResizable(True)
        self._area.setWidget(self._content)
        self._content.setAutoFillBackground(False)
        self._content.installEventFilter(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.addWidget(self._area)
        # Counts the seconds of the tool that a note waits for; stands still otherwise.
        self._clock = QTimer(self)
        self._clock.setInterval(1_000)
        self._clock.timeout.connect(self.refresh)
        self.hide()

    def show_notes(self, notes: AgentNotes) -> None:
        """Show how these stand."""
        self._notes = notes
        self.refresh()

    def refresh(self) -> None:
        """Show the present rows."""
        rows = self._notes.rows
        wanted = {row.note.id for row in rows}
        for note_id in [known for known in self._views if known not in wanted]:
            view = self._views.pop(note_id)
            self._rows.removeWidget(view)
            view.setParent(None)
            view.deleteLater()
        cuts = self.cuts()
        for row in rows:
            view = self._views.get(row.note.id) or self._add(row)
            view.show_row(row, self._notes.status, self._notes.tools, cuts)
            if row.state == "delivered" and row.note.id not in self._folding:
                self._folding.add(row.note.id)
                QTimer.singleShot(DELIVERED_MS, self, partial(self._fold, row.note.id))
        self.setVisible(bool(rows))
        self._fit()
        self._run_clock(rows)

    def cuts(self) -> str:
        """Name what a stop would cut; empty when nothing but the model's answer runs."""
        return ", ".join(tool.doing for tool in self._notes.tools)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the rows when they need more or less room."""
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    def showEvent(self, event: QShowEvent) -> None:
        """The clock is needed only while the seconds can be seen."""
        super().showEvent(event)
        self._run_clock(self._notes.rows)

    def hideEvent(self, event: QHideEvent) -> None:
        """See showEvent."""
        super().hideEvent(event)
        self._clock.stop()

    def _fold(self, note_id: NoteId) -> None:
        # The bubble in the transcript tells of it from now on.
        self._folding.discard(note_id)
        row = self._notes.row(note_id)
        if row is not None and row.state == "delivered":
            self._notes.fold(note_id)
            self.refresh()

    def _run_clock(self, rows: tuple[NoteRow, ...]) -> None:
        counts = bool(self._notes.tools) and any(row.can_change for row in rows)
        if counts and self.isVisible():
            if not self._clock.isActive():
                self._clock.start()
        else:
            self._clock.stop()

    def _fit(self) -> None:
        high = min(self._content.sizeHint().height(), _MAX_HEIGHT)
        if self._area.height() != high:
            self._area.setFixedHeight(high)

    def _add(self, row: NoteRow) -> NoteRowView:
        view = NoteRowView(self._theme, row, self._content)
        note_id = row.note.id
        for name in ("withdrawn", "interrupted", "resent", "discarded", "retried"):
            getattr(view, name).connect(partial(self._pass_on, getattr(self, name), note_id))
        view.edited.connect(partial(self._pass_on, self.edited, note_id))
        view.edit_missed.connect(self.edit_missed)
        self._views[note_id] = view
        self._rows.addWidget(view)
        return view

    def _pass_on(self, signal: SignalInstance, note_id: NoteId, *values: object) -> None:
        row = self._notes.row(note_id)
        if row is not None:
            # A button's own `checked` is no part of what is passed on.
            texts = [value for value in values if isinstance(value, str)]
            signal.emit(row, *texts)
