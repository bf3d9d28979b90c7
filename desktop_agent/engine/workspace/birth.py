"""When a file was made, and when it got its name: a moved file is older than its name."""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
from collections.abc import Callable

# A file that was written under another name gets its own within so long as a rule.
_NAMED_AFTER_NS = 10**9
# linux/stat.h
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _STATX_BTIME = -100, 0x100, 0x800
_MASK, _BORN, _BORN_AT = struct.Struct("=I"), struct.Struct("=qI"), 80
# fileapi.h and winbase.h: FILE_BASIC_INFO, its four times in 100 ns since 1601.
_READ_ATTRIBUTES, _SHARED_BY_ALL, _OPEN_EXISTING, _AS_IT_IS = 0x80, 7, 3, 0x02200000
_BASIC_INFO, _TIMES = 0, struct.Struct("=4qI4x")
_UNTIL_1970 = 116_444_736_000_000_000


def is_named_late(path: bytes, made_ns: int, status: os.stat_result) -> bool:
    """Whether something got its name long after it was made.

    By its birth alone all would seem old where the clock of a server is behind ours.
    """
    # On Windows `ctime` is the birth.
    named_ns = _changed_ns(path) if sys.platform == "win32" else status.st_ctime_ns
    return named_ns - made_ns > _NAMED_AFTER_NS


def born_ns(path: bytes, status: os.stat_result) -> int | None:
    """Return when a file was made, in nanoseconds since 1970; None where nobody knows."""
    if sys.platform == "linux":
        return _statx_born_ns(path)
    return int(getattr(status, "st_birthtime", status.st_ctime) * 1e9)


def _statx_born_ns(path: bytes) -> int | None:
    call, found = _statx(), ctypes.create_string_buffer(256)
    if call is None or call(_AT_FDCWD, path, _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, found):
        return None
    (known,) = _MASK.unpack_from(found)
    seconds, nanoseconds = _BORN.unpack_from(found, _BORN_AT)
    return seconds * 10**9 + nanoseconds if known & _STATX_BTIME else None


@functools.cache
def _statx() -> Callable[[int, bytes, int, int, ctypes.Array[ctypes.c_char]], int] | None:
    return getattr(ctypes.CDLL(None), "statx", None)


def _changed_ns(path: bytes) -> int:
    """Return when a file or its name was changed on Windows; 0 for one that can't be opened."""
    assert sys.platform == "win32"
    kernel = ctypes.WinDLL("kernel32")
    kernel.CreateFileW.restype = ctypes.c_void_p
    handle = kernel.CreateFileW(
        os.fsdecode(path), _READ_ATTRIBUTES, _SHARED_BY_ALL, None, _OPEN_EXISTING, _AS_IT_IS, None
    )
    if handle == ctypes.c_void_p(-1).value:
        return 0
    held, found = ctypes.c_void_p(handle), ctypes.create_string_buffer(_TIMES.size)
    try:
        if not kernel.GetFileInformationByHandleEx(held, _BASIC_INFO, found, _TIMES.size):
            return 0
    finally:
        kernel.CloseHandle(held)
    return (_TIMES.unpack(found)[3] - _UNTIL_1970) * 100
