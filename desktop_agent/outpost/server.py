"""An outpost: does work where it is, for a desktop that comes and goes."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent import __version__
from desktop_agent.adapters.files.temporary_folder import temporary_folder
from desktop_agent.adapters.places.stream import BrokenStream, read_frame, readable
from desktop_agent.core.pipes import outpost_pipe as frames
from desktop_agent.core.pipes.frames import frame
from desktop_agent.core.pipes.host_pipe import FromHost
from desktop_agent.outpost.work import Send, Tell, Work

# How long nobody may be there: with jobs or results that wait, and without.
_KEPT_S, _IDLE_S = 86_400.0, 60.0
# Programs between don't all notice a dead connection, as ssh does.
AGAIN_S = 15.0


class Outpost:
    """What one outpost holds: streams to a desktop, and events that it has not acknowledged.

    `work_of` makes what carries out the orders; it tells its events with the number 0.
    """

    def __init__(self, work_of: Callable[[Send, Tell], Work]) -> None:
        self._epoch = secrets.token_hex(8)
        self._snapshots: list[str] = []
        self._work = work_of(self._send, self._tell)
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
        known, again = tuple(self._snapshots), AGAIN_S
        hello = frame(frames.Hello(frames.PROTOCOL, __version__, self._epoch, known, again))
        writer.write(frames.MARK + hello)
        repeating = asyncio.create_task(_repeat(hello, writer))
        try:
            while True:
                body = await read_frame(reader)
                with readable():
                    order = frames.to_outpost().decode(body)
                if isinstance(order, frames.Attach):
                    self._attach(order, writer)
                elif isinstance(order, FromHost):
                    self._work.take(order)
                else:
                    await self._carry_out(order)
        except (BrokenStream, msgspec.DecodeError, ConnectionError):
            pass
        finally:
            repeating.cancel()
            if self._writer is writer:
                self._writer = None
            writer.close()
            del self._streams[task]
            self._news.set()

    async def until_over(self) -> None:
        """Wait until nothing more is wanted, or nobody has come for too long."""
        while not self.is_over.is_set():
            has_work = bool(self._events) or self._work.has_any
            patience = None if self._writer else (_KEPT_S if has_work else _IDLE_S)
            self._news.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._news.wait()
            except TimeoutError:
                break

    async def close(self) -> None:
        """Stop what runs, and let go of the streams."""
        await self._work.close()
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
        self._work.on_attached()

    async def _carry_out(self, order: frames.OutpostOrder | frames.AgentOrder) -> None:
        match order:
            case frames.Snapshot(commit=commit, bundle=bundle):
                if commit not in self._snapshots:
                    await self._work.keep(commit, bundle)
                    self._snapshots.append(commit)
            case frames.Acknowledge(number=number):
                self._acknowledge(number)
            case frames.Leave():
                self.is_over.set()
                self._news.set()
            case _:
                await self._work.carry_out(order)

    def _tell(self, event: frames.Numbered) -> None:
        """Give an event its number, and send it until it is acknowledged."""
        self._number += 1
        self._events.append(msgspec.structs.replace(event, number=self._number))
        self._send(self._events[-1])
        self._news.set()

    def _acknowledge(self, number: int) -> None:
        for event in self._events:
            if event.number <= number and isinstance(event, frames.JobEnded):
                self._work.acknowledged(event.key)
        self._events = [event for event in self._events if event.number > number]

    def _send(self, value: frames.FromOutpost) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(value))


async def _repeat(hello: bytes, writer: asyncio.StreamWriter) -> None:
    while True:
        await asyncio.sleep(AGAIN_S)
        writer.write(hello)


async def serve(address: Path, work_of: Callable[[Path, Send, Tell], Work]) -> None:
    """Listen at a socket of this user's until nothing more is wanted."""
    with temporary_folder("desktop-agent-outpost-") as folder:
        outpost = Outpost(lambda send, tell: work_of(folder, send, tell))
        server = await asyncio.start_unix_server(outpost.attached, address)
        os.chmod(address, 0o600)  # noqa: PTH101 - its folder is this user's alone already
        try:
            await outpost.until_over()
        finally:
            server.close()
            await outpost.close()
