"""What is done with the transcript that is shown, and with the session's files and history."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from desktop_agent.core.ids import AgentId
from desktop_agent.core.network.places import LONGEST_NAME
from desktop_agent.gui.composer.input import RUN_ON
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.controllers.remember import RememberController
from desktop_agent.gui.controllers.search import SearchController
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.kit.links import local_port, open_link, open_local, open_path
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.widgets import single_timer

if TYPE_CHECKING:
    from desktop_agent.gui.transcript.view.view import TranscriptView

_EARLIER = 200
_LOOK_MS = 60


class TranscriptController(Controller):
    """Find, copy, earlier messages, file names for `@`, and the strip of waiting approvals."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        SearchController(parts)
        self._remember = RememberController(parts)
        # Cards come and go while the view scrolls; one look after it is enough.
        self._look = single_timer(self, _LOOK_MS, self._count_waiting)
        frame = self._frame
        self._pages.page_made.connect(self._on_page_made)
        self._session.agent_shown.connect(self._start_look)
        frame.header.copy_button.clicked.connect(self.copy_answer)
        frame.find_bar.searched.connect(self.find)
        frame.composer.box.path_completion_requested.connect(self._complete_path)
        frame.composer.command_given.connect(self._give_command)

    def _on_page_made(self, view: TranscriptView, agent_id: str) -> None:
        view.earlier_requested.connect(lambda: self._load_earlier(AgentId(agent_id)))
        view.open_path_requested.connect(self._open_path)
        view.open_link_requested.connect(partial(self._open_link, AgentId(agent_id)))
        # Cards that wait come into view and leave it.
        view.waiting_changed.connect(self._start_look)
        bar = view.browser.verticalScrollBar()
        bar.valueChanged.connect(self._start_look)
        bar.rangeChanged.connect(self._start_look)

    def _start_look(self) -> None:
        self._look.start()

    def _open_link(self, agent_id: AgentId, address: str) -> None:
        if port := local_port(address):
            reached = self._queries.engine.share_port(agent_id, port)
            self._queries.ask(lambda port: open_local(address, port), reached)
        else:
            open_link(address)

    def _open_path(self, path: str) -> None:
        if not open_path(path, self._session.workspace):
            text = self.tr("That file is not there any more, or not in this session's folders.")
            self._frame.notices.hint(text)

    def find(self, text: str, backward: bool) -> None:
        page = self._pages.page(self._session.agent)
        if page is not None:
            self._frame.find_bar.set_count(page.find(text, backward))

    def copy_answer(self) -> None:
        page = self._pages.page(self._session.agent)
        if page is not None:
            page.copy_last_answer()

    def _give_command(self, name: str, text: str) -> None:
        """Do what a command in the message box says about the agent that is shown."""
        engine = self._engine
        if name == "compact":
            self._session.tell(engine.compact, text)
        elif name == "remember":
            self._remember.add(plain(text))
        elif name == RUN_ON:
            self._run_on(*text.partition(" ")[::2])
        else:
            self._session.tell(engine.clear_context)

    def _run_on(self, place: str, task: str) -> None:
        """Have a subagent of the agent that is shown work at a place."""
        told, agent_id = plain(task).strip(), self._session.agent
        if all(one.name != place for one in self._session.settings.places):
            words = self.tr("There is no place called “{name}” in your settings.")
            self._refuse(place, task, words.format(name=place[:LONGEST_NAME]))
            return
        if not told or agent_id is None:
            self._refuse(place, task, self.tr("What is to be done there stands behind the place."))
            return
        asked = self._queries.engine.run_on(agent_id, place, told)
        self._queries.ask(lambda why: self._refuse(place, task, why) if why else None, asked)

    def _refuse(self, place: str, task: str, why: str) -> None:
        """Give back what was typed, unless something else is in the box by now."""
        composer = self._frame.composer
        self._frame.notices.put(RUN_ON, Notice(with_marks(why), "warn"))
        if not composer.draft():
            composer.set_text(f"/{RUN_ON} {place} {task}")

    def _complete_path(self, prefix: str) -> None:
        """Find the files for what stands behind an `@`."""
        session_id, show = self._session.current, self._frame.composer.box.set_completions
        if session_id is not None:
            names = self._queries.engine.complete_path(session_id, prefix)
            self._queries.ask(lambda names: show(prefix, names), names)

    def _load_earlier(self, agent_id: AgentId) -> None:
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
