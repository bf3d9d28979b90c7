"""What the processes of this computer have open, as far as we may look."""

from __future__ import annotations

import os
from collections.abc import Iterator


def open_in_processes() -> Iterator[tuple[str, str]]:
    """Yield a process's folder in /proc, and what one of its descriptors leads to."""
    for process in _listed("/proc"):
        if process.isdigit():
            folder = f"/proc/{process}/fd"
            for number in _listed(folder):
                yield f"/proc/{process}", target(f"{folder}/{number}")


def target(path: str) -> str:
    """Return what a link leads to, nothing if that can't be told."""
    try:
        return os.readlink(path)  # noqa: PTH115 - thousands of them
    except OSError:
        return ""


def _listed(path: str) -> list[str]:
    try:
        return os.listdir(path)  # noqa: PTH208 - thousands of them
    except OSError:
        return []
