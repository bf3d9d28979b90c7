"""Names that look the same: models write them in one way only, and disks hold others too.

On a Mac an accent is a letter of its own in names that came from there, and the time in the name
of a picture of the screen begins with a narrow space.
"""

from __future__ import annotations

import contextlib
import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core.sandbox import Boundary

_SPACES = re.compile("[\u00a0\u202f]")


def looks(name: str) -> str:
    """Return what is equal for names that look the same."""
    if name.isascii():
        return name
    return _SPACES.sub(" ", unicodedata.normalize("NFC", name))


def find(resolve: Callable[[Boundary, str], Path], boundary: Boundary, path: str) -> Path:
    """Resolve a path; where nothing has that name, the one thing whose name looks the same counts.

    Whether that may be used is judged as for any other. Raises ToolError.
    """
    resolved = resolve(boundary, path)
    if (path.isascii() and " " not in path) or os.path.lexists(resolved):
        return resolved
    spelled = _as_spelled(resolved)
    return resolved if spelled == resolved else resolve(boundary, str(spelled))


def _as_spelled(path: Path) -> Path:
    """Return a path with the names that are there in place of those that only look the same."""
    missing: list[str] = []
    found = path
    while not os.path.lexists(found) and found.parent != found:
        missing.insert(0, found.name)
        found = found.parent
    for at, name in enumerate(missing):
        alike: list[Path] = []
        with contextlib.suppress(OSError):
            alike = [other for other in found.iterdir() if looks(other.name) == looks(name)]
        if len(alike) != 1:
            return Path(found, *missing[at:])
        found = alike[0]
    return found
