"""Questions an agent asks the person with `ask_user`."""

from __future__ import annotations

from desktop_agent.core.ids import AgentId, QuestionId
from desktop_agent.core.messages import Value


class Question(Value, frozen=True):
    """One question; `options` may be empty, then any text is an answer."""

    id: QuestionId
    agent_id: AgentId
    call_id: str
    text: str
    options: tuple[str, ...] = ()
    created_at: float = 0.0
