"""The page of usage in the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from desktop_agent.core.events import Event, SideCallEnded, StepEnded
from desktop_agent.core.ids import SessionId
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.controllers.full_pages import FullPages
from desktop_agent.gui.kit.widgets import single_timer
from desktop_agent.gui.state.session_state import Facet

if TYPE_CHECKING:
    from desktop_agent.gui.usage.page import UsagePage

# Many agents end many steps a second.
_REST_MS = 1_000


class UsageController(Controller):
    """Makes the page when it is first opened; while it is in front, its figures follow."""

    def __init__(self, parts: WindowParts, full: FullPages) -> None:
        super().__init__(parts)
        self._full = full
        self._page: UsagePage | None = None
        self._is_over = False
        self._rest = single_timer(self, _REST_MS, self._look)
        self._session.followed.connect(self._on_followed)

    def open(self) -> None:
        """Show the page."""
        page = self._page or self._make_page()
        self._full.show(page)
        page.enter()
        self._look()

    def stop(self) -> None:
        """Ask nothing any more: the window closes."""
        self._is_over = True
        self._rest.stop()

    def _make_page(self) -> UsagePage:
        from desktop_agent.gui.usage.page import UsagePage  # nobody waits for it at the start

        self._page = page = UsagePage(self._theme, self._frame.stack)
        self._full.add(page)
        page.asked.connect(self._look)
        page.session_chosen.connect(self._open_session)
        page.said.connect(self._frame.notices.hint)
        return page

    def _look(self) -> None:
        page = self._page
        if page is not None and not self._is_over:
            self._queries.ask(page.show_report, self._queries.engine.usage(page.since))

    def _on_followed(self, events: tuple[Event, ...], _: Facet) -> None:
        is_news = any(isinstance(one, StepEnded | SideCallEnded) for one in events)
        if is_news and self._full.is_shown(self._page) and not self._rest.isActive():
            self._rest.start()

    def _open_session(self, session_id: str) -> None:
        info = self._known.sessions.get(SessionId(session_id))
        if info is None or info.deleted_at:
            text = self.tr("That session is among the recently deleted ones.")
            self._frame.notices.hint(text)
            return
        self._full.leave()
        self._session.show_session(session_id)
