"""What an agent has read, so that it can't overwrite what it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from desktop_agent.core.messages import Message


class FilesSeen:
    """Digests by resolved path; one for each agent, empty again after a restart.

    What was seen before it, in `history`, is known by the time of the last look alone.
    """

    def __init__(self, history: Sequence[Message] = ()) -> None:
        self._digests: dict[Path, str] = {}
        looks = (message.created_at for message in history if message.role == "tool")
        self._looked_at = max(looks, default=history[-1].created_at) if history else None

    def remember(self, path: Path, digest: str) -> None:
        """Note the content the agent has seen (hex SHA-256)."""
        self._digests[path] = digest

    def digest_of(self, path: Path) -> str | None:
        """Return the digest last seen, or None when the file was never read."""
        return self._digests.get(path)

    def is_outdated(self, path: Path, written_at: float) -> bool:
        """Whether a file was written (seconds since 1970) after the agent may have seen it."""
        is_unknown = self._looked_at is None or path in self._digests
        return not is_unknown and written_at > (self._looked_at or 0)
