"""Questions an agent asks the user, or the agent that started it."""

from __future__ import annotations

from desktop_agent.core.ids import AgentId, QuestionId
from desktop_agent.core.messages import Value
from desktop_agent.core.parts.forms import ServerForm


class Question(Value, frozen=True):
    """One question; `options` may be empty, then any text is an answer.

    `is_for_parent`: a subagent's to its parent; the user may answer it as well. A `form` is
    what an MCP server asks for; a text does not answer it. `there` is its id at the place where
    its agent works.
    """

    id: QuestionId
    agent_id: AgentId
    call_id: str
    text: str
    options: tuple[str, ...] = ()
    created_at: float = 0.0
    is_for_parent: bool = False
    form: ServerForm | None = None
    there: str = ""


class QuestionAsked(Value, frozen=True):
    """An event: the agent waits for the user's words."""

    agent_id: AgentId
    question: Question


class QuestionAnswered(Value, frozen=True):
    """An event: the question is resolved; `by` is `user`, an agent or `withdrawn`."""

    agent_id: AgentId
    question_id: QuestionId
    text: str
    by: str = "user"
    there: str = ""
