"""What is done with the transcript that is shown, and with the session's files and history."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QTextBrowser, QWidget

from desktop_agent.core.ids import AgentId
from desktop_agent.gui.controllers.controller import Controller, WindowParts

_EARLIER = 200
_LOOK_MS = 60


class TranscriptController(Controller):
    """Find, copy, earlier messages, file names for `@`, and the strip of waiting approvals."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        # Cards come and go while the view scrolls; one look after it is enough.
        self._look = QTimer(self, singleShot=True, interval=_LOOK_MS)
        self._look.timeout.connect(self._count_waiting)

    def watch(self, page: QWidget) -> None:
        """Look again whenever the page scrolls or its approvals change."""
        for browser in page.findChildren(QTextBrowser):
            browser.verticalScrollBar().valueChanged.connect(self.look)
            browser.verticalScrollBar().rangeChanged.connect(self.look)

    def look(self) -> None:
        self._look.start()

    def find(self, text: str, backward: bool) -> None:
        page = self._pages.page(self._session.agent)
        if page is not None:
            self._frame.find_bar.set_count(page.find(text, backward))

    def copy_answer(self) -> None:
        page = self._pages.page(self._session.agent)
        if page is not None:
            page.copy_last_answer()

    def search_sessions(self, text: str) -> None:
        matched = self._frame.sidebar.sessions.set_matches
        found = self._queries.engine.search_sessions(text)
        self._queries.ask(lambda ids: matched(text, ids), found)

    def give_command(self, name: str, text: str) -> None:
        """Do what a command in the message box says about the agent that is shown."""
        engine = self._engine
        if name == "compact":
            self._session.tell(engine.compact, text)
        else:
            self._session.tell(engine.clear_context)

    def complete_path(self, prefix: str) -> None:
        """Find the files for what stands behind an `@`."""
        session_id, show = self._session.current, self._frame.composer.box.set_completions
        if session_id is not None:
            names = self._queries.engine.complete_path(session_id, prefix)
            self._queries.ask(lambda names: show(prefix, names), names)

    def load_earlier(self, agent_id: AgentId) -> None:
        first, session_id = self._pages.first_seq(agent_id), self._session.current
        if session_id is not None:
            self._queries.ask(
                lambda page: self._pages.prepend(agent_id, page.events, page.first_seq),
                self._queries.engine.earlier(session_id, first, _EARLIER, agent_id),
            )

    def _count_waiting(self) -> None:
        page = self._pages.page(self._session.agent)
        waiting = 0
        if page is not None:
            waiting = page.waiting_count()
            cards = page.findChildren(QWidget, "approvalCard")
            waiting -= sum(1 for card in cards if not card.visibleRegion().isEmpty())
        self._frame.approvals.set_count(max(0, waiting))
