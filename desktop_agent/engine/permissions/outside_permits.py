"""Commands that the person lets out of the sandbox, each once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message
from desktop_agent.core.parts.facts import FailedInside


class OutsidePermits:
    """Held in memory until they are used, or the agent's turn is over. For the engine thread."""

    def __init__(self) -> None:
        self._given: defaultdict[AgentId, set[str]] = defaultdict(set)

    def give(self, agent_id: AgentId, fingerprint: str) -> None:
        """Let an agent run the command of this fingerprint outside."""
        self._given[agent_id].add(fingerprint)

    def has(self, agent_id: AgentId, fingerprint: str) -> bool:
        """Whether that was permitted, and not used yet."""
        return fingerprint in self._given.get(agent_id, ())

    def use(self, agent_id: AgentId, fingerprint: str) -> None:
        """Take a permit back, if there is one: the command runs."""
        self._given.get(agent_id, set()).discard(fingerprint)

    def clear(self, agent_id: AgentId) -> None:
        """Take back what an agent did not use."""
        self._given.pop(agent_id, None)


def failed_inside(history: Sequence[Message], call_id: str) -> FailedInside | None:
    """Return what failed in the sandbox by a call, as the tool told it."""
    for message in reversed(history):
        for result in message.results:
            if result.call_id == call_id:
                return result.facts if isinstance(result.facts, FailedInside) else None
    return None
