"""What models call the tools of servers: names that every provider takes, each of one tool."""

from __future__ import annotations

import re

from desktop_agent.engine.base.digests import sha256

LONGEST = 64
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
# A server whose name ends where the two lines behind it begin, for any tool.
_SERVER = re.compile(r"(?!.*__)(?!.*_$)[a-zA-Z0-9_-]{1,24}")
_TOOL = re.compile(r"[a-zA-Z0-9_-]+")
_MARK = 12
_OF_SERVER = 24


def name_of(server: str, tool: str, where: str = "") -> str:
    """Return the name of a server's tool; `where` is the folder that brings the server.

    `mcp__SERVER__TOOL` for the user's own; its beginning with a few digits of a digest where that
    is too long, or could be another's as well. A rule for a tool outlives the app, so its name
    does not depend on what else is there; and what a folder brings never goes by the user's rule
    for a server of the same name.
    """
    plain = f"mcp__{_UNFIT.sub('_', server)[:_OF_SERVER]}__{_UNFIT.sub('_', tool)}"
    is_exact = not where and _SERVER.fullmatch(server) and _TOOL.fullmatch(tool)
    if is_exact and len(plain) <= LONGEST:
        return plain
    digest = sha256("\0".join((where, server, tool)).encode("utf-8", "replace")).hexdigest()
    return f"{plain[: LONGEST - _MARK - 1]}_{digest[:_MARK]}"
