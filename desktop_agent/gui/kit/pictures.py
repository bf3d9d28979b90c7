"""Pictures from files of unknown origin: measured by their header, decoded beside the window."""

from __future__ import annotations

import threading

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageIOHandler, QImageReader

from desktop_agent.core.parts.pictures import picture_type
from desktop_agent.gui.kit.failure_log import attempt

# Decoded, it takes four times as many bytes: under what Qt allows a picture.
MOST_PIXELS = 60_000_000
_LONGEST_EDGE = 32_000
# The size stands within the first of the file, behind a profile and a preview at most.
_HEADER = 256 * 1024
_TURNED = QImageIOHandler.Transformation.TransformationRotate90


class _Source:
    """A reader of one kind of picture alone: by default Qt reads a dozen, SVG among them."""

    def __init__(self, data: bytes) -> None:
        kind = picture_type(data[:16]).removeprefix("image/")
        self._start = data[:10] if kind == "gif" else b""
        self._bytes = QByteArray(data)
        self._buffer = QBuffer(self._bytes)
        self._buffer.open(QIODevice.OpenModeFlag.ReadOnly)
        self.reader = QImageReader(self._buffer, QByteArray(kind.encode()))
        self.reader.setAutoDetectImageFormat(False)
        self.reader.setAutoTransform(True)

    @property
    def size(self) -> QSize:
        """The size in the header, as stored; none if it is damaged or more than is decoded."""
        width, height = self._edges
        is_fit = min(width, height) > 0 and max(width, height) <= _LONGEST_EDGE
        return QSize(width, height) if is_fit and width * height <= MOST_PIXELS else QSize()

    @property
    def _edges(self) -> tuple[int, int]:
        if self._start:
            # Qt goes through all frames for it, and then tells that of one; it decodes the screen.
            width, height = self._start[6:8], self._start[8:10]
            return int.from_bytes(width, "little"), int.from_bytes(height, "little")
        size = self.reader.size()
        return size.width(), size.height()

    @property
    def is_turned(self) -> bool:
        """Whether it is shown lying on its side, as a camera was held."""
        return bool(self.reader.transformation() & _TURNED)


def picture_size(data: bytes) -> QSize:
    """Return a picture's size as shown; no size for what is damaged, too large or of other kinds.

    Reads the header alone, in well under a millisecond.
    """
    if not picture_type(data[:16]):
        return QSize()
    source = _Source(data[:_HEADER])
    return source.size.transposed() if source.is_turned else source.size


def decoded(data: bytes, most: QSize) -> QImage:
    """Return a picture, made as small as `most` asks; none where there is no `picture_size`.

    Of one that moves it is the first frame.
    """
    if not picture_type(data[:16]):
        return QImage()
    source = _Source(data)
    size = source.size
    if size.isEmpty():
        return QImage()
    room = most.transposed() if source.is_turned else most
    if size.width() > room.width() or size.height() > room.height():
        fitting = size.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)
        source.reader.setScaledSize(fitting.expandedTo(QSize(1, 1)))
    return source.reader.read()


class _Relay(QObject):
    """Carries a picture to the window's thread. Whoever holds it keeps it, on either side."""

    done = Signal(int, QImage)


class PictureLoader(QObject):
    """Decodes pictures beside the window, one at a time: so much memory is used at most.

    `loaded(number, image)`: what was asked for under this number; the image may be none.
    """

    loaded = Signal(int, QImage)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: dict[int, tuple[bytes, QSize]] = {}
        self._last = 0
        self._is_busy = False
        self._relay = _Relay()
        self._relay.done.connect(self._on_done, Qt.ConnectionType.QueuedConnection)

    def load(self, data: bytes, most: QSize) -> int:
        """Ask for a picture; return the number it comes under."""
        self._last += 1
        self._waiting[self._last] = (data, most)
        self._start()
        return self._last

    def forget(self, number: int) -> None:
        """Take back what was asked for, if it was not begun."""
        self._waiting.pop(number, None)

    def _start(self) -> None:
        if self._is_busy or not self._waiting:
            return
        self._is_busy = True
        # The newest first: it is what somebody looks at.
        number, (data, most) = self._waiting.popitem()
        work = (self._relay, number, data, most)
        # A daemon: a large picture must not keep the app from ending.
        threading.Thread(target=_decode, args=work, name="picture", daemon=True).start()

    def _on_done(self, number: int, image: QImage) -> None:
        self._is_busy = False
        self._start()
        self.loaded.emit(number, image)


def _decode(relay: _Relay, number: int, data: bytes, most: QSize) -> None:
    image = attempt("a picture", lambda: decoded(data, most), QImage)
    relay.done.emit(number, image)
