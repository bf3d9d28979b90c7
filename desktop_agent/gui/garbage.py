"""Collects reference cycles on the window's thread alone.

Python collects on whichever thread allocates; a widget that dies on the engine's thread takes
the process with it.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, Qt, QTimer

_IDLE_MS = 10_000


class GarbageClock(QObject):
    """Replaces automatic collection; `check` after each batch of events, and now and then."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._thresholds = gc.get_threshold()
        timer = QTimer(self)
        timer.setTimerType(Qt.TimerType.VeryCoarseTimer)
        timer.setInterval(_IDLE_MS)
        timer.timeout.connect(self.check)
        timer.start()

    def check(self, _batch: object = None) -> None:
        """Collect the oldest generation that is due, as Python itself would."""
        counts = gc.get_count()
        for generation in (2, 1, 0):
            if counts[generation] > self._thresholds[generation]:
                gc.collect(generation)
                return
