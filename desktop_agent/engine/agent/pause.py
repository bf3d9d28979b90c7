"""Pausing an agent between two steps: pause, single steps, and a last step without tools."""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Literal


class Pace(Enum):
    """Whether the next step is taken."""

    GOING = auto()
    ONE_STEP = auto()  # the next step is taken, the one after it is not
    PAUSED = auto()
    PAUSED_BY_CRASH = auto()  # since the app ended while it had work


class PauseControl:
    """Whether the next step is taken, and how. Nothing is cancelled by it."""

    def __init__(self, *, is_paused: bool = False) -> None:
        self._goes = asyncio.Event()
        self._is_last = False
        self._set(Pace.PAUSED_BY_CRASH if is_paused else Pace.GOING)

    @property
    def is_since_crash(self) -> bool:
        """Whether it is paused since the app ended, and not by the person."""
        return self._pace is Pace.PAUSED_BY_CRASH

    @property
    def is_paused(self) -> bool:
        """Whether the next step waits."""
        return self._pace in {Pace.PAUSED, Pace.PAUSED_BY_CRASH}

    @property
    def is_last_step(self) -> bool:
        """Whether the agent is to answer now, without tools."""
        return self._is_last

    @property
    def announced(self) -> Literal["", "pausing", "finishing"]:
        """What the next step will show."""
        return "finishing" if self._is_last else "pausing" if self.is_paused else ""

    def pause_after_crash(self) -> None:
        """Pause though nobody asked for it: the app had ended meanwhile."""
        self._set(Pace.PAUSED_BY_CRASH)

    def pause(self) -> None:
        """Pause at the next step."""
        self._set(Pace.PAUSED)

    def resume(self) -> None:
        """Go on."""
        self._set(Pace.GOING)

    def step(self) -> None:
        """Take one step, then pause again."""
        self._set(Pace.ONE_STEP)

    def finish(self) -> None:
        """Take one last step without tools."""
        self._is_last = True
        self.resume()

    def done(self) -> None:
        """The last step was taken."""
        self._is_last = False

    async def going(self) -> None:
        """Wait until it is not paused."""
        await self._goes.wait()

    def take_step(self) -> None:
        """A step is taken now; a single one is the last before it pauses again."""
        if self._pace is Pace.ONE_STEP:
            self._set(Pace.PAUSED)

    def _set(self, pace: Pace) -> None:
        self._pace = pace
        (self._goes.clear if self.is_paused else self._goes.set)()
