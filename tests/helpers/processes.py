"""Processes that commands start, what this one has open, and git as a person runs it.

Those in the sandbox have ids of their own there.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

_IDS = re.compile(r"^NSpid:.*\b(\d+)$", re.MULTILINE)


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Me", "-c", "user.email=me@example.org")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def pid_here(inner: int, folder: Path) -> int:
    """Return the id that we know a process by which calls itself `inner` and began in a folder."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            found = _IDS.search(status.read_text())
            began_there = f"PWD={folder}\0".encode() in (status.parent / "environ").read_bytes()
        except OSError:
            continue  # it ended, or is somebody else's
        if found and int(found[1]) == inner and began_there:
            return int(status.parent.name)
    raise LookupError(f"no process in {folder} calls itself {inner}")


def open_files() -> set[str]:
    """Return what this process has open now, on Linux; a pipe or a socket has a name of its own.

    What another test left may be closed at any time: what is new is what counts.
    """
    found: set[str] = set()
    for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208 - strings
        with suppress(FileNotFoundError):  # that of the list itself
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115
    return found
