"""An outpost: an engine that runs jobs where the work is, for a desktop that comes and goes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent import __version__
from desktop_agent.adapters.files.temporary_folder import temporary_folder
from desktop_agent.adapters.places.git_copy import GitError, GitStore
from desktop_agent.adapters.places.stream import BrokenStream, read_frame
from desktop_agent.core.pipes import outpost_pipe as frames
from desktop_agent.core.pipes.frames import frame
from desktop_agent.core.pipes.host_pipe import FromHost
from desktop_agent.core.usage import Usage
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.headless.arguments import UsageError
from desktop_agent.headless.run import NoSandbox
from desktop_agent.outpost.agents import AgentRuns
from desktop_agent.outpost.far_model import FarModel
from desktop_agent.outpost.jobs import Job
from desktop_agent.outpost.runner import Ended, Runner

# How long nobody may be there: with jobs or results that wait, and without.
_KEPT_S, _IDLE_S = 86_400.0, 60.0


class Outpost:
    """What one outpost holds: snapshots, jobs, events that nobody has acknowledged yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._epoch = secrets.token_hex(8)
        self._store = GitStore(folder / "store")
        self._store.make()
        self._snapshots: list[str] = []
        self._model = FarModel(self._send)
        self._runner = Runner(folder, lambda _: None, self._model)
        self._agents = AgentRuns(folder, self._store, self._model, self._tell)
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._events: list[frames.Numbered] = []
        self._number = 0
        self._streams: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._news = asyncio.Event()
        self.is_over = asyncio.Event()

    async def attached(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one stream to its end; the newest is the one that is heard."""
        task = asyncio.current_task()
        assert task is not None
        self._streams[task] = writer
        hello = frames.Hello(frames.PROTOCOL, __version__, self._epoch, tuple(self._snapshots))
        writer.write(frames.MARK + frame(hello))
        try:
            while True:
                order = frames.to_outpost.decode(await read_frame(reader))
                match order:
                    case frames.Attach():
                        self._attach(order, writer)
                    case _ if isinstance(order, frames.AgentOrder):
                        await self._agents.carry_out(order)
                    case _ if isinstance(order, FromHost):
                        self._model.take(order)
                    case _:
                        await self._carry_out(order)
        except (BrokenStream, msgspec.DecodeError, ConnectionError):
            pass
        finally:
            if self._writer is writer:
                self._writer = None
            writer.close()
            del self._streams[task]
            self._news.set()

    async def until_over(self) -> None:
        """Wait until nothing more is wanted, or nobody has come for too long."""
        while not self.is_over.is_set():
            is_busy = any(not job.done() for job in self._jobs.values())
            has_work = is_busy or bool(self._events) or self._agents.has_any
            patience = None if self._writer else (_KEPT_S if has_work else _IDLE_S)
            self._news.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._news.wait()
            except TimeoutError:
                break

    async def close(self) -> None:
        """Stop what runs, and end the engine."""
        for job in self._jobs.values():
            job.cancel()
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)
        await self._agents.close()
        await self._runner.close()
        for writer in self._streams.values():
            writer.close()
        await asyncio.gather(*self._streams, return_exceptions=True)

    def _attach(self, attach: frames.Attach, writer: asyncio.StreamWriter) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = writer
        after = attach.after if attach.epoch == self._epoch else 0
        self._acknowledge(after)
        for event in self._events:
            self._send(event)
        self._model.on_attached()

    async def _carry_out(self, order: frames.OutpostOrder) -> None:
        match order:
            case frames.Snapshot(commit=commit, bundle=bundle):
                if commit not in self._snapshots:
                    await asyncio.to_thread(self._keep, commit, bundle)
                    self._snapshots.append(commit)
            case frames.Start(key=key):
                if key not in self._jobs:
                    self._jobs[key] = asyncio.create_task(self._run(order))
            case frames.Acknowledge(number=number):
                self._acknowledge(number)
            case frames.Stop():
                self._runner.stop()
            case frames.KeepAgents(keys=keys):
                self._agents.keep(keys)
            case frames.Leave():
                self.is_over.set()
                self._news.set()

    def _keep(self, commit: str, bundle: bytes) -> None:
        file = self._folder / "bundle"
        file.write_bytes(bundle)
        with contextlib.suppress(GitError):  # the jobs that need it say so
            self._store.unbundle(commit, file)
        file.unlink()

    async def _run(self, start: frames.Start) -> None:
        place = self._folder / "copies" / start.key
        copy = place / Path(start.folder).name
        patch = ""
        try:
            place.mkdir(parents=True, mode=0o700)
            await asyncio.to_thread(self._store.copy, start.commit, copy)
            job = Job(0, str(start.said.get("prompt")), str(copy), start.said)
            ended = await self._runner.run(job.options(copy), start.cost_left)
            patch = await asyncio.to_thread(self._store.patch, start.commit, copy)
        except (GitError, UsageError, NoSandbox, StoreError, OSError) as error:
            ended = Ended("error", "", Usage(), 0.0, str(error))
        finally:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        told = (ended.reason, ended.text, ended.usage, ended.seconds, patch, ended.error)
        self._tell(frames.JobEnded(0, start.key, *told))

    def _tell(self, event: frames.Numbered) -> None:
        """Give an event its number, and send it until it is acknowledged."""
        self._number += 1
        self._events.append(msgspec.structs.replace(event, number=self._number))
        self._send(self._events[-1])
        self._news.set()

    def _acknowledge(self, number: int) -> None:
        for event in self._events:
            if event.number <= number and isinstance(event, frames.JobEnded):
                self._jobs.pop(event.key, None)  # ordered again, it is another job
        self._events = [event for event in self._events if event.number > number]

    def _send(self, value: frames.FromOutpost) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(value))


async def serve(address: Path) -> None:
    """Listen at a socket of this user's until nothing more is wanted."""
    with temporary_folder("desktop-agent-outpost-") as folder:
        outpost = Outpost(folder)
        server = await asyncio.start_unix_server(outpost.attached, address)
        os.chmod(address, 0o600)  # noqa: PTH101 - its folder is this user's alone already
        try:
            await outpost.until_over()
        finally:
            server.close()
            await outpost.close()
