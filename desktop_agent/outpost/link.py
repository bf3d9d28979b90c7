"""A place that is reached by a command with a byte stream: `ssh HOST`, `docker exec -i NAME` …"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent import __version__, paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.pipes.host_pipe import (
    AgentForgotten,
    CallMade,
    StreamCancelled,
    StreamStarted,
)
from desktop_agent.core.usage import Usage
from desktop_agent.headless.arguments import UsageError
from desktop_agent.headless.run import lend_key
from desktop_agent.outpost import frames
from desktop_agent.outpost.git_copy import GitStore
from desktop_agent.outpost.home_model import HomeModel
from desktop_agent.outpost.jobs import Job
from desktop_agent.outpost.runner import Ended

_TO_MODEL = StreamStarted | StreamCancelled | AgentForgotten | CallMade
_LONGEST_PAUSE_S, _MOST_TRIES = 15.0, 60
_SSH = ("ssh", "-T", "-oBatchMode=yes", "-oServerAliveInterval=15", "-oServerAliveCountMax=3")


class PlaceLost(Exception):
    """A place can't be reached; the text says why."""


def command_of(on: str) -> tuple[str, ...]:
    """Return what `--on` stands for. Raises UsageError."""
    kind, _, rest = on.partition(":")
    rest = rest.strip()
    if kind == "ssh" and rest and not rest.startswith("-") and len(rest.split()) == 1:
        return (*_SSH, "--", rest, "desktop-agent")
    if kind == "command" and rest:
        try:
            return tuple(shlex.split(rest))
        except ValueError as error:
            raise UsageError(f"--on: {error}") from None
    raise UsageError(f"--on: {on!r} is neither local, ssh:HOST nor “command: …”")


@dataclass
class _Wanted:
    """A job that was ordered, until its end is known."""

    start: frames.Start
    store: GitStore
    ended: asyncio.Future[frames.JobEnded] = field(default_factory=asyncio.Future)


class FarPlace:
    """One outpost: orders go there, again after each cut; every event is taken once, in order.

    Whoever has a result on disk says so with `kept`: the outpost keeps it until then.
    """

    def __init__(self, on: str, name: str, jobs: list[Job], used: Callable[[Usage], None]) -> None:
        self.name = on
        self._command = (*command_of(on), "outpost", "--name", name)
        config_dir = paths.config_dir()
        settings = settings_file.load(config_dir / "settings.json")
        self._default = (settings.model or DEMO_MODEL, settings.api_base)
        self._secrets = Secrets(config_dir)
        self._model = HostedModel(key_for=self._secrets.key_for)
        self._allowed = frozenset(self._asks(job) for job in jobs)
        for job in jobs:
            lend_key(job.options(Path(job.workspace)), self._secrets)
        self._used = used
        self._wanted: dict[str, _Wanted] = {}
        self._sent: set[str] = set()
        self._epoch: str = ""
        self._number = 0
        self._writer: asyncio.StreamWriter | None = None
        self._attached: asyncio.Task[None] | None = None
        self._ordering = asyncio.Lock()
        self._unkept: dict[str, int] = {}
        self._arrived: dict[str, frames.JobEnded] = {}
        self._has_heard = self._is_stopped = False

    async def run(
        self, key: str, job: Job, store: GitStore, commit: str, cost_left: float | None
    ) -> tuple[Ended, str]:
        """Have one job done there; return its end, and what it changed as a patch."""
        if self._attached is None:
            self._attached = asyncio.create_task(self._stay_attached())
        model, base = self._asks(job)
        said = {**job.said, "model": model}
        if base:
            said["api_base"] = base
        folder = Path(job.workspace).name
        wanted = _Wanted(frames.Start(key, folder, commit, said, cost_left), store)
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
        self._unkept.pop(key, None)
        upto = min(self._unkept.values(), default=self._number + 1) - 1
        self._send(frames.Acknowledge(upto))

    def stop(self) -> None:
        """Interrupt every job that runs; a second time, don't wait for them either."""
        self._is_stopped = True
        self._send(frames.Stop())

    async def close(self) -> None:
        """Let the outpost end, if nothing of ours is left there."""
        if not self._wanted:
            self._send(frames.Leave())
            if self._writer is not None:
                with contextlib.suppress(ConnectionError):
                    await self._writer.drain()
        if self._attached is not None:
            self._attached.cancel()
            await asyncio.wait([self._attached])
        await self._model.close()

    # -- the stream --------------------------------------------------------------------------

    async def _stay_attached(self) -> None:
        """Attach, and again after each cut; raises PlaceLost when that is in vain."""
        tries = 0
        while True:
            before, said = self._epoch, ""
            try:
                await self._follow()
            except (frames.BrokenStream, msgspec.DecodeError, ConnectionError) as error:
                said = str(error)
            except OSError as error:
                raise PlaceLost(f"{self._command[0]} can't be started: {error}") from None
            if not self._epoch:
                raise PlaceLost(f"{self.name} can't be reached: {said}")
            tries = 0 if self._has_heard or before != self._epoch else tries + 1
            if tries > _MOST_TRIES:
                raise PlaceLost(f"{self.name} has gone: {said}. Its work goes on, run this again")
            await asyncio.sleep(min(_LONGEST_PAUSE_S, 0.1 * 2**tries))

    async def _follow(self) -> None:
        """Serve one stream to its end, which is raised."""
        pipe = asyncio.subprocess.PIPE
        self._has_heard = False
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.create_task(_last_words(process.stderr))
        home = HomeModel(self._model, self._allowed, self._send, self._used)
        try:
            await self._greet(process.stdout)
            self._writer = process.stdin
            self._send(frames.Attach(self._epoch, self._number))
            for wanted in list(self._wanted.values()):
                await self._order(wanted)
            while True:
                value = frames.from_outpost.decode(await frames.read_frame(process.stdout))
                self._has_heard = True
                if isinstance(value, frames.JobEnded):
                    self._take(value)
                elif isinstance(value, _TO_MODEL):
                    home.take(value)
        except frames.BrokenStream as error:
            raise frames.BrokenStream(await _within_a_second(errors) or str(error)) from None
        finally:
            self._writer = None
            home.close()
            errors.cancel()
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _greet(self, reader: asyncio.StreamReader) -> None:
        await frames.find_mark(reader)
        body = await frames.read_frame(reader)
        told: dict[str, Any] = msgspec.msgpack.decode(body, type=dict[str, Any])
        if told.get("protocol") != frames.PROTOCOL:
            theirs = str(told.get("version"))[:40]
            raise PlaceLost(
                f"{self.name} has version {theirs} of Desktop Agent, and here is {__version__}: "
                "install the same there"
            )
        hello = msgspec.msgpack.decode(body, type=frames.Hello)
        if hello.epoch != self._epoch:
            # It was started anew: what it had not told is done again.
            self._epoch, self._number = hello.epoch, 0
            self._unkept.clear()
        self._sent = set(hello.snapshots)

    def _take(self, event: frames.JobEnded) -> None:
        if event.number <= self._number:
            return  # told before the cut
        if self._number and event.number != self._number + 1:
            raise frames.BrokenStream("an event is missing")
        self._number = event.number
        self._unkept[event.key] = event.number
        wanted = self._wanted.get(event.key)
        if event.reason == "interrupted" and not self._is_stopped:
            # By an earlier run of the batch: it is done again.
            self.kept(event.key)
            if wanted is not None:
                self._wanted[event.key] = wanted
                self._send(wanted.start)
        elif wanted is not None and not wanted.ended.done():
            wanted.ended.set_result(event)
        else:
            self._arrived[event.key] = event

    async def _order(self, wanted: _Wanted) -> None:
        commit = wanted.start.commit
        async with self._ordering:
            if self._writer is None or wanted.ended.done():
                return  # it is sent once the stream is there
            if commit not in self._sent:
                file = wanted.store.path / f"{commit}.bundle"
                if not file.exists():
                    await asyncio.to_thread(wanted.store.bundle, commit, file)
                self._send(frames.Snapshot(commit, file.read_bytes()))
                self._sent.add(commit)
            self._send(wanted.start)

    def _send(self, value: frames.ToOutpost) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frames.frame(value))

    def _asks(self, job: Job) -> tuple[str, str]:
        """Return the model that a job is done with, and its address."""
        model = job.said.get("model")
        return (model, job.said.get("api_base", "")) if model else self._default


async def _last_words(stream: asyncio.StreamReader) -> str:
    said = b""
    while piece := await stream.read(4096):
        said = (said + piece)[-2000:]
    return " ".join(said.decode("utf-8", "replace").split())[-300:]


async def _within_a_second(task: asyncio.Task[str]) -> str:
    done, _ = await asyncio.wait([task], timeout=1.0)
    return task.result() if done else ""
