"""What of the system's settings only root may read: a command that root started sees none of it.

Root is root in the sandbox too, so the modes of files keep nothing from it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import cache

_SETTINGS = "/etc"
_MOST = 200


@cache
def kept_for_root() -> tuple[str, ...]:
    """Return the files and folders that others may not read, as they were when first asked."""
    return tuple(_closed(_SETTINGS))[:_MOST] if os.geteuid() == 0 else ()


def _closed(top: str) -> Iterator[str]:
    for folder, names, files in os.walk(top):
        shut = [name for name in names if _is_closed(f"{folder}/{name}")]
        yield from (f"{folder}/{name}" for name in shut)
        names[:] = [name for name in names if name not in shut]
        yield from (f"{folder}/{name}" for name in files if _is_closed(f"{folder}/{name}"))


def _is_closed(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) and not mode & stat.S_IROTH
