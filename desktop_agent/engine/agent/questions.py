"""Questions that wait for words, the person's or a parent's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from desktop_agent.core.events import Happening, QuestionAnswered, QuestionAsked
from desktop_agent.core.ids import AgentId, QuestionId
from desktop_agent.core.questions import Question

SKIPPED = (
    "The person skipped this question. Decide it yourself where that is safe, or go on with what "
    "does not depend on it."
)


class Questions:
    """Open questions by id. Futures never leave the engine loop."""

    def __init__(self) -> None:
        self._waiting: dict[QuestionId, tuple[Question, asyncio.Future[tuple[str, str]]]] = {}

    def waiting_of(self, agent_id: AgentId) -> tuple[Question, ...]:
        """Return an agent's open questions."""
        return tuple(q for q, _ in self._waiting.values() if q.agent_id == agent_id)

    def to_parent_of(self, agent_id: AgentId) -> tuple[Question, ...]:
        """Return those of them that its parent may answer."""
        return tuple(q for q in self.waiting_of(agent_id) if q.is_for_parent)

    async def ask(self, question: Question, emit: Callable[[Happening], None]) -> str:
        """Ask and wait; cancelling withdraws the question."""
        agent_id = question.agent_id
        answer: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        self._waiting[question.id] = (question, answer)
        reply, by = "", "withdrawn"
        try:
            emit(QuestionAsked(agent_id, question))
            reply, by = await answer
        finally:
            self._waiting.pop(question.id, None)
            emit(QuestionAnswered(agent_id, question.id, reply, by))
        return reply if reply.strip() else SKIPPED

    def answer(self, question_id: QuestionId, text: str, *, by: str = "user") -> None:
        """Settle a question; the first answer wins. `by` is `user` or an agent's id."""
        waiting = self._waiting.get(question_id)
        if waiting is not None and not waiting[1].done():
            waiting[1].set_result((text, by))
