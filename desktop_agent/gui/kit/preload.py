"""Loads what will be needed soon in small steps, between what the person does.

On the window's thread: Qt's bindings make a class when it is first named, and two threads that
name classes at once destroy the table of those that are still to be made (shiboken 6.11: an
entry is erased twice, which ends the process, or both threads wait for ever). So no other
thread imports what imports Qt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

from PySide6.QtCore import QObject, QTimer

# Between two steps, so that a key that was pressed meanwhile is not late.
_PAUSE_MS = 30


class Preload(QObject):
    """Imports `modules`, named below desktop_agent.gui, then makes each of `steps`.

    Begins `wait_ms` after `start`; a second call does nothing.
    """

    def __init__(
        self,
        parent: QObject,
        modules: Sequence[str],
        steps: Sequence[Callable[[], None]] = (),
        *,
        wait_ms: int = 0,
    ) -> None:
        super().__init__(parent)
        loads = (partial(import_module, f"desktop_agent.gui.{name}") for name in modules)
        self._left: list[Callable[[], object]] = [*loads, *steps]
        self._wait_ms = wait_ms
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._go_on)

    @property
    def is_done(self) -> bool:
        return not self._left

    def start(self) -> None:
        """Begin, a moment from now."""
        if self._left and not self._timer.isActive():
            self._timer.start(self._wait_ms)

    def put_off(self) -> None:
        """Wait anew: a key was pressed, and the next must not wait for this."""
        if self._timer.isActive():
            self._timer.start(self._wait_ms)

    def _go_on(self) -> None:
        self._timer.setInterval(_PAUSE_MS)
        step = self._left.pop(0)
        if not self._left:
            self._timer.stop()
        step()
