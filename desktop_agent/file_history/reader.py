"""Reading what lies in a folder into the history, within the bounds of what is kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from desktop_agent.core.changes import FileState, UndoError
from desktop_agent.file_history.history import History
from desktop_agent.file_history.listing import CLOCK_NS, entry_of, open_file
from desktop_agent.file_history.packs import LARGEST_COPY
from desktop_agent.file_history.values import MEGABYTE, Entry, HistoryFull

# Larger files are named, and what git ignores from a smaller size on.
LARGEST = 128 * MEGABYTE
LARGEST_IGNORED = MEGABYTE
_TRIES = 3
# winnt.h: FILE_ATTRIBUTE_OFFLINE, _RECALL_ON_OPEN, _RECALL_ON_DATA_ACCESS
_OFFLINE = 0x1000 | 0x40000 | 0x400000
# sys/stat.h of macOS
_DATALESS = 0x40000000


class Reader:
    """Keeps the bytes of files. `stopped` says why it does not any more, empty while it does."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.stopped = ""
        # Until one can't: whether what is too large to be copied is kept all the same.
        self._can_clone = True

    def is_kept(self, found: Entry, is_ignored: Callable[[], bool]) -> bool:
        """Whether the content of such an entry is kept."""
        if found.kind == "link":
            return True
        if found.kind != "file" or found.size > self._largest:
            return False
        return found.size <= LARGEST_IGNORED or not is_ignored()

    def read(self, root: int, path: bytes, relative: bytes, found: Entry) -> Entry:
        """Return the entry with its digest, its bytes kept; as it is where that is impossible."""
        try:
            if found.kind == "link":
                target = os.readlink(path)  # noqa: PTH115 - bytes
                return found._replace(digest=self._hold(target), is_held=True)
            return self._read_file(root, path, relative, found)
        except HistoryFull as full:
            self.stopped = str(full)
        except (OSError, UndoError):
            pass  # it can't be read, or doesn't stay the same long enough
        return found

    def _hold(self, content: bytes) -> str:
        digest = self._history.hold(content)
        self.stopped = ""
        return digest

    def _read_file(self, root: int, path: bytes, relative: bytes, found: Entry) -> Entry:
        for tries_left in reversed(range(_TRIES)):
            descriptor = open_file(root, path, relative)
            try:
                status = os.fstat(descriptor)
                now = entry_of(status, status.st_dev)
                if now.kind != "file" or now.size > self._largest or _is_online_only(status):
                    return found
                digest = self._digest(descriptor, now.size)
                self.stopped = ""
                return now._replace(digest=digest, is_held=True) if digest else found
            except HistoryFull:
                raise
            except UndoError:
                if not tries_left:
                    raise
            finally:
                os.close(descriptor)
        return found

    @property
    def _largest(self) -> int:
        return LARGEST if self._can_clone else LARGEST_COPY

    def _digest(self, descriptor: int, size: int) -> str:
        """Keep the bytes of an open file; returns their digest, empty if they are not kept."""
        if size <= LARGEST_COPY:
            return self._history.hold_file(descriptor, size)
        try:
            return self._history.clone_file(descriptor)
        except HistoryFull:
            raise
        except UndoError:
            self._can_clone = False
            raise


def is_fresh(entry: Entry) -> bool:
    """Whether an entry that was read just now may change again and look the same."""
    return time.time_ns() - max(entry.mtime_ns, entry.ctime_ns) < CLOCK_NS


def is_unsure(entry: Entry) -> bool:
    """Whether an entry of the last run of the app was unread when that ended."""
    return entry.kind in ("file", "link") and not entry.digest and entry.mtime_ns == 0


def state_of(entry: Entry | None) -> FileState:
    """Return what was at a path, for a change set."""
    if entry is None:
        return FileState()
    size = entry.size if entry.kind in ("file", "link") else 0
    return FileState(entry.kind, entry.mode, size, entry.digest, entry.is_held)


def is_other(old: Entry | None, new: Entry | None) -> bool:
    """Whether the difference of two entries is one that matters."""
    if old is None or new is None:
        return old is not new
    if old[:2] != new[:2]:
        return True
    if old.kind not in ("file", "link"):
        return old.is_held != new.is_held
    if old.digest and new.digest:
        return old.digest != new.digest
    # Files of one size that were written within one tick of the clock differ by their inode alone.
    return (old.size, old.mtime_ns, old.ino) != (new.size, new.mtime_ns, new.ino)


def _is_online_only(status: os.stat_result) -> bool:
    """Whether only a name of the file is here, as of OneDrive, iCloud and their like.

    Reading all of those in a folder would fill the disk, and wait for the network.
    """
    attributes = getattr(status, "st_file_attributes", 0)
    return bool(attributes & _OFFLINE or getattr(status, "st_flags", 0) & _DATALESS)
