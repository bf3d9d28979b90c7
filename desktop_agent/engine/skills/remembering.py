"""A line that the person adds to a folder's own instructions."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.skills import instructions
from desktop_agent.engine.workspace.containment import resolve_for_write
from desktop_agent.engine.workspace.safe_open import digest, open_read, write_atomic

LONGEST_LINE = 2_000


class Added(msgspec.Struct, frozen=True):
    """Where a line was added, and digests of the texts before (empty: no file) and after."""

    path: str
    before: str
    after: str


def add_line(root: str, line: str) -> Added:
    """Write a line below the instructions that hold in all of the folder, or begin such a file.

    Raises ToolError: what is written is on one line, short, and in a regular file of the folder.
    """
    words = " ".join(line.split())
    if not words or len(words) > LONGEST_LINE:
        raise ToolError(f"A line of up to {LONGEST_LINE:,} characters can be remembered.")
    root = os.path.realpath(root)
    used = [one.path for one in instructions.find(root) if not one.folder]
    path = used[0] if used else "AGENTS.md"
    workspace = Workspace(root)
    resolved = resolve_for_write(workspace, path)
    old = _content(workspace, resolved)
    if len(old or b"") > instructions.LARGEST_FILE:
        raise ToolError(f"{path} is too large for another line.")
    newline = b"\r\n" if b"\r\n" in (old or b"") else b"\n"
    kept = old.rstrip() + newline if old and old.strip() else b""
    new = kept + f"- {words}".encode("utf-8", "replace") + newline
    write_atomic(workspace, resolved, new, expected="" if old is None else digest(old))
    before = "" if old is None else _digest(old)
    return Added(path, before, _digest(new))


def _content(workspace: Workspace, resolved: Path) -> bytes | None:
    try:
        resolved.lstat()
    except FileNotFoundError:
        return None
    with open_read(workspace, resolved) as file:
        return file.read(instructions.LARGEST_FILE + 1)


def _digest(content: bytes) -> str:
    """Return the digest that trust goes by: of the text, as `instructions` reads it."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return sha256(text.encode("utf-8", "replace")).hexdigest()
