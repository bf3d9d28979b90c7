"""The bounds of what a command can make the guard hold, and for how long."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Times in seconds, sizes in bytes.

    `granted_s` is how long a permission waits for a client that gave up and tries again.
    `connections` and `questions` are for each session, `all_connections` for all together.
    """

    head: int = 16 * 1024
    headers: int = 100
    chunk_line: int = 4096
    head_s: float = 30.0
    question_s: float = 120.0
    granted_s: float = 60.0
    connect_s: float = 15.0
    idle_s: float = 900.0
    linger_s: float = 2.0
    connections: int = 256
    all_connections: int = 1024
    questions: int = 64
