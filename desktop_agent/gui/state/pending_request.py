"""A request or a question of an agent that waits for the user."""

from __future__ import annotations

import msgspec

from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.ids import AgentId
from desktop_agent.core.questions import Question


class PendingRequest(msgspec.Struct, frozen=True):
    """A request or a question that waits for the user; `asked` is the thing itself."""

    agent_id: AgentId
    asked: ApprovalRequest | Question

    @property
    def key(self) -> str:
        """The id to answer with."""
        return self.asked.id

    @property
    def is_approval(self) -> bool:
        """Whether it is answered by a decision, not by text."""
        return isinstance(self.asked, ApprovalRequest)

    @property
    def kind(self) -> str:
        """What is to be approved; empty for a question."""
        return self.asked.kind if isinstance(self.asked, ApprovalRequest) else ""
