"""A private folder for as long as it is used, whatever ends the process."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.adapters.files.file_lock import FileLock, StoreLocked

_LOCK = ".in-use"
_BEING_MADE_S = 60.0


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a folder and delete it at the end; those of processes that were killed go first."""
    _delete_abandoned(prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        lock = FileLock(Path(name) / _LOCK)
        try:
            yield Path(name)
        finally:
            lock.release()


def _delete_abandoned(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError, StoreLocked):
            is_new = folder.lstat().st_mtime > time.time() - _BEING_MADE_S
            lock = folder / _LOCK
            if is_new or folder.is_symlink() or lock.is_symlink() or not lock.is_file():
                continue
            # Whoever uses it holds the lock; the folder of another user can't be opened.
            FileLock(lock).release()
            shutil.rmtree(folder, ignore_errors=True)
