"""Questions an agent asks the user, or the agent that started it."""

from __future__ import annotations

from desktop_agent.core.ids import AgentId, QuestionId
from desktop_agent.core.messages import Value
from desktop_agent.core.parts.forms import ServerForm


class Question(Value, frozen=True):
    """One question; `options` may be empty, then any text is an answer.

    `is_for_parent`: a subagent's to its parent; the user may answer it as well. A `form` is
    what an MCP server asks for; a text does not answer it.
    """

    id: QuestionId
    agent_id: AgentId
    call_id: str
    text: str
    options: tuple[str, ...] = ()
    created_at: float = 0.0
    is_for_parent: bool = False
    form: ServerForm | None = None
