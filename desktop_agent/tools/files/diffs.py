"""Unified diffs of exactly what will be written, quick also for large files."""

from __future__ import annotations

from desktop_agent.core.diffs.line_diff import hunks, opcodes
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.tools.files.text_files import lines_of


def diff_of(path: str, old: str | None, new: str) -> DiffDisplay:
    """Return the change from `old` (None: no file) to `new`."""
    before, after = lines_of(old or ""), lines_of(new)
    codes = opcodes(before, after)
    added = sum(j2 - j1 for tag, _, _, j1, j2 in codes if tag in {"replace", "insert"})
    removed = sum(i2 - i1 for tag, i1, i2, _, _ in codes if tag in {"replace", "delete"})
    head = f"--- {'/dev/null' if old is None else 'a/' + path}\n+++ b/{path}\n"
    body = "".join(hunks(before, after, codes))
    return DiffDisplay(path, head + body if body else "", added, removed, is_new=old is None)
