"""Work on a thread beside the window: reading, decoding and sorting what may be large."""

from __future__ import annotations

import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal

from desktop_agent.gui.kit.failure_log import attempt


class Relay(QObject):
    """Carries a result to the window's thread. Whoever holds it keeps it, on either side.

    A thread must not emit a signal of what the window may delete meanwhile.
    """

    done = Signal(int, object)


class Background(QObject):
    """Does one thing at a time, the newest first: so much memory is used at most.

    `done(number, result)`: what was asked for under this number; None if it failed.
    """

    done = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: dict[int, Callable[[], object]] = {}
        self._last = 0
        self._is_busy = False
        self._relay = Relay()
        self._relay.done.connect(self._on_done, Qt.ConnectionType.QueuedConnection)

    def ask(self, act: Callable[[], object]) -> int:
        """Have something done; return the number its result comes under, never 0."""
        self._last += 1
        self._waiting[self._last] = act
        self._start()
        return self._last

    def forget(self, number: int) -> None:
        """Take back what was asked for, if it was not begun."""
        self._waiting.pop(number, None)

    def _start(self) -> None:
        if self._is_busy or not self._waiting:
            return
        self._is_busy = True
        work = (self._relay, *self._waiting.popitem())
        # A daemon: neither a large file nor a disk that hangs may keep the app from ending.
        threading.Thread(target=_work, args=work, name="background", daemon=True).start()

    def _on_done(self, number: int, result: object) -> None:
        self._is_busy = False
        self._start()
        self.done.emit(number, result)


def _work(relay: Relay, number: int, act: Callable[[], object]) -> None:
    relay.done.emit(number, attempt("work in the background", act, lambda: None))
