"""Reading what lies in a folder into the history, within the bounds of what is kept."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable

from desktop_agent.core.changes import FileState, UndoError
from desktop_agent.file_history.history import History
from desktop_agent.file_history.listing import entry_of, open_file
from desktop_agent.file_history.values import MEGABYTE, Entry, HistoryFull

# Larger files are named, and what git ignores from a smaller size on.
LARGEST = 16 * MEGABYTE
LARGEST_IGNORED = MEGABYTE
# A file system's clock may stand still for so long: what changed just before it was read can
# change again and look the same.
_CLOCK_NS = 20_000_000
_TRIES = 3


class Reader:
    """Keeps the bytes of files. `stopped` says why it does not any more, empty while it does."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.stopped = ""

    def is_kept(self, found: Entry, is_ignored: Callable[[], bool]) -> bool:
        """Whether the content of such an entry is kept."""
        if found.kind == "link":
            return True
        if found.kind != "file" or found.size > LARGEST:
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
                if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                    return found
                digest = self._history.hold_file(descriptor, status.st_size)
                self.stopped = ""
            except HistoryFull:
                raise
            except UndoError:
                if not tries_left:
                    raise
            else:
                return entry_of(status, status.st_dev)._replace(digest=digest, is_held=True)
            finally:
                os.close(descriptor)
        return found


def is_fresh(entry: Entry) -> bool:
    """Whether an entry that was read just now may change without a sign of it."""
    return time.time_ns() - max(entry.mtime_ns, entry.ctime_ns) < _CLOCK_NS


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
    return (old.size, old.mtime_ns) != (new.size, new.mtime_ns)
