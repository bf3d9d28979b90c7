"""One page for each session that was looked at lately; each goes on being filled while hidden."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentsChanged,
    Event,
    SessionOpened,
    SessionsChanged,
)
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo

_KEPT = 5


class SessionPages(QObject):
    """Finds the session an event belongs to, and keeps the newest few transcripts.

    `page_made` gives each new transcript once, to be wired.
    """

    page_made = Signal(object, str)

    def __init__(self, stack: QStackedWidget, make_view: Callable[[], Any]) -> None:
        super().__init__(stack)
        self._stack = stack
        self._make_view = make_view
        self._pages: OrderedDict[SessionId, Any] = OrderedDict()
        self._first_seqs: dict[SessionId, int] = {}
        self._owners: dict[AgentId, SessionId] = {}
        self._agents: dict[SessionId, tuple[AgentInfo, ...]] = {}
        self.sessions: dict[SessionId, SessionInfo] = {}

    def follow(self, event: Event) -> None:
        """Keep the maps of sessions and agents; call it before routing the event."""
        if isinstance(event, SessionsChanged):
            self.sessions = {info.id: info for info in event.sessions}
            self._owners.update((info.main_agent, info.id) for info in event.sessions)
            for session_id in [one for one in self._pages if one not in self.sessions]:
                self.drop(session_id)
        elif isinstance(event, SessionOpened):
            self.sessions.setdefault(event.info.id, event.info)
            self._owners[event.info.main_agent] = event.info.id
            self._agents[event.info.id] = event.agents
        elif isinstance(event, AgentsChanged):
            self._owners.update((agent.id, event.session_id) for agent in event.agents)
            self._agents[event.session_id] = event.agents

    def owner(self, event: Event) -> SessionId | None:
        """Return the session of an event; None for the events of all."""
        if isinstance(event, AgentsChanged):
            return event.session_id
        if isinstance(event, SessionOpened):
            return event.info.id
        agent_id = getattr(event, "agent_id", None)
        return self._owners.get(agent_id) if agent_id else None

    def route(self, events: Sequence[Event]) -> None:
        """Give each kept transcript its share of a batch, in one call."""
        shares: dict[SessionId, list[Event]] = {}
        for event in events:
            session_id = self.owner(event)
            if session_id is not None and session_id in self._pages:
                shares.setdefault(session_id, []).append(event)
        for session_id, share in shares.items():
            self._pages[session_id].apply(share)

    def show(self, opened: SessionOpened) -> None:
        """Bring the session's transcript to the front; one that was kept is up to date."""
        session_id = opened.info.id
        view = self._pages.get(session_id)
        if view is None:
            view = self._make_view()
            self._stack.addWidget(view)
            self._pages[session_id] = view
            # In front first: it lays out, and scrolls to the end, at its final size.
            self._stack.setCurrentWidget(view)
            view.open(opened)
            self._first_seqs[session_id] = opened.first_seq
            self.page_made.emit(view, session_id)
        self._pages.move_to_end(session_id)
        while len(self._pages) > _KEPT:
            self.drop(next(iter(self._pages)))
        self._stack.setCurrentWidget(view)

    def bring(self, session_id: SessionId | None) -> None:
        """Put the session's transcript in front of another page of the stack."""
        view = self.page(session_id)
        if view is not None:
            self._stack.setCurrentWidget(view)

    def page(self, session_id: SessionId | None) -> Any:
        """Return the session's transcript, if it is kept."""
        return self._pages.get(session_id) if session_id else None

    def drop(self, session_id: SessionId) -> None:
        """Forget a session's transcript."""
        view = self._pages.pop(session_id, None)
        self._first_seqs.pop(session_id, None)
        if view is not None:
            self._stack.removeWidget(view)
            view.deleteLater()

    def first_seq(self, session_id: SessionId) -> int:
        """Return the number of the oldest happening that is shown."""
        return self._first_seqs.get(session_id, 1)

    def prepend(self, session_id: SessionId, events: Sequence[Event], first_seq: int) -> None:
        """Show earlier happenings on top."""
        view = self._pages.get(session_id)
        if view is not None:
            view.prepend(events, first_seq)
            self._first_seqs[session_id] = first_seq

    def agent_status(self, session_id: SessionId | None) -> str:
        """Return what the session's main agent is doing, `idle` when nothing is known."""
        agents = self._agents.get(session_id, ()) if session_id else ()
        return agents[0].status if agents else "idle"

    def running(self) -> tuple[SessionInfo, ...]:
        """Return the sessions at work, also those that wait for the person."""
        return tuple(
            info for info in self.sessions.values() if info.status in ("running", "needs_you")
        )
