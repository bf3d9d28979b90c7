"""What can be done with a subagent: one set of actions for keys, menu and row buttons."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.ids import AgentId
from desktop_agent.gui.agents.rows import AgentRow
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import named

# Every command with its icon, in the order of the menu.
ICONS = {
    "steer": "pencil",
    "answer": "message-circle-reply",
    "probe": "radar",
    "aside": "message-circle-question-mark",
    "pause": "pause",
    "step": "step-forward",
    "finish": "flag",
    "stop": "square",
    "budget": "wallet",
    "open": "external-link",
    "copy": "copy",
    "review": "file-diff",
    "undo": "undo-2",
}
_KEYS = {
    "steer": ("S",),
    "answer": ("A",),
    "probe": ("P",),
    "pause": ("Space",),
    "stop": ("Del",),
    "open": ("Return", "Enter"),
    "copy": ("Ctrl+C",),
}
_NEW_GROUP = frozenset({"pause", "budget", "open", "review"})
_NEED_LIFE = frozenset({"steer", "aside", "pause", "step", "finish", "stop", "budget"})
_READING = frozenset({"probe", "open", "copy", "review"})


class AgentActions(QObject):
    """What can be done with a subagent, as actions for keys, menus and buttons.

    Signals:
        command_requested(agent_id, command): one of `ICONS`
        quick_chosen(agent_id, text): a note to send; with `…` at its end, to be completed first
    """

    command_requested = Signal(str, str)
    quick_chosen = Signal(str, str)

    def __init__(self, theme: Theme, view: QWidget) -> None:
        super().__init__(view)
        self._theme = theme
        self._row: AgentRow | None = None
        self._actions: dict[str, QAction] = {}
        # Those whose changes of files stand.
        self._changed_by: frozenset[AgentId] = frozenset()
        # Those whose changes elsewhere wait.
        self._results_of: frozenset[AgentId] = frozenset()
        self._is_read_only = False
        for command in ICONS:
            action = named(QAction(self), f"agent-{command}")
            action.setShortcuts([QKeySequence(key) for key in _KEYS.get(command, ())])
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(
                lambda _=False, one=command: self._emit(self.command_requested, one)
            )
            view.addAction(action)
            self._actions[command] = action
        theme.changed.connect(self._refresh)
        self._refresh()

    def set_row(self, row: AgentRow | None) -> None:
        if row is not self._row:
            self._row = row
            self._refresh()

    def set_changed_by(
        self, agents: frozenset[AgentId], results_of: frozenset[AgentId] = frozenset()
    ) -> None:
        """Know whose changes of files can be taken back, and whose elsewhere can be applied."""
        if (agents, results_of) != (self._changed_by, self._results_of):
            self._changed_by, self._results_of = agents, results_of
            self._refresh()

    def set_read_only(self, is_read_only: bool) -> None:
        """Offer what reads alone: another window has the session for writing."""
        if is_read_only != self._is_read_only:
            self._is_read_only = is_read_only
            self._refresh()

    def can_do(self, row: AgentRow, command: str) -> bool:
        """Tell whether the command makes sense for the row now."""
        return not self.reason(row, command)

    def reason(self, row: AgentRow, command: str) -> str:
        """Return why a command is not available; empty when it is."""
        if self._is_read_only and command not in _READING:
            return self.tr("Another window has this session for writing")
        if row.info.is_ended and command in _NEED_LIFE:
            return self.tr("It has ended")
        if row.state == "stopping" and command in _NEED_LIFE:
            return self.tr("It is stopping")
        # A snapshot may be from just before the question was put.
        if command == "answer" and row.state != "needs_answer" and not row.info.question:
            return self.tr("It has asked nothing")
        if command == "copy" and not row.info.result:
            return self.tr("It has no result yet")
        if command == "review" and row.key not in self._results_of:
            return self.tr("No changes of its elsewhere wait")
        if command == "undo" and row.key not in self._changed_by:
            return self.tr("No change of its stands")
        return self._reason_of_pace(row, command)

    def _reason_of_pace(self, row: AgentRow, command: str) -> str:
        if command in ("pause", "step") and row.state == "held":
            return self.tr("Its budget is reached")
        if command == "finish" and row.info.pace == "finishing":
            return self.tr("It takes its last step")
        if command == "step" and row.state != "paused":
            return self.tr("Only a paused subagent takes single steps")
        return ""

    def title(self, row: AgentRow | None, command: str) -> str:
        """Return a command as it is called for this row."""
        is_paused = row is not None and row.is_holding
        return {
            "steer": self.tr("Steer…"),
            "answer": self.tr("Answer…"),
            "probe": self.tr("Probe"),
            "aside": self.tr("Ask without interrupting…"),
            "pause": self.tr("Resume") if is_paused else self.tr("Pause"),
            "step": self.tr("Take one step"),
            "finish": self.tr("Stop, keep its work"),
            "stop": self.tr("Stop"),
            "budget": self.tr("Budget…"),
            "open": self.tr("Open transcript"),
            "copy": self.tr("Copy result"),
            "review": self.tr("Review its changes…"),
            "undo": self.tr("Undo its changes…"),
        }[command]

    def tip(self, row: AgentRow, command: str) -> str:
        """Return the tooltip of a button: its name with its key, or why it can't be pressed."""
        title = self.title(row, command).removesuffix("…")
        reason = self.reason(row, command)
        if reason:
            return f"{title}: {reason}"
        key = _KEYS.get(command, ("",))[0]
        return f"{title} ({key})" if key else title

    def make_menu(self, parent: QWidget) -> QMenu:
        """Return the context menu of the row; it deletes itself."""
        menu = self._menu(parent, "agentMenu", self.tr("Subagent"))
        menu.setToolTipsVisible(True)
        for command, action in self._actions.items():
            if command in _NEW_GROUP:
                menu.addSeparator()
            menu.addAction(action)
            if command == "steer":
                quick = menu.addMenu(self._theme.icon("zap"), self.tr("Quick steer"))
                quick.setObjectName("quickSteer")
                self._fill_quick(quick)
                quick.setEnabled(action.isEnabled())
                quick.menuAction().setToolTip(action.toolTip())
        return menu

    def make_quick_menu(self, parent: QWidget) -> QMenu:
        """Return a menu of the quick steers alone; it deletes itself."""
        menu = self._menu(parent, "quickMenu", self.tr("Quick steer"))
        self._fill_quick(menu)
        return menu

    def _menu(self, parent: QWidget, name: str, title: str) -> QMenu:
        menu = named(QMenu(parent), name, title)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def _fill_quick(self, menu: QMenu) -> None:
        for text in (
            self.tr("Wrap up and report now"),
            self.tr("You are off track…"),
            self.tr("Skip this part"),
            self.tr("Ask me before changing files"),
        ):
            menu.addAction(text).triggered.connect(
                lambda _=False, one=text: self._emit(self.quick_chosen, one)
            )

    def _emit(self, signal: SignalInstance, text: str) -> None:
        if self._row is not None:
            signal.emit(self._row.key, text)

    def _refresh(self) -> None:
        row = self._row
        for command, action in self._actions.items():
            icon = "play" if command == "pause" and row and row.is_holding else ICONS[command]
            action.setIcon(self._theme.icon(icon, "err" if command == "stop" else "muted"))
            action.setText(self.title(row, command))
            action.setEnabled(row is not None and self.can_do(row, command))
            action.setToolTip(self.tip(row, command) if row is not None else "")
