"""Holding an agent between two steps: pause, single steps, and a last step without tools."""

from __future__ import annotations

import asyncio
from typing import Literal


class PauseControl:
    """What the person says of an agent's going on. Nothing is cancelled by it."""

    def __init__(self, *, is_paused: bool = False) -> None:
        self.is_since_crash = is_paused
        self._goes = asyncio.Event()
        self._single = 0
        self._is_last = False
        if not is_paused:
            self._goes.set()

    @property
    def is_paused(self) -> bool:
        """Whether the next step is held."""
        return not self._goes.is_set()

    @property
    def is_last_step(self) -> bool:
        """Whether the agent is to answer now, without tools."""
        return self._is_last

    @property
    def wish(self) -> Literal["", "pausing", "finishing"]:
        """What the next step will show."""
        return "finishing" if self._is_last else "pausing" if self.is_paused else ""

    def hold(self) -> None:
        """Hold by nobody's wish, as a subagent is held when the app had ended meanwhile."""
        self.pause()
        self.is_since_crash = True

    def pause(self) -> None:
        """Hold at the next step."""
        self._single = 0
        self.is_since_crash = False
        self._goes.clear()

    def resume(self) -> None:
        """Go on."""
        self._single = 0
        self.is_since_crash = False
        self._goes.set()

    def step(self) -> None:
        """Take one step, then hold again."""
        self.is_since_crash = False
        self._single = 1
        self._goes.set()

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
        """A step is taken now; a single one is the last before it holds again."""
        if self._single:
            self._single = 0
            self._goes.clear()
