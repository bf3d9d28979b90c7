"""The only crossing between the window's thread and the engine's. Nothing else is shared."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from PySide6.QtCore import QObject, Qt, Signal

from desktop_agent.core.commands import (
    ChangeRequests,
    EngineCommands,
    EngineQueries,
    KeyStore,
    ModelCatalog,
    PlaceSetup,
    SessionFiles,
    SettingsStore,
    SkillLibrary,
    UpdateCheck,
)
from desktop_agent.core.events import Event
from desktop_agent.gui.bridge.backend import BridgeClosed, Compose, Part

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
_CLOSE_S = 6.0
_log = logging.getLogger(__name__)


class Bridge(QObject):
    """Owns the engine thread and its loop.

    `engine` and `settings` take commands: they are run in order, also those posted before the
    backend is there. The rest is awaited on the window's loop. `received` gives batches of
    events, in order, on the window's thread. `started` comes once the backend is there. The two
    loops share no future, lock or queue: an answer crosses as a Qt signal that carries its number.
    """

    received = Signal(object)
    started = Signal()
    _crossed = Signal(object)
    _answered = Signal(int, object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread: Any = None  # an EngineThread, imported when it starts
        self._numbers = itertools.count(1)
        self._asked: dict[int, Any] = {}
        queued = Qt.ConnectionType.QueuedConnection
        self._crossed.connect(self._on_crossed, queued)
        self._answered.connect(self._on_answered, queued)
        self.engine = cast(EngineCommands, Posted(self._post, lambda backend: backend.engine))
        self.settings = cast(SettingsStore, Posted(self._post, lambda backend: backend.settings))
        self.queries = cast(EngineQueries, Asked(self._ask, lambda backend: backend.engine))
        self.changes = cast(ChangeRequests, Asked(self._ask, lambda backend: backend.engine))
        self.skills = cast(SkillLibrary, Asked(self._ask, lambda backend: backend.skills))
        self.keys = cast(KeyStore, Asked(self._ask, lambda backend: backend.keys))
        self.catalog = cast(ModelCatalog, Asked(self._ask, lambda backend: backend.catalog))
        self.files = cast(SessionFiles, Asked(self._ask, lambda backend: backend.files))
        self.updates = cast(UpdateCheck, Asked(self._ask, lambda backend: backend.updates))
        self.places = cast(PlaceSetup, Asked(self._ask, lambda backend: backend.places))

    def start(self, compose: Compose) -> None:
        """Start the engine thread; commands posted from now on wait for the backend."""
        if self._thread is not None:
            raise RuntimeError("the bridge was started before")
        # asyncio comes with it: the first paint does not wait for that.
        from desktop_agent.gui.bridge.engine_thread import EngineThread

        self._thread = EngineThread(
            compose, self._crossed.emit, self._answered.emit, self.started.emit
        )
        self._thread.start()

    def close(self, timeout_s: float = _CLOSE_S) -> bool:
        """Close the backend and end the thread; tells whether it ended in time.

        What was posted before is run.
        """
        for answer in self._asked.values():
            answer.cancel()
        self._asked.clear()
        return self._thread.stop(timeout_s) if self._thread is not None else True

    def _post(self, part: Part, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._thread is not None:
            self._thread.call(part, name, args, kwargs)

    async def _ask(
        self, part: Part, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self._thread is None or not self._thread.is_alive():
            raise BridgeClosed(name)
        import asyncio  # loaded by the engine's thread already

        number = next(self._numbers)
        answer = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        self._thread.ask(number, part, name, args, kwargs)
        try:
            return await answer
        finally:
            if self._asked.pop(number, None) is not None and answer.cancelled():
                self._thread.withdraw(number)

    def _on_crossed(self, batch: tuple[Event, ...]) -> None:
        assert self.thread().isCurrentThread(), "events must arrive on the window's thread"
        self.received.emit(batch)

    def _on_answered(self, number: int, result: object, error: BaseException | None) -> None:
        answer = self._asked.pop(number, None)
        if answer is None or answer.done():
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)


# Any: the names and arguments are those of the protocols that these stand in for.
Post = Callable[[Part, str, tuple[Any, ...], dict[str, Any]], None]
Ask = Callable[[Part, str, tuple[Any, ...], dict[str, Any]], Awaitable[Any]]


class Posted:
    """Each method is a command: it returns at once, and a failure is an EngineFailed event."""

    def __init__(self, post: Post, part: Part) -> None:
        self._post = post
        self._part = part

    def __getattr__(self, name: str) -> Callable[..., None]:
        def command(*args: Any, **kwargs: Any) -> None:
            self._post(self._part, name, args, kwargs)

        return command


class Asked:
    """Each method is awaited on the window's loop; it raises what the method raised."""

    def __init__(self, ask: Ask, part: Part) -> None:
        self._ask = ask
        self._part = part

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._ask(self._part, name, args, kwargs)

        return call


class Questions(Protocol):
    """What can be awaited of a bridge."""

    queries: EngineQueries
    changes: ChangeRequests
    skills: SkillLibrary
    keys: KeyStore
    catalog: ModelCatalog
    files: SessionFiles
    updates: UpdateCheck
    places: PlaceSetup


class Queries(QObject):
    """Runs queries on the window's loop and keeps them alive until they are answered.

    What can be awaited is `engine`, `changes`, `skills`, `keys`, `catalog`, `files`, `updates` and
    `places`. `failed` gives a sentence for the user.
    """

    failed = Signal(str)

    def __init__(self, bridge: Questions, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.engine = bridge.queries
        self.changes = bridge.changes
        self.skills = bridge.skills
        self.keys = bridge.keys
        self.catalog = bridge.catalog
        self.files = bridge.files
        self.updates = bridge.updates
        self.places = bridge.places
        self._jobs: set[asyncio.Future[None]] = set()
        self._is_over = False

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
        if self._is_over:
            job.cancel()
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
        """Give up all that is asked, now and later: nobody is there to be answered any more."""
        import asyncio

        self._is_over = True
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
