"""What can be requested of a subagent: one set of actions for keys, menu and row buttons."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.gui.agents.rows import AgentRow
from desktop_agent.gui.kit.theme import Theme

AGENT_COMMANDS = (
    "steer",
    "answer",
    "probe",
    "aside",
    "pause",
    "step",
    "finish",
    "stop",
    "budget",
    "open",
    "copy",
)
ICONS = {
    "steer": ("pencil", "muted"),
    "answer": ("message-circle-reply", "muted"),
    "probe": ("radar", "muted"),
    "aside": ("message-circle-question-mark", "muted"),
    "pause": ("pause", "muted"),
    "step": ("step-forward", "muted"),
    "finish": ("flag", "muted"),
    "stop": ("square", "err"),
    "budget": ("wallet", "muted"),
    "open": ("external-link", "muted"),
    "copy": ("copy", "muted"),
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
_NEW_GROUP = frozenset({"pause", "budget", "open"})
_NEED_LIFE = frozenset({"steer", "aside", "pause", "step", "finish", "stop", "budget"})


class AgentActions(QObject):
    """Signals:
    command_requested: an agent's id and one of `AGENT_COMMANDS`.
    quick_chosen: an agent's id and the words to send; with `…` at the end, to finish first.
    """

    command_requested = Signal(str, str)
    quick_chosen = Signal(str, str)

    def __init__(self, theme: Theme, view: QWidget) -> None:
        super().__init__(view)
        self._theme = theme
        self._row: AgentRow | None = None
        self._actions: dict[str, QAction] = {}
        for wish in AGENT_COMMANDS:
            action = QAction(self)
            action.setObjectName(f"agent-{wish}")
            action.setShortcuts([QKeySequence(key) for key in _KEYS.get(wish, ())])
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(lambda _=False, one=wish: self._wish(one))
            view.addAction(action)
            self._actions[wish] = action
        theme.changed.connect(self._refresh)
        self._refresh()

    def set_row(self, row: AgentRow | None) -> None:
        """Act on this row from now on."""
        if row is not self._row:
            self._row = row
            self._refresh()

    def action(self, wish: str) -> QAction:
        """Return the action of a wish."""
        return self._actions[wish]

    def can_do(self, row: AgentRow, wish: str) -> bool:
        """Tell whether the wish makes sense for the row now."""
        return not self.reason(row, wish)

    def reason(self, row: AgentRow, wish: str) -> str:
        """Return why a wish can't be fulfilled; empty when it can."""
        if row.info.is_ended and wish in _NEED_LIFE:
            return self.tr("It has ended")
        if row.state == "stopping" and wish in _NEED_LIFE:
            return self.tr("It is stopping")
        # A snapshot may be from just before the question was put.
        if wish == "answer" and row.state != "needs_answer" and not row.info.question:
            return self.tr("It has asked nothing")
        if wish == "copy" and not row.info.result:
            return self.tr("It has no result yet")
        if wish in ("pause", "step") and row.state == "held":
            return self.tr("Its budget is reached")
        if wish == "finish" and row.info.pace == "finishing":
            return self.tr("It takes its last step")
        if wish == "step" and row.state != "paused":
            return self.tr("Only a paused subagent takes single steps")
        return ""

    def title(self, row: AgentRow | None, wish: str) -> str:
        """Return the words of a wish."""
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
        }[wish]

    def tip(self, row: AgentRow, wish: str) -> str:
        """Return the tooltip of a button: its name with its key, or why it can't be pressed."""
        title = self.title(row, wish).removesuffix("…")
        reason = self.reason(row, wish)
        if reason:
            return f"{title}: {reason}"
        key = _KEYS.get(wish, ("",))[0]
        return f"{title} ({key})" if key else title

    def make_menu(self, parent: QWidget) -> QMenu:
        """Return the context menu of the row; it deletes itself."""
        menu = QMenu(parent)
        menu.setObjectName("agentMenu")
        menu.setAccessibleName(self.tr("Subagent"))
        menu.setToolTipsVisible(True)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for wish in AGENT_COMMANDS:
            if wish in _NEW_GROUP:
                menu.addSeparator()
            menu.addAction(self._actions[wish])
            if wish == "steer":
                self._add_quick(menu)
        return menu

    def make_quick_menu(self, parent: QWidget) -> QMenu:
        """Return a menu of the quick steers alone; it deletes itself."""
        menu = QMenu(parent)
        menu.setObjectName("quickMenu")
        menu.setAccessibleName(self.tr("Quick steer"))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill_quick(menu)
        return menu

    def _add_quick(self, menu: QMenu) -> None:
        quick = menu.addMenu(self._theme.icon("zap"), self.tr("Quick steer"))
        quick.setObjectName("quickSteer")
        self._fill_quick(quick)
        quick.setEnabled(self._actions["steer"].isEnabled())
        quick.menuAction().setToolTip(self._actions["steer"].toolTip())

    def _fill_quick(self, menu: QMenu) -> None:
        for words in (
            self.tr("Wrap up and report now"),
            self.tr("You are off track…"),
            self.tr("Skip this part"),
            self.tr("Ask me before changing files"),
        ):
            menu.addAction(words).triggered.connect(lambda _=False, said=words: self._quick(said))

    def _wish(self, wish: str) -> None:
        if self._row is not None:
            self.command_requested.emit(self._row.key, wish)

    def _quick(self, words: str) -> None:
        if self._row is not None:
            self.quick_chosen.emit(self._row.key, words)

    def _refresh(self) -> None:
        row = self._row
        for wish, action in self._actions.items():
            icon, token = ICONS[wish]
            if wish == "pause" and row is not None and row.is_holding:
                icon = "play"
            action.setIcon(self._theme.icon(icon, token))
            action.setText(self.title(row, wish))
            action.setEnabled(row is not None and self.can_do(row, wish))
            action.setToolTip(self.tip(row, wish) if row is not None else "")
