"""What a file carries besides its mode: who else may use it, and what programs wrote about it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Callable, Mapping

_ACCESS = "system.posix_acl_access"
# Capabilities hold for one content; the kernel takes them away with it, too.
_NOTES = "user."
_LONGEST_NOTES = 64 * 1024  # of all that is held of a file for a moment
_KEPT = (_NOTES, _ACCESS, "security.selinux")

# copyfile.h of macOS
_COPY_ACL, _COPY_XATTR = 1 << 0, 1 << 2


def keep_attributes(old: int, new: int) -> None:
    """Give the open file `new` what the open file `old` carries, as far as the system allows it.

    Its list of who may use it is taken away where `old` has none: folders hand theirs down, and
    the mode alone would mean something else with it.
    """
    if sys.platform == "darwin" and (copy := _fcopyfile()) is not None:
        copy(old, new, None, _COPY_ACL | _COPY_XATTR)  # tags and comments of the Finder too
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError):
        names = {name for name in os.listxattr(old) if name.startswith(_KEPT)}
        for name in names:
            with contextlib.suppress(OSError):
                os.setxattr(new, name, os.getxattr(old, name))
        if _ACCESS not in names:
            os.removexattr(new, _ACCESS)


def notes_on(path: bytes) -> dict[str, bytes]:
    """Return what programs wrote about a file or link; nothing where that is much, or not Linux."""
    found: dict[str, bytes] = {}
    if sys.platform != "linux":
        return found
    with contextlib.suppress(OSError):
        for name in os.listxattr(path, follow_symlinks=False):
            if name.startswith(_NOTES):
                found[name] = os.getxattr(path, name, follow_symlinks=False)
    return found if sum(map(len, found.values())) <= _LONGEST_NOTES else {}


def put_notes(descriptor: int, notes: Mapping[str, bytes]) -> None:
    """Write this about an open file, as far as its disk keeps it."""
    for name, value in notes.items() if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            os.setxattr(descriptor, name, value)


@functools.cache
def _fcopyfile() -> Callable[[int, int, None, int], int] | None:
    """Return what copies them on macOS, where Python has no calls for that."""
    return getattr(ctypes.CDLL(None), "fcopyfile", None)
