"""The engine's thread: its loop, the batches of events, and what waits for the backend."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from desktop_agent.core.events import (
    AgentsChanged,
    EngineFailed,
    Event,
    ListChanged,
    NoteQueued,
    SessionOpened,
    SessionsChanged,
    SkillsChanged,
)
from desktop_agent.gui.bridge.backend import Backend, BridgeClosed, Compose, Part

_FLUSH_S = 1 / 30
# So long may this thread keep the window's from running, where Python's own choice is 5 ms.
_SWITCH_S = 0.0005
_log = logging.getLogger(__name__)


class _Command(msgspec.Struct, frozen=True):
    """A command or, with a number, a question that is waited for."""

    run: Callable[[Backend], None]
    name: str
    number: int = 0


class EngineThread:
    """Runs a backend. `deliver`, `answer` and `tell_started` are called on the thread itself."""

    def __init__(
        self,
        compose: Compose,
        deliver: Callable[[tuple[Event, ...]], None],
        answer: Callable[[int, object, object], None],
        tell_started: Callable[[], None],
    ) -> None:
        self._compose = compose
        self._deliver = deliver
        self._answer = answer
        self._tell_started = tell_started
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._backend: Backend | None = None
        self._early: list[_Command] | None = []
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self._pending: list[Event] = []
        self._armed: asyncio.TimerHandle | None = None
        self._armed_at = 0.0
        self._flushed_at = 0.0
        self._has_loop = threading.Event()
        # A daemon, so that an engine that refuses to end can't keep the process alive.
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Start the thread; returns when it can take commands."""
        sys.setswitchinterval(_SWITCH_S)
        self._thread.start()
        self._has_loop.wait()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self, timeout_s: float) -> bool:
        """Close the backend and end the thread; tells whether it ended in time."""
        self._cross(self._request_stop)
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            _log.error("the engine did not end within %s s", timeout_s)
        return not self._thread.is_alive()

    def call(self, part: Part, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Run a command of a part of the backend when it is there."""

        def run(backend: Backend) -> None:
            getattr(part(backend), name)(*args, **kwargs)

        self._cross(self._on_command, _Command(run, name))

    def ask(
        self, number: int, part: Part, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Find the answer to a question and give it, with its number, to `answer`."""

        def begin(backend: Backend) -> None:
            job = asyncio.ensure_future(
                self._find_answer(number, lambda: getattr(part(backend), name)(*args, **kwargs))
            )
            self._jobs[number] = job
            job.add_done_callback(lambda _: self._jobs.pop(number, None))

        self._cross(self._on_command, _Command(begin, name, number))

    def withdraw(self, number: int) -> None:

        def cancel() -> None:
            job = self._jobs.get(number)
            if job is not None:
                job.cancel()

        self._cross(cancel)

    def _cross(self, callback: Callable[..., None], *args: Any) -> None:
        assert self._loop is not None
        # After the end the loop is closed and nobody is left to hear the command.
        if not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(callback, *args)
            except RuntimeError:
                _log.info("a command came after the engine had ended")

    # -- everything below runs on the engine thread --

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._on_loop_error)
        self._stopping = asyncio.Event()
        self._has_loop.set()
        try:
            self._backend = await self._compose(self._emit)
        except Exception as error:  # noqa: BLE001 - the window must open and say what is wrong
            self._fail("start", error)
        else:
            self._tell_started()
        early, self._early = self._early, None
        for command in early or ():
            self._on_command(command)
        await self._stopping.wait()
        await self._shut()

    async def _shut(self) -> None:
        if self._backend is not None:
            try:
                await self._backend.close()
            except Exception as error:  # noqa: BLE001 - the rest must still be let go
                self._fail("close", error)
        self._flush()

    def _request_stop(self) -> None:
        assert self._stopping is not None
        self._stopping.set()

    def _on_command(self, command: _Command) -> None:
        if self._early is not None:
            self._early.append(command)
        elif self._backend is not None:
            self._try(command, self._backend)
        elif command.number:
            # Nobody will ever answer: say so, instead of letting them wait.
            self._answer(command.number, None, BridgeClosed(command.name))

    def _try(self, command: _Command, backend: Backend) -> None:
        try:
            command.run(backend)
        except Exception as error:  # noqa: BLE001 - a failed command must not end the engine
            self._fail(command.name, error)

    async def _find_answer(self, number: int, query: Callable[[], Awaitable[Any]]) -> None:
        try:
            result = await query()
        except Exception as error:  # noqa: BLE001 - it is raised again where it was asked
            self._answer(number, None, error)
        else:
            self._answer(number, result, None)

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception):
            self._fail("engine", error)
        else:
            _log.error("engine loop: %s", context.get("message"))

    def _fail(self, where: str, error: Exception) -> None:
        _log.error("%s failed", where, exc_info=error)
        # A KeyError's own text is in quotes.
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        self._emit(EngineFailed(where, text or type(error).__name__))

    def _emit(self, event: Event) -> None:
        """Take an event; batches go out a 30th of a second apart, the first one at once.

        The clock is looked at here as well: a busy loop would not reach its timer.
        """
        assert self._loop is not None
        self._pending.append(event)
        now = self._loop.time()
        if self._armed is None:
            self._armed_at = now
            wait = max(0.0, self._flushed_at + _FLUSH_S - now)
            self._armed = self._loop.call_later(wait, self._flush)
        elif now - self._armed_at >= _FLUSH_S:
            self._flush()

    def _flush(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
            self._armed = None
        if self._pending:
            assert self._loop is not None
            self._flushed_at = self._loop.time()
            batch, self._pending = self._pending, []
            self._deliver(newest_snapshots(batch))


def newest_snapshots(batch: list[Event]) -> tuple[Event, ...]:
    """Leave out snapshots that a later one of the same list replaces, and join the rows of agents.

    All else stays in order.
    """
    seen: dict[object, int] = {}
    kept: list[Event] = []
    for event in reversed(batch):
        if isinstance(event, SessionOpened):
            # It holds all agents: rows from before it are not joined with those that follow it.
            seen.pop(event.info.id, None)
        key = _snapshot_of(event)
        if key is None or key not in seen:
            seen[key] = len(kept)
            kept.append(event)
        elif isinstance(later := kept[seen[key]], AgentsChanged):
            assert isinstance(event, AgentsChanged)
            kept[seen[key]] = later.after(event)
    kept.reverse()
    return tuple(kept)


def _snapshot_of(event: Event) -> object:
    """Return what the event is a snapshot of; None when it is none."""
    match event:
        case SessionsChanged():
            return SessionsChanged
        case AgentsChanged(session_id=session_id):
            return session_id
        case SkillsChanged(root=root):
            return SkillsChanged, root
        case ListChanged(agent_id=agent_id):
            return ListChanged, agent_id
        case NoteQueued(note=note) if note.kind == "task_edit":
            return NoteQueued, note.id
        case _:
            return None
