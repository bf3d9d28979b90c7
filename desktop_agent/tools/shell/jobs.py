"""An agent's commands: those in the background, and the marks by which all are found again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

import msgspec

from desktop_agent.core.commands import JobOutput
from desktop_agent.core.parts.containment import Containment
from desktop_agent.core.tool import ToolError
from desktop_agent.tools.shell import process_tree
from desktop_agent.tools.shell.running import RunningCommand

_MOST_RUNNING = 8
_MOST_REMEMBERED = 20


class Job(msgspec.Struct):
    """A command in the background. `reported` counts the bytes the agent has been given.

    `is_end_told` says that it knows how the command ended.
    """

    id: str
    command: str
    running: RunningCommand
    began: float = msgspec.field(default_factory=time.monotonic)
    reported: int = 0
    containment: Containment | None = None
    is_end_told: bool = False
    completion: asyncio.Task[None] | None = None

    @property
    def state(self) -> str:
        """Return `running` or `ended with exit code 0`."""
        code = self.running.exit_code
        return "running" if code is None else f"ended with exit code {code}"


class Jobs:
    """The background commands of one agent."""

    def __init__(self) -> None:
        self._token = os.urandom(8).hex()
        self._count = 0
        self._started = 0
        self._closed_at = 0
        self._jobs: dict[str, Job] = {}

    @property
    def is_clear(self) -> bool:
        """Whether no command was started since the last `close`."""
        return self._count == self._closed_at

    def running(self) -> tuple[str, ...]:
        """Return the commands that run in the background."""
        return tuple(job.command for job in self._jobs.values() if job.running.exit_code is None)

    def new_mark(self) -> str:
        """Return a mark for the next command, which no other process carries."""
        self._count += 1
        return f"{self._token}.{self._count}."

    def start(
        self,
        command: str,
        make: Callable[[], RunningCommand],
        containment: Containment | None = None,
    ) -> Job:
        """Keep a command that goes on in the background; raises ToolError when it is one too many.

        `make` starts it.
        """
        alive = [job for job in self._jobs.values() if job.running.exit_code is None]
        if len(alive) >= _MOST_RUNNING:
            names = ", ".join(job.id for job in alive)
            raise ToolError(f"{_MOST_RUNNING} background commands are running already ({names}).")
        self._started += 1
        job = Job(f"job_{self._started}", command, make(), containment=containment)
        self._forget_oldest()
        job.completion = asyncio.create_task(_follow(job))
        self._jobs[job.id] = job
        return job

    def _forget_oldest(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.running.exit_code is not None]
        for job_id in ended[:-_MOST_REMEMBERED]:
            del self._jobs[job_id]

    def find(self, job_id: str) -> Job:
        """Return a job; raises ToolError naming those there are."""
        job = self._jobs.get(job_id)
        if job is None:
            known = ", ".join(self._jobs) or "none"
            raise ToolError(f"there is no background command {job_id!r} (there are: {known}).")
        return job

    def look(self, job_id: str) -> JobOutput | None:
        """Return what a job printed last; None when it is not known any more."""
        job = self._jobs.get(job_id)
        if job is None:
            return None
        text, is_cut = job.running.output.recent()
        seconds = time.monotonic() - job.began
        return JobOutput(job.command, text, is_cut, job.running.exit_code, seconds)

    def type_into(self, job_id: str, text: str) -> None:
        """Type into a job. Raises ToolError."""
        self.find(job_id).running.write(text)

    async def end_one(self, job_id: str) -> tuple[int, ...]:
        """End a job; return the processes that would not go."""
        job = self._jobs.get(job_id)
        if job is None or job.running.exit_code is not None:
            return ()
        return await job.running.end()

    def all(self) -> tuple[Job, ...]:
        """Return every job, oldest first."""
        return tuple(self._jobs.values())

    async def close(self) -> tuple[int, ...]:
        """End every process that any of the agent's commands left, in the background or not.

        Returns those that would not go.
        """
        count = self._count
        survivors = await process_tree.end(f"{self._token}.", None)
        ends = [self._complete(job) for job in self._jobs.values() if job.completion is not None]
        await asyncio.gather(*ends)
        if not survivors:
            self._closed_at = count
        return survivors

    async def _complete(self, job: Job) -> None:
        # Elsewhere than on Linux nobody else ends what an ended command left in its group.
        if job.running.exit_code is None or await job.running.left():
            await job.running.end()
        await job.running.settle()
        if job.completion is not None:
            job.completion.cancel()
            await asyncio.gather(job.completion, return_exceptions=True)


async def _follow(job: Job) -> None:
    await job.running.wait()
    await job.running.settle()
