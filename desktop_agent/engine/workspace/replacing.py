"""Giving a whole new file the name of an old one."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

_TEMPORARY = re.compile(rb"\.[0-9a-f]{16}\.tmp")
_PATIENCE_S, _POLL_S = 1.0, 0.05


def temporary_name() -> str:
    """Return the name of a file that a tool writes beside the one it replaces."""
    return f".{os.urandom(8).hex()}.tmp"


def is_temporary(name: bytes) -> bool:
    """Whether a file is there only until it gets its name."""
    return name.endswith(b".tmp") and _TEMPORARY.fullmatch(name) is not None


def replace(temporary: Path | bytes, target: Path | bytes) -> None:
    """Rename over what is there. On Windows whoever reads that is waited for a moment.

    Scanners and synchronizing programs there open each new file, and nobody may replace it then.
    Raises OSError.
    """
    give_up_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            os.replace(temporary, target)  # noqa: PTH105 - also of names in bytes
        except PermissionError:
            if os.name != "nt" or os.path.isdir(target) or time.monotonic() > give_up_at:  # noqa: PTH112
                raise
        else:
            return
        time.sleep(_POLL_S)
