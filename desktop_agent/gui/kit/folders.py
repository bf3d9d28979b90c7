"""What the window says about folders: short names, git branches, and which are too wide."""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePath, PureWindowsPath

from PySide6.QtCore import QCoreApplication

_CLOUD_NAMES = ("dropbox", "onedrive", "google drive", "googledrive", "icloud", "nextcloud", "box")
_MACOS_CLOUD = ("Library/Mobile Documents", "Library/CloudStorage")
_MAX_HEAD = 4096


def real_folder(path: str) -> str | None:
    """Return the real absolute path of an existing directory, or None."""
    try:
        real = Path(path).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
    return str(real) if real.is_dir() else None


def short_path(path: str) -> str:
    """Return the path with the home folder as `~`."""
    home = str(Path.home())
    if path == home:
        return "~"
    inside = home.rstrip(os.sep) + os.sep
    return "~" + os.sep + path[len(inside) :] if path.startswith(inside) else path


def reads_as_path(text: str) -> bool:
    """Whether a title or detail is a path, of Windows too: it reads from left to right."""
    return "/" in text or text.startswith("~\\") or bool(PureWindowsPath(text).drive)


def git_branch(root: str) -> str:
    """Return the branch checked out in the folder, a short commit, or nothing."""
    try:
        git = Path(root) / ".git"
        if git.is_file():  # a worktree: the file names the place
            pointer = _first_line(git)
            git = Path(root, pointer.removeprefix("gitdir:").strip())
        head = _first_line(git / "HEAD")
    except OSError:
        return ""
    if head.startswith("ref:"):
        return head.removeprefix("ref:").strip().removeprefix("refs/heads/")
    return head[:8]


def is_git(root: str) -> bool:
    """Whether the folder is the top of a git work tree."""
    return (Path(root) / ".git").exists()


def folder_icon(path: str) -> str:
    """Return the icon for a folder: a git one, a plain one, or a missing one."""
    if not Path(path).is_dir():
        return "folder-x"
    return "folder-git-2" if is_git(path) else "folder"


def folder_warning(path: str) -> str:
    """Return why a folder is a risky choice, in one or two sentences, or nothing."""
    folder = Path(path)
    home = Path.home()
    if folder == Path(folder.anchor):
        return _tr("This is the whole disk. The agent could read everything on it.")
    if folder == home or folder in home.parents:
        return _tr(
            "This is your whole home folder. The agent could read all of it. Pick a smaller one?"
        )
    if folder in (home / "Desktop", home / "Documents", home / "Downloads"):
        return _tr(
            "This folder holds many unrelated things, and the agent could read them all. "
            "Pick a smaller one?"
        )
    if is_cloud_synced(folder):
        return _tr("This folder is synced to the cloud. Changes reach your other devices at once.")
    return ""


def is_cloud_synced(folder: Path) -> bool:
    """Whether a well-known service seems to sync the folder."""
    if sys.platform == "darwin" and any(
        folder.is_relative_to(Path.home() / place) for place in _MACOS_CLOUD
    ):
        return True
    return any(_is_cloud_name(part) for part in PurePath(folder).parts)


def _is_cloud_name(part: str) -> bool:
    name = part.casefold()
    return any(
        name == cloud or name.startswith((f"{cloud} ", f"{cloud}-")) for cloud in _CLOUD_NAMES
    )


def _first_line(path: Path) -> str:
    with path.open("r", encoding="utf-8", errors="replace") as file:
        return file.read(_MAX_HEAD).split("\n", 1)[0].strip()


def _tr(text: str) -> str:
    return QCoreApplication.translate("Folders", text)
