"""One page for each agent that was looked at lately; each goes on being filled while hidden."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentOpened,
    AgentsChanged,
    Event,
    PartDelta,
    SessionOpened,
    SessionsChanged,
    ToolOutput,
)
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo

_KEPT = 6
# They come by the thousand, and mean something to the transcript of their agent alone.
STREAMED = frozenset({PartDelta, ToolOutput})


class SessionPages(QObject):
    """Finds whom an event belongs to, and keeps the newest few transcripts.

    `page_made` gives each new transcript once, with its agent's id, to be wired.
    """

    page_made = Signal(object, str)

    def __init__(self, stack: QStackedWidget, make_view: Callable[[], Any]) -> None:
        super().__init__(stack)
        self._stack = stack
        self._make_view = make_view
        # A transcript is 5 MB: that of a session shown empty waits for the first happening.
        self._blank: SessionOpened | None = None
        self._pages: OrderedDict[AgentId, Any] = OrderedDict()
        self._first_seqs: dict[AgentId, int] = {}
        self._owners: dict[AgentId, SessionId] = {}
        self._agents: dict[SessionId, tuple[AgentInfo, ...]] = {}
        self.sessions: dict[SessionId, SessionInfo] = {}
        # Set while the person looks at something else: what happens there brings no page.
        self.is_held = False

    def follow(self, event: Event) -> None:
        """Keep the maps of sessions and agents; call it before routing the event."""
        if isinstance(event, SessionsChanged):
            self.sessions = {info.id: info for info in event.sessions}
            self._owners.update((info.main_agent, info.id) for info in event.sessions)
            for agent_id in list(self._pages):
                if self._owners.get(agent_id) not in self.sessions:
                    self.drop(agent_id)
        elif isinstance(event, SessionOpened):
            self.sessions.setdefault(event.info.id, event.info)
            self._owners[event.info.main_agent] = event.info.id
            self._owners.update((agent.id, event.info.id) for agent in event.agents)
            self._agents[event.info.id] = event.agents
        elif isinstance(event, AgentsChanged):
            self._owners.update((agent.id, event.session_id) for agent in event.agents)
            self._agents[event.session_id] = event.agents

    def has_reader(self, event: Event) -> bool:
        """Whether an agent's transcript is kept, or would be made for what happens there."""
        agent_id = getattr(event, "agent_id", None)
        blank = self._blank
        return agent_id in self._pages or (blank is not None and blank.info.main_agent == agent_id)

    def owner(self, event: Event) -> SessionId | None:
        """Return the session of an event; None for the events of all."""
        if isinstance(event, AgentsChanged):
            return event.session_id
        if isinstance(event, SessionOpened):
            return event.info.id
        if isinstance(event, AgentOpened):
            return event.info.session_id
        agent_id = getattr(event, "agent_id", None)
        return self._owners.get(agent_id) if agent_id else None

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
            return [agent_id] if agent_id in self._pages else []
        session_id = self.owner(event)
        if session_id is None:
            return []
        return [one for one in self._pages if self._owners.get(one) == session_id]

    def _fill(self, agent_id: AgentId) -> None:
        """Make the transcript of a session in which something happens for the first time."""
        opened = self._blank
        if opened is not None and opened.info.main_agent == agent_id:
            agents = self._agents.get(opened.info.id, opened.agents)
            self._add(replace(opened, agents=agents), is_in_front=False)

    def show(self, opened: SessionOpened) -> None:
        """Bring an agent's transcript to the front; one that was kept is up to date."""
        agent_id = opened.info.main_agent
        view = self._pages.get(agent_id)
        if view is None and is_untouched(opened.info) and not opened.events:
            self._blank = opened
            return
        self._blank = None
        if view is None:
            # In front first: it lays out, and scrolls to the end, at its final size.
            view = self._add(opened, is_in_front=True)
        self._pages.move_to_end(agent_id)
        self._stack.setCurrentWidget(view)

    def _add(self, opened: SessionOpened, *, is_in_front: bool) -> Any:
        agent_id = opened.info.main_agent
        self._blank = None
        view = self._pages[agent_id] = self._make_view()
        self._stack.addWidget(view)
        view.setGeometry(self._stack.rect())
        if is_in_front:
            self._stack.setCurrentWidget(view)
        view.open(opened)
        self._first_seqs[agent_id] = opened.first_seq
        self.page_made.emit(view, agent_id)
        while len(self._pages) > _KEPT:
            self.drop(next(iter(self._pages)))
        return view

    def as_session(self, opened: AgentOpened) -> SessionOpened | None:
        """Return what shows a subagent as a transcript shows a session; None if it is gone."""
        info = self.sessions.get(opened.info.session_id)
        if info is None:
            return None
        agents = self._agents.get(info.id, ())
        shown = replace(info, main_agent=opened.info.id, model=opened.info.model or info.model)
        return SessionOpened(shown, agents, opened.events, opened.first_seq)

    def agents(self, session_id: SessionId | None) -> tuple[AgentInfo, ...]:
        """Return a session's agents as they are now, the main one first."""
        return self._agents.get(session_id, ()) if session_id else ()

    def bring(self, agent_id: AgentId | None) -> None:
        """Put an agent's transcript in front of another page of the stack."""
        view = self.page(agent_id)
        if view is not None and not self.is_held:
            self._stack.setCurrentWidget(view)

    def page(self, agent_id: AgentId | None) -> Any:
        """Return an agent's transcript, if it is kept."""
        return self._pages.get(agent_id) if agent_id else None

    def drop(self, agent_id: AgentId) -> None:
        """Forget an agent's transcript."""
        view = self._pages.pop(agent_id, None)
        self._first_seqs.pop(agent_id, None)
        if view is not None:
            self._stack.removeWidget(view)
            view.deleteLater()

    def first_seq(self, agent_id: AgentId) -> int:
        """Return the number of the oldest happening that is shown."""
        return self._first_seqs.get(agent_id, 1)

    def prepend(self, agent_id: AgentId, events: Sequence[Event], first_seq: int) -> None:
        """Show earlier happenings on top."""
        view = self._pages.get(agent_id)
        if view is not None:
            view.prepend(events, first_seq)
            self._first_seqs[agent_id] = first_seq

    def agent_status(self, agent_id: AgentId | None) -> str:
        """Return what an agent is doing, `idle` when nothing is known."""
        session_id = self._owners.get(agent_id) if agent_id else None
        found = (one.status for one in self.agents(session_id) if one.id == agent_id)
        return next(found, "idle")

    def running(self) -> tuple[SessionInfo, ...]:
        """Return the sessions at work, also those that wait for the person."""
        under_way = ("running", "needs_you", "paused")
        return tuple(info for info in self.sessions.values() if info.status in under_way)


def is_untouched(info: SessionInfo) -> bool:
    """Whether nothing was ever said in the session."""
    return info.status == "idle" and info.updated_at == info.created_at
