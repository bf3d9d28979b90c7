"""Sockets with a path that somebody outside listens on.

A network namespace doesn't cover them: whoever sees the file can connect.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from desktop_agent.adapters.sandbox.mounts import Mounts

_LISTED = Path("/proc/net/unix")
# Seven fields, then the path; what begins with "@" is no file.
_PATH = re.compile(r"^(?:[^ \n]+ +){7}(/.*)$", re.MULTILINE)


def hide_sockets(mounts: Mounts) -> None:
    """Cover every socket that a command could see."""
    for path in _listed():
        if not mounts.is_hidden(path):
            mounts.hide(path)


def _listed() -> set[str]:
    """Return the real paths of the sockets of this network that are files."""
    paths = set(_PATH.findall(os.fsdecode(_LISTED.read_bytes())))
    return {os.path.realpath(path) for path in paths if _is_socket(path)}


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116 - for each command
    except (OSError, ValueError):
        return False
