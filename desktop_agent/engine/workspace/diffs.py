"""Unified diffs of what is written, or was, quick also for large files."""

from __future__ import annotations

import msgspec

from desktop_agent.core.diffs.line_diff import hunks, opcodes
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.engine.workspace.text_files import Text, decode, lines_of

# Of both contents in bytes, and of the patch in characters.
_LARGEST, _LONGEST_PATCH = 20_000_000, 2_000_000


def diff_of(path: str, old: str | None, new: str | None) -> DiffDisplay:
    """Return the change from `old` to `new`; None is for no file."""
    before, after = lines_of(old or ""), lines_of(new or "")
    codes = opcodes(before, after)
    added = sum(j2 - j1 for tag, _, _, j1, j2 in codes if tag in {"replace", "insert"})
    removed = sum(i2 - i1 for tag, i1, i2, _, _ in codes if tag in {"replace", "delete"})
    was = "/dev/null" if old is None else f"a/{path}"
    now = "/dev/null" if new is None else f"b/{path}"
    body = "".join(hunks(before, after, codes))
    patch = f"--- {was}\n+++ {now}\n{body}" if body else ""
    return DiffDisplay(path, patch, added, removed, is_new=old is None)


def file_diff(name: str, old: bytes | None, new: bytes | None) -> DiffDisplay:
    """Return the change of a file's bytes, in words where it is too large or no text."""
    before = decode(old) if old is not None else None
    after = decode(new) if new is not None else None
    is_text = (old is None or before is not None) and (new is None or after is not None)
    large = f"[Too large or not text: {len(old or b''):,} bytes become {len(new or b''):,}.]"
    if not is_text or len(new or b"") + len(old or b"") > _LARGEST:
        return DiffDisplay(name, large, 0, 0, is_new=old is None)
    display = diff_of(name, _with_mark(before), _with_mark(after))
    if len(display.patch) > _LONGEST_PATCH:
        return msgspec.structs.replace(display, patch=large)
    if before is not None and after is not None and old != new and not display.patch:
        note = f"[The text stays; its encoding changes: {before.encoding} to {after.encoding}.]"
        return DiffDisplay(name, note, 0, 0)
    return display


def _with_mark(text: Text | None) -> str | None:
    if text is None:
        return None
    return "\ufeff" + text.shown if text.mark else text.shown
