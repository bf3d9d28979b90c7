"""What is done with the transcript that is shown, and with the session's files and history."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QTextBrowser, QWidget

from desktop_agent.core.ids import AgentId
from desktop_agent.gui.bridge.requests import Queries
from desktop_agent.gui.controllers.session import SessionController
from desktop_agent.gui.controllers.transcript_pages import SessionPages
from desktop_agent.gui.frame.layout import WindowFrame

_EARLIER = 200
_LOOK_MS = 60


class TranscriptController(QObject):
    """Find, copy, earlier messages, file names for `@`, and the strip of waiting approvals."""

    def __init__(
        self, frame: WindowFrame, pages: SessionPages, flow: SessionController, queries: Queries
    ) -> None:
        super().__init__(frame)
        self._frame = frame
        self._pages = pages
        self._flow = flow
        self._queries = queries
        # Cards come and go while the view scrolls; one look after it is enough.
        self._look = QTimer(self)
        self._look.setSingleShot(True)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._count_waiting)

    def watch(self, page: QWidget) -> None:
        """Look again whenever the page scrolls or its approvals change."""
        for browser in page.findChildren(QTextBrowser):
            browser.verticalScrollBar().valueChanged.connect(self.look)
            browser.verticalScrollBar().rangeChanged.connect(self.look)

    def look(self) -> None:
        """Count, soon, the approvals that wait out of view."""
        self._look.start()

    def find(self, text: str, backward: bool) -> None:
        """Go to the next place of a text."""
        page = self._pages.page(self._flow.agent)
        if page is not None:
            self._frame.find_bar.set_count(page.find(text, backward))

    def copy_answer(self) -> None:
        """Copy the last answer."""
        page = self._pages.page(self._flow.agent)
        if page is not None:
            page.copy_last_answer()

    def search_sessions(self, text: str) -> None:
        """Look for words in all sessions."""
        matched = self._frame.sidebar.sessions.set_matches
        found = self._queries.engine.search_sessions(text)
        self._queries.ask(lambda ids: matched(text, ids), found)

    def complete_path(self, prefix: str) -> None:
        """Find the files for what stands behind an `@`."""
        session_id, show = self._flow.current, self._frame.composer.box.set_completions
        if session_id is not None:
            names = self._queries.engine.complete_path(session_id, prefix)
            self._queries.ask(lambda names: show(prefix, names), names)

    def load_earlier(self, agent_id: AgentId) -> None:
        """Show more of what was said before."""
        first, session_id = self._pages.first_seq(agent_id), self._flow.current
        if session_id is not None:
            self._queries.ask(
                lambda page: self._pages.prepend(agent_id, page.events, page.first_seq),
                self._queries.engine.earlier(session_id, first, _EARLIER, agent_id),
            )

    def _count_waiting(self) -> None:
        page = self._pages.page(self._flow.agent)
        waiting = 0
        if page is not None:
            waiting = page.waiting_count()
            cards = page.findChildren(QWidget, "approvalCard")
            waiting -= sum(1 for card in cards if not card.visibleRegion().isEmpty())
        self._frame.approvals.set_count(max(0, waiting))
