"""Subagents in one place: what waits for the person, the tree, and the selected one's card."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from desktop_agent.core.ids import AgentId, NoteId, new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.gui.agents.budget_form import BudgetForm
from desktop_agent.gui.agents.card import AgentCard
from desktop_agent.gui.agents.requests_panel import RequestsPanel
from desktop_agent.gui.agents.tree import AgentTree
from desktop_agent.gui.kit.lists.columns import CardPlace, ScrolledColumn
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.state.agent_notes import AgentNotes
from desktop_agent.gui.state.session_state import Facet, SessionState

_TOP = 10
_ASKS_SHARE = 0.4


class AgentPanel(QWidget):
    """Signals carry the agent's id first.

    Signals:
        opened: show its transcript. `ask_chosen` also names the card to go to.
        steered: with a Note to send to it.
        decided, answered: with the id of the request or the question first.
        result_requested: its whole result is to be copied.
        filled: whether there is anything to show. asks_changed: how many things wait.
        notes_forgotten: what came back was sent elsewhere or discarded (without an id).
    """

    opened = Signal(str)
    ask_chosen = Signal(str, str)
    steered = Signal(str, object)
    note_edited = Signal(str, str, str)
    note_withdrawn = Signal(str, str)
    answered = Signal(str, str)
    decided = Signal(str, object)
    paused = Signal(str)
    resumed = Signal(str)
    stepped = Signal(str)
    stopped = Signal(str)
    finish_requested = Signal(str)
    budget_extended = Signal(str)
    budget_set = Signal(str, object)
    price_wanted = Signal(str)
    probe_requested = Signal(str)
    aside_requested = Signal(str, str)
    result_requested = Signal(str)
    filled = Signal(bool)
    asks_changed = Signal(int)
    notes_forgotten = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state = SessionState()
        # What was asked aside, and what a probe said: (question, answer).
        self._probes: dict[str, tuple[str, str]] = {}
        self._budget: BudgetForm | None = None
        self._is_filled = False
        self.setObjectName("agentPanel")
        self.setAccessibleName(self.tr("Subagents"))
        self._area = QScrollArea(self)
        self.asks = RequestsPanel(theme, self)
        self.tree = AgentTree(theme, self)
        self.strip = AgentCard(theme, self.tree.view.actions_of_row, self)
        self._lay_out()
        self._connect()
        self._fill()

    # -- what comes down -------------------------------------------------------------------

    def show_state(self, state: SessionState, changed: Facet) -> None:
        """Show the agents of the session that is shown, and the selected one's card."""
        self._state = state
        if changed & (Facet.SESSION | Facet.AGENTS | Facet.REQUESTS):
            self.asks.show_state(state)
        if changed & Facet.SESSION:
            self.tree.filter.clear()
        if changed & (Facet.AGENTS | Facet.BUDGETS):
            self.tree.set_agents(state.agents, state.held)
        if changed & Facet.SESSION:
            self.tree.flush()
        if changed & (Facet.AGENTS | Facet.BUDGETS | Facet.REQUESTS | Facet.NOTES):
            self._show_strip()

    def show_notes(self) -> None:
        """Show the notes to the selected agent as they stand."""
        self.strip.refresh_notes()

    def set_probe_result(self, agent_id: str, text: str) -> None:
        """Show what a probe or a question aside brought, or why it brought nothing."""
        question, _ = self._probes.get(agent_id, ("", ""))
        self._probes[agent_id] = (question, text.strip() or self.tr("It gave no answer."))
        self._show_strip()

    def select(self, agent_id: str) -> None:
        """Mark an agent, as when its transcript is shown."""
        self.tree.flush()
        self.tree.select(agent_id)

    def wanted_height(self) -> int:
        """Return the height in which nothing has to be scrolled."""
        layout = self._column
        width = self._area.viewport().width()
        high = layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else 0
        high = max(high, layout.totalSizeHint().height())
        return high + (self.asks.sizeHint().height() if self.asks.count else 0)

    def least_height(self) -> int:
        """Return the height in which the card is whole, though the rest is scrolled."""
        high = self._content.heightForWidth(self._area.viewport().width())
        if not self.asks.count:
            return high
        return min(high + self.asks.sizeHint().height(), round(high / (1 - _ASKS_SHARE)))

    def set_alone(self, is_alone: bool) -> None:
        """Begin where the window's header does, with nothing above."""
        self._column.setContentsMargins(0, _TOP if is_alone else 0, 0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave most of the height to the tree and the card."""
        super().resizeEvent(event)
        self.asks.set_room(round(self.height() * _ASKS_SHARE))

    # -- showing ---------------------------------------------------------------------------

    def _show_strip(self) -> None:
        one = self.tree.current
        if one is None:
            self.strip.show_agent(None, AgentNotes(AgentId("")), None)
            return
        question = self._state.question_of(one.key)
        self.strip.show_agent(one, self._state.notes(one.key), question)
        self.strip.show_probe(*self._probes.get(one.key, ("", "")))

    def _fill(self) -> None:
        has_tree = bool(self.tree.rows)
        self.tree.setVisible(has_tree)
        is_filled = has_tree or self.asks.count > 0
        if is_filled != self._is_filled:
            self._is_filled = is_filled
            self.filled.emit(is_filled)

    # -- what goes up ----------------------------------------------------------------------

    def _on_command(self, agent_id: str, wish: str) -> None:
        one = self.tree.row(agent_id)
        if one is None:
            return
        match wish:
            case "open":
                self.opened.emit(agent_id)
            case "copy":
                self.result_requested.emit(agent_id)
            case "pause":
                (self.resumed if one.is_holding else self.paused).emit(agent_id)
            case "step":
                self.stepped.emit(agent_id)
            case "finish":
                self.finish_requested.emit(agent_id)
            case "more":
                self.budget_extended.emit(agent_id)
            case "stop_all":
                self.stopped.emit(agent_id)
            case _:
                self._on_card_command(agent_id, wish)

    def _on_card_command(self, agent_id: str, wish: str) -> None:
        """Wishes that need the card: words are typed there, doubts are cleared, answers shown."""
        self.tree.select(agent_id)
        self._show_strip()
        match wish:
            case "steer":
                self.strip.begin("steer")
            case "aside":
                self.strip.begin("aside")
            case "answer":
                self._begin_answer(agent_id)
            case "probe":
                self._probes[agent_id] = ("", "")
                self.probe_requested.emit(agent_id)
            case "stop":
                if not self.strip.ask_stop():
                    self.stopped.emit(agent_id)
            case "budget":
                self._edit_budget(agent_id)
            case _:
                pass
        self._area.ensureWidgetVisible(self.strip, 0, 0)

    def _begin_answer(self, agent_id: str) -> None:
        if self._state.question_of(agent_id) is not None:
            self.strip.begin("answer")
        else:
            self.opened.emit(agent_id)  # its card is in the transcript

    def _on_sent(self, agent_id: str, mode: str, text: str) -> None:
        match mode:
            case "steer":
                self._steer(agent_id, text)
            case "aside":
                self._probes[agent_id] = (text, "")
                self.aside_requested.emit(agent_id, text)
                self._show_strip()
            case _:
                question = self._state.question_of(agent_id)
                if question is not None:
                    self.answered.emit(question.id, text)

    def _steer(self, agent_id: str, text: str) -> None:
        note = Note(new_note_id(), text, kind="steer", delivery="step", created_at=time.time())
        self.steered.emit(agent_id, note)

    def _on_quick(self, agent_id: str, words: str) -> None:
        if words.endswith("…"):
            self.tree.select(agent_id)
            self._show_strip()
            self.strip.begin("steer", words.removesuffix("…") + ": ")
        else:
            self.tree.select(agent_id)
            self._steer(agent_id, words)

    def _on_resent(self, agent_id: str, note_id: str) -> None:
        """What an agent can't read any more goes to Main, as a task of its own."""
        kept = self._state.notes(AgentId(agent_id)).row(NoteId(note_id))
        main = self._state.main_agent
        if kept is None or main is None:
            return
        now = time.time()
        note = Note(
            new_note_id(),
            kept.note.text,
            delivery="turn",
            attachments=kept.note.attachments,
            created_at=now,
        )
        self._forget_note(agent_id, note_id)
        self.steered.emit(main, note)

    def _forget_note(self, agent_id: str, note_id: str) -> None:
        self._state.forget_note(AgentId(agent_id), NoteId(note_id))
        self._show_strip()
        self.notes_forgotten.emit()

    def _close_probe(self, agent_id: str) -> None:
        self._probes.pop(agent_id, None)
        self._show_strip()

    def set_unpriced(self, agent_id: str, model: str) -> None:
        """Take in the answer to `price_wanted`: a model without a known price, if there is one."""
        if self._budget is not None:
            self._budget.set_unpriced(agent_id, model)

    def _edit_budget(self, agent_id: str) -> None:
        one = self.tree.row(agent_id)
        if one is None:
            return
        if self._budget is None:
            self._budget = BudgetForm(self._theme, self)
            self._budget.budget_chosen.connect(self.budget_set)
            self._budget.price_wanted.connect(self.price_wanted)
        self._budget.open_for(agent_id, one.name, one.info.budget, self.strip)

    # -- building --------------------------------------------------------------------------

    def _connect(self) -> None:
        self.asks.decided.connect(self.decided)
        self.asks.answered.connect(self.answered)
        self.asks.ask_chosen.connect(self.ask_chosen)
        self.asks.count_changed.connect(self.asks_changed)
        self.asks.count_changed.connect(self._fill)
        self.tree.opened.connect(self.opened)
        self.tree.command_requested.connect(self._on_command)
        self.tree.quick_chosen.connect(self._on_quick)
        self.tree.selected.connect(self._show_strip)
        self.tree.shown.connect(self._show_strip)
        self.tree.filled.connect(self._fill)
        self.strip.command_requested.connect(self._on_command)
        self.strip.sent.connect(self._on_sent)
        self.strip.note_edited.connect(self.note_edited)
        self.strip.note_withdrawn.connect(self.note_withdrawn)
        self.strip.note_resent.connect(self._on_resent)
        self.strip.note_discarded.connect(self._forget_note)
        self.strip.probe_closed.connect(self._close_probe)

    def _lay_out(self) -> None:
        theme = self._theme
        holder = CardPlace(self.tree, self)
        inner = QVBoxLayout(holder)
        inner.setContentsMargins(theme.space("m"), 0, theme.space("m"), theme.space("s"))
        inner.addWidget(self.strip)
        self._content = content = ScrolledColumn()
        column = QVBoxLayout(content)
        self._column = column
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.space("s"))
        column.addWidget(self.tree, 1)
        column.addWidget(holder)
        column.addStretch(0)
        # In a low window the whole panel scrolls; nothing in it is squeezed.
        self._area.setWidgetResizable(True)
        self._area.setWidget(content)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self._area, 1)
        # Below all: what comes and goes by itself pushes nothing from under the mouse.
        outer.addWidget(self.asks)
