"""Subagents in one place: what waits for the user, the tree, and the selected one's card."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.ids import AgentId, new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.gui.agents.card import AgentCard
from desktop_agent.gui.agents.requests_panel import RequestsPanel
from desktop_agent.gui.agents.rows import AgentRow
from desktop_agent.gui.agents.tree import AgentTree
from desktop_agent.gui.kit.fitted_area import PlainArea
from desktop_agent.gui.kit.lists.columns import CardPlace, ScrolledColumn
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import column
from desktop_agent.gui.state.agent_notes import NoteRow
from desktop_agent.gui.state.session_state import Facet, SessionState

# What needs text, a confirmation, or the place for an answer.
_IN_CARD = frozenset({"steer", "aside", "answer", "probe", "stop", "budget"})
_PALETTE_COMMANDS = ("open", "steer", "pause", "step", "stop")
# More agents than these would bury the other commands; the tree has a filter for them.
_MOST_IN_PALETTE = 6
_TOP = 10
_ASKS_SHARE = 0.4
# The card of a subagent at work is about so many rows high.
_CARD_ROWS = 3.6
# So many may be on their way to the disk at once.
_MOST_TYPED = 20


class AgentPanel(QWidget):
    """Requests, the tree of subagents, and the card of the selected one.

    Signals:
        opened(agent_id): show its transcript
        steered(agent_id, Note): send a note to it
        note_edited(agent_id, note_id, text), note_withdrawn(agent_id, note_id)
        answered(question_id, text)
        command_requested(agent_id, command): as in `AgentCard`, or `resume`; after `probe` call
            `set_probe_result`
        aside_requested(agent_id, text): call `set_probe_result`
        notes_forgotten: what came back was sent elsewhere or discarded
    """

    opened = Signal(str)
    steered = Signal(str, object)
    note_edited = Signal(str, str, str)
    note_withdrawn = Signal(str, str)
    answered = Signal(str, str)
    command_requested = Signal(str, str)
    aside_requested = Signal(str, str)
    notes_forgotten = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state = SessionState()
        # What was asked without interrupting, and what a probe said: (question, answer).
        self._probes: dict[str, tuple[str, str]] = {}
        # What was typed and sent last, by the id of the note.
        self._typed: dict[str, tuple[str, str]] = {}
        self.setObjectName("agentPanel")
        self.setAccessibleName(self.tr("Subagents"))
        self.asks = RequestsPanel(theme, self)
        self.tree = AgentTree(theme, self)
        self.strip = AgentCard(theme, self.tree.view.actions_of_row, self)
        self._lay_out()
        self._connect()
        self.tree.hide()

    # -- what comes down -------------------------------------------------------------------

    def show_state(self, state: SessionState, changed: Facet) -> None:
        self._state = state
        if changed & (Facet.SHOWN | Facet.WRITER):
            self.tree.view.actions_of_row.set_read_only(state.is_read_only)
        if changed & (Facet.SESSION | Facet.SHOWN | Facet.AGENTS | Facet.REQUESTS | Facet.WRITER):
            self.asks.show_state(state)
        if changed & Facet.SESSION:
            self.tree.close_up()
        if changed & (Facet.AGENTS | Facet.BUDGETS):
            self.tree.set_agents(state.agents, state.held)
        if changed & Facet.SESSION:
            self.tree.flush()
        if changed & Facet.CHANGES:
            actions = self.tree.view.actions_of_row
            waiting = frozenset(one.agent_id for one in state.changes.waiting)
            actions.set_changed_by(state.changed_by, waiting)
        if changed & ~(Facet.SESSION | Facet.SHOWN | Facet.TASKS | Facet.SANDBOX):
            self.show_card()

    def set_probe_result(self, agent_id: str, text: str) -> None:
        """Show the answer to a probe or to a question beside the work, or why there is none."""
        question, _ = self._probes.get(agent_id, ("", ""))
        self._probes[agent_id] = (question, text.strip() or self.tr("It gave no answer."))
        self.show_card()

    def select(self, agent_id: str) -> None:
        """Mark an agent, as when its transcript is shown."""
        self.tree.flush()
        self.tree.select(agent_id)

    def regions(self) -> tuple[QWidget, ...]:
        """Return the parts that F6 goes through: the subagents, and what waits for the user."""
        return (self._area, self.asks)

    def wanted_height(self) -> int:
        """Return the height in which tree and card stand whole, whoever is selected, if anybody.

        What waits for the user takes from this, so that nothing above moves as it comes and goes.
        """
        card = round(_CARD_ROWS * self._theme.size("row2"))
        return self._column.contentsMargins().top() + self.tree.sizeHint().height() + card

    def set_alone(self, is_alone: bool) -> None:
        """Begin where the window's header does, with nothing above."""
        top = _TOP if is_alone else self._theme.space("s")
        self._column.setContentsMargins(0, top, 0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave most of the height to the tree and the card."""
        super().resizeEvent(event)
        self.asks.set_room(round(self.height() * _ASKS_SHARE))

    def show_card(self) -> None:
        """Show the selected agent and the notes to it as they stand."""
        one = self.tree.current
        key = one.key if one is not None else AgentId("")
        self.strip.show_agent(one, self._state.notes(key or None), self._state.question_of(key))
        self.strip.quote.show_text(*self._probes.get(key, ("", "")))

    # -- what goes up ----------------------------------------------------------------------

    def palette_actions(self, parent: QObject, reveal: Callable[[], None]) -> list[QAction]:
        """Return commands for the selected subagent, and for those that work.

        `reveal` shows the panel: some go on in it.
        """
        current, offered = self.tree.current, self.tree.view.actions_of_row
        alive = [one for one in self.tree.rows if not one.info.is_ended and one is not current]
        found: list[QAction] = []
        for one in ([current, *alive] if current is not None else alive)[:_MOST_IN_PALETTE]:
            for command in filter(partial(offered.can_do, one), _PALETTE_COMMANDS):
                title = f"{offered.title(one, command).rstrip('…')}: {one.name}"
                action = QAction(title.replace("&", "&&"), parent)
                if command in ("steer", "stop"):
                    action.triggered.connect(reveal)
                action.triggered.connect(partial(self._on_command, one.key, command))
                found.append(action)
        return found

    def _on_command(self, agent_id: str, command: str) -> None:
        one = self.tree.row(agent_id)
        if one is None:
            return
        if command == "pause":
            command = "resume" if one.is_holding else "pause"
        if command == "open":
            self.opened.emit(agent_id)
        elif command in _IN_CARD:
            self._on_command_in_card(one, command)
        else:
            self.command_requested.emit(agent_id, command)

    def _on_command_in_card(self, one: AgentRow, command: str) -> None:
        """What needs the card: text is typed there, a stop confirmed, an answer shown."""
        self._select(one.key)
        match command:
            case "steer" | "aside":
                self.strip.input.begin(command)
            case "answer":
                self.answer(one.key)
                return
            case "stop" if self.strip.ask_stop():
                pass
            case _:
                if command == "probe":
                    self._probes[one.key] = ("", "")
                self.command_requested.emit(one.key, command)
        if self._area.isVisible():
            self._area.ensureWidgetVisible(self.strip, 0, 0)

    def answer(self, agent_id: str) -> None:
        """Go to the one place where what an agent asks is answered."""
        question = self._state.question_of(agent_id)
        if question is None or agent_id == self._state.shown:  # on its card in the transcript
            self.asks.ask_chosen.emit(agent_id, question.id if question is not None else "")
        else:
            self.asks.focus_ask(question.id)

    def _select(self, agent_id: str) -> None:
        self.tree.select(agent_id)
        self.show_card()

    def _on_sent(self, agent_id: str, mode: str, text: str) -> None:
        if mode == "steer":
            self._steer(agent_id, text, is_typed=True)
        else:
            self._probes[agent_id] = (text, "")
            self.aside_requested.emit(agent_id, text)
            self.show_card()

    def give_back(self, about: str) -> None:
        """Put back into its field what was sent under this id and was refused."""
        if typed := self._typed.pop(about, None):
            agent_id, text = typed
            self.strip.input.give_back(agent_id, "steer", text)

    def _remember(self, sent_as: str, agent_id: str, text: str) -> None:
        self._typed[sent_as] = (agent_id, text)
        while len(self._typed) > _MOST_TYPED:
            del self._typed[next(iter(self._typed))]

    def _steer(self, agent_id: str, text: str, *, is_typed: bool = False) -> None:
        note = Note(new_note_id(), text, kind="steer", delivery="step", created_at=time.time())
        if is_typed:
            self._remember(note.id, agent_id, text)
        self.steered.emit(agent_id, note)

    def _on_quick(self, agent_id: str, text: str) -> None:
        self._select(agent_id)
        if text.endswith("…"):
            self.strip.input.begin("steer", text.removesuffix("…") + ": ")
        else:
            self._steer(agent_id, text)

    def _on_note_edited(self, row: NoteRow, text: str) -> None:
        self.note_edited.emit(self.strip.agent_id, row.note.id, text)

    def _on_note_withdrawn(self, row: NoteRow) -> None:
        self.note_withdrawn.emit(self.strip.agent_id, row.note.id)

    def _on_resent(self, row: NoteRow) -> None:
        """What an agent can't read any more goes to Main, as a task of its own."""
        main, kept = self._state.main_agent, row.note
        if main is None:
            return
        note = Note(
            new_note_id(),
            kept.text,
            delivery="turn",
            attachments=kept.attachments,
            created_at=time.time(),
            skills=kept.skills,
        )
        self._state.replace_note(AgentId(self.strip.agent_id), row.note.id, note.id)
        self.steered.emit(main, note)

    def _forget_note(self, row: NoteRow) -> None:
        self._state.forget_note(AgentId(self.strip.agent_id), row.note.id)
        self.show_card()
        self.notes_forgotten.emit()

    def _close_probe(self, agent_id: str) -> None:
        self._probes.pop(agent_id, None)
        self.show_card()

    # -- building --------------------------------------------------------------------------

    def _connect(self) -> None:
        self.asks.answered.connect(self.answered)
        actions, notes = self.tree.view.actions_of_row, self.strip.notes
        self.tree.view.opened.connect(self.opened)
        self.tree.selected.connect(self.show_card)
        self.tree.shown.connect(self.show_card)
        self.tree.filled.connect(self.tree.setVisible)
        actions.command_requested.connect(self._on_command)
        actions.quick_chosen.connect(self._on_quick)
        self.strip.command_requested.connect(self._on_command)
        self.strip.sent.connect(self._on_sent)
        self.strip.probe_closed.connect(self._close_probe)
        notes.edited.connect(self._on_note_edited)
        notes.withdrawn.connect(self._on_note_withdrawn)
        notes.resent.connect(self._on_resent)
        notes.discarded.connect(self._forget_note)

    def _lay_out(self) -> None:
        theme = self._theme
        holder = CardPlace(self.tree, self)
        edge, gap = theme.space("m"), theme.space("s")
        holder.setLayout(column(self.strip, edges=(edge, 0, edge, gap)))
        self._content = content = ScrolledColumn()
        self._column = column(self.tree, holder, spacing=gap, stretch=0)
        self._column.addStretch(0)
        content.setLayout(self._column)
        # In a low window the whole panel scrolls; nothing in it is squeezed.
        self._area = PlainArea(content)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Requests below all: what comes and goes by itself pushes nothing from under the mouse.
        self.setLayout(column(self._area, self.asks, stretch=0))
