"""What an agent has read, so that it can't overwrite what it has not seen."""

from __future__ import annotations

from pathlib import Path


class FilesSeen:
    """Digests by resolved path; one for each agent, empty again after a restart.

    One that `goes_on` has a history, from which it may know files whose digests nobody has.
    """

    def __init__(self, *, goes_on: bool = False) -> None:
        self._digests: dict[Path, str] = {}
        self._goes_on = goes_on

    def remember(self, path: Path, digest: str) -> None:
        """Note the content the agent has seen (hex SHA-256)."""
        self._digests[path] = digest

    def digest_of(self, path: Path) -> str | None:
        """Return the digest last seen, or None when the file was never read."""
        return self._digests.get(path)

    def is_forgotten(self, path: Path) -> bool:
        """Whether the agent may have seen the file, and nobody knows any more what it held."""
        return self._goes_on and path not in self._digests
