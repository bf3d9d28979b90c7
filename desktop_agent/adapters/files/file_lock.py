"""One writer for the database: a lock that the system frees when its process ends."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import time
from pathlib import Path

_log = logging.getLogger(__name__)

_HELD = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
# Windows locks make the bytes they cover unreadable: lock one well past the text.
_LOCKED_BYTE = 1 << 30
_PATIENCE_S = 0.5
# Linux gives each of its own starts a number; elsewhere any start may be another one.
_SYSTEM_START = Path("/proc/sys/kernel/random/boot_id")

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class StoreLocked(Exception):
    """Another running copy of the app holds the file; `pid` is its process, if it said so."""

    def __init__(self, path: Path, pid: int | None) -> None:
        super().__init__(f"{path} is in use by another copy of the app (process {pid or '?'})")
        self.path = path
        self.pid = pid


class FileLock:
    """Holds `path` from construction to `release`; raises StoreLocked when someone else does.

    The file says who holds it. Text left in it by a process that is gone tells that it
    ended without releasing: `was_abandoned`. If `is_same_start` the system has run on since, and
    nothing that was written is missing.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        holder = os.read(self._descriptor, 64).decode("ascii", "replace")
        pid, _, start = holder.partition(" ")
        try:
            self._lock_soon()
        except OSError as error:
            if error.errno in _HELD:
                os.close(self._descriptor)
                raise StoreLocked(path, int(pid) if pid.isdecimal() else None) from None
            # Some network drives know no locks; the app must work there too.
            _log.warning("%s can't be locked: %s", path.name, error)
        self.was_abandoned = bool(holder)
        now = _system_start()
        self.is_same_start = bool(start) and start == now
        self._say_who_holds_it(f"{os.getpid()} {now}".strip().encode())

    def _say_who_holds_it(self, said: bytes) -> None:
        try:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, said)  # before what was there is freed: the disk may be full
            os.ftruncate(self._descriptor, len(said))
        except OSError as error:
            # It is locked all the same; only the words for somebody else are missing.
            _log.warning("nobody can be told who holds the sessions: %s", error)

    def _lock_soon(self) -> None:
        """Lock, with some patience: the last of a killed app's children may still hold it."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return _lock(self._descriptor)
            except OSError as error:
                if error.errno not in _HELD or time.monotonic() > give_up_at:
                    raise
            time.sleep(_PATIENCE_S / 10)

    def release(self, *, is_clean: bool = True) -> None:
        """Release the lock. Unless `is_clean`, the next holder learns that something went wrong."""
        with contextlib.suppress(OSError):
            if is_clean:
                os.ftruncate(self._descriptor, 0)
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def _system_start() -> str:
    """Return what names this start of the system, empty where nothing does."""
    try:
        return _SYSTEM_START.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
