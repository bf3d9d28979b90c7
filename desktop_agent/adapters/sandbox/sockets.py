"""Sockets with a path that somebody outside listens on.

A network namespace doesn't cover them: whoever sees the file can connect.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.adapters.sandbox.descriptors import open_in_processes, target
from desktop_agent.adapters.sandbox.mounts import Mounts

_LISTED = Path("/proc/net/unix")
# Six fields, an inode, then the name it was bound to; what begins with "@" is no file.
_NAMED = re.compile(r"^(?:[^ \n]+ +){6}([0-9]+) ([^@\n][^\n]*)$", re.MULTILINE)


class BoundSockets:
    """Knows the sockets of this network that are files. One thread at a time."""

    def __init__(self) -> None:
        # To look at all descriptors takes long: each socket is looked for once.
        self._places: dict[str, str] = {}

    def hide(self, mounts: Mounts) -> None:
        """Cover every socket that a command could see."""
        for name in self._names():
            for path in _files(name, mounts):
                if not mounts.is_hidden(path):
                    mounts.hide(path)

    def _names(self) -> set[str]:
        """Return the absolute paths that sockets were bound to."""
        listed: dict[str, str] = dict(_NAMED.findall(os.fsdecode(_LISTED.read_bytes())))
        relative = {inode: name for inode, name in listed.items() if not name.startswith("/")}
        places = {inode: self._places[inode] for inode in relative if inode in self._places}
        if unknown := relative.keys() - places:
            places |= dict.fromkeys(unknown, "") | _folders_of(unknown)
        self._places = places
        bound = {name for name in listed.values() if name.startswith("/")}
        return bound | {f"{place}/{relative[inode]}" for inode, place in places.items() if place}


def _folders_of(inodes: set[str]) -> dict[str, str]:
    """Return the folders that names are relative to: where those who have the sockets work."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found = ((wanted[held], process) for process, held in open_in_processes() if held in wanted)
    return {inode: target(f"{process}/cwd") for inode, process in found}


def _files(name: str, mounts: Mounts) -> Iterator[str]:
    """Yield the sockets that a name may stand for: whoever bound it may have renamed it since."""
    if _is_socket(name):
        yield os.path.realpath(name)
        return
    folder = os.path.realpath(os.path.dirname(name))  # noqa: PTH120 - for each command
    if mounts.is_hidden(folder):
        return
    try:
        names = os.listdir(folder)  # noqa: PTH208 - for each command
    except OSError:
        return
    yield from (path for path in (f"{folder}/{one}" for one in names) if _is_socket(path))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116 - for each command
    except (OSError, ValueError):
        return False
