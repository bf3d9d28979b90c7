"""What the app is asked about a host, and what it says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from desktop_agent.core.ids import SessionId
from desktop_agent.core.parts.values import Value


class HostQuestion(Value, frozen=True):
    """Whether commands of a session may reach a host.

    `call_id` names the tool call whose command wants it, as the command says: check it.
    """

    session_id: SessionId
    host: str
    port: int
    call_id: str = ""


class HostVerdict(Value, frozen=True):
    """The answer; `reason` is one sentence for the model, why not."""

    is_allowed: bool
    reason: str = ""


AskHost = Callable[[HostQuestion], Awaitable[HostVerdict]]
