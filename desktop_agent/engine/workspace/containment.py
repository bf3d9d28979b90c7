"""Resolving a path against the workspace: where it really leads, and whether that is allowed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from desktop_agent.core.prose.markdown import listed
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import TEMPORARY, Folders
from desktop_agent.engine.workspace import windows_names

# A thousand folders of skills would be a page of them in every refusal.
_SHOWN_ROOTS = 10


class OutsideWorkspace(ToolError):
    """A path leads out of the folders that may be used."""


def resolve_for_read(folders: Folders, path: str, *, base: str | None = None) -> Path:
    """Return where `path` really leads; raises OutsideWorkspace when that may not be read.

    Relative paths are against `base`, which is the root by default. Nothing has to
    exist, and nothing is created.
    """
    return _resolve(folders, path, base, folders.read_roots, "readable")


def resolve_for_write(folders: Folders, path: str, *, base: str | None = None) -> Path:
    """Return where `path` really leads; raises OutsideWorkspace when that may not be written."""
    return _resolve(folders, path, base, folders.write_roots, "writable")


def with_temporary(folders: Folders, roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders that may be used: some of the read-set or write-set, and `/tmp`."""
    return (*roots, folders.temporary) if folders.temporary else roots


def shown(folders: Folders, path: str | PurePath) -> str:
    """Return what a real path is called: `/tmp` is the session's own folder in the sandbox."""
    if not folders.temporary or not is_within(path, folders.temporary):
        return str(path)
    return str(PurePath(TEMPORARY[0], PurePath(path).relative_to(folders.temporary)))


def as_text(name: str) -> str:
    """Return a name as text on one line: on the disk it may be any bytes."""
    text = name.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\n", "\\n").replace("\r", "\\r")


def root_of(roots: Sequence[str], resolved: PurePath) -> str | None:
    """Return the deepest of the roots that holds the resolved path, or None."""
    holding = [root for root in roots if is_within(resolved, root)]
    return max(holding, key=len, default=None)


def is_within(path: str | PurePath, root: str | PurePath) -> bool:
    """Whether the real path is the root or below it, component by component."""
    if os.name == "nt":
        folded = PureWindowsPath(str(path).casefold())
        return folded.is_relative_to(PureWindowsPath(str(root).casefold()))
    return PurePosixPath(path).is_relative_to(PurePosixPath(root))


def with_home(path: str) -> Path:
    """Return the path with a leading `~` or `~name/` of a user there is replaced by that home.

    Anything else that begins so, such as `~backup.txt`, is a name like any other.
    """
    # Asked of the text: `Path("./~name")` is `~name`.
    user = re.match(r"~[^/\\]*[/\\]" if os.name == "nt" else "~[^/]*/", path)
    if path != "~" and user is None:
        return Path(path)
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no such user
        return Path(path)


def relative_name(folders: Folders, path: str | PurePath) -> str:
    """Return how to call a resolved path: relative to the root when it is in there."""
    pure = PurePath(path)
    if not is_within(pure, folders.root):
        return shown(folders, pure)
    return PurePath(os.path.relpath(pure, folders.root)).as_posix()


def _resolve(
    folders: Folders, path: str, base: str | None, roots: tuple[str, ...], kind: str
) -> Path:
    if not path.strip():
        raise ToolError("the path is empty.")
    if "\0" in path:
        raise ToolError("the path holds a NUL character.")
    if os.name == "nt" and (refusal := windows_names.refusal(path, roots)):
        raise ToolError(f"path {path!r} {refusal}")
    joined = Path(base or folders.root) / with_home(path)
    resolved = _real_path(_as_commands_see(folders, joined), path)
    if root_of(with_temporary(folders, roots), resolved) is None:
        named = listed(roots, _SHOWN_ROOTS) or "none"
        raise OutsideWorkspace(
            f"Error: path '{path}' is outside the workspace ({kind} roots: {named})"
        )
    return resolved


def _as_commands_see(folders: Folders, path: Path) -> Path:
    """Return where a path leads in the sandbox: `/tmp` is the session's own folder there.

    A folder of the workspace that lies in `/tmp` is itself there too.
    """
    if not folders.temporary:
        return path
    plain = PurePath(os.path.normpath(path))
    for name in TEMPORARY:
        if is_within(plain, name) and root_of(folders.read_roots, plain) is None:
            return Path(folders.temporary, plain.relative_to(name))
    return path


def _real_path(joined: Path, shown: str) -> Path:
    try:
        resolved = Path(os.path.realpath(joined))
    except (OSError, ValueError) as error:
        raise ToolError(f"path {shown!r} can't be resolved: {error}") from None
    # realpath leaves the links of a loop as they are: whatever is still one never ends.
    for step in (resolved, *resolved.parents):
        try:
            is_link = stat.S_ISLNK(step.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ToolError(f"path {shown!r} can't be resolved: {error.strerror}.") from None
        if is_link:
            raise ToolError(f"path {shown!r} is a loop of links.")
    return resolved
