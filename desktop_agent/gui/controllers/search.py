"""Searches all that was said, and opens a session at what was found."""

from __future__ import annotations

from desktop_agent.core.commands import EventPage
from desktop_agent.core.events import CommandRefused, Event
from desktop_agent.core.sessions import SearchFound, SearchHit
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.state.session_state import AgentPage

# Events that are loaded at once on the way back to a message, more with each time.
_FIRST_LOAD = 400
_LARGEST_LOAD = 6400
_SWITCH = "switch_branch"


class SearchController(Controller):
    """Joins the search field of the sidebar to the engine, and its hits to the transcripts."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._sought: SearchHit | None = None
        # Whether the branch is shown on which it was said.
        self._is_on_branch = False
        self._load = _FIRST_LOAD
        sessions = self._frame.sidebar.sessions
        sessions.searched.connect(self._search)
        sessions.hit_chosen.connect(self.show_hit)
        self._session.agent_shown.connect(self._on_agent_shown)
        self._session.followed.connect(self._on_followed)

    def _search(self, text: str) -> None:
        matched = self._frame.sidebar.sessions.set_matches

        def show(found: SearchFound) -> None:
            matched(text, found)

        self._queries.ask(show, self._queries.engine.search_sessions(text))

    def show_hit(self, hit: SearchHit) -> None:
        """Open the session of a message, and scroll to it."""
        self._sought, self._load, self._is_on_branch = hit, _FIRST_LOAD, False
        self._frame.close_drawer()
        if self._session.current != hit.session_id:
            self._session.show_session(hit.session_id)
        elif self._session.agent != hit.agent_id:
            self._session.show_agent(hit.agent_id)
        else:
            self._seek()

    def _on_agent_shown(self, page: AgentPage) -> None:
        hit = self._sought
        if hit is None:
            return
        if page.info.id != hit.session_id:
            self._sought = None  # the user went elsewhere
        elif page.agent_id != hit.agent_id:
            self._session.show_agent(hit.agent_id)
        else:
            self._seek()

    def _on_followed(self, events: tuple[Event, ...], _: object) -> None:
        """Give up when the branch can't be shown now; why is said by a notice."""
        if any(isinstance(one, CommandRefused) and one.command == _SWITCH for one in events):
            self._sought = None

    def _find_branch(self, hit: SearchHit) -> None:
        """Show the branch on which a message was said; subagents' transcripts have none."""

        def take(head: int | None) -> None:
            if self._sought is not hit:
                return
            self._is_on_branch = True
            if head is None:
                self._seek()
            else:
                # Its transcript comes, as any agent's that is shown anew.
                self._engine.switch_branch(hit.session_id, head)

        self._queries.ask(take, self._queries.engine.branch_with(hit.session_id, hit.seq))

    def _seek(self) -> None:
        """Show the message, once its branch is shown and all from it on is loaded."""
        hit = self._sought
        if hit is None:
            return
        if not self._is_on_branch and hit.agent_id == self._known.main_agent:
            self._find_branch(hit)
            return
        first = self._pages.first_seq(hit.agent_id)
        if first <= max(1, hit.seq):
            self._sought = None
            self._show(hit)
            return

        def take(page: EventPage) -> None:
            if self._sought is not hit:
                return
            self._pages.prepend(hit.agent_id, page.events, page.first_seq)
            if page.first_seq < first:
                self._seek()

        found = self._queries.engine.earlier(hit.session_id, first, self._load, hit.agent_id)
        self._load = min(2 * self._load, _LARGEST_LOAD)
        self._queries.ask(take, found)

    def _show(self, hit: SearchHit) -> None:
        view = self._pages.page(hit.agent_id)
        words = hit.line[slice(*hit.marks[0])] if hit.marks else ""
        self._pages.bring(hit.agent_id)
        if view is None or not view.show_message(hit.message_id, words):
            self._frame.notices.hint(self.tr("That message is not there any more."))
