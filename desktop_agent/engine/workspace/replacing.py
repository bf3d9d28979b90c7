"""Giving a whole new file the name of an old one."""

from __future__ import annotations

import os
import time
from pathlib import Path

_PATIENCE_S, _POLL_S = 1.0, 0.05


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
