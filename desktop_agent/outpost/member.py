"""What one node of a cluster does for its outpost: its work, behind numbered frames both ways."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec

from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.pipes.host_pipe import FromHost
from desktop_agent.outpost.work import LocalWork

# Of one answer to `next`; a larger frame goes alone.
_MOST_BYTES = 1 << 22


class Member:
    """Takes each order once, whatever is sent again, and keeps what it tells until that is had."""

    def __init__(self, folder: Path) -> None:
        self._work = LocalWork(folder, self._put, self._tell, head=self._put)
        self._taken = 0
        self._ordering = asyncio.Lock()
        self._told: deque[bytes] = deque()
        self._first = 1
        self._news = asyncio.Event()

    async def order(self, first: int, orders: Sequence[bytes]) -> None:
        """Carry out orders, of which the first has this number."""
        async with self._ordering:  # what is sent again waits for what is being carried out
            for number, order in enumerate(orders, first):
                if number > self._taken:
                    self._taken = number
                    await self._carry_out(pipe.to_outpost().decode(order))

    async def next(self, after: int) -> tuple[int, list[bytes]]:
        """Wait for what comes after a number, up to which all is had; return it with its first."""
        while self._told and self._first <= after:
            self._told.popleft()
            self._first += 1
        while not self._told:
            self._news.clear()
            await self._news.wait()
        given, size = list[bytes](), 0
        for one in self._told:
            size += len(one)
            if given and size > _MOST_BYTES:
                break
            given.append(one)
        return self._first, given

    async def close(self) -> None:
        """Stop what runs."""
        await self._work.close()

    async def _carry_out(self, order: pipe.ToOutpost) -> None:
        if isinstance(order, FromHost):
            self._work.take(order)
            return
        match order:
            case pipe.Attach():
                self._work.on_attached()
            case pipe.Snapshot(commit=commit, bundle=bundle):
                await self._work.keep(commit, bundle)
            case _:
                await self._work.carry_out(order)

    def _tell(self, event: pipe.Numbered) -> None:
        if isinstance(event, pipe.JobEnded):
            self._work.acknowledged(event.key)
        self._put(event)

    def _put(self, value: pipe.FromOutpost) -> None:
        self._told.append(msgspec.msgpack.encode(value))
        self._news.set()
