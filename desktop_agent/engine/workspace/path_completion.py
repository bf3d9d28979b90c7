"""Paths of the workspace that fit what the user typed after `@`."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.engine.workspace.junctions import without_junctions

# Folders that hold what tools made, not what people name; and a bound for huge trees.
_SKIPPED = {".git", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache"}
_LOOKED_AT = 20_000


def complete_path(root: str, typed: str, limit: int) -> tuple[str, ...]:
    """Return relative paths, best first: names that start with the text, then that hold it.

    Folders end with `/`. Links are not followed. Runs in a worker thread.
    """
    wanted = _folded(typed)
    ranked: list[tuple[int, int, str]] = []
    for relative in _walk(Path(root)):
        folded = _folded(relative)
        name = folded.rstrip("/").rsplit("/", 1)[-1]
        if folded.startswith(wanted) or name.startswith(wanted):
            ranked.append((0, relative.count("/"), relative))
        elif wanted in folded:
            ranked.append((1, relative.count("/"), relative))
    return tuple(relative for _, _, relative in sorted(ranked)[:limit])


def _folded(text: str) -> str:
    """Return what a text is compared by: some systems keep an accent apart from its letter."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def _walk(root: Path) -> Iterator[str]:
    seen = 0
    for directory, folders, files in os.walk(root):
        entered = without_junctions(directory, folders)
        folders[:] = sorted(f for f in entered if f not in _SKIPPED)
        relative = Path(directory).relative_to(root)
        for name in folders:
            yield f"{(relative / name).as_posix()}/"
        for name in sorted(files):
            yield (relative / name).as_posix()
        seen += len(files) + len(folders)
        if seen > _LOOKED_AT:
            return
