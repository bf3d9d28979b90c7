"""Feeds parts of the window as the window does: events go through one state, which they show."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from desktop_agent.core.events import AgentOpened, Event, SessionOpened
from desktop_agent.gui.agents.requests_panel import RequestsPanel
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.frame.side_panel import RightPanel
from desktop_agent.gui.state.session_state import AgentPage, Facet, SessionState
from desktop_agent.gui.transcript.state.transcript import Transcript

_STATES: WeakKeyDictionary[Any, SessionState] = WeakKeyDictionary()


def state_of(panel: Any) -> SessionState:
    """Return the state that a panel shows."""
    return _STATES.setdefault(panel, SessionState())


def follow(panel: Any, event: Event) -> None:
    """Have a panel show what an event changes; what is opened is shown."""
    state = state_of(panel)
    changed = state.apply(event)
    page = None
    if isinstance(event, SessionOpened):
        page = AgentPage.of_main(event)
    elif isinstance(event, AgentOpened):
        page = state.page(event)
    if page is not None:
        changed |= state.show(page.info.id, page.agent_id)
    if isinstance(panel, Composer):
        if page is not None:
            panel.open(page, state)
        if changed:
            panel.show_state(state)
        panel.apply(event)
    elif changed and isinstance(panel, RequestsPanel):
        panel.show_state(state)
    elif isinstance(panel, RightPanel):
        _feed(panel, state, changed)
    elif changed:
        panel.show_state(state, changed)


def _feed(panel: RightPanel, state: SessionState, changed: Facet) -> None:
    panel.tasks.show_state(state, changed)
    panel.agents.show_state(state, changed)
    if changed & (Facet.SESSION | Facet.SHOWN | Facet.TASKS):
        panel.share_soon()


def open_page(view: Any, opened: SessionOpened) -> None:
    """Show the main agent of a session in a transcript."""
    view.open(AgentPage.of_main(opened))


def transcript_of(opened: SessionOpened) -> Transcript:
    """Return the transcript of a session's main agent."""
    return Transcript.of_page(AgentPage.of_main(opened))
