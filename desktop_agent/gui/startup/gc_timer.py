"""Collects reference cycles on the window's thread alone.

Python collects on whichever thread allocates; a widget that dies on the engine's thread takes
the process with it.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, Qt, QTimer

_REST_MS = 5_000
# To look through all that lives takes longer than a frame. While events come, that is put off
# until it is overdue this many times.
_OVERDUE = 100
# Python's own threshold for the oldest generation, where it names none.
_OLD = 10
# What a burst leaves is looked at soon: piled up with others it would take longer than a frame.
_BURSTS = 3


class GcTimer(QObject):
    """Replaces automatic collection; `check` after each batch of events, and now and then."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._thresholds = gc.get_threshold()
        self._has_rested = False
        timer = QTimer(self)
        timer.setInterval(_REST_MS)
        timer.setTimerType(Qt.TimerType.VeryCoarseTimer)
        timer.timeout.connect(self.rest)
        timer.start()

    def check(self, _batch: object = None) -> None:
        """Collect the oldest generation that is due; the very oldest only if long overdue."""
        self._has_rested = False
        self._collect(_OVERDUE)

    def rest(self) -> None:
        """Collect the very oldest too, if nothing has happened since the last time."""
        self._collect(1 if self._has_rested else _OVERDUE)
        self._has_rested = True

    def _collect(self, patience: int) -> None:
        counts = gc.get_count()
        young, _, old = self._thresholds
        for generation, most in ((2, (old or _OLD) * patience), (1, _BURSTS), (0, young)):
            if counts[generation] > most:
                gc.collect(generation)
                return
