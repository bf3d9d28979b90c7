"""Results as they come: checked, and kept as changes of the folder that were not made yet."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from msgspec.structs import replace

from desktop_agent.core.changes import FarFile, FarState, FileState, UndoError
from desktop_agent.file_history import disk, names
from desktop_agent.file_history.values import PathChange

_PLAIN, _PROGRAM = 0o644, 0o755
_RUN = 0o111
_LARGEST_TEXT = 64 << 20
_BARE_LINE_END = re.compile(rb"(?<!\r)\n")


def change_of(file: FarFile, root: bytes, hold: Callable[[bytes], str]) -> PathChange:
    """Return what a file of a result changes, its contents held; raises UndoError.

    Git knows of permissions only whether a file is a program: the others are those of here.
    """
    path = _checked(file.path, root)
    now = disk.state_of(path, 0)
    if now.kind == "file" and _is_stored_otherwise(file.before, path):
        file = replace(file, before=_as_here(file.before), after=_as_here(file.after))
    is_known = now.kind == "file" and bool(now.mode & 0o100) == file.before.is_executable
    mode = now.mode if is_known else _mode(file.before)
    before = _state(file.before, mode, hold)
    if file.before.kind != "file":
        mode = _mode(file.after)
    elif file.after.is_executable != file.before.is_executable:
        mode = mode | _RUN if file.after.is_executable else mode & ~_RUN
    return PathChange(path, before, _state(file.after, mode, hold))


def _checked(path: bytes, root: bytes) -> bytes:
    """Return the whole path; a place may name any."""
    parts = path.split(b"/")
    if b"\0" in path or not all(parts) or {b".", b".."} & set(parts) or names.is_git(path):
        raise UndoError(f"{names.shown(path, root)} is no file of the folder.")
    return os.path.join(root, *parts)  # noqa: PTH118 - bytes


def _is_stored_otherwise(before: FarState, path: bytes) -> bool:
    """Whether git keeps a text without the carriage returns that each of its lines here has."""
    text = before.content
    if not text or b"\n" not in text or b"\r" in text or b"\0" in text:
        return False
    try:
        with disk.opened(path) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
            here = file.read(_LARGEST_TEXT)
    except OSError:
        return False
    return b"\r\n" in here and not _BARE_LINE_END.search(here)


def _as_here(state: FarState) -> FarState:
    if state.kind != "file" or not state.content or b"\0" in state.content:
        return state
    content = _BARE_LINE_END.sub(b"\r\n", state.content)
    return replace(state, size=len(content), content=content)


def _mode(state: FarState) -> int:
    return _PROGRAM if state.is_executable else _PLAIN


def _state(state: FarState, mode: int, hold: Callable[[bytes], str]) -> FileState:
    if state.kind == "absent":
        return disk.ABSENT
    if state.content is None:
        return FileState("file", mode, state.size, is_held=False)
    mode = mode if state.kind == "file" else 0
    return FileState(state.kind, mode, len(state.content), hold(state.content))
