"""Windows: open first, then ask the handle where it really leads."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Folders
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.workspace.containment import OutsideWorkspace, root_of
from desktop_agent.engine.workspace.replacing import replace, temporary_name
from desktop_agent.engine.workspace.windows_names import without_prefix

# Held from the last look at a file until it is replaced.
_RENAMING = threading.Lock()


def open_read(folders: Folders, resolved: Path) -> BinaryIO:
    """Open a regular file for reading and check the opened handle."""
    try:
        file = resolved.open("rb")
    except PermissionError:
        raise ToolError(
            f"'{resolved}' can't be opened: another program has it open, or it may not be read."
        ) from None
    except OSError as error:
        raise ToolError(f"'{resolved}': {error.strerror}.") from None
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ToolError(f"'{resolved}' is not a regular file.")
        _require_within(folders.read_roots, _final_path(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def write_atomic(
    folders: Folders, resolved: Path, content: bytes, *, expected: str | None = None
) -> None:
    """Write a temporary file beside the target, check where it landed, rename it over."""
    if root_of(folders.write_roots, resolved) is None:
        raise OutsideWorkspace(f"Error: path '{resolved}' is outside the workspace")
    try:
        resolved.parent.mkdir(parents=True, exist_ok=True)
        _replace(folders, resolved, content, expected)
    except OSError as error:
        raise ToolError(f"'{resolved}': {error.strerror or error}.") from None


def _replace(folders: Folders, resolved: Path, content: bytes, expected: str | None) -> None:
    temporary = resolved.with_name(temporary_name())
    try:
        with temporary.open("xb") as file:
            _require_within(folders.write_roots, _final_path(file.fileno()))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with _RENAMING:
            if expected is not None and _digest_of(resolved) != expected:
                raise ToolError(f"'{resolved}' changed in the meantime, so nothing was written.")
            _give_name(temporary, resolved)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _give_name(temporary: Path, resolved: Path) -> None:
    if resolved.is_dir():
        raise ToolError(f"'{resolved}' is a folder.")
    try:
        replace(temporary, resolved)
    except PermissionError:
        raise ToolError(
            f"'{resolved}' can't be replaced: it is open in another program, or read-only."
        ) from None


def _digest_of(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        found = sha256()
        while chunk := file.read(1 << 20):
            found.update(chunk)
        return found.hexdigest()


def _require_within(roots: tuple[str, ...], path: Path) -> None:
    if root_of(roots, path) is None:
        raise OutsideWorkspace(
            f"Error: path '{path}' is outside the workspace (roots: {', '.join(roots)})"
        )


def _final_path(descriptor: int) -> Path:
    if sys.platform != "win32":
        raise OSError("only Windows knows the path of a handle")
    import msvcrt  # exists on Windows only

    room = 32_768
    text = ctypes.create_unicode_buffer(room)
    handle = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
    length = ctypes.windll.kernel32.GetFinalPathNameByHandleW(handle, text, room, 0)
    if not 0 < length < room:
        raise OSError("the path of the opened file is unknown")
    return Path(without_prefix(text.value))
