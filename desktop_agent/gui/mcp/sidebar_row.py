"""The line of the sidebar that opens the page of servers."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.mcp import McpState
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconLabel, PushButton, TextLabel, named, row


class ServersRow(QWidget):
    """Says how many servers run, and whether one needs the user.

    Signals:
        opened: open the page
    """

    opened = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("serversRow")
        self._title = named(PushButton(self.tr("MCP servers"), self), "openServers")
        self._title.setProperty("kind", "section")
        self._title.clicked.connect(self.opened)
        self._mark = IconLabel(theme, "circle-alert", "warn", 14, self)
        self._count = TextLabel("", "caption", self, name="serverCount")
        edge = theme.space("s")
        within = row(self._title, self._mark, None, self._count, 8, spacing=4, within=self)
        within.setContentsMargins(edge, 0, edge, 0)

    def set_states(self, states: tuple[McpState, ...]) -> None:
        """Show how these stand."""
        running = sum(1 for state in states if state.phase == "running")
        waits = ("failed", "waiting", "sign_in")
        needs = [state for state in states if state.phase in waits or state.sign_in_url]
        self._count.setText(self.tr("{n} of {all}").format(n=running, all=len(states)))
        self._mark.setVisible(bool(needs))
        spoken = self.tr("MCP servers, {n} of {all} running").format(n=running, all=len(states))
        if needs:
            spoken = self.tr("{words}, {n} need you").format(words=spoken, n=len(needs))
        self._title.setAccessibleName(spoken)
        names = ", ".join(state.server.name for state in needs)
        self._title.setToolTip(self.tr("Look at: {names}").format(names=names) if needs else "")
