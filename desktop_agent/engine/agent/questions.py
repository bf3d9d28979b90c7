"""Questions that wait for words, the person's or a parent's."""

from __future__ import annotations

import asyncio

import msgspec

from desktop_agent.core.events import QuestionAnswered, QuestionAsked
from desktop_agent.core.ids import AgentId, QuestionId
from desktop_agent.core.parts.forms import FormAnswer
from desktop_agent.core.questions import Question
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.base.session import Session

SKIPPED = (
    "The person skipped this question. Decide it yourself where that is safe, or go on with what "
    "does not depend on it."
)


class _Open(msgspec.Struct, frozen=True):
    question: Question
    answer: asyncio.Future[tuple[str, FormAnswer]]
    session: Session


class Questions:
    """Open questions by id. Futures never leave the engine loop."""

    def __init__(self) -> None:
        self._waiting: dict[QuestionId, _Open] = {}

    def waiting_of(self, agent_id: AgentId) -> tuple[Question, ...]:
        """Return an agent's open questions."""
        return tuple(
            one.question for one in self._waiting.values() if one.question.agent_id == agent_id
        )

    def to_parent_of(self, agent_id: AgentId) -> tuple[Question, ...]:
        """Return those of them that its parent may answer."""
        return tuple(q for q in self.waiting_of(agent_id) if q.is_for_parent)

    def agent_of(self, question_id: QuestionId) -> AgentId | None:
        """Return whose open question it is."""
        waiting = self._waiting.get(question_id)
        return waiting.question.agent_id if waiting is not None else None

    def is_open(self, question_id: QuestionId) -> bool:
        """Whether the question waits for its answer."""
        return question_id in self._waiting

    async def ask(self, question: Question, session: Session) -> str:
        """Ask and wait; cancelling withdraws the question.

        Raises StoreError when it can't be put on disk: nobody was asked then.
        """
        reply, _ = await self._settled(question, session)
        return reply if reply.strip() else SKIPPED

    async def ask_form(self, question: Question, session: Session) -> FormAnswer:
        """Ask for what a server wants to know, as `ask`; who answers otherwise declines."""
        _, answer = await self._settled(question, session)
        return answer

    async def _settled(self, question: Question, session: Session) -> tuple[str, FormAnswer]:
        agent_id = question.agent_id
        answer: asyncio.Future[tuple[str, FormAnswer]] = asyncio.get_running_loop().create_future()
        self._waiting[question.id] = _Open(question, answer, session)
        try:
            session.emit(QuestionAsked(agent_id, question))
        except StoreError:
            del self._waiting[question.id]
            raise
        try:
            return await answer
        finally:
            if self._waiting.pop(question.id, None) is not None:  # nobody answered
                no = QuestionAnswered(agent_id, question.id, "", "withdrawn", question.there)
                session.conclude(no)

    def answer(
        self,
        question_id: QuestionId,
        text: str,
        *,
        by: str = "user",
        form: FormAnswer | None = None,
    ) -> None:
        """Settle a question; the first answer wins. `by` is `user` or an agent's id.

        Raises StoreError when the answer can't be put on disk: the question still waits.
        """
        waiting = self._waiting.get(question_id)
        if waiting is None or waiting.answer.done():
            return
        agent_id = waiting.question.agent_id
        there = waiting.question.there
        waiting.session.emit(QuestionAnswered(agent_id, question_id, text, by, there))
        del self._waiting[question_id]
        waiting.answer.set_result((text, form or FormAnswer("decline")))
