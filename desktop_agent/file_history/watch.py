"""Which folders changed, as Linux tells it (inotify): a look needs to list no others."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
import sys

# linux/inotify.h
_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED, _ONLY_FOLDERS = 0x4000, 0x8000, 0x1000000
_NO_LINKS, _IS_FOLDER = 0x2000000, 0x40000000
_WANTED = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_HEAD = struct.Struct("iIII")
_READ_SIZE = 1 << 20


class Watch:
    """Watches folders by their paths. Raises OSError where that is impossible."""

    def __init__(self) -> None:
        if not sys.platform.startswith("linux"):
            raise OSError(errno.ENOSYS, "this system does not tell of changes")
        self._descriptor = _checked(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._folders: dict[int, bytes] = {}

    def add(self, path: bytes, name: bytes) -> None:
        """Watch a folder, which is called `name` from now on; one that has gone is left out."""
        flags = _WANTED | _ONLY_FOLDERS | _NO_LINKS
        try:
            number = _checked(_libc().inotify_add_watch(self._descriptor, path, flags))
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.ENOMEM}:
                raise
            return  # it can't be listed either, or its parent is listed again
        self._folders[number] = name

    def changed(self) -> set[bytes] | None:
        """Return the names of folders in which something changed since the last call.

        None where that is not known: there was too much, or a folder was moved with all names.
        """
        found: set[bytes] = set()
        is_known = True
        while events := self._read():
            at = 0
            while at < len(events):
                number, mask, _, length = _HEAD.unpack_from(events, at)
                at += _HEAD.size + length
                is_moved = mask & _IS_FOLDER and mask & (_MOVED_FROM | _MOVED_TO)
                if mask & _OVERFLOW or is_moved:
                    is_known = False
                if mask & _IGNORED:
                    self._folders.pop(number, None)
                elif number in self._folders:
                    found.add(self._folders[number])
        return found if is_known else None

    def close(self) -> None:
        """Watch nothing any more."""
        os.close(self._descriptor)

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _READ_SIZE)
        except BlockingIOError:
            return b""


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
