"""Junctions of Windows: folders that lead elsewhere, and that Python takes for plain ones."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable


def is_junction(status: os.stat_result) -> bool:
    """Whether what `lstat` tells of a folder is that it is a junction."""
    return sys.platform == "win32" and status.st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT


def without_junctions(folder: str, names: Iterable[str]) -> list[str]:
    """Return those of the folders in a folder that are entered: a walk takes them from `os.walk`.

    npm makes junctions to packages of the same project, where a walk would go round and round;
    others lead out of the workspace.
    """
    if sys.platform != "win32":
        return list(names)
    return [name for name in names if not _is_junction_at(os.path.join(folder, name))]  # noqa: PTH118


def _is_junction_at(path: str) -> bool:
    try:
        return is_junction(os.lstat(path))
    except OSError:
        return False
