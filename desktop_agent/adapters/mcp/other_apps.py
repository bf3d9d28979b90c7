"""Where other apps keep their MCP servers, for the user to choose from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.adapters.mcp.formats import LARGEST_FILE, read_foreign
from desktop_agent.core.mcp import McpError, McpServer

_IN_HOME = (
    ("Claude Code", ".claude.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("Gemini", ".gemini/settings.json"),
    ("Windsurf", ".codeium/windsurf/mcp_config.json"),
)
_IN_SETTINGS = (
    ("Claude Desktop", "Claude/claude_desktop_config.json"),
    ("VS Code", "Code/User/mcp.json"),
    ("Goose", "goose/config.yaml"),
)


def found(home: Path | None = None) -> tuple[tuple[str, tuple[McpServer, ...]], ...]:
    """Return the servers of each app that has any; what can't be read is left out."""
    listed: list[tuple[str, tuple[McpServer, ...]]] = []
    for title, path in _places(home or Path.home()):
        try:
            if path.stat().st_size <= LARGEST_FILE:
                servers = read_foreign(path.read_text(encoding="utf-8-sig"))
                if servers:
                    listed.append((title, servers))
        except (OSError, UnicodeDecodeError, McpError):
            continue
    return tuple(listed)


def _places(home: Path) -> Iterator[tuple[str, Path]]:
    if sys.platform == "darwin":
        settings = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        settings = Path(os.environ.get("APPDATA", home))
    else:
        settings = home / ".config"
    yield from ((title, home / name) for title, name in _IN_HOME)
    yield from ((title, settings / name) for title, name in _IN_SETTINGS)
