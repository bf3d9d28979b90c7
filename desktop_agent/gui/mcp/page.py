"""The page of all MCP servers: find one, look at it, switch it, add another."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.mcp import McpState
from desktop_agent.gui.kit.lists.list_page import ListPage, PageWords
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, has_focus_in
from desktop_agent.gui.mcp.detail import ServerDetail
from desktop_agent.gui.mcp.switch_list import SwitchList
from desktop_agent.gui.mcp.text import server_row

_TABS = ("all", "folder", "mine")


class ServersPage(ListPage[SwitchList, ServerDetail]):
    """Signals:
    pointed(name): this one is looked at
    switched(name, is_on)
    import_requested, trust_requested
    """

    kind, icon = "Server", "server"
    pointed = Signal(str)
    switched = Signal(str, bool)
    import_requested = Signal()
    trust_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "serversPage", parent)
        self._states: tuple[McpState, ...] = ()
        self.list = SwitchList(theme, "serverList", self.tr("MCP servers"), self)
        self.detail = ServerDetail(theme, self)
        imports = GhostButton(theme, self.tr("Import…"), "download", name="importServers")
        self._build(self.list, self._make_words(), _TABS, imports)
        imports.clicked.connect(self.import_requested)
        self.filtered.connect(self._show_rows)
        self.list.pointed.connect(self._on_pointed)
        self.list.opened.connect(self._open_detail)
        self.list.switched.connect(self.switched)
        self.list.acted.connect(self.trust_requested)

    def _make_words(self) -> PageWords:
        return PageWords(
            title=self.tr("MCP servers"),
            about=self.tr("Programs that give agents more tools. None starts before you allow it."),
            tabs=self.tr("Which servers"),
            filter=self.tr("Filter servers"),
            add=self.tr("Add server…"),
            empty=self.tr("A server gives the agent tools of another program"),
            why=self.tr(
                "Such as an issue tracker, a database or a browser. Add one by its command or its "
                "address, or import those of your other apps."
            ),
            no_match=self.tr("No server matches “{text}”."),
        )

    # -- down --------------------------------------------------------------------------------

    def set_states(self, states: tuple[McpState, ...]) -> None:
        """Show these servers; what is chosen and searched for stays."""
        self._states = states
        counts = {tab: sum(1 for one in states if self._is_in(one, tab)) for tab in _TABS}
        titles = {"all": self.tr("All"), "folder": self.tr("Folder"), "mine": self.tr("Yours")}
        self._show_counts(titles, counts, self.tr("Filter {n} servers"))

    # -- what is shown -----------------------------------------------------------------------

    def _is_in(self, state: McpState, tab: str) -> bool:
        is_of_folder = state.server.origin == "folder"
        return tab == "all" or is_of_folder == (tab == "folder")

    def _show_rows(self) -> None:
        words, tab = self.search.text().lower().split(), self._tabs.current
        shown = [
            state
            for state in self._states
            if self._is_in(state, tab) and all(word in _searched(state) for word in words)
        ]
        self.list.show_rows(tuple(map(server_row, shown)))
        self._show_found(has_found=bool(shown), has_any=bool(self._states))
        self._show_detail()

    def _show_detail(self) -> None:
        name = self.list.current_key
        state, before = self._by_name(name), self.detail.state
        is_left = before is not None and before.server.name != name and has_focus_in(self.detail)
        if state is not None and state != before:
            self.detail.show_state(state)
        self._place()
        if is_left and self.list.isVisible():
            # It was removed: the next key must not be for another one.
            self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _by_name(self, name: str) -> McpState | None:
        return next((one for one in self._states if one.server.name == name), None)

    def _on_pointed(self, name: str) -> None:
        if not name:
            self._shows_detail = False
        self._show_detail()
        if name:
            self.pointed.emit(name)


def _searched(state: McpState) -> str:
    tools = " ".join(tool.name for tool in state.tools[:200])
    return f"{state.server.name} {state.server.command} {state.server.url} {tools}".lower()
