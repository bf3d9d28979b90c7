"""Files of pictures: sound ones, and those that somebody made to do harm."""

import struct
import zlib

from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QColor, QImage

from desktop_agent.core.messages import ImagePart

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="9"/></svg>'


def picture(kind="PNG", size=(60, 40), name="", color="red", data=None):
    """Return a picture as a tool gives it; `data` are other bytes than a sound file's."""
    name = name or f"chart.{kind.lower()}"
    return ImagePart(f"image/{kind.lower()}", data or encoded(kind, size, color), name)


def encoded(kind, size=(60, 40), color="red"):
    """Return the file of a picture in one colour."""
    image = QImage(*size, QImage.Format.Format_RGB32)
    image.fill(QColor(color))
    held = QByteArray()
    buffer = QBuffer(held)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert image.save(buffer, kind)
    return bytes(held.data())


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(edge):
    """Return a small PNG which says that it has so many pixels at each edge."""
    header = struct.pack(">IIBBBBB", edge, edge, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1 + 3 * min(edge, 1000)) * 10)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def moving_gif(screen=(10, 8), frames=3, comments=0):
    """Return a GIF of several frames, the first of them red."""
    colors = b"\xff\0\0\0\0\xff"
    start = b"GIF89a" + struct.pack("<HH", *screen) + b"\xf0\0\0" + colors
    comment = b"\x21\xfe\xff" + b"c" * 255 + b"\0"
    whole = b"\x2c" + struct.pack("<HHHH", 0, 0, 1, 1) + b"\0"
    first, other = b"\x02\x02\x44\x01\0", b"\x02\x02\x4c\x01\0"
    shown = (whole + (other if number else first) for number in range(frames))
    control = b"\x21\xf9\x04\0\x0a\0\0\0"
    return start + comment * comments + b"".join(control + one for one in shown) + b";"
