"""The window's questions to the engine's side; each answer goes to whoever showed the need."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Signal

from desktop_agent.gui.bridge.backend import BridgeClosed
from desktop_agent.gui.bridge.bridge import Bridge

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Queries(QObject):
    """Runs queries on the window's loop and keeps them alive until they are answered.

    `engine`, `changes`, `skills`, `keys`, `catalog` and `updates` are what can be awaited. `failed`
    gives a sentence for the user.
    """

    failed = Signal(str)

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.engine = bridge.queries
        self.changes = bridge.changes
        self.skills = bridge.skills
        self.keys = bridge.keys
        self.catalog = bridge.catalog
        self.updates = bridge.updates
        self._jobs: set[asyncio.Future[None]] = set()

    def ask(self, then: Callable[[T], object], query: Coroutine[Any, Any, T]) -> None:
        """Await a query, and pass its answer to `then`."""

        async def run() -> None:
            then(await query)

        def let_go(_: object) -> None:
            query.close()

        # What is cancelled before its turn comes never begins.
        self.run(run(), "a query").add_done_callback(let_go)

    def run(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Future[None]:
        """Run some work on the window's loop; its failure is logged and shown."""
        import asyncio  # loaded long before the first question; not before the first paint

        job = asyncio.ensure_future(self._guard(work, name))
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        # What is cancelled before its turn comes never begins.
        job.add_done_callback(lambda _: work.close())
        return job

    @property
    def is_busy(self) -> bool:
        return bool(self._jobs)

    def cancel(self) -> None:
        """Give up all that is not answered yet."""
        for job in self._jobs:
            job.cancel()

    async def drain(self) -> None:
        import asyncio

        self.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    async def _guard(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except BridgeClosed:
            _log.info("%s was asked while the app was closing", name)
        except Exception as error:  # noqa: BLE001 - a failed query must not take the window along
            _log.exception("%s failed", name)
            self.failed.emit(str(error) or type(error).__name__)
