"""What models call the tools of servers: names that every provider takes, each of one tool."""

from __future__ import annotations

import re

from desktop_agent.engine.base.digests import sha256

LONGEST = 64
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_MARK = 8
_OF_SERVER = 24


class Names:
    """Gives each tool one name, the same as long as the app runs.

    `mcp__SERVER__TOOL`, and where that is too long or another's already, its beginning with a few
    digits of a digest.
    """

    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, str, str]] = {}

    def of(self, server: str, tool: str, where: str = "") -> str:
        """Return the name of a server's tool; `where` is the folder that brings the server."""
        key = (where, server, tool)
        plain = f"mcp__{_UNFIT.sub('_', server)[:_OF_SERVER]}__{_UNFIT.sub('_', tool)}"
        is_whole = len(plain) <= LONGEST and len(server) <= _OF_SERVER
        name = plain if is_whole else _marked(plain, key)
        if self._owners.setdefault(name, key) != key:
            name = _marked(plain, key)
            self._owners.setdefault(name, key)
        return name


def _marked(plain: str, key: tuple[str, str, str]) -> str:
    digest = sha256("\0".join(key).encode("utf-8", "replace")).hexdigest()[:_MARK]
    return f"{plain[: LONGEST - _MARK - 1]}_{digest}"
