"""The stream to one outpost, opened again after each cut."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from desktop_agent import __version__
from desktop_agent.adapters.places.commands import outpost_of
from desktop_agent.adapters.places.home_model import HomeModel
from desktop_agent.adapters.places.stream import (
    ENDED,
    BrokenStream,
    begin,
    end,
    greeting,
    last_words,
    read_frame,
    readable,
)
from desktop_agent.core.network.places import Place
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.pipes.frames import frame
from desktop_agent.core.pipes.host_pipe import ToHost
from desktop_agent.engine.base.places import PlaceLost

_LONGEST_PAUSE_S = 15.0
# How many signs of life may be missing: the program between may hang, or what it leads through.
_MOST_MISSING = 4
_WORDS_S = 1.0
# Longer than it takes to log in and start an outpost.
GREETING_S = 120.0
# An outpost that has more to end than this ends without us.
_LEAVE_S = 5.0


class Follower(Protocol):
    """Whoever orders work there, and hears of it."""

    def home(self) -> HomeModel:
        """Return who answers the requests to models of a new stream."""
        ...

    def restarted(self) -> None:
        """The outpost was started anew: what it had not told is gone."""
        ...

    async def attached(self) -> None:
        """Order again what is not known to be done: the stream is there."""
        ...

    def detached(self) -> None:
        """The stream was cut."""
        ...

    def take(self, event: pipe.Numbered) -> None:
        """Take an event, each once and in order; `keep` it when it is on disk."""
        ...


class OutpostLink:
    """Sends orders, as long as the stream is there, and gives each event once, in order."""

    def __init__(self, place: Place, name: str, follower: Follower, *, most_tries: int) -> None:
        """`most_tries` is how often in a row it may fail to attach again."""
        self._most_tries = most_tries
        self.name = place.name
        self._command = outpost_of(place, "--name", name)
        self._follower = follower
        self.epoch = ""
        self._number = 0
        self._unkept: set[int] = set()
        self._snapshots: set[str] = set()
        self._writer: asyncio.StreamWriter | None = None
        self._has_heard = False
        self._silent_s: float | None = None
        self.is_leaving = False

    @property
    def is_there(self) -> bool:
        """Whether something sent now goes out."""
        return self._writer is not None and not self._writer.is_closing()

    def send(self, value: pipe.ToOutpost) -> None:
        """Send a value if the stream is there; else nobody will hear of it."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(frame(value))

    def has(self, commit: str) -> bool:
        """Whether a snapshot is there already."""
        return commit in self._snapshots

    def send_snapshot(self, commit: str, bundle: bytes) -> None:
        """Send a snapshot for the jobs that follow."""
        self.send(pipe.Snapshot(commit, bundle))
        self._snapshots.add(commit)

    def keep(self, number: int) -> None:
        """An event is on disk here: those up to the first that is not are kept there no more."""
        self._unkept.discard(number)
        self.send(pipe.Acknowledge(self._kept_to))

    @property
    def _kept_to(self) -> int:
        return min(self._unkept, default=self._number + 1) - 1

    async def leave(self, attached: asyncio.Task[None]) -> None:
        """Have the outpost end, and then `attached`, the task that runs `stay_attached`.

        What was sent has arrived only when the outpost hangs up: a stream that is ended before
        loses it, and the outpost would wait for long for somebody to come.
        """
        self.is_leaving = True
        if self.is_there:
            self.send(pipe.Leave())
            await asyncio.wait([attached], timeout=_LEAVE_S)
        attached.cancel()
        await asyncio.wait([attached])

    async def stay_attached(self) -> None:
        """Attach, and again after each cut; raises PlaceLost when that is in vain."""
        tries = 0
        while True:
            before, said = self.epoch, ""
            try:
                await self._follow()
            except (BrokenStream, msgspec.DecodeError, ConnectionError) as error:
                said = str(error)
            except OSError as error:
                raise PlaceLost(f"{self._command[0]} can't be started: {error}") from None
            if self.is_leaving:
                return
            if not self.epoch and said == ENDED and not tries:
                tries += 1  # one that was about to end; the next is started anew
                continue
            if not self.epoch:
                raise PlaceLost(f"{self.name} can't be reached: {said}")
            tries = 0 if self._has_heard or before != self.epoch else tries + 1
            if tries > self._most_tries:
                raise PlaceLost(f"{self.name} has gone: {said}")
            await asyncio.sleep(min(_LONGEST_PAUSE_S, 0.1 * 2**tries))

    async def _follow(self) -> None:
        """Serve one stream to its end, which is raised."""
        self._has_heard = False
        process = await begin(*self._command)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.create_task(last_words(process.stderr))
        home = self._follower.home()
        try:
            await self._greet(process.stdout)
            self._writer = process.stdin
            # What came and is not on disk yet is sent again: it is kept there until it is.
            self.send(pipe.Attach(self.epoch, self._kept_to))
            await self._follower.attached()
            while True:
                body = await read_frame(process.stdout, self._silent_s)
                with readable():
                    value = pipe.from_outpost().decode(body)
                self._has_heard = True
                if isinstance(value, pipe.Numbered):
                    self._take(value)
                elif isinstance(value, ToHost):
                    home.take(value)
        except BrokenStream as error:
            await asyncio.wait([errors], timeout=_WORDS_S)
            raise BrokenStream((errors.done() and errors.result()) or str(error)) from None
        finally:
            self._writer = None
            home.close()
            errors.cancel()
            self._follower.detached()
            await end(process)

    async def _greet(self, reader: asyncio.StreamReader) -> None:
        try:
            async with asyncio.timeout(GREETING_S):
                told, body = await greeting(reader)
        except TimeoutError:
            raise BrokenStream(f"it did not answer within {GREETING_S:.0f} s") from None
        if told.get("protocol") != pipe.PROTOCOL:
            theirs = str(told.get("version"))[:40]
            raise PlaceLost(
                f"{self.name} has version {theirs} of Desktop Agent, and here is {__version__}: "
                "install the same there"
            )
        with readable():
            hello = msgspec.msgpack.decode(body, type=pipe.Hello)
        if hello.epoch != self.epoch:
            is_first, self.epoch, self._number = not self.epoch, hello.epoch, 0
            self._unkept.clear()
            if not is_first:
                self._follower.restarted()
        self._snapshots = set(hello.snapshots)
        self._silent_s = _MOST_MISSING * hello.again_s or None

    def _take(self, event: pipe.Numbered) -> None:
        if event.number <= self._number:
            return  # told before the cut
        if self._number and event.number != self._number + 1:
            raise BrokenStream("an event is missing")
        self._number = event.number
        self._unkept.add(event.number)
        self._follower.take(event)
