"""What carries out an outpost's orders: here, in one engine for jobs and one for agents."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from desktop_agent.adapters.places.git_copy import GitError, GitStore
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.pipes.host_pipe import FromHost, ToHost
from desktop_agent.core.usage import Usage
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.headless.arguments import UsageError
from desktop_agent.headless.run import NoSandbox
from desktop_agent.outpost.agents import AgentRuns
from desktop_agent.outpost.far_model import FarModel
from desktop_agent.outpost.jobs import Job
from desktop_agent.outpost.runner import Ended, Runner, too_large

Send = Callable[[ToHost], None]
Tell = Callable[[pipe.Numbered], None]
TellHead = Callable[[pipe.MemberNews], None]
WorkOrder = pipe.OutpostOrder | pipe.AgentOrder


class Work(Protocol):
    """Who does what a desktop orders. Orders may come again: what is known is not done twice."""

    @property
    def has_any(self) -> bool:
        """Whether something runs, or is wanted still."""
        ...

    async def keep(self, commit: str, bundle: bytes) -> None:
        """Take a state of a folder."""
        ...

    async def carry_out(self, order: WorkOrder) -> None:
        """Do what is ordered, or begin it."""
        ...

    def take(self, value: FromHost) -> None:
        """Take what a model at home answers."""
        ...

    def on_attached(self) -> None:
        """Somebody is at home again: ask anew for all that is waited for."""
        ...

    def acknowledged(self, key: str) -> None:
        """The end of a job is on disk at home: ordered again, it is another job."""
        ...

    async def close(self) -> None:
        """Stop what runs."""
        ...


class LocalWork:
    """Work in this process; `folder` is ours alone.

    A member has a `head`, which is told what it takes to go on with its agents elsewhere.
    """

    def __init__(
        self, folder: Path, send: Send, tell: Tell, *, head: TellHead | None = None
    ) -> None:
        self._folder, self._tell = folder, tell
        self._store = GitStore(folder / "store")
        self._store.make()
        self._model = FarModel(send, lambda agent_id: self._agents.keep_step(agent_id))
        self._runner = Runner(folder, lambda _: None, self._model)
        self._agents = AgentRuns(folder, self._store, self._model, tell, head)
        self._jobs: dict[str, asyncio.Task[None]] = {}
        # Stopped before they had begun.
        self._stopped: set[str] = set()

    @property
    def has_any(self) -> bool:
        """Whether a job runs or an agent is wanted still."""
        return self._agents.has_any or any(not job.done() for job in self._jobs.values())

    async def keep(self, commit: str, bundle: bytes) -> None:
        """Take a state of a folder."""
        await asyncio.to_thread(self._store.take, commit, bundle)

    async def carry_out(self, order: WorkOrder) -> None:
        """Do what is ordered; a job is begun."""
        match order:
            case pipe.Start(key=key):
                if key not in self._jobs:
                    self._jobs[key] = asyncio.create_task(self._run(order))
            case pipe.Stop():
                self._stopped.update(key for key, job in self._jobs.items() if not job.done())
                self._runner.stop()
            case pipe.KeepAgents(keys=keys):
                await self._agents.keep(keys)
            case _ if isinstance(order, pipe.AgentOrder):
                await self._agents.carry_out(order)
            case _:
                pass

    def take(self, value: FromHost) -> None:
        """Hand over what a model at home answers."""
        self._model.take(value)

    def on_attached(self) -> None:
        """Ask anew for all that is waited for."""
        self._model.on_attached()

    def acknowledged(self, key: str) -> None:
        """Forget a job."""
        self._jobs.pop(key, None)
        self._stopped.discard(key)

    async def close(self) -> None:
        """Stop what runs, and end the engines."""
        for job in self._jobs.values():
            job.cancel()
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)
        await self._agents.close()
        await self._runner.close()

    async def _run(self, start: pipe.Start) -> None:
        place = self._folder / "copies" / start.key
        copy = place / Path(start.folder).name
        patch = ""
        try:
            place.mkdir(parents=True, mode=0o700)
            await asyncio.to_thread(self._store.copy, start.commit, copy)
            if start.key in self._stopped:
                ended = Ended("interrupted", "", Usage(), 0.0)
            else:
                job = Job(0, str(start.said.get("prompt")), str(copy), start.said)
                ended = await self._runner.run(job.options(copy), start.cost_left)
                found = await asyncio.to_thread(self._store.changed, start.commit, copy)
                patch = found[0]
                words = ". ".join(one for one in (ended.error, too_large(found[2])) if one)
                ended = msgspec.structs.replace(ended, error=words)
        except (GitError, UsageError, NoSandbox, StoreError, OSError) as error:
            ended = Ended("error", "", Usage(), 0.0, str(error))
        finally:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        told = (ended.reason, ended.text, ended.usage, ended.seconds, patch, ended.error)
        self._tell(pipe.JobEnded(0, start.key, *told))
