"""The engine's commands and queries about commands that agents run in the background."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from desktop_agent.core.commands import JobOutput
from desktop_agent.core.events import CommandRefused
from desktop_agent.core.ids import AgentId
from desktop_agent.core.sandbox import ServedPorts
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.agent.background_commands import BackgroundCommands
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.base.session import Session


class Owner(Protocol):
    """An agent."""

    @property
    def commands(self) -> BackgroundCommands:
        """What it runs in the background."""
        ...

    @property
    def session(self) -> Session:
        """The session it works in."""
        ...


class JobCommands(EnginePart):
    """A part of the Engine."""

    _served: ServedPorts | None

    @abstractmethod
    def _agent(self, agent_id: AgentId) -> Owner:
        """Return an agent; raises KeyError for an unknown id."""

    async def job_output(self, agent_id: AgentId, job_id: str) -> JobOutput | None:
        """Return what a background command printed last; None when it is not known any more."""
        try:
            agent = self._agent(agent_id)
        except KeyError:  # its session was erased
            return None
        output = agent.commands.look(job_id)
        if output is None or output.exit_code is not None or self._served is None:
            return output
        return replace(output, ports=self._served.served_ports(agent.session.info.id))

    async def share_port(self, agent_id: AgentId, port: int) -> int:
        """Return where this computer's programs reach what the agent's session serves on a port.

        It is 0 when no command of the session serves it in a network of the session's own.
        """
        try:
            session_id = self._agent(agent_id).session.info.id
            if self._served is not None and port in self._served.served_ports(session_id):
                return await self._served.share_port(session_id, port)
        except ToolError as error:
            self._emit(CommandRefused("share_port", _sentence(error), agent_id))
        except KeyError:  # the session was erased
            pass
        return 0

    def type_into_job(self, agent_id: AgentId, job_id: str, text: str) -> None:
        """Give a background command what the user typed."""
        try:
            self._agent(agent_id).commands.type_into(job_id, text)
        except ToolError as error:
            self._emit(CommandRefused("type_into_job", _sentence(error), agent_id))

    def stop_job(self, agent_id: AgentId, job_id: str) -> None:
        """End a background command and all that it started; the agent sees it at its next look."""
        survived = partial(self._survived, agent_id)
        self._agent(agent_id).commands.end_one(job_id, survived)

    def _survived(self, agent_id: AgentId, pids: tuple[int, ...]) -> None:
        numbers = ", ".join(map(str, pids))
        words = f"The command could not be ended; its processes still run: {numbers}."
        self._emit(CommandRefused("stop_job", words, agent_id))


def _sentence(error: ToolError) -> str:
    words = str(error)
    return words[:1].upper() + words[1:]
