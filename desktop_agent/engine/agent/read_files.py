"""What an agent has read, so that it can't overwrite what it has not seen."""

from __future__ import annotations

from pathlib import Path


class FilesSeen:
    """Digests by resolved path; one for each agent, empty again after a restart."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}

    def remember(self, path: Path, digest: str) -> None:
        """Note the content the agent has seen (hex SHA-256)."""
        self._digests[path] = digest

    def digest_of(self, path: Path) -> str | None:
        """Return the digest last seen, or None when the file was never read."""
        return self._digests.get(path)
