"""Loads what the first message needs while nothing happens yet, a little at a time."""

from __future__ import annotations

from importlib import import_module

from PySide6.QtCore import QObject, QTimer, Signal

_WAIT_MS = 700
_PAUSE_MS = 30
# From the leaves up, so that each step is short: a person may be typing.
_MODULES = (
    "transcript.items",
    "transcript.markdown",
    "transcript.answer_text",
    "transcript.writer",
    "transcript.page",
    "transcript.copying",
    "transcript.approval_card",
    "transcript.browser",
    "transcript.view",
    "task_list_view",
    "task_panel",
    "task_nodes",
    "side_panel",
    "agent_actions",
    "agent_view",
    "steer_strip",
    "agent_panel",
    "right_panel",
)


class Preload(QObject):
    """Begins with `start`; a second call does nothing. `loaded` comes at the end, once."""

    loaded = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._left = list(_MODULES)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._load_next)

    def start(self) -> None:
        """Load, from a moment after now on."""
        if self._left and not self._timer.isActive():
            self._timer.start(_WAIT_MS)

    def _load_next(self) -> None:
        self._timer.setInterval(_PAUSE_MS)
        import_module(f"desktop_agent.gui.{self._left.pop(0)}")
        if not self._left:
            self._timer.stop()
            self.loaded.emit()
