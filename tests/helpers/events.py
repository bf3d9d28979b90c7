"""Builders of the events that most tests of the window begin with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from desktop_agent.core.agents import AgentInfo, AgentStatus
from desktop_agent.core.events import AgentEvent, SessionOpened
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace


def opened(
    session_id: str = "se_1",
    *,
    agent: str = "ag_1",
    status: AgentStatus = "idle",
    folder: str = "/tmp/work",
    events: Iterable[AgentEvent] = (),
    agents: tuple[AgentInfo, ...] = (),
    first_seq: int = 1,
    **changes: Any,
) -> SessionOpened:
    """Return a session that is opened; `agents` in place of the main one, `changes` of its info."""
    fields = {"model": "demo", "mode": "ask"} | changes
    session, main = SessionId(session_id), AgentId(agent)
    info = SessionInfo(session, main, "Title", Workspace(folder), **fields)
    shown = agents or (AgentInfo(main, session, "Main", status),)
    return SessionOpened(info, shown, tuple(events), first_seq)
