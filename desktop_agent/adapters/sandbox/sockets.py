"""Sockets with a path that somebody outside listens on.

A network namespace doesn't cover them: whoever sees the file can connect.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from desktop_agent.adapters.sandbox.mounts import Mounts

_LISTED = Path("/proc/net/unix")
_PATH_FIELD = 7


def hide_sockets(mounts: Mounts) -> None:
    """Cover every socket that a command could see."""
    for path in _listed():
        if not mounts.is_hidden(path):
            mounts.hide(path)


def _listed() -> set[str]:
    """Return the real paths of the sockets of this network that are files."""
    text = os.fsdecode(_LISTED.read_bytes())
    fields = (line.split(maxsplit=_PATH_FIELD) for line in text.splitlines()[1:])
    paths = {row[_PATH_FIELD] for row in fields if len(row) > _PATH_FIELD}
    return {os.path.realpath(path) for path in paths if path.startswith("/") and _is_socket(path)}


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False
