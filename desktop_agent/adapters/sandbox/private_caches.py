"""The caches that commands have of their own, one for each folder that is worked in."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.adapters.sandbox.deleting import delete
from desktop_agent.adapters.sandbox.small_file import read_small
from desktop_agent.core.sandbox import PrivateCache

# Beside what is shown to commands: they never see it.
_WHOSE = "folder"
_BLOCK = 512


class PrivateCaches:
    """The caches below `folder`. What lies in one was written by commands, and may be anything."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, root: str) -> Path:
        """Return the cache of a folder that is worked in, made if need be. Raises OSError."""
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        cache = self._folder / name
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        whose = cache / _WHOSE
        if not whose.exists():
            whose.write_bytes(os.fsencode(root))
        return cache

    def found(self) -> tuple[PrivateCache, ...]:
        """Return the caches that hold something, those first that take most on the disk."""
        caches = [
            PrivateCache(cache.name, read_small(f"{cache}/{_WHOSE}"), size)
            for cache in self._each()
            if (size := sum(map(_size, _shown(cache))))
        ]
        return tuple(sorted(caches, key=lambda cache: -cache.size))

    def empty(self, cache_id: str) -> None:
        """Delete what is in a cache; a command that runs keeps the folders it has there."""
        for cache in self._each():
            if cache.name == cache_id:
                for shown in _shown(cache):
                    _clear(shown)

    def _each(self) -> Iterator[Path]:
        with contextlib.suppress(FileNotFoundError):
            yield from (path for path in self._folder.iterdir() if path.is_dir())


def _shown(cache: Path) -> list[Path]:
    """Return the folders of a cache that commands see: ours, and never links."""
    return [path for path in cache.iterdir() if path.is_dir()]


def _size(folder: Path) -> int:
    """Return the bytes on disk of what is in a folder. No link is followed."""
    total = 0
    for _, folders, files, descriptor in os.fwalk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                state = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                total += state.st_blocks * _BLOCK
    return total


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            # Go makes the folders of what it fetched read-only.
            delete(path)
        else:
            path.unlink(missing_ok=True)
