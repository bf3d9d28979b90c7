"""Draws the app's icon in all sizes, and as .ico and .icns, from the two SVGs beside them.

    QT_QPA_PLATFORM=offscreen python packaging/icons.py [FOLDER]

The files are committed: run this after a change of the drawings. The small drawing is on a grid
of 16 pixels, for sizes at which the other one's curves would blur.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

PLACE = Path(__file__).resolve().parent.parent / "resources" / "app-icon"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
_SMALL = 32
_ICO = (16, 24, 32, 48, 64, 256)
# Apple's names for a PNG of this size; the later ones are the double resolution of half of it.
_ICNS = (("icp4", 16), ("icp5", 32), ("ic07", 128), ("ic08", 256), ("ic09", 512),
         ("ic11", 32), ("ic12", 64), ("ic13", 256), ("ic14", 512), ("ic10", 1024))  # fmt: skip


def png(size: int, place: Path = PLACE) -> bytes:
    """Return the icon as a PNG."""
    name = "desktop-agent-small.svg" if size <= _SMALL else "desktop-agent.svg"
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(str(place / name)).render(painter)
    painter.end()
    bytes_ = QByteArray()
    buffer = QBuffer(bytes_)
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes_.data()


def ico(images: dict[int, bytes]) -> bytes:
    """Return Windows' container of icons."""
    offset = 6 + 16 * len(images)
    head, body = struct.pack("<HHH", 0, 1, len(images)), b""
    for size, image in images.items():
        edge = size % 256  # 0 stands for 256
        head += struct.pack("<BBBBHHII", edge, edge, 0, 0, 1, 32, len(image), offset + len(body))
        body += image
    return head + body


def icns(images: list[tuple[str, bytes]]) -> bytes:
    """Return Apple's container of icons."""
    body = b"".join(
        name.encode() + struct.pack(">I", len(image) + 8) + image for name, image in images
    )
    return b"icns" + struct.pack(">I", len(body) + 8) + body


def main() -> None:
    """Write all files."""
    target = Path(sys.argv[1]) if sys.argv[1:] else PLACE
    app = QGuiApplication(sys.argv[:1])
    for size in SIZES:
        (target / f"{size}.png").write_bytes(png(size))
    (target / "desktop-agent.ico").write_bytes(ico({size: png(size) for size in _ICO}))
    (target / "desktop-agent.icns").write_bytes(icns([(n, png(size)) for n, size in _ICNS]))
    del app


if __name__ == "__main__":
    main()
