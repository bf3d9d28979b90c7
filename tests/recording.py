"""Records the window as a short moving picture, for the top of README.md."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from PIL import Image
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

_EVERY_MS = 250
_WIDTH = 1000
# What happens is told in so many seconds; a moment in which nothing moves is cut short.
_LENGTH_S = 30.0
_STILL_S = 1.5
_LAST_S = 3.0
_QUALITY = 75
_LARGEST = 3_000_000


class Recorder(QObject):
    """Takes a picture of the window four times a second while it is on; equal ones are one."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        # Each with how long it was seen, in seconds.
        self._frames: list[tuple[Image.Image, float]] = []
        self._seen = b""
        self._last = 0.0
        self._timer = QTimer(self, interval=_EVERY_MS)
        self._timer.timeout.connect(self._take)

    def start(self) -> None:
        """Begin, or go on."""
        self._last = perf_counter()
        self._timer.start()

    def stop(self) -> None:
        """Leave out what comes now."""
        self._timer.stop()

    def _take(self) -> None:
        smooth = Qt.TransformationMode.SmoothTransformation
        shown = self._window.grab().toImage().scaledToWidth(_WIDTH, smooth)
        image = shown.convertToFormat(QImage.Format.Format_RGBX8888)
        data = bytes(image.constBits())
        now = perf_counter()
        passed, self._last = now - self._last, now
        if self._frames:
            picture, seconds = self._frames[-1]
            self._frames[-1] = (picture, seconds + passed)
        if data != self._seen:
            self._seen = data
            size = (image.width(), image.height())
            self._frames.append((Image.frombytes("RGBX", size, data).convert("RGB"), 0.0))

    def save(self, path: Path) -> int:
        """Write what was seen as an animated WebP; return its size in bytes."""
        lengths = [min(seconds, _STILL_S) for _, seconds in self._frames]
        pace = min(1.0, (_LENGTH_S - _LAST_S) / max(sum(lengths), 1.0))
        lengths = [length * pace for length in lengths[:-1]] + [_LAST_S]
        first, *others = (picture for picture, _ in self._frames)
        first.save(
            path,
            "WEBP",
            save_all=True,
            append_images=others,
            duration=[max(20, round(length * 1000)) for length in lengths],
            loop=0,
            quality=_QUALITY,
            method=4,
            kmax=60,
        )
        size = path.stat().st_size
        if size > _LARGEST:
            raise ValueError(f"the recording takes {size} bytes, more than {_LARGEST}")
        return size
