"""Snapshots of agents, as the window and the store see them."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.messages import Value
from desktop_agent.core.usage import Usage

AgentStatus = Literal["idle", "running", "waiting_approval", "waiting_answer", "stopping"]
# `interrupted`: the app itself ended while the turn ran; written at the next start.
StopReason = Literal["finished", "cancelled", "error", "step_limit", "budget", "interrupted"]


class AgentInfo(Value, frozen=True):
    """An agent as it is now. `doing` is a verb and an object, such as `reading prices.csv`."""

    id: AgentId
    session_id: SessionId
    name: str
    status: AgentStatus = "idle"
    parent_id: AgentId | None = None
    doing: str = ""
    step: int = 0
    usage: Usage = Usage()
    started_at: float = 0.0
    active_at: float = 0.0
