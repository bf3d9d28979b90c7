"""The end of what an agent's commands left running: begun at once, waited for by who reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from desktop_agent.core.commands import JobOutput
from desktop_agent.core.events import StopReport
from desktop_agent.core.tool import ToolError


class Jobs(Protocol):
    """An agent's place for its commands."""

    @property
    def is_clear(self) -> bool:
        """Whether no command was started since the last `close`."""
        ...

    def running(self) -> tuple[str, ...]:
        """Return the commands that run in the background."""
        ...

    def look(self, job_id: str) -> JobOutput | None:
        """Return what one printed last; None when it is not known any more."""
        ...

    def type_into(self, job_id: str, text: str) -> None:
        """Type into one. Raises ToolError."""
        ...

    async def end_one(self, job_id: str) -> tuple[int, ...]:
        """End one; return the processes that would not go."""
        ...

    async def close(self) -> tuple[int, ...]:
        """End every process its commands started; return those that would not go."""
        ...


class BackgroundCommands:
    """Ends the commands of one agent. `alive` are the processes that would not go."""

    def __init__(self, jobs: Jobs | None) -> None:
        self._jobs = jobs
        self._job: asyncio.Task[None] | None = None
        self._killed: tuple[str, ...] = ()
        self._ending: set[asyncio.Task[tuple[int, ...]]] = set()
        self.alive: tuple[int, ...] = ()

    @property
    def is_ending(self) -> bool:
        """Whether they are being ended now."""
        return self._job is not None and not self._job.done()

    def look(self, job_id: str) -> JobOutput | None:
        """Return what one printed last; None when it is not known any more."""
        return self._jobs.look(job_id) if self._jobs is not None else None

    def type_into(self, job_id: str, text: str) -> None:
        """Type into one. Raises ToolError."""
        if self._jobs is None:
            raise ToolError("there are no background commands here.")
        self._jobs.type_into(job_id, text)

    def end_one(self, job_id: str, survived: Callable[[tuple[int, ...]], None]) -> None:
        """Begin to end one; `survived` is told of processes that would not go."""
        if self._jobs is None:
            return

        def over(ended: asyncio.Task[tuple[int, ...]]) -> None:
            self._ending.discard(ended)
            if not ended.cancelled() and ended.result():
                survived(ended.result())

        ending = asyncio.get_running_loop().create_task(self._jobs.end_one(job_id))
        self._ending.add(ending)
        ending.add_done_callback(over)

    def begin_end(self, ended: Callable[[], None]) -> None:
        """Begin to end them all; `ended` is called when that is over."""
        if self._jobs is None or self._jobs.is_clear or self.is_ending:
            return
        self._killed = self._jobs.running()
        self._job = asyncio.get_running_loop().create_task(self._end(self._jobs))
        self._job.add_done_callback(lambda _: ended())

    async def over(self) -> None:
        """Wait until none is being ended."""
        ending = [*self._ending, *([self._job] if self._job is not None else [])]
        if ending:
            await asyncio.wait(ending)

    async def told(self, report: StopReport | None) -> StopReport | None:
        """Wait until none is being ended; return the report with what was and what would not be."""
        await self.over()
        killed, self._killed = self._killed, ()
        if report is None:
            return None
        return msgspec.structs.replace(report, killed=killed, alive=self.alive)

    async def _end(self, jobs: Jobs) -> None:
        self.alive = await jobs.close()
