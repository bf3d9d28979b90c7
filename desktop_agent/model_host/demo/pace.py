"""How slowly the demo model works: at leisure for a person who watches, or quickly."""

from __future__ import annotations

import os

# `slow` is for a person, and set by the start of a window unless the person set it to something
# else; all else is quick: runs without a window, `--demo-run`, tests.
VARIABLE = "DESKTOP_AGENT_DEMO_PACE"
_QUICK = 0.12


def seconds(leisurely: float) -> float:
    """Return how long a pause is at the pace that holds."""
    return leisurely if os.environ.get(VARIABLE) == "slow" else leisurely * _QUICK
