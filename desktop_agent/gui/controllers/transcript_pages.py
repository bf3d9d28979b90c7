"""One page for each agent that was looked at lately; each goes on being filled while hidden."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget

from desktop_agent.core.changes import SessionChanges
from desktop_agent.core.events import AgentEvent, Event, FilesChanged, PartDelta, ToolOutput
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.state.session_state import AgentPage, SessionState

if TYPE_CHECKING:
    from desktop_agent.gui.transcript.view.view import TranscriptView

_KEPT = 6
# What a transcript needs, to be loaded while the first message is written. From the leaves up,
# so that each step is short.
MODULES = (
    "transcript.state.items",
    "transcript.state.message_items",
    "transcript.state.transcript",
    "transcript.cards.diff_view",
    "transcript.cards.output_view",
    "transcript.cards.approval_forms",
    "transcript.cards.approval_card",
    "transcript.cards.tool_text",
    "transcript.document.styles",
    "transcript.cards.row_text",
    "kit.pictures",
    "transcript.cards.pictures_card",
    "transcript.document.answer",
    "transcript.view.browser",
    "transcript.cards.factory",
    "transcript.view.row_window",
    "transcript.view.view",
)
# They come by the thousand, and mean something to the transcript of their agent alone.
STREAMED = frozenset({PartDelta, ToolOutput})


class SessionPages(QObject):
    """Finds whom an event belongs to, and keeps the newest few transcripts.

    Signals:
        page_made(TranscriptView, agent id): a new transcript, to be connected
    """

    page_made = Signal(object, str)

    def __init__(self, theme: Theme, stack: QStackedWidget, state: SessionState) -> None:
        super().__init__(stack)
        self.state = state
        self._theme = theme
        self._stack = stack
        # A transcript is 5 MB: that of a session shown empty waits for the first event.
        self._blank: AgentPage | None = None
        self._pages: OrderedDict[AgentId, TranscriptView] = OrderedDict()
        # Set while the user looks at something else: what happens there brings no page.
        self.is_held = False

    def drop_gone(self) -> None:
        for agent_id in list(self._pages):
            if self.state.session_of(agent_id) is None:
                self.drop(agent_id)

    def has_reader(self, event: Event) -> bool:
        """Whether an agent's transcript is kept, or would be made for what happens there."""
        agent_id = getattr(event, "agent_id", None)
        blank = self._blank
        return agent_id in self._pages or (blank is not None and blank.agent_id == agent_id)

    def route(self, events: Sequence[Event]) -> None:
        """Give each kept transcript its share of a batch, in one call."""
        shares: dict[AgentId, list[Event]] = {}
        for event in events:
            for agent_id in self._readers(event):
                shares.setdefault(agent_id, []).append(event)
        for agent_id, share in shares.items():
            page = self._pages.get(agent_id)  # a new page may have pushed it out
            if page is not None:
                page.apply(share)

    def _readers(self, event: Event) -> list[AgentId]:
        """Return the pages that have to know: an agent's own, or all of its session."""
        agent_id = getattr(event, "agent_id", None)
        if agent_id:
            self._fill(agent_id)
            if not isinstance(event, FilesChanged):
                return [agent_id] if agent_id in self._pages else []
            # A message's end tells what its subagents changed as well.
        session_id = self.state.owner(event)
        if session_id is None:
            return []
        return [one for one in self._pages if self.state.session_of(one) == session_id]

    def _fill(self, agent_id: AgentId) -> None:
        """Make the transcript of a session in which something happens for the first time."""
        blank = self._blank
        if blank is not None and blank.agent_id == agent_id:
            agents = self.state.agents_of(blank.info.id)
            self._add(replace(blank, agents=agents), is_in_front=False)

    def show(self, page: AgentPage) -> None:
        """Bring an agent's transcript to the front; one that was kept is up to date."""
        agent_id = page.agent_id
        view = self._pages.get(agent_id)
        if view is None and page.info.is_untouched and not page.events:
            self._blank = page
            return
        self._blank = None
        if view is None:
            # In front first: it lays out, and scrolls to the end, at its final size.
            view = self._add(page, is_in_front=True)
        self.follow_path(page)
        self._pages.move_to_end(agent_id)
        self._stack.setCurrentWidget(view)

    def follow_path(self, page: AgentPage) -> bool:
        """Show the branch that a page is of, in a transcript that was kept of another one."""
        view = self._pages.get(page.agent_id)
        is_other = view is None or view.path != page.path
        if view is not None and is_other:
            view.show_path(page)
            view.know_changes(self.state.changes_of(page.info.id))
        return is_other

    def follow_writers(self) -> None:
        """Have the transcripts whose session another window has be read only, and no others."""
        for agent_id, view in self._pages.items():
            view.set_read_only(self.state.session_of(agent_id) in self.state.elsewhere)

    def _add(self, page: AgentPage, *, is_in_front: bool) -> TranscriptView:
        # Markdown and highlighting come with it; the first paint has no transcript yet.
        from desktop_agent.gui.transcript.view.view import TranscriptView

        agent_id = page.agent_id
        self._blank = None
        view = self._pages[agent_id] = TranscriptView(self._theme, self._stack)
        self._stack.addWidget(view)
        view.setGeometry(self._stack.rect())
        if is_in_front:
            self._stack.setCurrentWidget(view)
        view.is_read_only = page.info.id in self.state.elsewhere
        view.open(page)
        self.page_made.emit(view, agent_id)
        while len(self._pages) > _KEPT:
            self.drop(next(iter(self._pages)))
        return view

    def bring(self, agent_id: AgentId | None) -> None:
        view = self.page(agent_id)
        if view is not None and not self.is_held:
            self._stack.setCurrentWidget(view)

    def know_changes(self, session_id: SessionId, changes: SessionChanges) -> None:
        """Have the kept transcripts of a session show what was changed in files."""
        for agent_id, page in self._pages.items():
            if self.state.session_of(agent_id) == session_id:
                page.know_changes(changes)

    def page(self, agent_id: AgentId | None) -> TranscriptView | None:
        return self._pages.get(agent_id) if agent_id else None

    def drop(self, agent_id: AgentId) -> None:
        view = self._pages.pop(agent_id, None)
        if view is not None:
            self._stack.removeWidget(view)
            view.deleteLater()

    def first_seq(self, agent_id: AgentId) -> int:
        """Return the number of the oldest event that is shown."""
        view = self._pages.get(agent_id)
        return view.first_seq if view is not None else 1

    def prepend(self, agent_id: AgentId, events: Sequence[AgentEvent], first_seq: int) -> None:
        view = self._pages.get(agent_id)
        if view is not None:
            view.prepend(events, first_seq)


def load_parser() -> None:
    """Load the parser of Markdown on a thread: its sixty modules import nothing of Qt."""
    threading.Thread(target=_load_parser, name="parser", daemon=True).start()


def _load_parser() -> None:
    from desktop_agent.gui.transcript.document import markdown

    markdown.get_ready()
