"""The engine's commands and queries about an agent's context."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from desktop_agent.core.events import CommandRefused
from desktop_agent.core.ids import AgentId, CompactionId
from desktop_agent.core.requests import ModelRequest
from desktop_agent.core.usage import ContextUse
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.context.context import AgentContext

_NOTHING = "There is nothing to summarise yet."
_ENDED = "This agent has ended."
_RUNNING = "Stop the agent first, or wait until it is done."
_FOLLOWED = "The summary can't be undone any more: work has gone on with it."


class Holder(Protocol):
    """An agent."""

    @property
    def end(self) -> object:
        """How it ended, None while it lives."""
        ...

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way."""
        ...

    @property
    def context(self) -> AgentContext:
        """What makes its requests fit."""
        ...

    @property
    def skill_list(self) -> str:
        """What its prompt says of skills; empty if nothing."""
        ...

    def request(self, *, has_tools: bool) -> ModelRequest:
        """Return the next request, as the history is now."""
        ...

    def compact(self, keep: str) -> None:
        """Compact the history, soon."""
        ...

    def clear(self) -> None:
        """Begin anew. Raises StoreError."""
        ...


class ContextCommands(EnginePart):
    """A part of the Engine."""

    @abstractmethod
    def _agent(self, agent_id: AgentId) -> Holder:
        """Return an agent; raises KeyError for an unknown id."""

    def compact(self, agent_id: AgentId, keep: str = "") -> None:
        """Make an agent's history shorter: now, or before its next step while it works.

        `keep` is what must not be lost, in the user's words. ContextCompacted tells of it.
        """
        agent = self._agent(agent_id)
        if agent.end is not None:
            self._emit(CommandRefused("compact", _ENDED, agent_id))
        elif not agent.is_running and not agent.context.can_compact():
            self._emit(CommandRefused("compact", _NOTHING, agent_id))
        else:
            agent.compact(keep)

    async def context_use(self, agent_id: AgentId) -> ContextUse:
        """Return what an agent's next request would take of its model's window."""
        agent = self._agent(agent_id)
        return await agent.context.use(agent.request(has_tools=True), agent.skill_list)

    def undo_compaction(self, agent_id: AgentId, compaction_id: CompactionId) -> None:
        """Bring back what a compaction left out, while nothing follows it."""
        agent = self._agent(agent_id)
        with self._refusing("undo_compaction", "The summary was not undone", agent_id):
            if agent.is_running:
                self._emit(CommandRefused("undo_compaction", _RUNNING, agent_id))
            elif not agent.context.undo(compaction_id):
                self._emit(CommandRefused("undo_compaction", _FOLLOWED, agent_id))

    def clear_context(self, agent_id: AgentId) -> None:
        """Begin an agent's context and task list anew; the transcript stays."""
        agent = self._agent(agent_id)
        if agent.end is not None or agent.is_running:
            why = _RUNNING if agent.end is None else _ENDED
            self._emit(CommandRefused("clear_context", why, agent_id))
            return
        with self._refusing("clear_context", "The conversation was not cleared", agent_id):
            agent.clear()
