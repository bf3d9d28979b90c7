"""What the ignore files of the folders above a searched one say, as git heeds them there."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from desktop_agent.core.workspace import Folders
from desktop_agent.engine.workspace.containment import root_of, with_temporary
from desktop_agent.engine.workspace.ignored_files import IGNORE_FILE_LENGTH, IgnoreRules

_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
_READ_BY_RIPGREP = (".gitignore", ".ignore", ".rgignore")


class Above(msgspec.Struct):
    """The rules from above a folder, which lies at `base` for them: empty, or ends with a slash.

    ripgrep heeds every ignore file up to the root of the disk: what it finds by itself is right
    only if that `is_the_same`.
    """

    rules: IgnoreRules
    base: str = ""
    says_nothing: bool = True
    is_the_same: bool = False


def ignored_above(folders: Folders, folder: Path) -> Above:
    """Return what is said between the repository, or else the workspace, and the folder.

    A folder that is ignored was named on purpose: nothing from above it counts then.
    """
    root = root_of(with_temporary(folders, folders.read_roots), folder)
    repository = (each for each in (folder, *folder.parents) if os.path.lexists(each / ".git"))
    top = next(repository, Path(root or folder))
    is_the_same = not any(
        os.path.lexists(each / name) for each in top.parents for name in _READ_BY_RIPGREP
    )
    above, at = Above(IgnoreRules(), is_the_same=is_the_same), top
    for name in folder.relative_to(top).parts:
        if content := _content(at / ".gitignore"):
            above.rules.note(above.base, content)
            above.says_nothing = False
        above.base += f"{name}/"
        at /= name
        if above.rules.is_ignored(above.base):
            above = Above(IgnoreRules())
    return above


def _content(path: Path) -> bytes:
    with contextlib.suppress(OSError), os.fdopen(os.open(path, _FLAGS), "rb") as file:
        return file.read(IGNORE_FILE_LENGTH)
    return b""
