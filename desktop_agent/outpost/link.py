"""A place elsewhere for the jobs of a batch: an outpost behind any command that gives a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.adapters.places.git_copy import GitError, GitStore
from desktop_agent.adapters.places.home_model import HomeModel, HomeServices
from desktop_agent.adapters.places.link import OutpostLink
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.models import DEMO_MODEL, ModelInfo
from desktop_agent.core.network.places import Place
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.requests import ModelRequest
from desktop_agent.core.usage import Usage
from desktop_agent.headless.run import lend_key
from desktop_agent.outpost.jobs import Job
from desktop_agent.outpost.runner import Ended

# Some 15 minutes.
_MOST_TRIES = 60


class _Wanted(msgspec.Struct):
    """A job that was ordered, until its end is known."""

    start: pipe.Start
    store: GitStore
    ended: asyncio.Future[pipe.JobEnded] = msgspec.field(default_factory=asyncio.Future)


class FarPlace:
    """One outpost: orders go there, again after each cut; every event is taken once, in order.

    Whoever has a result on disk says so with `kept`: the outpost keeps it until then.
    """

    def __init__(
        self, place: Place, name: str, jobs: list[Job], used: Callable[[Usage], None]
    ) -> None:
        self.name = place.name
        config_dir = paths.config_dir()
        settings = settings_file.load(config_dir / "settings.json")
        self._default = (settings.model or DEMO_MODEL, settings.api_base)
        self._secrets = Secrets(config_dir)
        self._model = model = HostedModel(key_for=self._secrets.key_for)
        self._allowed = frozenset(self._asks(job) for job in jobs)
        for job in jobs:
            lend_key(job.options(Path(job.workspace)), self._secrets)
        services = HomeServices(model, self._admit, self._describe, model.forget, used)
        self._services = services
        self._link = OutpostLink(place, name, self, most_tries=_MOST_TRIES)
        self._wanted: dict[str, _Wanted] = {}
        self._attached: asyncio.Task[None] | None = None
        self._ordering = asyncio.Lock()
        self._numbers: dict[str, int] = {}
        self._arrived: dict[str, pipe.JobEnded] = {}
        self._is_stopped = False

    async def run(
        self, key: str, job: Job, store: GitStore, commit: str, cost_left: float | None
    ) -> tuple[Ended, str]:
        """Have one job done there; return its end, and what it changed as a patch."""
        if self._attached is None:
            self._attached = asyncio.create_task(self._link.stay_attached())
        model, base = self._asks(job)
        said = {**job.said, "model": model}
        if base:
            said["api_base"] = base
        folder = Path(job.workspace).name
        wanted = _Wanted(pipe.Start(key, folder, commit, said, cost_left), store)
        self._wanted[key] = wanted
        if (arrived := self._arrived.pop(key, None)) is not None:
            wanted.ended.set_result(arrived)
        await self._order(wanted)
        await asyncio.wait([wanted.ended, self._attached], return_when="FIRST_COMPLETED")
        if not wanted.ended.done():
            self._attached.result()  # raises what ended it
        event = wanted.ended.result()
        ended = Ended(event.reason, event.text, event.usage, event.seconds, event.error)
        return ended, event.patch

    def kept(self, key: str) -> None:
        """A result is on disk: the outpost need not keep it any more."""
        self._wanted.pop(key, None)
        self._link.keep(self._numbers.pop(key, 0))

    def stop(self) -> None:
        """Interrupt every job that runs; a second time, don't wait for them either.

        Nor where the place is away: what goes on there is taken up by the next go.
        """
        is_again, self._is_stopped = self._is_stopped, True
        self._link.send(pipe.Stop())
        if is_again or not self._link.is_there:
            self._let_go()

    async def close(self) -> None:
        """Let the outpost end, if nothing of ours is left there."""
        is_left = bool(self._wanted) or (self._is_stopped and bool(self._arrived))
        if self._attached is not None and not is_left:
            await self._link.leave(self._attached)
        elif self._attached is not None:
            self._attached.cancel()
            await asyncio.wait([self._attached])
        await self._model.close()

    # -- as the link's follower --------------------------------------------------------------

    def home(self) -> HomeModel:
        """Return who answers the requests to models of a new stream."""
        return HomeModel(self._services, self._link.send)

    def restarted(self) -> None:
        """What it had not told is done again."""
        self._numbers.clear()

    async def attached(self) -> None:
        """Order again what has no end."""
        for wanted in list(self._wanted.values()):
            await self._order(wanted)

    def detached(self) -> None:
        """The stream was cut: the next one comes by itself; a stop may not have arrived."""
        if self._is_stopped:
            self._let_go()

    def take(self, event: pipe.Numbered) -> None:
        """Take the end of a job."""
        if not isinstance(event, pipe.JobEnded):
            self._link.keep(event.number)
            return
        self._numbers[event.key] = event.number
        wanted = self._wanted.get(event.key)
        if event.reason == "interrupted" and (wanted is None or not self._is_stopped):
            # By an earlier run of the batch, or one that has not waited: it is done again.
            self.kept(event.key)
            if wanted is not None:
                self._wanted[event.key] = wanted
                self._link.send(wanted.start)
        elif wanted is not None and not wanted.ended.done():
            wanted.ended.set_result(event)
        else:
            self._arrived[event.key] = event

    async def _order(self, wanted: _Wanted) -> None:
        commit = wanted.start.commit
        async with self._ordering:
            if not self._link.is_there or wanted.ended.done():
                return  # it is sent once the stream is there
            if not self._link.has(commit):
                file = wanted.store.path / f"{commit}.bundle"
                try:
                    if not file.exists():
                        await asyncio.to_thread(wanted.store.bundle, commit, file)
                except GitError as error:
                    self._wanted.pop(wanted.start.key, None)
                    if not wanted.ended.done():
                        wanted.ended.set_exception(error)
                if wanted.ended.done():
                    return
                self._link.send_snapshot(commit, file.read_bytes())
            self._link.send(wanted.start)
            if self._is_stopped:  # it had not been ordered yet
                self._link.send(pipe.Stop())

    def _let_go(self) -> None:
        for key, wanted in self._wanted.items():
            if not wanted.ended.done():
                ended = pipe.JobEnded(0, key, "interrupted", "", Usage(), 0.0, "")
                wanted.ended.set_result(ended)

    async def _admit(self, request: ModelRequest) -> ModelRequest | None:
        """Only the models of the jobs are asked, each at its own address."""
        return request if (request.model, request.api_base) in self._allowed else None

    async def _describe(self, name: str) -> ModelInfo | None:
        if name not in {model for model, _ in self._allowed}:
            raise ModelError(Fault("internal", "None of the jobs names this model."))
        return await self._model.call("model_info", model=name)

    def _asks(self, job: Job) -> tuple[str, str]:
        """Return the model that a job is done with, and its address."""
        model = job.said.get("model")
        return (model, job.said.get("api_base", "")) if model else self._default
