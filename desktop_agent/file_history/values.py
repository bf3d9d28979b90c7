"""What the file history is given and gives back, beside the values of core/changes.py."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from desktop_agent.core.changes import FileKind, FileState, UndoError

MEGABYTE = 1 << 20
GIGABYTE = 1 << 30


class HistoryFull(UndoError):
    """Nothing more can be kept; the text says why, in words for a person."""


class Entry(NamedTuple):
    """What was at a path at the last look; `digest` is empty where it was not read.

    `mode` are permission bits, the times nanoseconds. A folder that is not held is one that is not
    looked into.
    """

    kind: FileKind
    mode: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    ino: int = 0
    digest: str = ""
    is_held: bool = False


class PathChange(msgspec.Struct, frozen=True):
    """One path that changed; `path` is absolute and real: it leads over no link.

    The bytes of a file, and of a link's target, were held before, or `is_held` is False.
    """

    path: bytes
    before: FileState
    after: FileState


def free_space(folder: Path) -> int:
    """Return how many bytes are free where the folder lies."""
    return shutil.disk_usage(folder).free


class Limits(msgspec.Struct, frozen=True):
    """How much is kept: sizes in bytes, `age` and `grace` in seconds.

    In all it is `total`, or `share` of what would be free without it if that is less. Nothing is
    kept while less than `reserve` is free. `largest` is the largest file that an undo takes away,
    as it has to be kept itself; files too large to be copied take `cloned` at most. What nothing
    refers to is kept for `grace`: it may be about to be
    recorded.
    """

    folder: int = 2 * GIGABYTE
    total: int = 10 * GIGABYTE
    share: float = 0.1
    reserve: int = GIGABYTE
    age: float = 30 * 86400.0
    pack: int = 64 * MEGABYTE
    largest: int = 256 * MEGABYTE
    cloned: int = GIGABYTE
    grace: float = 3600.0
    free: Callable[[Path], int] = free_space
    clock: Callable[[], float] = time.time
