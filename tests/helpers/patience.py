"""How long a test waits for what must come: as long as it takes; and how often it tries a thing.

A machine may be slow, so no test is decided by time. The one limit only gives a hang a name, and
ends it; nothing that works needs a hundredth of it.
"""

from __future__ import annotations

import os

HANG_S = 900.0
HANG_MS = 900_000


def tries(few: int, promised: int) -> int:
    """Return `few`, which the suite has time for; with `IN_FULL=1` as many as were promised."""
    return promised if os.environ.get("IN_FULL") else few
