"""What an agent has used up, what it did last, and when it was last heard of."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

from desktop_agent.core.agents import Budget, Spent
from desktop_agent.core.usage import Usage, is_uncounted, is_unpriced
from desktop_agent.engine.base.ports import AgentRecord

# Waiting for the person, or for its turn, is free; while it waits for subagents, their time counts.
_FREE_WAITS = frozenset({"queued", "waiting_approval", "waiting_answer", "waiting_children"})
_ACTIVITIES = 6


class UsageMeter:
    """Counts for one agent, itself alone; the tree adds up what is below it."""

    def __init__(self, record: AgentRecord, clock: Callable[[], float] = time.monotonic) -> None:
        self.usage = record.usage
        self.budget = record.budget or (record.spec.budget if record.spec else Budget())
        self.tools_run = record.tools_run
        self.started_at = record.spec.started_at if record.spec is not None else 0.0
        # A tool's results may be from after the app's end: those that never came are made up.
        said = (one.created_at for one in record.history if one.role == "assistant")
        self.active_at = max((self.started_at, *said))
        self.activities: deque[str] = deque(maxlen=_ACTIVITIES)
        self.was_warned = False
        is_paused = record.spec is not None and record.end is None and record.step > 0
        # One that was at work when the app ended is paused since it was last heard of.
        self.paused_at = self.active_at if is_paused else 0.0
        self.paused = record.end.paused if record.end is not None else 0.0
        # Whether the cost of the next request will be known; looked up when it matters.
        self.is_priced = True
        self._unpriced, self._uncounted = record.unpriced, record.uncounted
        self._clock = clock
        self._steps = record.step
        self._seconds = record.seconds
        self._seconds_before = self._seconds
        self._running_since: float | None = None
        self._waits = 0

    @property
    def spent(self) -> Spent:
        """What it used up so far."""
        seconds = self._seconds
        if self._running_since is not None:
            seconds += self._clock() - self._running_since
        tokens = (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)
        unpriced = self._unpriced + (not self.is_priced)
        cost = self.usage.cost or 0.0
        return Spent(cost, tokens, self._steps, seconds, unpriced, self._uncounted)

    @property
    def paused_seconds(self) -> float:
        """The seconds that it was paused so far."""
        return self.paused + (time.time() - self.paused_at if self.paused_at else 0.0)

    def heard(self) -> None:
        """It gave a sign of life."""
        self.active_at = time.time()

    def start_turn(self) -> float:
        """A turn begins; returns the wall-clock time."""
        self._seconds_before = self._seconds
        self._running_since = self._clock()
        self.heard()
        if self.paused_at:
            self.paused += self.active_at - self.paused_at
            self.paused_at = 0.0
        if not self.started_at:
            self.started_at = self.active_at
        return self.active_at

    def end_turn(self) -> float:
        """The turn is over; returns the seconds it is charged."""
        self._halt()
        self._waits = 0
        return self._seconds - self._seconds_before

    def begin(self, status: str, doing: str) -> None:
        """Something begins; the clock halts while the person is waited for."""
        if status in _FREE_WAITS:
            self._begin_wait()
        elif status == "running":
            self.tools_run += 1
            self.activities.append(doing)
        self.heard()

    def end(self, status: str) -> None:
        """It ended."""
        if status in _FREE_WAITS:
            self._end_wait()
        self.heard()

    @contextmanager
    def resting(self) -> Generator[None]:
        """Charge no time while the block runs: it is paused."""
        self._begin_wait()
        self.paused_at, since = time.time(), self._clock()
        try:
            yield
        finally:
            self._end_wait()
            self.paused_at = 0.0
            self.paused += self._clock() - since

    def begin_step(self) -> None:
        """A step begins; it counts from now on, so that those beside it can't take it too."""
        self._steps += 1

    def drop_step(self) -> None:
        """The step was not taken after all."""
        self._steps -= 1

    def add(self, usage: Usage) -> None:
        """A step used this up."""
        self.usage += usage
        self._unpriced += is_unpriced(usage)
        self._uncounted += is_uncounted(usage)
        self.heard()

    def _begin_wait(self) -> None:
        self._waits += 1
        self._halt()

    def _end_wait(self) -> None:
        if self._waits:
            self._waits -= 1
            if not self._waits:
                self._running_since = self._clock()

    def _halt(self) -> None:
        if self._running_since is not None:
            self._seconds += self._clock() - self._running_since
            self._running_since = None
