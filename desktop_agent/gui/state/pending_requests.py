"""All that waits for the person in the tree of agents, oldest first. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.events import (
    AgentOpened,
    AgentsChanged,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
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
    """Keeps the asks of every session it hears of; only the shown one's are given out.

    A session that is opened tells of its main agent's happenings alone: what its subagents
    asked while another session was shown is known from having listened.
    """

    def __init__(self) -> None:
        self.agents: tuple[AgentInfo, ...] = ()
        self._session = ""
        self._asks: dict[str, PendingRequest] = {}

    def waiting(self) -> tuple[PendingRequest, ...]:
        """Return what waits in the shown session, oldest first."""
        shown = {agent.id for agent in self.agents}
        asks = [ask for ask in self._asks.values() if ask.agent_id in shown]
        return tuple(sorted(asks, key=lambda ask: ask.asked.created_at))

    def question_of(self, agent_id: str) -> Question | None:
        """Return what an agent asks."""
        for ask in self._asks.values():
            if ask.agent_id == agent_id and isinstance(ask.asked, Question):
                return ask.asked
        return None

    def apply(self, event: Event) -> bool:
        """Fold one event; tell whether something may wait that did not, or no longer."""
        match event:
            case SessionOpened():
                self._session, self.agents = event.info.id, event.agents
                self._replay(event.events)
                self._drop_settled(event.agents)
            case AgentOpened():
                self._replay(event.events)
                self._drop_settled((event.info,))
            case AgentsChanged():
                if event.session_id == self._session:
                    self.agents = event.agents
                self._drop_settled(event.agents)
            case _:
                return self._fold(event)
        return True

    def _replay(self, events: Iterable[Event]) -> None:
        for event in events:
            self._fold(event)

    def _fold(self, event: Event) -> bool:
        match event:
            case ApprovalRequested():
                self._asks[event.request.id] = PendingRequest(event.agent_id, event.request)
            case QuestionAsked():
                self._asks[event.question.id] = PendingRequest(event.agent_id, event.question)
            case ApprovalResolved():
                self._asks.pop(event.request_id, None)
            case QuestionAnswered():
                self._asks.pop(event.question_id, None)
            case TurnEnded():
                self._drop_of({event.agent_id})
            case _:
                return False
        return True

    def _drop_settled(self, agents: Iterable[AgentInfo]) -> None:
        # Nobody waits for an answer where nothing runs, as after a crash.
        if self._asks:
            self._drop_of({agent.id for agent in agents if not agent.is_working})

    def _drop_of(self, agents: set[AgentId]) -> None:
        for key, ask in list(self._asks.items()):
            if ask.agent_id in agents:
                del self._asks[key]
