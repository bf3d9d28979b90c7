"""How the work of a function grows with its input, whatever else the machine does meanwhile.

What is measured is the processor time of this thread, not the time that passes. Of many runs the
least counts: other processes can only add to it. The small size is run as often as makes up the
large one, so that what interrupts a processor finds both equally. A factor that is too high is
measured again and again before it is believed.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

# Doubled input may cost this many times the work.
ALLOWED = 2.5
# Below this two runs decide: a stray cost of the small sizes that hid a square would be six times
# their work, twice.
_SURE = 2.2
# Work of this many nanoseconds is far above what a call itself costs.
ENOUGH = 30_000_000
# Work that costs less than this at the largest size is bounded long before, or harmless.
_NEGLIGIBLE = 50_000
_SMALL = (8, 12, 16, 20, 24, 28, 32, 48)
# How many times the small size the large one is: three doublings.
_TIMES = 8
_LEAST_RUNS = 5
# What a neighbour has of the shared cache is missing for the large size alone, for seconds on end.
_ATTEMPTS = 24


@dataclass(frozen=True, slots=True)
class Growth:
    """`factor` is what doubled input costs, the mean of the last three doublings up to `size`."""

    factor: float
    size: int
    nanoseconds: int

    @property
    def is_linear(self) -> bool:
        """Whether the work grows at most in proportion, or as good as."""
        return self.factor <= ALLOWED or self.nanoseconds < _NEGLIGIBLE


def cost(run: Callable[[], object]) -> int:
    """Return the processor time of one run, in nanoseconds."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        start = time.thread_time_ns()
        run()
        return max(1, time.thread_time_ns() - start)
    finally:
        if was_enabled:
            gc.enable()


def heaviest(
    work: Callable[[int], Callable[[], object]], largest: int, enough: int = ENOUGH
) -> tuple[int, int]:
    """Return a size whose work is heavy, or else the last up to the largest; and what it costs.

    The sizes grow step by step, so that work without end is noticed before it begins.
    """
    tried = spent = 0
    for size in (*_SMALL, *(64 << step for step in range(largest.bit_length()))):
        if size > largest:
            break
        tried, spent = size, cost(work(size))
        if spent > enough:
            break
    return tried, spent


def growth(
    work: Callable[[int], Callable[[], object]], largest: int, bounded_at: int = 0
) -> Growth:
    """Measure the work that `work(size)` makes ready, at sizes up to `largest`.

    `bounded_at` is a size at which a bound on the work, if there is one, is reached for sure.
    """
    size, spent = (bounded_at, None) if bounded_at else heaviest(work, largest)
    # What lies between the two does not change the mean of the doublings.
    runs = [_repeated(work(max(1, size // _TIMES))), work(size)]
    found = _measured(runs, size, spent)
    for _ in range(_ATTEMPTS):
        if found.is_linear:
            break
        # Anew: one quiet moment for the small sizes must not be held against the large.
        found = min(found, _measured(runs, size), key=lambda one: one.factor)
    return found


def _repeated(run: Callable[[], object]) -> Callable[[], object]:
    def repeat() -> None:
        for _ in range(_TIMES):
            run()

    return repeat


def _measured(runs: list[Callable[[], object]], size: int, spent: int | None = None) -> Growth:
    """Measure both; `spent` is what the larger has already cost once."""
    least = [cost(runs[0]), cost(runs[1]) if spent is None else spent]
    for _ in range(_LEAST_RUNS if least[-1] < ENOUGH else 1):
        least = [min(known, cost(run)) for known, run in zip(least, runs, strict=True)]
        if _factor(least) <= _SURE:
            break
    return Growth(_factor(least), size, least[-1])


def _factor(costs: list[int]) -> float:
    return math.cbrt(_TIMES * costs[-1] / costs[0])
