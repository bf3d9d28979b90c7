"""Knows the main agent of each session a benchmark opened."""

from __future__ import annotations

from desktop_agent.core.events import Event, SessionOpened
from desktop_agent.core.ids import AgentId, SessionId


class Opened:
    """Hears events; `agents` maps a session to its main agent."""

    def __init__(self) -> None:
        self.agents: dict[SessionId, AgentId] = {}

    def hear(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, SessionOpened):
            self.agents[event.info.id] = event.info.main_agent
