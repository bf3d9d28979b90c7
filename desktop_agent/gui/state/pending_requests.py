"""What waits for the person, of all agents. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    QuestionAnswered,
    QuestionAsked,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.questions import Question


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request or a question that waits; `asked` is the thing itself."""

    agent_id: AgentId
    asked: ApprovalRequest | Question

    @property
    def key(self) -> str:
        """The id to answer with."""
        return self.asked.id

    @property
    def is_approval(self) -> bool:
        """Whether it is settled by a decision, not by words."""
        return isinstance(self.asked, ApprovalRequest)

    @property
    def tool(self) -> str:
        """What is to be approved; empty for a question."""
        return self.asked.call.name if isinstance(self.asked, ApprovalRequest) else ""


class PendingRequests:
    """Keeps the requests of every session.

    A session that is opened tells of its main agent's events alone: what its subagents
    asked while another session was shown is known from having listened.
    """

    def __init__(self) -> None:
        self._asks: dict[str, PendingRequest] = {}

    def all(self) -> Iterable[PendingRequest]:
        """Return what waits, in the order it was heard of."""
        return self._asks.values()

    def question_of(self, agent_id: str) -> Question | None:
        """Return what an agent asks."""
        for ask in self._asks.values():
            if ask.agent_id == agent_id and isinstance(ask.asked, Question):
                return ask.asked
        return None

    def apply(self, event: Event) -> bool:
        """Take in one event; tell whether something may wait that did not, or no longer."""
        match event:
            case ApprovalRequested():
                self._asks[event.request.id] = PendingRequest(event.agent_id, event.request)
            case QuestionAsked():
                self._asks[event.question.id] = PendingRequest(event.agent_id, event.question)
            case ApprovalResolved():
                return self._asks.pop(event.request_id, None) is not None
            case QuestionAnswered():
                return self._asks.pop(event.question_id, None) is not None
            case TurnEnded():
                return self.drop({event.agent_id})
            case _:
                return False
        return True

    def drop_resting(self, agents: Iterable[AgentInfo]) -> bool:
        """Nobody waits for an answer where nothing runs, as after a crash."""
        if not self._asks:
            return False
        return self.drop({agent.id for agent in agents if not agent.is_working})

    def drop(self, agents: set[AgentId]) -> bool:
        """Forget what these agents asked; tell whether there was anything."""
        gone = [key for key, ask in self._asks.items() if ask.agent_id in agents]
        for key in gone:
            del self._asks[key]
        return bool(gone)
