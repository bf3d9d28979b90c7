"""Settings: how the app looks, and how it behaves. Each control changes one field."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from msgspec.structs import replace
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.settings import Settings
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import column
from desktop_agent.gui.settings.instructions_group import InstructionsBox, instructions_group
from desktop_agent.gui.settings.rows import ChoiceBox, NumberBox, SettingGroup, Switch, scrolled
from desktop_agent.gui.settings.undo_group import UndoGroup

TEXT_SCALES = (80, 90, 100, 110, 125, 150, 175, 200)
_MOST = 100_000  # that a budget can be set to


Control = ChoiceBox | NumberBox | Switch | InstructionsBox


class SettingsPage(QWidget):
    """A page whose controls are bound to fields.

    Signals:
        changed(Settings): one new value
    """

    changed = Signal(object)

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._bound: list[tuple[str, Control]] = []
        layout = column(spacing=-1, within=self)
        self._layout = layout

    def show_settings(self, settings: Settings) -> None:
        self._settings = settings
        for field, control in self._bound:
            control.set_value(attrgetter(field)(settings))

    def bind(self, field: str, control: Control) -> QWidget:
        """Tie a control to a field, such as `theme` or `limits.idle_s`."""
        self._bound.append((field, control))
        control.chosen.connect(partial(self._on_chosen, field))
        return control

    def fill(self, *groups: QWidget) -> None:
        self._layout.addWidget(scrolled(self, *groups))
        self.show_settings(self._settings)

    def _on_chosen(self, field: str, value: object) -> None:
        group, _, name = field.rpartition(".")
        if group:
            value = replace(getattr(self._settings, group), **{name: value})
        self._settings = replace(self._settings, **{group or name: value})
        self.changed.emit(self._settings)


class AppearancePage(SettingsPage):
    """Theme, text size, motion."""

    def __init__(self, theme: Theme, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(settings, parent)
        looks = (
            ("system", self.tr("As the system")),
            ("light", self.tr("Light")),
            ("dark", self.tr("Dark")),
        )
        scales = tuple((scale, f"{scale}%") for scale in TEXT_SCALES)
        group = SettingGroup(theme)
        group.add_row(self.tr("Theme"), "", self.bind("theme", ChoiceBox("theme", looks)))
        group.add_row(
            self.tr("Text size"),
            self.tr("Ctrl+= and Ctrl+- change it as well"),
            self.bind("text_scale", ChoiceBox("textScale", scales)),
        )
        group.add_row(
            self.tr("Reduce motion"),
            self.tr("Nothing turns, slides or fades"),
            self.bind("reduce_motion", Switch("reduceMotion")),
        )
        self.fill(group)


class BehaviourPage(SettingsPage):
    """The first mode, the keys that send, subagents, limits; `undo` is what is kept for it."""

    def __init__(self, theme: Theme, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(settings, parent)
        self._theme = theme
        self.undo = UndoGroup(theme)
        box = self.bind("instructions", InstructionsBox())
        own = instructions_group(theme, box)
        groups = (
            own,
            self._agent(),
            self._keys(),
            self._subagents(),
            self._budgets(),
            self._limits(),
        )
        self.fill(*groups, self.undo)

    def _agent(self) -> SettingGroup:
        modes = (
            ("look", self.tr("Look only")),
            ("ask", self.tr("Ask before changes")),
            ("free", self.tr("Work without asking")),
        )
        group = SettingGroup(self._theme, self.tr("The agent"))
        group.add_row(
            self.tr("Mode of new sessions"),
            self.tr("Each session can change it at the message box"),
            self.bind("mode", ChoiceBox("defaultMode", modes)),
        )
        group.add_row(
            self.tr("Steps in one turn"),
            self.tr("After so many requests to the model it stops and asks to go on"),
            self.bind("max_steps", NumberBox("maxSteps", 1, 10_000)),
        )
        group.add_row(
            self.tr("Time for a command"),
            self.tr("A command that takes longer is ended, unless the agent asks for more"),
            self.bind("shell_timeout_s", NumberBox("shellTimeout", 1, 600, self.tr(" s"))),
        )
        group.add_row(
            self.tr("Context at most"),
            self.tr("Tokens that a request may take, if less than the model allows; 0 for all"),
            self.bind("context_window", NumberBox("contextWindow", 0, 10_000_000)),
        )
        return group

    def _keys(self) -> SettingGroup:
        group = SettingGroup(self._theme, self.tr("Sending"))
        sends = ((False, self.tr("Enter")), (True, self.tr("Ctrl+Enter")))
        group.add_row(
            self.tr("Send a message with"),
            self.tr("Shift+Enter begins a new line; where Ctrl+Enter sends, so does Enter"),
            self.bind("send_with_ctrl_enter", ChoiceBox("sendKey", sends)),
        )
        while_busy = (
            (False, self.tr("Queue: after this turn")),
            (True, self.tr("Steer: at the next step")),
        )
        group.add_row(
            self.tr("While the agent works, send means"),
            self.tr("The other way is one key further"),
            self.bind("steer_on_enter", ChoiceBox("steerOnEnter", while_busy)),
        )
        return group

    def _subagents(self) -> SettingGroup:
        group = SettingGroup(self._theme, self.tr("Subagents"))
        group.add_row(
            self.tr("May start subagents"),
            self.tr("Agents that work on a part of the job; those that run go on"),
            self.bind("has_subagents", Switch("hasSubagents")),
        )
        group.add_row(
            self.tr("At the same time"),
            self.tr("In one session, all together"),
            self.bind("max_agents", NumberBox("maxAgents", 1, 100)),
        )
        children = NumberBox("maxChildren", 1, 100)
        group.add_row(self.tr("Per agent"), "", self.bind("max_children", children))
        group.add_row(
            self.tr("Nesting depth"),
            self.tr("At 1, subagents start none of their own"),
            self.bind("max_depth", NumberBox("maxDepth", 1, 10)),
        )
        group.add_row(
            self.tr("Time for an answer"),
            self.tr("A subagent that asked goes on without one after that"),
            self.bind(
                "question_timeout_s", NumberBox("questionTimeout", 10, 86_400, self.tr(" s"))
            ),
        )
        return group

    def _budgets(self) -> SettingGroup:
        none = self.tr("No limit")
        steps = NumberBox("subagentSteps", 0, _MOST, no_limit=none)
        cost = NumberBox("subagentCost", 0, _MOST, prefix=self.tr("$ "), decimals=2, no_limit=none)
        group = SettingGroup(self._theme, self.tr("Budget of a new subagent"))
        detail = self.tr("With those it starts; when it is used up, you are asked")
        group.add_row(self.tr("Steps"), detail, self.bind("subagent_budget.steps", steps))
        unpriced = self.tr("Where a model’s price isn’t known, you are asked before it begins")
        group.add_row(self.tr("Cost"), unpriced, self.bind("subagent_budget.cost", cost))
        return group

    def _limits(self) -> SettingGroup:
        group = SettingGroup(self._theme, self.tr("Waiting for a model"))
        s = self.tr(" s")
        connect, first = NumberBox("connectTime", 1, 300, s), NumberBox("firstByteTime", 5, 3600, s)
        group.add_row(self.tr("To connect"), "", self.bind("limits.connect_s", connect))
        group.add_row(self.tr("For the first word"), "", self.bind("limits.first_byte_s", first))
        group.add_row(
            self.tr("Idle timeout"),
            self.tr("Between two pieces of an answer"),
            self.bind("limits.idle_s", NumberBox("idleTime", 5, 3600, s)),
        )
        group.add_row(
            self.tr("Total retry time"),
            self.tr("When a provider is busy or can't be reached"),
            self.bind("limits.retry_total_s", NumberBox("retryTime", 0, 3600, s)),
        )
        group.add_row(
            self.tr("Retries"), "", self.bind("limits.max_retries", NumberBox("maxRetries", 0, 20))
        )
        return group
