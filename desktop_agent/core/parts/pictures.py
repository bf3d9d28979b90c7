"""Kinds of pictures, told by how a file begins: its name may say anything."""

from __future__ import annotations

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def picture_type(start: bytes) -> str:
    """Return the media type by the first 12 bytes; empty for what models are not sent."""
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _SIGNATURES if start.startswith(magic)), "")


def whole_picture_type(content: bytes) -> str:
    """Return the media type of a file that is a picture to its end; empty for any other.

    Told by its frame, nothing is decoded. A provider refuses a request with a picture that it
    can't read, and each later one with it.
    """
    kind = picture_type(content[:12])
    return kind if kind and _IS_WHOLE[kind](content) else ""


def _is_whole_png(content: bytes) -> bool:
    has_size = any(content[16:20]) and any(content[20:24])
    # A checksum follows.
    is_ended = 0 < content.rfind(b"IEND") <= len(content) - 8
    return content[12:16] == b"IHDR" and has_size and is_ended


def _is_whole_jpeg(content: bytes) -> bool:
    return content.rfind(b"\xff\xd9") > 0


def _is_whole_gif(content: bytes) -> bool:
    has_size = any(content[6:8]) and any(content[8:10])
    if len(content) < 14 or not has_size:
        return False
    colors = 3 << ((content[10] & 7) + 1) if content[10] & 0x80 else 0
    # An extension or an image, and the sign of the end.
    return content[13 + colors : 14 + colors] in (b"!", b",") and content.rfind(b";") > 13 + colors


def _is_whole_webp(content: bytes) -> bool:
    length = int.from_bytes(content[4:8], "little")
    return content[12:16] in (b"VP8 ", b"VP8L", b"VP8X") and 8 + length <= len(content)


_IS_WHOLE = {
    "image/png": _is_whole_png,
    "image/jpeg": _is_whole_jpeg,
    "image/gif": _is_whole_gif,
    "image/webp": _is_whole_webp,
}
