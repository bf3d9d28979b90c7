"""One clock for everything that turns: it stands still while nothing does."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPen


class SpinnerClock(QObject):
    """Ticks while somebody holds it; `frame` is the spinners' position, the same for all."""

    ticked = Signal()

    def __init__(self, parent: QObject, motion: dict[str, float]) -> None:
        super().__init__(parent)
        self.frame = 0
        self.is_still = False
        self._frames = int(motion["spinner_frames"])
        self._holders: set[int] = set()
        self._known: set[int] = set()
        self._timer = QTimer(self)
        self._timer.setInterval(int(motion["spinner_step_ms"]))
        self._timer.timeout.connect(self._on_timeout)

    @property
    def angle(self) -> float:
        return 0.0 if self.is_still else 360.0 * self.frame / self._frames

    @property
    def is_running(self) -> bool:
        return self._timer.isActive()

    def hold(self, owner: QObject) -> None:
        """Tick as long as the owner needs it, or lives; harmless when repeated."""
        key = id(owner)
        self._holders.add(key)
        if key not in self._known:
            self._known.add(key)
            owner.destroyed.connect(lambda: self._forget(key))
        if not self._timer.isActive():
            self._timer.start()

    def release(self, owner: QObject) -> None:
        self._drop(id(owner))

    def _forget(self, key: int) -> None:
        self._known.discard(key)
        self._drop(key)

    def _drop(self, key: int) -> None:
        self._holders.discard(key)
        if not self._holders:
            self._timer.stop()

    def _on_timeout(self) -> None:
        if self.is_still:
            return
        self.frame = (self.frame + 1) % self._frames
        self.ticked.emit()


def paint_spinner(
    painter: QPainter, box: QRectF, pulse: SpinnerClock, color: QColor, track: QColor
) -> None:
    """Draw a spinner; with motion off it is a half circle that stands still."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    width = max(1.5, box.width() / 8)
    ring = box.adjusted(width, width, -width, -width)
    painter.setPen(QPen(track, width))
    painter.drawEllipse(ring)
    pen = QPen(color, width)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    span = 180 if pulse.is_still else 110
    painter.drawArc(ring, round((90 - pulse.angle) * 16), -span * 16)
    painter.restore()
