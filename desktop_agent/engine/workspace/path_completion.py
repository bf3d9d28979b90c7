"""Paths of the workspace that fit what the user typed after `@`."""

from __future__ import annotations

import os
import unicodedata
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.engine.workspace.junctions import without_junctions

# Folders that hold what tools made, not what people name; and a bound for huge trees.
_SKIPPED = {".git", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache"}
_LOOKED_AT = 20_000
# One folder counts as this part of the bound at most, so that others are looked at too.
_PARTS = 10


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
    """Yield what lies nearest first, so that no folder of many files hides its neighbours."""
    waiting, seen = deque([str(root)]), 0
    while waiting and seen <= _LOOKED_AT:
        directory = waiting.popleft()
        if (listed := next(os.walk(directory), None)) is None:
            continue
        _, entered, files = listed
        folders = [f for f in without_junctions(directory, entered) if f not in _SKIPPED]
        relative = Path(directory).relative_to(root)
        for name in sorted(folders, key=lambda name: (name.startswith("."), name)):
            yield f"{(relative / name).as_posix()}/"
            if not os.path.islink(path := os.path.join(directory, name)):  # noqa: PTH114, PTH118
                waiting.append(path)
        for name in sorted(files):
            yield (relative / name).as_posix()
        seen += min(len(files) + len(folders), _LOOKED_AT // _PARTS)
