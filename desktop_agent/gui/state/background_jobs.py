"""What the window knows of commands that go on in the background: those it saw begin. No Qt."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from desktop_agent.core.commands import JobOutput
from desktop_agent.core.events import Event, ToolEnded
from desktop_agent.core.ids import AgentId
from desktop_agent.core.parts.facts import InBackground


class BackgroundJob(msgspec.Struct, frozen=True):
    """One command; its words are empty until the engine was asked."""

    agent_id: AgentId
    job_id: str
    command: str = ""


class BackgroundJobs:
    """The commands that run, oldest first. That they ended is learnt by asking."""

    def __init__(self) -> None:
        self._running: dict[tuple[AgentId, str], BackgroundJob] = {}

    @property
    def running(self) -> tuple[BackgroundJob, ...]:
        return tuple(self._running.values())

    def apply(self, event: Event) -> bool:
        """Take in an event; tell whether a command began."""
        facts = event.result.facts if isinstance(event, ToolEnded) else None
        if not isinstance(event, ToolEnded) or not isinstance(facts, InBackground):
            return False
        job = BackgroundJob(event.agent_id, facts.job_id)
        self._running[job.agent_id, job.job_id] = job
        return True

    def learn(self, agent_id: AgentId, job_id: str, output: JobOutput | None) -> bool:
        """Take in what the engine says of a command; tell whether anything is new."""
        job = self._running.get((agent_id, job_id))
        if job is None:
            return False
        if output is None or output.exit_code is not None:
            del self._running[agent_id, job_id]
            return True
        self._running[agent_id, job_id] = replace(job, command=output.command)
        return job.command != output.command
