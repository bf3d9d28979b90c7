"""The page of all MCP servers: find one, look at it, switch it, add another."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from desktop_agent.core.mcp import McpState
from desktop_agent.gui.kit.lists.list_page import ListPage, fill_empty, fill_pane
from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    PrimaryButton,
    TextButton,
    TextLabel,
    has_focus_in,
    named,
)
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

    pointed = Signal(str)
    switched = Signal(str, bool)
    import_requested = Signal()
    trust_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "serversPage", parent)
        self._states: tuple[McpState, ...] = ()
        self.setAccessibleName(self.tr("MCP servers"))
        self.list = SwitchList(theme, "serverList", self.tr("MCP servers"), self)
        self.detail = ServerDetail(theme, self)
        self._join(self._make_list_pane())
        self._connect()

    # -- down --------------------------------------------------------------------------------

    def set_states(self, states: tuple[McpState, ...]) -> None:
        """Show these servers; what is chosen and searched for stays."""
        self._states = states
        numbers = {"all": len(states)}
        for tab in _TABS[1:]:
            numbers[tab] = sum(1 for one in states if self._is_in(one, tab))
        titles = {"all": self.tr("All"), "folder": self.tr("Folder"), "mine": self.tr("Yours")}
        self._tabs.show_counts(titles, numbers)
        if not numbers[self._tabs.current]:
            self._tabs.choose("all")
        many = self.tr("Filter {n} servers").format(n=len(states))
        self.search.setPlaceholderText(self.tr("Filter servers") if len(states) < 2 else many)
        self._show_rows()

    # -- construction ------------------------------------------------------------------------

    def _make_list_pane(self) -> QWidget:
        theme = self._theme
        pane = QWidget(self)
        self._import = GhostButton(theme, self.tr("Import…"), "download", pane)
        self._import.setObjectName("importServers")
        self._add = TextButton(theme, self.tr("Add server…"), "plus", pane, name="addServer")
        close = self._make_close(pane, "leaveServers")
        self.search = SearchField(theme, self.tr("Filter servers"), pane)
        self.search.setObjectName("filterServers")
        self._tabs = TabRow(
            theme, self.tr("Which servers"), "serverTab", dict.fromkeys(_TABS, ""), pane
        )
        self._pages = QStackedWidget(pane)
        self._pages.addWidget(self.list)
        self._pages.addWidget(self._make_empty())
        self._no_match = TextLabel("", "muted", wraps=True)
        self._no_match.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._pages.addWidget(self._no_match)
        about = self.tr("Programs that give agents more tools. None starts before you allow it.")
        buttons = (self._import, self._add, close)
        parts = (self.search, self._tabs, self._pages)
        fill_pane(pane, theme, (self.tr("MCP servers"), about), buttons, parts)
        return pane

    def _make_empty(self) -> QWidget:
        theme = self._theme
        page = named(QWidget(), "noServers")
        what = self.tr("A server gives the agent tools of another program")
        why = self.tr(
            "Such as an issue tracker, a database or a browser. Add one by its command or its "
            "address, or import those of your other apps."
        )
        add = PrimaryButton(theme, self.tr("Add server…"), "plus", page, name="addFirstServer")
        add.clicked.connect(self.add_requested)
        fill_empty(page, theme, "server", (what, why), add)
        return page

    def _connect(self) -> None:
        self._import.clicked.connect(self.import_requested)
        self.list.pointed.connect(self._on_pointed)
        self.list.opened.connect(self._open_detail)
        self.list.switched.connect(self.switched)
        self.list.acted.connect(self.trust_requested)

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
        self._no_match.setText(self.tr("No server matches “{text}”.").format(text=" ".join(words)))
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
