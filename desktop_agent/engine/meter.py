"""What an agent has used up, what it did last, and when it was last heard of."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from desktop_agent.core.agents import Budget, Spent
from desktop_agent.core.usage import Usage
from desktop_agent.engine.ports import AgentRecord

# What counts as waiting for the person: no time is charged for it.
_FREE_WAITS = frozenset({"waiting_approval", "waiting_answer"})
_ACTIVITIES = 6


class Meter:
    """Counts for one agent, itself alone; the tree adds up what is below it."""

    def __init__(self, record: AgentRecord, clock: Callable[[], float] = time.monotonic) -> None:
        self.usage = record.usage
        self.budget = record.spec.budget if record.spec is not None else Budget()
        self.tools_run = record.tools_run
        self.started_at = record.spec.started_at if record.spec is not None else 0.0
        self.active_at = self.started_at
        self.activities: deque[str] = deque(maxlen=_ACTIVITIES)
        self.was_warned = False
        self._clock = clock
        self._steps = record.step
        self._seconds = 0.0
        self._running_since: float | None = None
        self._waits = 0

    @property
    def spent(self) -> Spent:
        """What it used up so far."""
        seconds = self._seconds
        if self._running_since is not None:
            seconds += self._clock() - self._running_since
        tokens = (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)
        return Spent(self.usage.cost or 0.0, tokens, self._steps, seconds)

    def heard(self) -> None:
        """It gave a sign of life."""
        self.active_at = time.time()

    def start_turn(self) -> float:
        """A turn begins; returns the wall-clock time."""
        self._running_since = self._clock()
        self.heard()
        if not self.started_at:
            self.started_at = self.active_at
        return self.active_at

    def end_turn(self) -> None:
        """The turn is over."""
        self._halt()
        self._waits = 0

    def begin(self, status: str, doing: str) -> None:
        """Something begins; the clock halts while the person is waited for."""
        if status in _FREE_WAITS:
            self._waits += 1
            self._halt()
        elif status == "running":
            self.tools_run += 1
            self.activities.append(doing)
        self.heard()

    def end(self, status: str) -> None:
        """It ended."""
        if status in _FREE_WAITS and self._waits:
            self._waits -= 1
            if not self._waits:
                self._running_since = self._clock()
        self.heard()

    def add(self, usage: Usage) -> None:
        """A step was taken."""
        self.usage += usage
        self._steps += 1
        self.heard()

    def _halt(self) -> None:
        if self._running_since is not None:
            self._seconds += self._clock() - self._running_since
            self._running_since = None
