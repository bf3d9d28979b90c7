"""The engine's commands and queries about subagents."""

from __future__ import annotations

from abc import abstractmethod

from desktop_agent.core.ids import AgentId
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.tree.agents import Agents, SpawnRequest

_LONGEST_NAME = 60


class TreeCommands(EnginePart):
    """A part of the Engine."""

    _agents: Agents

    @abstractmethod
    def _agent(self, agent_id: AgentId) -> Agent:
        """Return an agent; raises KeyError for an unknown id."""

    async def result_of(self, agent_id: AgentId) -> str:
        """Return the whole text that a subagent ended with."""
        return self._agents.result(self._agent(agent_id))

    async def run_on(self, agent_id: AgentId, place: str, task: str) -> str:
        """Start a subagent of an agent at a place; return why not, if it can't be.

        Nobody is asked: the person says it themselves. Its end is a report to that agent.
        """
        name = next(iter(task.split("\n")))[:_LONGEST_NAME]
        try:
            parent = self._agent(agent_id)
            if self._agents.why_unread(parent) is not None:
                return "This agent has ended: nothing more is started for it."
            self._agents.spawn(parent, SpawnRequest(name, task, place=place))
        except KeyError:
            return "Its session was deleted."
        except (ToolError, StoreError) as error:
            words = str(error).strip()
            return f"{words[:1].upper()}{words[1:]}"
        return ""
