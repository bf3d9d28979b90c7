"""What is done with stored sessions beside the work, in steps too short to be felt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from desktop_agent.engine.base.ports import Store, StoreError

_log = logging.getLogger(__name__)

# The first time is after the window is there; then between two sessions that are erased because
# their time is up, and between looking for some.
FIRST_S = 5.0
_STEP_S = 5.0
_LOOK_S = 3600.0
# Between two steps of a few milliseconds each.
_INDEX_S = 0.05


class Upkeep:
    """Erases deleted sessions whose time is up, and does what an earlier version left to be done:
    brings the index of words up to date, and counts what was used.
    """

    def __init__(self, store: Store, erase_overdue: Callable[[], bool]) -> None:
        """`erase_overdue` erases one session, and tells whether there are more."""
        self._store = store
        self._erase_overdue = erase_overdue
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def begin(self) -> None:
        """Start, once the app is up."""
        self._later("erase", FIRST_S, self._erase)
        self.index_soon(FIRST_S)
        self._later("count", FIRST_S, self._count)

    def index_soon(self, seconds: float = _INDEX_S) -> None:
        """Look whether the index needs something."""
        self._later("index", seconds, self._index)

    async def all_counted(self) -> None:
        """Return when all that was used is counted. Raises StoreError."""
        while self._store.count_more():  # noqa: ASYNC110 - nothing is waited for
            await asyncio.sleep(0)

    def stop(self) -> None:
        """Do nothing more; the rest is done after the next start."""
        for timer in self._timers.values():
            timer.cancel()

    def _erase(self) -> None:
        self._later("erase", _STEP_S if self._erase_overdue() else _LOOK_S, self._erase)

    def _index(self) -> None:
        try:
            if self._store.index_more():
                self.index_soon()
        except StoreError as error:
            _log.info("the index of words is brought up to date later: %s", error)

    def _count(self) -> None:
        try:
            if self._store.count_more():
                self._later("count", _INDEX_S, self._count)
        except StoreError as error:
            _log.info("what was used is counted later: %s", error)

    def _later(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        if (timer := self._timers.get(name)) is not None:
            timer.cancel()
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, call)
