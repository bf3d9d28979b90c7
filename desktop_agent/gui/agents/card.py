"""The card of the selected subagent: its notes and their states, and all that can be done."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from desktop_agent.core.ids import AgentId, NoteId
from desktop_agent.core.questions import Question
from desktop_agent.gui.agents.actions import ICONS, AgentActions
from desktop_agent.gui.agents.card_blocks import ChoiceBlock, ProbeQuote
from desktop_agent.gui.agents.note_input import SteerInput, SteerMode
from desktop_agent.gui.agents.note_row import SteerNoteView
from desktop_agent.gui.agents.rows import AgentRow
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.text import plain_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, GhostButton, IconButton, TextLabel, row
from desktop_agent.gui.state.agent_notes import AgentNotes, NoteRow

# The buttons of the card, each the same wish as in the row and in its menu.
_BUTTONS = ("answer", "probe", "pause", "step", "stop", "finish")
# These are less often wanted: without words, but with a name.
_ICON_BUTTONS = ("aside", "budget", "copy", "open")
_HELD_WISHES = ("more", "finish", "stop")


class AgentCard(QFrame):
    """Signals, each with the agent's id first:
    sent: mode (`steer`, `answer` or `aside`) and words.
    command_requested: one of `AGENT_COMMANDS`, or `more` (budget), or `stop_all` (confirmed).
    note_edited, note_withdrawn, note_resent, note_discarded: the note's id (and new words).
    """

    sent = Signal(str, str, str)
    command_requested = Signal(str, str)
    note_edited = Signal(str, str, str)
    note_withdrawn = Signal(str, str)
    note_resent = Signal(str, str)
    note_discarded = Signal(str, str)
    probe_closed = Signal(str)

    def __init__(self, theme: Theme, actions: AgentActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._actions = actions
        self._agent: AgentRow | None = None
        self._notes_of_agent = AgentNotes(AgentId(""))
        self._question: Question | None = None
        self._doubt = 0
        self._views: dict[NoteId, SteerNoteView] = {}
        self.setObjectName("steerStrip")
        self.setProperty("frame", "card")
        self.setAccessibleName(self.tr("Selected subagent"))
        self._build()
        # Counts the seconds of the tool that a note waits for; stands still otherwise.
        self._clock = QTimer(self)
        self._clock.setInterval(1_000)
        self._clock.timeout.connect(self.refresh_notes)
        self.hide()

    @property
    def agent_id(self) -> str:
        """The agent that is shown; empty when there is none."""
        return self._agent.key if self._agent is not None else ""

    def show_agent(
        self, agent: AgentRow | None, notes: AgentNotes, question: Question | None
    ) -> None:
        """Show this agent as it stands."""
        if agent is None or self._agent is None or agent.key != self._agent.key:
            self._doubt = 0
        self._agent, self._notes_of_agent, self._question = agent, notes, question
        self.setVisible(agent is not None)
        if agent is None:
            self._clock.stop()
            return
        self.setAccessibleName(agent.spoken)
        self._name.set_text(agent.name)
        self._step.setText(self._meta(agent))
        self._end.setVisible(agent.state == "stopped")
        self._end.setText(agent.standing[:1].upper() + agent.standing[1:])
        self.input.show_agent(agent.key, agent.name, self._actions.reason(agent, "steer"))
        self._show_blocks(agent)
        self._show_buttons(agent)
        self.refresh_notes()

    def show_probe(self, question: str, text: str) -> None:
        """Quote the answer to a probe; with neither question nor text nothing is quoted."""
        if question or text:
            self.quote.show_text(question, text)
        else:
            self.quote.hide()

    def begin(self, mode: SteerMode, text: str = "") -> None:
        """Let the person type."""
        self.input.begin(mode, text)

    def ask_stop(self) -> bool:
        """Ask once before others are stopped as well; tell whether that was asked just now."""
        if self._agent is None or self._agent.children == 0 or self._doubt:
            return False
        self._doubt = self._agent.children
        self._show_blocks(self._agent)
        self.doubt.focus_first()
        return True

    def refresh_notes(self) -> None:
        """Show the notes as they stand."""
        notes = self._notes_of_agent
        rows = notes.recent
        wanted = {note.note.id for note in rows}
        for note_id in [known for known in self._views if known not in wanted]:
            view = self._views.pop(note_id)
            view.hide()
            self._notes.removeWidget(view)
            view.deleteLater()
        for note in rows:
            view = self._views.get(note.note.id) or self._add(note)
            view.show_row(note, notes.status, notes.tools)
        self._show_others(sum(1 for one in rows if one.state == "queued"))
        counts = notes.tools and any(one.can_change for one in rows)
        if counts and self.isVisible():
            if not self._clock.isActive():
                self._clock.start()
        else:
            self._clock.stop()

    def _show_others(self, mine: int) -> None:
        """Tell of notes that wait and are not in sight, as after a restart."""
        agent = self._agent
        is_held = agent is not None and agent.state in ("paused", "held")
        count = agent.info.waiting_notes - mine if agent is not None and is_held else 0
        self._others.setVisible(count > 0)
        words = self.tr("One more note waits for it. Its transcript shows it.")
        if count > 1:
            words = self.tr("%n more notes wait for it. Its transcript shows them.", "", count)
        self._others.setText(words)

    # -- parts -----------------------------------------------------------------------------

    def _meta(self, agent: AgentRow) -> str:
        parts: list[str] = []
        if agent.info.usage.cost:
            parts.append(f"${agent.info.usage.cost:.2f}")
        if agent.info.step:
            parts.append(self.tr("step {step}").format(step=agent.info.step))
        return " · ".join(parts)

    def _show_blocks(self, agent: AgentRow) -> None:
        if self._question is not None:
            words = self.tr("It asks: {question}").format(question=plain_words(self._question.text))
            options = tuple(
                ("questionOption", plain_words(text)) for text in self._question.options
            )
            self.asked.show_words(words, options)
        else:
            self.asked.hide()
        if agent.state == "held":
            words, more = self.tr("Its budget is reached."), self.tr("+50 %")
            if agent.info.unmeasured:
                words = self.tr("A limit of its budget can’t be measured.")
                more = self.tr("Without that limit")
            self.held.show_words(
                self.tr("{why} It holds until you decide.").format(why=words),
                (
                    ("budgetMore", more),
                    ("budgetFinish", self.tr("Finish now")),
                    ("budgetStop", self.tr("Stop")),
                ),
            )
        else:
            self.held.hide()
        self._doubt = min(self._doubt, agent.children)
        if self._doubt:
            words = self.tr("Stop {name} and its running subagent?")
            if agent.children > 1:
                words = self.tr("Stop {name} and its %n running subagents?", "", agent.children)
            self.doubt.show_words(
                words.format(name=agent.name),
                (("stopAll", self.tr("Stop all")), ("stopNone", self.tr("Keep working"))),
            )
        else:
            self.doubt.hide()

    def _show_buttons(self, agent: AgentRow) -> None:
        for wish, button in self._buttons.items():
            title = self.tr("Step") if wish == "step" else self._actions.title(agent, wish)
            button.set_text(title)
            button.setEnabled(self._actions.can_do(agent, wish))
            button.setToolTip(self._actions.tip(agent, wish))
            button.setVisible(button.isEnabled() or not agent.info.is_ended)
        for wish, button in self._icons.items():
            button.setAccessibleName(self._actions.title(agent, wish))
            button.setEnabled(self._actions.can_do(agent, wish))
            button.setToolTip(self._actions.tip(agent, wish))
            button.setVisible(button.isEnabled() or not agent.info.is_ended)
        self._icons["copy"].setVisible(agent.info.is_ended)
        self._buttons["step"].setVisible(agent.state == "paused")
        # What was typed for it stays in sight.
        self.input.setVisible(bool(self.input.field.text()) or not agent.info.is_ended)
        self._buttons["pause"].set_icon("play" if agent.is_holding else "pause")

    def _add(self, note: NoteRow) -> SteerNoteView:
        view = SteerNoteView(self._theme, note, self)
        note_id = note.note.id
        view.edited.connect(lambda text: self.note_edited.emit(self.agent_id, note_id, text))
        view.withdrawn.connect(lambda: self.note_withdrawn.emit(self.agent_id, note_id))
        view.resent.connect(lambda: self.note_resent.emit(self.agent_id, note_id))
        view.discarded.connect(lambda: self.note_discarded.emit(self.agent_id, note_id))
        # What was typed too late is not lost: it can be sent as a note of its own.
        view.edit_missed.connect(lambda text: self.input.set_mode("steer", text))
        self._views[note_id] = view
        self._notes.addWidget(view)
        return view

    def _on_sent(self, mode: str, text: str) -> None:
        if self._agent is not None:
            self.sent.emit(self._agent.key, mode, text)

    def _wish(self, wish: str) -> None:
        if self._agent is not None:
            self.command_requested.emit(self._agent.key, wish)

    def _on_option(self, number: int) -> None:
        if self._question is not None:
            self._on_sent("answer", self._question.options[number])

    def _on_held(self, number: int) -> None:
        self._wish(_HELD_WISHES[number])

    def _on_doubt(self, number: int) -> None:
        self._doubt = 0
        self.doubt.hide()
        if number == 0:
            self._wish("stop_all")

    # -- building --------------------------------------------------------------------------

    def _build(self) -> None:
        theme = self._theme
        self._name = ElidedLabel("", role="strong", parent=self)
        self._name.setObjectName("steerName")
        self._step = TextLabel("", "subtle", self)
        self._end = TextLabel("", "caption", self)
        self._end.setObjectName("steerEnd")
        self._end.setWordWrap(True)
        self._end.hide()
        self.asked = ChoiceBlock(theme, "steerQuestion", "message-circle-question-mark", self)
        self.asked.chosen.connect(self._on_option)
        self.held = ChoiceBlock(theme, "steerBudget", "gauge", self)
        self.held.chosen.connect(self._on_held)
        self.doubt = ChoiceBlock(theme, "steerStop", "circle-stop", self)
        self.doubt.chosen.connect(self._on_doubt)
        self.quote = ProbeQuote(theme, self)
        self.quote.closed.connect(lambda: self.probe_closed.emit(self.agent_id))
        self.input = SteerInput(theme, self._actions, self)
        self.input.sent.connect(self._on_sent)
        self._notes = QVBoxLayout()
        self._notes.setSpacing(2)
        self._others = TextLabel("", "caption", self)
        self._others.setWordWrap(True)
        self._others.hide()
        head = row(self._name, self._step)
        head.addLayout(self._icon_row())
        head.setStretch(0, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, theme.space("s"), theme.space("s"), theme.space("s"))
        column.setSpacing(theme.space("s"))
        column.addLayout(head)
        column.addWidget(self._end)
        for block in (self.asked, self.held, self.doubt):
            column.addWidget(block)
        column.addLayout(self._notes)
        column.addWidget(self._others)
        column.addWidget(self.quote)
        column.addWidget(self.input)
        column.addWidget(self._button_row())

    def _icon_row(self) -> QHBoxLayout:
        line = row(spacing=0)
        self._icons: dict[str, IconButton] = {}
        for wish in _ICON_BUTTONS:
            icon, _ = ICONS[wish]
            button = IconButton(self._theme, icon, wish, self, size=14)
            button.setObjectName(f"steer-{wish}")
            button.clicked.connect(partial(self._wish, wish))
            line.addWidget(button)
            self._icons[wish] = button
        return line

    def _button_row(self) -> QWidget:
        holder = QWidget(self)
        # Four of them stand in one line of the panel.
        holder.setStyleSheet("QPushButton { padding: 4px; } QPushButton:focus { padding: 3px; }")
        flow = FlowLayout(holder, self._theme.space("xxs"))
        self._buttons: dict[str, GhostButton] = {}
        for wish in _BUTTONS:
            icon, _ = ICONS[wish]
            button = GhostButton(self._theme, wish, icon, holder)
            button.setObjectName(f"steer-{wish}")
            button.clicked.connect(partial(self._wish, wish))
            flow.addWidget(button)
            self._buttons[wish] = button
        return holder

    def showEvent(self, event: QShowEvent) -> None:
        """Count again."""
        super().showEvent(event)
        self.refresh_notes()

    def hideEvent(self, event: QHideEvent) -> None:
        """Rest while hidden."""
        super().hideEvent(event)
        self._clock.stop()
