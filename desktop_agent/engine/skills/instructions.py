"""A folder's own instructions: AGENTS.md, found, followed to what it points at, bounded.

Its list of MCP servers is read in the same way.
"""

from __future__ import annotations

import itertools
import os
import posixpath
import re
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from desktop_agent.core.tool import ToolError
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.skills.files import is_utf8, read_text, warn_once
from desktop_agent.engine.skills.rules import visible

LONGEST = 64_000
MOST_FILES = 50
LARGEST_FILE = 1_000_000
_MOST_BYTES = 2_000_000
# It is all looked at every two seconds.
_MOST_FOLDERS = 2_000
_MOST_ENTRIES = 5_000
_DEEPEST = 6
_LONGEST_PATH = 200
# What others wrote for work on their own programs.
_LEFT_OUT = frozenset({"node_modules", "site-packages", "vendor", "venv", "__pycache__"})
# The second is read where there is no first, or where the first only points at it.
_NAMES = ("AGENTS.md", "CLAUDE.md")
_SERVERS = ".mcp.json"
# The path alone, or one line that sends the reader there; a heading may stand above.
_PATH = r"(?P<{}>(?:[\w.-]++/)*(?:AGENTS|CLAUDE)\.md)"
# The file may be long, and is looked at every two seconds: no repeat is tried a second time.
_POINTER = re.compile(
    r"(?:#[^\n]*+\n)?[^\w.]*+(?:"
    rf"{_PATH.format('alone')}\W*+|"
    r"(?:please\s++)?(?:see|read|follow|use|consult|refer\s++to|look\s++at)\b[^\n]{0,40}?"
    rf"{_PATH.format('named')}[^\n]{{0,120}}"
    r")",
    re.IGNORECASE,
)


class Instructions(msgspec.Struct, frozen=True):
    """The text of one file: `path` as seen from the folder, `digest` of all of it.

    They hold below `folder`, a path from there; empty for all of it.
    """

    path: str
    text: str
    size: int
    digest: str
    folder: str = ""


def find(root: str) -> tuple[Instructions, ...]:
    """Return the instructions of a folder and of those below it, those nearest to the root first.

    Links are followed inside the folder only, those to folders not at all. What can't be read is
    left out, and logged; files that point at each other, or at those of a folder above, count once.
    """
    found: list[Instructions] = []
    size = 0
    for folder, names in _folders(root):
        one = _first(root, folder, names)
        if one is None or any(_repeats(one, other) for other in found):
            continue
        size += one.size
        if folder and size > _MOST_BYTES:
            break
        found.append(one)
        if len(found) >= MOST_FILES:
            break
    return tuple(found)


def _first(root: str, folder: str, names: Collection[str]) -> Instructions | None:
    for name in _NAMES:
        if name in names:
            found = _read(root, folder, name)
            if found is not None and found.text.strip():
                return found
    return None


def _repeats(one: Instructions, other: Instructions) -> bool:
    """Whether what holds in a folder above says the same."""
    is_above = not other.folder or f"{one.folder}/".startswith(f"{other.folder}/")
    return is_above and (one.path == other.path or one.digest == other.digest)


def _folders(root: str) -> Iterator[tuple[str, Collection[str]]]:
    """Yield folders as seen from the root, with the names of files in them that may be read."""
    waiting = deque([("", 0)])
    seen = 0
    while waiting and seen < _MOST_FOLDERS:
        folder, depth = waiting.popleft()
        seen += 1
        inner, names = _listed(os.path.join(root, folder))  # noqa: PTH118 - thousands of them
        yield folder, names
        if depth < _DEEPEST:
            paths = (f"{folder}/{name}" if folder else name for name in inner)
            waiting += [(path, depth + 1) for path in paths if len(path) <= _LONGEST_PATH]


def _listed(folder: str) -> tuple[list[str], Collection[str]]:
    """Return the folders in a folder that are looked at, and which of the names stand there."""
    inner: list[str] = []
    names: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, _MOST_ENTRIES):
                if entry.name in _NAMES:
                    names.add(entry.name)
                elif _is_looked_at(entry):
                    inner.append(entry.name)
    except OSError:
        return [], names
    return sorted(inner), names


def _is_looked_at(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name in _LEFT_OUT:
        return False
    # What is shown of a name must be all of it: by it the person finds what is trusted.
    is_plain = is_utf8(entry.name) and " ".join(visible(entry.name).split()) == entry.name
    return is_plain and entry.is_dir(follow_symlinks=False)


def servers_of(root: str) -> Instructions | None:
    """Return a folder's own configuration of MCP servers, as it is."""
    text = _text(root, _SERVERS)
    if text is None or not text.strip():
        return None
    content = text.encode("utf-8", "replace")
    return Instructions(_SERVERS, text, len(content), sha256(content).hexdigest())


def _read(root: str, folder: str, name: str) -> Instructions | None:
    path = f"{folder}/{name}" if folder else name
    text = _text(root, path)
    if text is None:
        return None
    target = _pointed_at(folder, text)
    if target and target != path:
        pointed = _text(root, target)
        if pointed is not None:
            path, text = target, pointed
    size = len(text.encode("utf-8", "replace"))
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()
    shown = visible(text.replace("\r\n", "\n")).strip()
    if len(shown) > LONGEST:
        shown = f"{shown[:LONGEST]}\n\n[{path} goes on; only its beginning is given.]"
    return Instructions(path, shown, size, digest, folder)


def _pointed_at(folder: str, text: str) -> str:
    """Return where a text sends the reader, as seen from the root; empty when it doesn't."""
    pointer = _POINTER.fullmatch(text.strip())
    if pointer is None:
        return ""
    way, _, name = (pointer["alone"] or pointer["named"]).rpartition("/")
    known = next(known for known in _NAMES if known.lower() == name.lower())
    target = posixpath.normpath(posixpath.join(folder, way, known))
    return "" if target.startswith("../") else target


def _text(root: str, name: str) -> str | None:
    path = Path(root, name)
    if not os.path.lexists(path):
        return None
    try:
        return read_text(root, str(path), LARGEST_FILE)[0].removeprefix("\ufeff")
    except (OSError, ToolError) as error:
        warn_once(f"{path} was not read: {error}")
        return None
