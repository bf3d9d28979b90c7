"""The engine's commands and queries about commands that agents run in the background."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Protocol

from desktop_agent.core.commands import JobOutput
from desktop_agent.core.events import CommandRefused, Event
from desktop_agent.core.ids import AgentId
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.agent.background_commands import BackgroundCommands


class Owner(Protocol):
    """An agent."""

    @property
    def commands(self) -> BackgroundCommands:
        """What it runs in the background."""
        ...


class JobCommands(ABC):
    """A part of the Engine."""

    @abstractmethod
    def _agent(self, agent_id: AgentId) -> Owner:
        """Return an agent; raises KeyError for an unknown id."""

    @abstractmethod
    def _emit(self, event: Event) -> None:
        """Tell the listener."""

    async def job_output(self, agent_id: AgentId, job_id: str) -> JobOutput | None:
        """Return what a background command printed last; None when it is not known any more."""
        try:
            return self._agent(agent_id).commands.look(job_id)
        except KeyError:  # its session was erased
            return None

    def type_into_job(self, agent_id: AgentId, job_id: str, text: str) -> None:
        """Give a background command what the user typed."""
        try:
            self._agent(agent_id).commands.type_into(job_id, text)
        except ToolError as error:
            words = str(error)
            said = words[:1].upper() + words[1:]
            self._emit(CommandRefused("type_into_job", said, agent_id))

    def stop_job(self, agent_id: AgentId, job_id: str) -> None:
        """End a background command and all that it started; the agent sees it at its next look."""
        survived = partial(self._survived, agent_id)
        self._agent(agent_id).commands.end_one(job_id, survived)

    def _survived(self, agent_id: AgentId, pids: tuple[int, ...]) -> None:
        numbers = ", ".join(map(str, pids))
        words = f"The command could not be ended; its processes still run: {numbers}."
        self._emit(CommandRefused("stop_job", words, agent_id))
