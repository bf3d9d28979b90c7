"""MCP servers in the window: the sidebar's line, the page, the sheets, and their commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from desktop_agent.core.events import Event, McpChanged
from desktop_agent.core.mcp import MOST_LOG_LINES, McpError, McpLine, McpServer, McpState
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.controllers.full_pages import FullPages
from desktop_agent.gui.controllers.server_offers import ServerOffersController
from desktop_agent.gui.controllers.trust import TrustController
from desktop_agent.gui.kit.preload import Preload
from desktop_agent.gui.kit.widgets import single_timer
from desktop_agent.gui.state.session_state import Facet

if TYPE_CHECKING:
    from desktop_agent.gui.mcp.dialogs import ImportSheet, ServerSheet
    from desktop_agent.gui.mcp.log_window import LogWindow
    from desktop_agent.gui.mcp.page import ServersPage
    from desktop_agent.gui.mcp.sidebar_row import ServersRow

P = ParamSpec("P")
# What a server writes is looked at while its page is open.
_LOOK_MS, _LAST_LINES = 1_500, 60


class ServersController(Controller):
    """What belongs to servers is made when there is first something of it to show."""

    def __init__(self, parts: WindowParts, full: FullPages, trust: TrustController) -> None:
        super().__init__(parts)
        self._full = full
        self._listed: set[str] = set()
        self._is_over = False
        self._trust = trust
        self._page: ServersPage | None = None
        self._row: ServersRow | None = None
        self._sheet: ServerSheet | None = None
        self._import_sheet: ImportSheet | None = None
        self._logs: dict[tuple[str, str], LogWindow] = {}
        self._look = single_timer(self, _LOOK_MS, self._ask_log)
        self._session.followed.connect(self._on_followed)
        self._session.shown.connect(self._on_place)
        self._session.workspace_changed.connect(self._on_place)
        ServerOffersController(parts)

    @property
    def states(self) -> tuple[McpState, ...]:
        """How the servers stand."""
        return self._known.servers_of(self.root)

    def open(self, name: str = "") -> None:
        """Show the page, with this server if one is named."""
        self._engine.watch_mcp(self.root)
        page = self._page or self._make_page()
        page.set_states(self.states)
        self._full.show(page)
        page.enter()
        if name:
            page.choose(name)
        self._ask_log()

    def add(self) -> None:
        """Open the sheet for a new server."""
        self._open_sheet(None)

    def stop(self) -> None:
        """Ask nothing any more: the window closes."""
        self._is_over = True
        self._look.stop()

    # -- what is shown -----------------------------------------------------------------------

    def _on_followed(self, events: tuple[Event, ...], _: Facet) -> None:
        if any(isinstance(event, McpChanged) and event.root == self.root for event in events):
            self._show()

    def _on_place(self) -> None:
        if self.root not in self._listed:
            self._listed.add(self.root)
            self._engine.list_mcp(self.root)
        self._show()

    def _show(self) -> None:
        states = self.states
        if states or self._row is not None:
            line = self._row or self._make_row()
            line.set_states(states)
            line.setVisible(bool(states))
        if self._page is not None:
            self._page.set_states(states)

    def _make_row(self) -> ServersRow:
        from desktop_agent.gui.mcp.sidebar_row import ServersRow

        self._row = line = ServersRow(self._theme, self._frame.sidebar)
        line.opened.connect(self.open)
        self._frame.sidebar.add_foot(line)
        Preload(self, ("mcp.text", "mcp.page")).start()
        return line

    def _make_page(self) -> ServersPage:
        from desktop_agent.gui.mcp.page import ServersPage

        self._page = page = ServersPage(self._theme, self._frame.stack)
        detail, engine = page.detail, self._engine
        self._full.add(page)
        page.add_requested.connect(self.add)
        page.import_requested.connect(self._import)
        page.pointed.connect(self._ask_log)
        page.switched.connect(partial(self._tell, engine.switch_mcp))
        detail.tools_switched.connect(partial(self._tell, engine.switch_mcp_tools))
        detail.log_requested.connect(self._open_log)
        detail.secret_wanted.connect(self._ask_secret)
        detail.restart_requested.connect(partial(self._tell, engine.restart_mcp))
        detail.consent_given.connect(partial(self._tell, engine.allow_mcp_outside))
        for part in (page, detail):
            part.trust_requested.connect(self._trust.look)
        detail.sign_in_requested.connect(partial(self._tell, engine.sign_in_mcp))
        detail.sign_out_requested.connect(partial(self._tell, engine.sign_out_mcp))
        detail.test_requested.connect(self._test)
        detail.edit_requested.connect(self._edit)
        detail.remove_requested.connect(self._ask_remove)
        return page

    def _ask_log(self) -> None:
        """Show what the chosen server wrote, again and again while its page is in front."""
        page = self._page
        state = page.detail.state if page is not None else None
        if self._is_over or page is None or state is None or not self._full.is_shown(page):
            return
        name = state.server.name

        def show(lines: tuple[McpLine, ...]) -> None:
            now = page.detail.state
            if now is not None and now.server.name == name:
                page.detail.show_log(lines)
            if not self._is_over:
                self._look.start()

        self._queries.ask(show, self._queries.engine.mcp_log(self.root, name, _LAST_LINES))

    def _open_log(self, name: str) -> None:
        """Show the window of all that a server wrote."""
        from desktop_agent.gui.mcp.log_window import LogWindow

        key = (self.root, name)
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = LogWindow(self._theme, name, self._frame.window())
            log.lines_wanted.connect(partial(self._ask_lines, key))
            log.destroyed.connect(lambda: self._logs.pop(key, None))
        log.show()
        log.raise_()
        log.activateWindow()

    def _ask_lines(self, key: tuple[str, str]) -> None:
        def show(lines: tuple[McpLine, ...]) -> None:
            if key in self._logs:
                self._logs[key].show_lines(lines)

        self._queries.ask(show, self._queries.engine.mcp_log(*key, MOST_LOG_LINES))

    # -- requests ----------------------------------------------------------------------------

    def _tell(
        self, command: Callable[Concatenate[str, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        command(self.root, *args, **kwargs)

    def _ask_secret(self, name: str, variable: str) -> None:
        self._queries.run(self._show_secret(name, variable), "reading a secret")

    async def _show_secret(self, name: str, variable: str) -> None:
        page, secret = self._page, self._queries.engine.mcp_secret(self.root, name, variable)
        if page is None:
            return
        try:
            page.detail.show_secret(name, variable, await secret)
        except McpError as error:
            page.detail.show_result(str(error), "error")

    def _server(self, name: str) -> McpServer | None:
        found = (state.server for state in self.states if state.server.name == name)
        return next(found, None)

    def _test(self, name: str) -> None:
        server, page = self._server(name), self._page
        if server is None or page is None:
            return
        page.detail.show_result(self.tr("Starting it…"), "muted")

        def show(state: McpState) -> None:
            now = page.detail.state
            if now is None or now.server.name != name:
                return
            good = self.tr("The test went well: {n} tools.").format(n=len(state.tools))
            is_good = state.phase == "running"
            page.detail.show_result(
                good if is_good else state.problem, "ok" if is_good else "error"
            )

        self._queries.ask(show, self._queries.engine.test_mcp(self.root, server))

    def _edit(self, name: str) -> None:
        server = self._server(name)
        if server is not None:
            self._open_sheet(server)

    def _open_sheet(self, server: McpServer | None) -> None:
        from desktop_agent.gui.mcp.dialogs import ServerSheet

        every = [state.server for state in self.states]
        taken = [one.name for one in every if one != server and one.origin != "folder"]
        window = self._frame.window()
        self._sheet = sheet = ServerSheet(self._theme, window, server=server, taken=taken)
        sheet.finished.connect(self._forget_sheet)
        sheet.saved.connect(partial(self._tell, self._engine.save_mcp))
        sheet.test_requested.connect(self._test_typed)
        sheet.open()

    def _forget_sheet(self) -> None:
        if self._sheet is not None:
            self._sheet.deleteLater()
        self._sheet = None

    def _test_typed(self, typed: McpServer) -> None:
        sheet = self._sheet

        def show(state: McpState) -> None:
            if sheet is not None and self._sheet is sheet:
                sheet.show_tested(state)

        self._queries.ask(show, self._queries.engine.test_mcp(self.root, typed))

    def _import(self) -> None:
        from desktop_agent.gui.mcp.dialogs import ImportSheet

        self._import_sheet = sheet = ImportSheet(self._theme, self._frame.window())
        sheet.finished.connect(self._forget_import)
        sheet.text_given.connect(self._read)
        sheet.chosen.connect(self._add_all)
        sheet.open()
        self._queries.ask(self._show_found, self._queries.engine.found_mcp())

    def _forget_import(self) -> None:
        if self._import_sheet is not None:
            self._import_sheet.deleteLater()
        self._import_sheet = None

    def _show_found(self, found: Sequence[tuple[str, tuple[McpServer, ...]]]) -> None:
        if self._import_sheet is not None:
            for source, servers in found:
                self._import_sheet.add_servers(source, servers)

    def _read(self, text: str) -> None:
        self._queries.run(self._read_config(text), "reading servers")

    async def _read_config(self, text: str) -> None:
        try:
            servers, problem = await self._queries.engine.import_mcp(text), ""
        except McpError as error:
            servers, problem = (), str(error)
        if self._import_sheet is None:
            return
        if problem:
            self._import_sheet.show_error(problem)
        else:
            self._import_sheet.add_servers("", servers)

    def _add_all(self, servers: Sequence[McpServer]) -> None:
        for server in servers:
            self._engine.save_mcp(self.root, server)

    def _ask_remove(self, name: str) -> None:
        from desktop_agent.gui.mcp.dialogs import ask_before_removing

        box = ask_before_removing(self._theme, name, self._frame.window())
        box.accepted.connect(lambda: self._engine.remove_mcp(self.root, name))
        box.open()
