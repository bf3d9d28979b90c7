"""Results as they come: checked, and kept as changes of the folder that were not made yet."""

from __future__ import annotations

import os
from collections.abc import Callable

from desktop_agent.core.changes import FarFile, FarState, FileState, UndoError
from desktop_agent.file_history import disk, names
from desktop_agent.file_history.values import PathChange

_PLAIN, _PROGRAM = 0o644, 0o755
_RUN = 0o111


def change_of(file: FarFile, root: bytes, hold: Callable[[bytes], str]) -> PathChange:
    """Return what a file of a result changes, its contents held; raises UndoError.

    Git knows of permissions only whether a file is a program: the others are those of here.
    """
    path = _checked(file.path, root)
    now = disk.state_of(path, 0)
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


def _mode(state: FarState) -> int:
    return _PROGRAM if state.is_executable else _PLAIN


def _state(state: FarState, mode: int, hold: Callable[[bytes], str]) -> FileState:
    if state.kind == "absent":
        return disk.ABSENT
    if state.content is None:
        return FileState("file", mode, state.size, is_held=False)
    mode = mode if state.kind == "file" else 0
    return FileState(state.kind, mode, len(state.content), hold(state.content))
