"""How much the kept outputs may take, and which of them go first to make room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

_MB = 1_000_000


class Limits(msgspec.Struct, frozen=True):
    """The most bytes of one file, of a session's files and of all files."""

    file: int = 100 * _MB
    session: int = 250 * _MB
    total: int = 1_000 * _MB


class _Entry(msgspec.Struct):
    folder: str
    size: int
    is_open: bool


class Quota:
    """Counts files by folder, oldest first. `delete` removes one and tells whether it is gone."""

    def __init__(self, limits: Limits, delete: Callable[[Path], bool]) -> None:
        self._limits = limits
        self._delete = delete
        self._entries: dict[Path, _Entry] = {}
        self._used: Counter[str] = Counter()

    def add(self, path: Path, folder: str, size: int, *, is_open: bool) -> None:
        """Count a file, as the newest. One that is being written is not deleted for others."""
        self._entries[path] = _Entry(folder, size, is_open)
        self._used[folder] += size

    def grow(self, path: Path, count: int) -> None:
        """Count bytes that were written to a file."""
        if (entry := self._entries.get(path)) is not None:
            entry.size += count
            self._used[entry.folder] += count

    def close(self, path: Path) -> None:
        """From now on the file may be deleted for others."""
        if (entry := self._entries.get(path)) is not None:
            entry.is_open = False

    def forget(self, path: Path) -> None:
        """Count a file no longer."""
        if (entry := self._entries.pop(path, None)) is not None:
            self._used[entry.folder] -= entry.size

    def forget_folder(self, folder: str) -> None:
        """Count none of a folder's files any longer."""
        self._entries = {p: entry for p, entry in self._entries.items() if entry.folder != folder}
        del self._used[folder]

    def room(self, path: Path, wanted: int) -> int:
        """Return how many of `wanted` bytes the file may take, deleting the oldest for it."""
        entry = self._entries.get(path)
        if entry is None:
            return 0
        wanted = min(wanted, self._limits.file - entry.size)
        wanted = self._make_room(wanted, self._limits.session, entry.folder)
        return max(0, self._make_room(wanted, self._limits.total, None))

    def _make_room(self, wanted: int, limit: int, folder: str | None) -> int:
        """Return what of `wanted` fits under a limit: of one folder, or with None of all."""
        free = limit - (self._used.total() if folder is None else self._used[folder])
        if free >= wanted:
            return wanted
        for path, entry in list(self._entries.items()):
            is_counted = folder is None or entry.folder == folder
            if is_counted and not entry.is_open and self._delete(path):
                self.forget(path)
                free += entry.size
                if free >= wanted:
                    return wanted
        return free
