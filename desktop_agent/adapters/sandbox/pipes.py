"""Named pipes that somebody outside has open.

A read-only mount doesn't keep anybody from writing to one. Those that nobody has open can't be
found without reading every folder there is, so they are not looked for.
"""

from __future__ import annotations

import os
import stat
import threading
import time

from desktop_agent.adapters.sandbox.descriptors import open_in_processes
from desktop_agent.adapters.sandbox.mounts import Mounts

# Looking through the descriptors of a desktop takes longer than all the rest of a command, so
# what is known is used for so long, and looked for anew beside the command that used it.
_KEPT_S = 30.0
_FRESH_S = 3.0


class NamedPipes:
    """Knows the named pipes that were open half a minute ago, or since. One thread at a time."""

    def __init__(self) -> None:
        self._found: frozenset[str] = frozenset()
        self._looked_at = -_KEPT_S
        self._looking: threading.Thread | None = None

    def hide(self, mounts: Mounts) -> None:
        """Cover every one that a command could see, but for those in what it may change."""
        age = time.monotonic() - self._looked_at
        if age >= _KEPT_S:
            self._look()
        elif age >= _FRESH_S and (self._looking is None or not self._looking.is_alive()):
            self._looking = threading.Thread(target=self._look, daemon=True)
            self._looking.start()
        for path in self._found:
            if not mounts.is_hidden(path) and not mounts.is_writable(path):
                mounts.hide(path)

    def _look(self) -> None:
        began = time.monotonic()
        self._found = frozenset(path for path in _open_paths() if _is_pipe(path))
        self._looked_at = began


def _open_paths() -> set[str]:
    """Return the paths that any process which we may look at has open."""
    return {held for _, held in open_in_processes() if held.startswith("/")}


def _is_pipe(path: str) -> bool:
    try:
        # Not opened: that would wait, or wake whoever waits at the other end.
        return stat.S_ISFIFO(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
