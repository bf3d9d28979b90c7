"""Which process ids were given out since a moment (Linux): looking at the rest is not needed.

Ids are given out in order and begin again at the limit, threads' included; see proc(5) on
`/proc/loadavg` (the last id) and `/proc/stat` (`processes`, the count since the start).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

# Low ids are not given out again after the first round.
_LOWEST = 300


class Moment(msgspec.Struct, frozen=True):
    """How far the ids had come."""

    last_id: int
    count: int
    limit: int


def moment() -> Moment | None:
    """Return the present moment; None where it is not available."""
    try:
        last_id = int(Path("/proc/loadavg").read_bytes().split()[-1])
        counted = Path("/proc/stat").read_bytes().partition(b"\nprocesses ")[2]
        limit = int(Path("/proc/sys/kernel/pid_max").read_bytes())
        return Moment(last_id, int(counted.split(maxsplit=1)[0]), limit)
    except (OSError, ValueError, IndexError):
        return None


def may_be_newer(pid: int, since: Moment | None, now: Moment | None) -> bool:
    """Whether the id may have been given out between the two moments; in doubt it may."""
    if since is None or now is None or now.limit != since.limit:
        return True
    # A whole round may have passed: every id may be new.
    if now.count - since.count >= since.limit - _LOWEST or now.last_id == since.last_id:
        return now.count != since.count
    if since.last_id < now.last_id:
        return since.last_id < pid <= now.last_id
    return pid > since.last_id or pid <= now.last_id
