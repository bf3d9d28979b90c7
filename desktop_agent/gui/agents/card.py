"""The card of the selected subagent: its notes and their states, and all that can be done."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from desktop_agent.core.questions import Question
from desktop_agent.gui.agents.actions import ICONS, AgentActions
from desktop_agent.gui.agents.card_blocks import ChoiceBlock, ProbeQuote
from desktop_agent.gui.agents.note_input import SteerInput
from desktop_agent.gui.agents.rows import AgentRow
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.text import plain_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconButton,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.notes.strip import NoteList
from desktop_agent.gui.state.agent_notes import AgentNotes

# The buttons of the card, each the same command as in the row and in its menu.
_BUTTONS = ("review", "probe", "aside", "pause", "step", "stop", "budget", "finish")
# These are less often wanted: without a title, but with a name.
_ICON_BUTTONS = ("copy", "undo", "open")
_HELD_COMMANDS = ("more", "finish", "stop")


class AgentCard(QFrame):
    """What is done with a note is a signal of `notes`.

    Signals:
        sent(agent_id, mode, text): mode is `steer` or `aside`
        command_requested(agent_id, command): one of `actions.ICONS`, or `more` (budget)
        probe_closed(agent_id): the quoted answer is to go
    """

    sent = Signal(str, str, str)
    command_requested = Signal(str, str)
    probe_closed = Signal(str)

    def __init__(self, theme: Theme, actions: AgentActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._actions = actions
        self._agent: AgentRow | None = None
        self._question: Question | None = None
        # How many would be stopped as well, while the user is asked about it.
        self._doubt = 0
        self._buttons: dict[str, GhostButton | IconButton] = {}
        self.setObjectName("steerStrip")
        self.setProperty("frame", "card")
        self.setAccessibleName(self.tr("Selected subagent"))
        self._build()
        self.hide()

    @property
    def agent_id(self) -> str:
        """The agent that is shown; empty when there is none."""
        return self._agent.key if self._agent is not None else ""

    def show_agent(
        self, agent: AgentRow | None, notes: AgentNotes, question: Question | None
    ) -> None:
        if agent is None or agent.key != self.agent_id:
            self._doubt = 0
        self._agent, self._question = agent, question
        self.setVisible(agent is not None)
        if agent is None:
            return
        self.setAccessibleName(agent.spoken)
        self._name.set_text(agent.name)
        self._step.setText(self._meta(agent))
        self._end.setVisible(agent.state == "stopped")
        self._end.setText(agent.standing[:1].upper() + agent.standing[1:])
        self.input.show_agent(agent.key, agent.name, self._actions.reason(agent, "steer"))
        self._show_question()
        self._show_away(agent)
        self._show_budget(agent)
        self._show_doubt(agent)
        self._show_buttons(agent)
        self._show_notes(agent, notes)

    def button(self, command: str) -> QWidget:
        """Return the button of a command, for what opens at it; the card where that is hidden."""
        button = self._buttons[command]
        return button if button.isVisible() else self

    def ask_stop(self) -> bool:
        """Ask once before others are stopped as well; tell whether that was asked just now."""
        if self._agent is None or self._agent.children == 0 or self._doubt:
            return False
        self._doubt = self._agent.children
        self._show_doubt(self._agent)
        self.doubt.focus_first()
        return True

    # -- parts -----------------------------------------------------------------------------

    def _meta(self, agent: AgentRow) -> str:
        cost, step = agent.info.usage.cost, agent.info.step
        parts = [agent.where] if agent.where else []
        parts += [f"${cost:.2f}"] if cost else []
        if step:
            parts.append(self.tr("step {step}").format(step=step))
        return " · ".join(parts)

    def _show_away(self, agent: AgentRow) -> None:
        self._away.setVisible(agent.is_away)
        self._away.setText(agent.chip)

    def _show_notes(self, agent: AgentRow, notes: AgentNotes) -> None:
        """Show the notes, and tell of those that wait and are not in sight, as after a restart."""
        rows = notes.recent
        self.notes.show_notes(notes, rows)
        count = agent.info.waiting_notes - sum(1 for one in rows if one.state == "queued")
        is_held = agent.state in ("paused", "held")
        self._others.setVisible(is_held and count > 0)
        text = self.tr("One more note waits for it. Its transcript shows it.")
        if count > 1:
            text = self.tr("%n more notes wait for it. Its transcript shows them.", "", count)
        self._others.setText(text)

    def _show_question(self) -> None:
        question = self._question
        self.asked.setVisible(question is not None)
        if question is not None:
            text = self.tr("It asks: {question}").format(question=plain_words(question.text))
            self.asked.show_choices(text, ("steer-answer", self.tr("Answer…")))

    def _show_budget(self, agent: AgentRow) -> None:
        self.held.setVisible(agent.state == "held")
        why, more = self.tr("Its budget is reached."), self.tr("+50 %")
        if agent.info.unmeasured:
            why = self.tr("A limit of its budget can’t be measured.")
            more = self.tr("Without that limit")
        if agent.state == "held":
            self.held.show_choices(
                self.tr("{why} It holds until you decide.").format(why=why),
                ("budgetMore", more),
                ("budgetFinish", self.tr("Finish now")),
                ("budgetStop", self.tr("Stop")),
            )

    def _show_doubt(self, agent: AgentRow) -> None:
        self._doubt = min(self._doubt, agent.children)
        self.doubt.setVisible(self._doubt > 0)
        text = self.tr("Stop {name} and its running subagent?")
        if agent.children > 1:
            text = self.tr("Stop {name} and its %n running subagents?", "", agent.children)
        if self._doubt:
            self.doubt.show_choices(
                text.format(name=agent.name),
                ("stopAll", self.tr("Stop all")),
                ("stopNone", self.tr("Keep working")),
            )

    def _show_buttons(self, agent: AgentRow) -> None:
        is_ended = agent.info.is_ended
        for command, button in self._buttons.items():
            title = self._actions.title(agent, command)
            if isinstance(button, GhostButton):
                short = {"step": self.tr("Step"), "aside": self.tr("Ask…")}
                button.set_text(short.get(command, title))
            if command != "step":
                button.setAccessibleName(title)
            button.setEnabled(self._actions.can_do(agent, command))
            button.setToolTip(self._actions.tip(agent, command))
            button.setVisible(button.isEnabled() or not is_ended)
        self._buttons["copy"].setVisible(is_ended)
        self._buttons["undo"].setVisible(self._buttons["undo"].isEnabled())
        self._buttons["review"].setVisible(self._buttons["review"].isEnabled())
        self._buttons["step"].setVisible(agent.state == "paused")
        self._buttons["pause"].set_icon("play" if agent.is_holding else "pause")
        # What was typed for it stays in sight, and the field under the caret.
        is_used = bool(self.input.field.text()) or self.input.field.hasFocus()
        self.input.setVisible(is_used or not is_ended)

    def _take_missed(self, text: str, is_writing: bool) -> None:
        """Go on with words for a note that was read meanwhile; the caret comes along."""
        self.input.set_mode("steer")
        words = " ".join(filter(None, (self.input.field.text(), text)))
        (self.input.begin if is_writing else self.input.set_mode)("steer", words)

    def _on_sent(self, mode: str, text: str) -> None:
        self.sent.emit(self.agent_id, mode, text)

    def _command(self, command: str) -> None:
        if self._agent is not None:
            self.command_requested.emit(self._agent.key, command)

    def _on_answer(self, _: int) -> None:
        self._command("answer")

    def _on_held(self, number: int) -> None:
        self._command(_HELD_COMMANDS[number])

    def _on_doubt(self, number: int) -> None:
        if number == 0:
            self._command("stop")  # not asked about again: it is in doubt now
        self._doubt = 0
        self.doubt.hide()

    # -- building --------------------------------------------------------------------------

    def _build(self) -> None:
        theme = self._theme
        self._name = ElidedLabel("", role="strong", parent=self, name="steerName")
        self._step = TextLabel("", "subtle", self)
        self._end = TextLabel("", "caption", self, name="steerEnd")
        self._others = TextLabel("", "caption", self, name="steerOthers")
        self._away = TextLabel("", "warn", self, name="steerAway")
        for label in (self._end, self._others, self._away):
            label.setWordWrap(True)
            label.hide()
        self.asked = ChoiceBlock(theme, "steerQuestion", "message-circle-question-mark", self)
        self.asked.chosen.connect(self._on_answer)
        self.held = ChoiceBlock(theme, "steerBudget", "gauge", self)
        self.held.chosen.connect(self._on_held)
        self.doubt = ChoiceBlock(theme, "steerStop", "circle-stop", self)
        self.doubt.chosen.connect(self._on_doubt)
        self.quote = ProbeQuote(theme, self)
        self.quote.closed.connect(lambda: self.probe_closed.emit(self.agent_id))
        self.input = SteerInput(theme, self._actions, self)
        self.input.sent.connect(self._on_sent)
        self.notes = NoteList(theme, is_in_card=True, spacing=2)
        # What was typed too late is not lost: it can be sent as a note of its own.
        self.notes.edit_missed.connect(self._take_missed)
        head = row(self._name, self._step, self._icon_row(), stretch=0)
        blocks = (
            self._end,
            self._away,
            self.asked,
            self.held,
            self.doubt,
            self.notes,
            self._others,
        )
        parts = (head, *blocks, self.quote, self.input, self._button_row())
        gap = theme.space("s")
        self.setLayout(column(*parts, spacing=gap, edges=(12, gap, gap, gap)))

    def _icon_row(self) -> QHBoxLayout:
        line = row(spacing=0)
        for command in _ICON_BUTTONS:
            button = IconButton(self._theme, ICONS[command], command, self, size=14)
            line.addWidget(self._connected(command, button))
        return line

    def _button_row(self) -> QWidget:
        holder = QWidget(self)
        # Four of them stand in one line of the panel.
        holder.setStyleSheet("QPushButton { padding: 4px; } QPushButton:focus { padding: 3px; }")
        flow = FlowLayout(holder, self._theme.space("xxs"))
        for command in _BUTTONS:
            button = GhostButton(self._theme, command, ICONS[command], holder)
            flow.addWidget(self._connected(command, button))
        return holder

    def _connected(self, command: str, button: GhostButton | IconButton) -> QWidget:
        button.setObjectName(f"steer-{command}")
        button.clicked.connect(partial(self._command, command))
        self._buttons[command] = button
        return button
