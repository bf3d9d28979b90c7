"""Reading a small file of a folder that may be hostile: it never waits, and never fills memory."""

from __future__ import annotations

import os
import stat

LARGEST = 256 * 1024


def read_small(path: str, *, follows: bool = True) -> str:
    """Return the text of a regular file, nothing where there is none, or a larger one.

    Bytes that are not UTF-8 come as os.fsdecode gives them, a zero byte as a character that no
    path can be understood by, instead of one that looking up a path fails with.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        try:
            held = file.read(LARGEST + 1)
        except OSError:
            return ""
    return os.fsdecode(held).replace("\0", "\ufffd") if len(held) <= LARGEST else ""
