"""A folder's own instructions: AGENTS.md, found, followed to what it points at, bounded.

Its list of MCP servers is read in the same way.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from desktop_agent.core.tool import ToolError
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.skills.files import read_text, warn_once
from desktop_agent.engine.skills.rules import visible

LONGEST = 64_000
_LARGEST_FILE = 1_000_000
# The second is read where there is no first, or where the first only points at it.
_NAMES = ("AGENTS.md", "CLAUDE.md")
_SERVERS = ".mcp.json"
# The name alone, or one line that sends the reader there; a heading may stand above.
_NAME = r"(?P<{}>AGENTS\.md|CLAUDE\.md)"
# The file may be long, and is looked at every two seconds: no repeat is tried a second time.
_POINTER = re.compile(
    r"(?:#[^\n]*+\n)?\W*+(?:"
    rf"{_NAME.format('alone')}\W*+|"
    r"(?:please\s++)?(?:see|read|follow|use|consult|refer\s++to|look\s++at)\b[^\n]{0,40}?"
    rf"{_NAME.format('named')}[^\n]{{0,120}}"
    r")",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Instructions:
    """The text of one file: `path` as seen from the folder, `digest` of all of it."""

    path: str
    text: str
    size: int
    digest: str


def find(root: str) -> tuple[Instructions, ...]:
    """Return the instructions that stand in a folder; what can't be read is left out, and logged.

    Links are followed inside the folder only. AGENTS.md and CLAUDE.md that point at each other
    count once.
    """
    for name in _NAMES:
        found = _read(root, name)
        if found is not None and found.text.strip():
            return (found,)
    return ()


def servers_of(root: str) -> Instructions | None:
    """Return a folder's own configuration of MCP servers, as it is."""
    text = _text(root, _SERVERS)
    if text is None or not text.strip():
        return None
    content = text.encode("utf-8", "replace")
    return Instructions(_SERVERS, text, len(content), sha256(content).hexdigest())


def _read(root: str, name: str) -> Instructions | None:
    text = _text(root, name)
    if text is None:
        return None
    pointer = _POINTER.fullmatch(text.strip())
    target = (pointer["alone"] or pointer["named"]).lower() if pointer is not None else ""
    if target and target != name.lower():
        other = next(known for known in _NAMES if known.lower() == target)
        pointed = _text(root, other)
        if pointed is not None:
            name, text = other, pointed
    size = len(text.encode("utf-8", "replace"))
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()
    shown = visible(text.replace("\r\n", "\n")).strip()
    if len(shown) > LONGEST:
        shown = f"{shown[:LONGEST]}\n\n[{name} goes on; only its beginning is given.]"
    return Instructions(name, shown, size, digest)


def _text(root: str, name: str) -> str | None:
    path = Path(root, name)
    if not os.path.lexists(path):
        return None
    try:
        return read_text(root, str(path), _LARGEST_FILE)[0].removeprefix("\ufeff")
    except (OSError, ToolError) as error:
        warn_once(f"{path} was not read: {error}")
        return None
