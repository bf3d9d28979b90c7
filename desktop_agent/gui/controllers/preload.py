"""Gets ready what the first tasks and subagents need while the user thinks, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

from PySide6.QtCore import QObject, QTimer

_WAIT_MS = 700
_PAUSE_MS = 30
# From the leaves up, so that each step is short.
MODULES = (
    "tasks.list_view",
    "tasks.panel",
    "tasks.graph_items",
    "tasks.tabs",
    "agents.actions",
    "agents.tree_view",
    "agents.card",
    "agents.panel",
    "frame.side_panel",
)


class Preload(QObject):
    """Begins with `start`; a second call does nothing. Each of `steps` is made behind the rest."""

    def __init__(self, parent: QObject, steps: Sequence[Callable[[], None]] = ()) -> None:
        super().__init__(parent)
        loads = (partial(import_module, f"desktop_agent.gui.{name}") for name in MODULES)
        self._left: list[Callable[[], object]] = [*loads, *steps]
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._go_on)

    @property
    def is_done(self) -> bool:
        return not self._left

    def start(self) -> None:
        """Begin, a moment from now."""
        if self._left and not self._timer.isActive():
            self._timer.start(_WAIT_MS)

    def put_off(self) -> None:
        """Wait anew: a key was pressed, and the next must not wait for this."""
        if self._timer.isActive():
            self._timer.start(_WAIT_MS)

    def _go_on(self) -> None:
        self._timer.setInterval(_PAUSE_MS)
        step = self._left.pop(0)
        if not self._left:
            self._timer.stop()
        step()
