"""Deleting what commands wrote: they may have closed folders, to us as well."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path


def open_up(folder: int) -> None:
    """Let the owner list, enter and change a folder; the descriptor may be one that only names it.

    Raises OSError.
    """
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    # Through O_PATH no mode is changed but by this path.
    os.chmod(f"/proc/self/fd/{folder}", mode | stat.S_IRWXU)  # noqa: PTH101


def delete(folder: Path) -> None:
    """Delete a folder of ours with all in it, as far as that is possible; no link is followed."""
    _open_up_at(str(folder), None)
    with contextlib.suppress(OSError):  # there may be none
        for _, names, _, descriptor in os.fwalk(folder):
            for name in names:  # before they are looked into
                _open_up_at(name, descriptor)
    shutil.rmtree(folder, ignore_errors=True)


def _open_up_at(name: str, folder: int | None) -> None:
    # Looked up here: other systems load this module too, and have no such flags.
    named = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        inner = os.open(name, named, dir_fd=folder)
        try:
            open_up(inner)
        finally:
            os.close(inner)
