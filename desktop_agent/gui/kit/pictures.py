"""Pictures from files of unknown origin: measured by their header, decoded beside the window."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QImage, QImageIOHandler, QImageReader

from desktop_agent.core.messages import ImagePart
from desktop_agent.core.parts.pictures import picture_type
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.links import real_path

# Decoded, it takes four times as many bytes: under what Qt allows a picture.
MOST_PIXELS = 60_000_000
_LONGEST_EDGE = 32_000
# The size stands within the first of the file, behind a profile and a preview at most.
_HEADER = 256 * 1024
# Files are read up to this size, and said to be changed if they were so much later.
_LARGEST = 20_000_000
_SLACK_S = 2.0
# Why a file can't be shown: it is not there, or another one by now.
PictureLoss = Literal["gone", "changed"]
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


def read_picture(path: str, workspace: Workspace, until: float) -> ImagePart | PictureLoss:
    """Return a picture from the session's folders, if it was not changed after `until`."""
    try:
        real = real_path(path, workspace)
        return "gone" if real is None else _read(real, path, until)
    except OSError:
        return "gone"


def _read(real: Path, path: str, until: float) -> ImagePart | PictureLoss:
    # Not even for a moment is a pipe waited on, or what a link has led to meanwhile.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(real, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return "gone"
        if status.st_mtime > until + _SLACK_S:
            return "changed"
        data = file.read(_LARGEST + 1) if status.st_size <= _LARGEST else b""
    return ImagePart(picture_type(data[:16]), data if len(data) <= _LARGEST else b"", path)
